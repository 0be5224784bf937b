"""The stored messages of a session that precede the list of a nap. Pure.

Some clients hand over only their window, which an earlier nap has shortened. What is
distilled, above all the digest, covers the whole session, so the stored
messages are put before the list again.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from memd.base.clock import from_us
from memd.sleep.nap.cleaning import Message, clean
from memd.sleep.nap.erasures import SessionHistory
from memd.sleep.nap.facts import HEADER
from memd.sleep.nap.messages import text_to_store
from memd.store.session.turns import EarlierRow

_CALL_MARK = re.compile(r"^\[calls ([^\]\n]+)\] ?", re.MULTILINE)


class EarlierMessages(NamedTuple):
    """The *messages* before a list, oldest first, and the keys of their sources."""

    messages: tuple[Message, ...] = ()
    source_keys: tuple[int, ...] = ()

    @property
    def source_by_place(self) -> dict[int, int]:
        """The source keys by their places before the list: the last message has place -1."""
        return dict(zip(range(-len(self.source_keys), 0), self.source_keys, strict=True))


NO_MESSAGES = EarlierMessages()


def count_earlier(given: Sequence[Message], history: SessionHistory) -> int:
    """Return how many of the session's messages precede *given*.

    The list is located by its first message that occurs exactly once in the session; a
    summary of an earlier nap is skipped. If none is known, all stored messages
    precede it.
    """
    offset = 0
    for message in given:
        text = text_to_store(clean(message))
        if not text.strip() or text.startswith(HEADER):
            continue
        sha256 = hashlib.sha256(text.encode()).digest()
        place = history.places.get((sha256, 0))
        if place is not None and (sha256, 1) not in history.places:
            return max(0, place - offset)
        offset += 1
    return history.message_count


def rebuild_messages(rows: Sequence[EarlierRow]) -> EarlierMessages:
    """Turn stored messages back into messages, whose calls have no ids."""
    return EarlierMessages(
        tuple(map(_rebuild_message, rows)), tuple(row.source_key for row in rows)
    )


def _rebuild_message(row: EarlierRow) -> Message:
    text = zlib.decompress(row.zlib).decode()
    message: Message = {"role": row.role, "content": text}
    first = _CALL_MARK.search(text) if row.role == "assistant" else None
    if first is not None:
        message["content"] = text[: first.start()].rstrip("\n")
        message["tool_calls"] = _parse_calls(text[first.start() :])
    if row.said_at_us is not None:
        message["timestamp"] = from_us(row.said_at_us).isoformat()
    return message


def _parse_calls(text: str) -> list[dict[str, Any]]:
    marks = list(_CALL_MARK.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [
        {"function": {"name": mark[1], "arguments": text[mark.end() : end].rstrip("\n")}}
        for mark, end in zip(marks, ends, strict=True)
    ]
