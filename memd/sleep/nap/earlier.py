"""What a session said before the list that a nap is given: the start of a longer story. Pure.

Some clients hand over their window only, and the window was shortened by the nap before.
What is distilled, the digest above all, is of the whole session: so the messages that memd
kept of it stand before the list again, as messages.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from memd.base.clock import from_us
from memd.sleep.nap.cleaning import Message, clean
from memd.sleep.nap.erased import History
from memd.sleep.nap.facts import HEADER
from memd.sleep.nap.messages import kept_text
from memd.store.session.turns import EarlierRow

_CALL = re.compile(r"^\[calls ([^\]\n]+)\] ?", re.MULTILINE)


class Earlier(NamedTuple):
    """The *messages* before a list, oldest first, and the sources in which they are kept."""

    messages: tuple[Message, ...] = ()
    source_keys: tuple[int, ...] = ()

    @property
    def kept_as(self) -> dict[int, int]:
        """The sources by their places before the list: the last message is at -1."""
        return dict(zip(range(-len(self.source_keys), 0), self.source_keys, strict=True))


NONE = Earlier()


def start_of(given: Sequence[Message], history: History) -> int:
    """Return how many of the session's messages came before *given*.

    The first message of *given* that the session said just once tells where it begins; the
    summary of an earlier nap tells nothing. When none is known, all that was heard came before.
    """
    spoken = 0
    for message in given:
        text = kept_text(clean(message))
        if not text.strip() or text.startswith(HEADER):
            continue
        sha256 = hashlib.sha256(text.encode()).digest()
        place = history.places.get((sha256, 0))
        if place is not None and (sha256, 1) not in history.places:
            return max(0, place - spoken)
        spoken += 1
    return history.heard


def as_messages(rows: Sequence[EarlierRow]) -> Earlier:
    """Return kept messages as the messages that they were, their calls without ids."""
    return Earlier(tuple(map(_message, rows)), tuple(row.source_key for row in rows))


def _message(row: EarlierRow) -> Message:
    text = zlib.decompress(row.zlib).decode()
    message: Message = {"role": row.role, "content": text}
    first = _CALL.search(text) if row.role == "assistant" else None
    if first is not None:
        message["content"] = text[: first.start()].rstrip("\n")
        message["tool_calls"] = _calls(text[first.start() :])
    if row.said_at_us is not None:
        message["timestamp"] = from_us(row.said_at_us).isoformat()
    return message


def _calls(text: str) -> list[dict[str, Any]]:
    marks = list(_CALL.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [
        {"function": {"name": mark[1], "arguments": text[mark.end() : end].rstrip("\n")}}
        for mark, end in zip(marks, ends, strict=True)
    ]
