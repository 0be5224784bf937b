"""A session's messages as they are kept: their words, what they call, and who said them. Pure."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Sequence
from datetime import MAXYEAR, datetime
from typing import Any, NamedTuple

from memd.sleep.nap.blocks import TOOL_ROLE, text_of, turn
from memd.sleep.nap.cleaning import Message

_ROLE_CHARS = 32
_UNSET_YEAR = 1970


class KeptMessage(NamedTuple):
    """One message for the session: the *nth* of those that say the same."""

    role: str
    sha256: bytes
    zlib: bytes
    nth: int
    said_at: datetime | None = None


def kept_messages(messages: Sequence[Message]) -> tuple[KeptMessage | None, ...]:
    """Return what is kept of each message, None for one that says nothing."""
    seen: Counter[bytes] = Counter()
    result: list[KeptMessage | None] = []
    for message in messages:
        text = kept_text(message)
        if not text.strip():
            result.append(None)
            continue
        raw = text.encode()
        sha256 = hashlib.sha256(raw).digest()
        role = role_of(message)
        said_at = moment_of(message)
        result.append(KeptMessage(role, sha256, zlib.compress(raw), seen[sha256], said_at))
        seen[sha256] += 1
    return tuple(result)


def kept_text(message: Message) -> str:
    """Return what is kept of a message: its text, and what it calls with which arguments.

    >>> kept_text({"content": [{"type": "tool_use", "name": "ls", "input": {"path": "."}}]})
    '[calls ls] {"path": "."}'
    """
    lines = [text_of(message.get("content")), *(_call(*call) for call in _calls(message))]
    return "\n".join(line for line in lines if line)


def _calls(message: Message) -> list[tuple[Any, Any]]:
    content, called = message.get("content"), message.get("tool_calls")
    blocks = content if isinstance(content, list) else [content]
    names = [
        (block.get("name"), block.get("input"))
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "tool_use"
    ]
    for call in called if isinstance(called, list) else ():
        if isinstance(call, dict):
            named = call["function"] if isinstance(call.get("function"), dict) else call
            names.append((named.get("name"), named.get("arguments")))
    return names


def _call(name: Any, arguments: Any) -> str:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return f"[calls {name}] {text}" if arguments else f"[calls {name}]"


def role_of(message: Message) -> str:
    role = message.get("role")
    only_results = turn(message)
    if only_results.results and not only_results.text.strip():
        return TOOL_ROLE
    return role[:_ROLE_CHARS] if isinstance(role, str) and role.strip() else "unknown"


def moment_of(message: Message) -> datetime | None:
    """Return when a message was said, if it says so with its zone.

    A clock that was never set says 1970. Whether it is yet to come is seen when it is stored.
    """
    text = message.get("timestamp")
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None and _UNSET_YEAR < moment.year < MAXYEAR else None
