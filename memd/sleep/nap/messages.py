"""A session's messages as they are stored: text, tool calls, role and time. Pure."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Sequence
from datetime import MAXYEAR, datetime
from typing import Any, NamedTuple

from memd.sleep.nap.blocks import TOOL_ROLE, parse_turn, text_of
from memd.sleep.nap.cleaning import Message

_ROLE_CHARS = 32
_UNSET_YEAR = 1970


class StoredMessage(NamedTuple):
    """One message of a session; *nth* counts the earlier messages with the same text."""

    role: str
    sha256: bytes
    zlib: bytes
    nth: int
    said_at: datetime | None = None


def to_stored(messages: Sequence[Message]) -> tuple[StoredMessage | None, ...]:
    """Return each message in its stored form, None for one without text."""
    seen: Counter[bytes] = Counter()
    result: list[StoredMessage | None] = []
    for message in messages:
        text = text_to_store(message)
        if not text.strip():
            result.append(None)
            continue
        raw = text.encode()
        sha256 = hashlib.sha256(raw).digest()
        role = role_of(message)
        said_at = timestamp_of(message)
        result.append(StoredMessage(role, sha256, zlib.compress(raw), seen[sha256], said_at))
        seen[sha256] += 1
    return tuple(result)


def text_to_store(message: Message) -> str:
    """Return the stored text of a message: its own text and its tool calls with their arguments.

    >>> text_to_store({"content": [{"type": "tool_use", "name": "ls", "input": {"path": "."}}]})
    '[calls ls] {"path": "."}'
    """
    lines = [
        text_of(message.get("content")),
        *(_render_call(*call) for call in _tool_calls(message)),
    ]
    return "\n".join(line for line in lines if line)


def _tool_calls(message: Message) -> list[tuple[Any, Any]]:
    content, called = message.get("content"), message.get("tool_calls")
    blocks = content if isinstance(content, list) else [content]
    names = [
        (block.get("name"), block.get("input"))
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "tool_use"
    ]
    for call in called if isinstance(called, list) else ():
        if isinstance(call, dict):
            tool = call["function"] if isinstance(call.get("function"), dict) else call
            names.append((tool.get("name"), tool.get("arguments")))
    return names


def _render_call(name: Any, arguments: Any) -> str:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return f"[calls {name}] {text}" if arguments else f"[calls {name}]"


def role_of(message: Message) -> str:
    """Return the role of *message*; that of one with nothing but tools' results is ``tool``."""
    role = message.get("role")
    turn = parse_turn(message)
    if turn.results and not turn.text.strip():
        return TOOL_ROLE
    return role[:_ROLE_CHARS] if isinstance(role, str) and role.strip() else "unknown"


def timestamp_of(message: Message) -> datetime | None:
    """Return the message's timestamp if it has a time zone, else None.

    1970 comes from a clock that was never set and counts as none. Whether the time lies in
    the future is checked when the message is stored.
    """
    text = message.get("timestamp")
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None and _UNSET_YEAR < moment.year < MAXYEAR else None
