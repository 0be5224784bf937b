"""Clean the messages of a session from secrets and memd's own texts, and prepare their storage.

Memories that memd returned occur in the conversation: as results of memd's tools, in fences that a
hook adds, and with one client in the user's message. Stored again they would be duplicates, and a
web text would get the trust of the assistant or user.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import MAXYEAR, datetime
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

from memd.guard.secrets import screen
from memd.sleep.transcript.blocks import (
    TOOL_ROLE,
    TranscriptTurn,
    pair_results,
    parse_turn,
    text_of,
)
from memd.text.repetition import KnownWords, remove_known
from memd.view.labels import find_fenced, strip_injected, strip_labels

Message = dict[str, Any]

_DEPTH_MAX = 64  # nesting of a message; no program's format is deeper
_SHORT_CHARS = 16  # texts up to this length repeat, so their cleaned form is cached
_ROLE_CHARS = 32
_UNSET_YEAR = 1970
# "memd", "memd_search", "mcp__memd__search", "mcp__plugin_memd_memd__search".
_OWN_TOOL = re.compile(r"(?:mcp_{1,2})?(?:plugin_memd_)?memd(?:[_.:/-].*)?", re.IGNORECASE)


def clean(message: Message) -> Message:
    """Return *message* with secrets replaced and without values that JSON or SQLite cannot hold.

    >>> clean({"role": "user", "content": "ghp_0123456789abcdefghijABCDEFGHIJ012345"})
    {'role': 'user', 'content': '[secret:github-token#1]'}
    """
    cleaned = _clean_value(message, _DEPTH_MAX)
    assert isinstance(cleaned, dict)
    return cleaned


def _clean_value(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return (
            _clean_short(value)
            if len(value) <= _SHORT_CHARS
            else screen(_replace_unstorable(value)).text
        )
    if depth and isinstance(value, Mapping):
        return {_clean_value(str(k), 0): _clean_value(v, depth - 1) for k, v in value.items()}
    if depth and isinstance(value, list | tuple):
        return [_clean_value(item, depth - 1) for item in value]
    if isinstance(value, float) and not isfinite(value):
        return None  # JSON has neither infinity nor NaN
    return value if isinstance(value, int | float) else None


@lru_cache(maxsize=1_024)
def _clean_short(text: str) -> str:
    """Clean a short text, cached: keys, roles and types repeat in every message."""
    return screen(_replace_unstorable(text)).text


def _replace_unstorable(text: str) -> str:
    """Replace NUL and lone surrogates, which SQLite or UTF-8 cannot hold."""
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    try:
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def remove_echoes(messages: Sequence[Message], texts: Sequence[str] = ()) -> list[Message]:
    """Return *messages* without memd's own texts, in the same number and order, some of them blank.

    Sentences of an assistant that only repeat memd's texts are removed too. Those are the texts
    within *messages*, and *texts* that memd injected into the session.

    >>> remove_echoes([{"role": "tool", "name": "memd_search", "content": "8443"}])
    [{'role': 'tool', 'name': 'memd_search', 'content': ''}]
    """
    turns = [parse_turn(message) for message in messages]
    names = pair_results(turns).names
    known = KnownWords([*texts, *_memd_texts(turns, names)])
    cleaned = [_remove_own_parts(message, index, names) for index, message in enumerate(messages)]
    return [_remove_repeats(message, known) for message in cleaned] if known else cleaned


def _memd_texts(
    turns: Sequence[TranscriptTurn], names: Mapping[tuple[int, int], str]
) -> Iterator[str]:
    """Yield the texts within memd's fences and in the results of its tools."""
    for index, turn in enumerate(turns):
        yield from find_fenced(turn.text)
        for number, result in enumerate(turn.results):
            texts = find_fenced(result.text)
            if not texts and _is_own_tool(names.get((index, number)) or result.name):
                texts = [line for part in result.text.splitlines() if (line := strip_labels(part))]
            yield from texts


def _remove_repeats(message: Message, known: KnownWords) -> Message:
    """Return an assistant's *message* without sentences that repeat memd's texts."""
    content = message.get("content")
    if message.get("role") != "assistant":
        return message
    if isinstance(content, str):
        return message | {"content": remove_known(content, known)}
    if isinstance(content, list):
        return message | {"content": [_remove_block_repeats(block, known) for block in content]}
    return message


def _remove_block_repeats(block: Any, known: KnownWords) -> Any:
    if isinstance(block, str):
        return remove_known(block, known)
    text = block.get("text") if isinstance(block, Mapping) else None
    return {**block, "text": remove_known(text, known)} if isinstance(text, str) else block


def _remove_own_parts(
    message: Message, index: int, names: Mapping[tuple[int, int], str]
) -> Message:
    """Return *message* without memd's fences and without calls and results of its tools.

    *index* is that of the message; *names* are the tools of results, as in ``ResultPairs``.
    """
    if message.get("role") == TOOL_ROLE and _is_own_tool(names.get((index, 0))):
        return message | {"content": ""}
    changes: Message = {}
    content = message.get("content")
    if isinstance(content, str):
        changes["content"] = strip_injected(content)
    elif isinstance(content, list):
        changes["content"] = _remove_own_blocks(content, index, names)
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        changes["tool_calls"] = [call for call in calls if not _is_own_call(call)]
    return message | changes


def _remove_own_blocks(
    blocks: Sequence[Any], index: int, names: Mapping[tuple[int, int], str]
) -> list[Any]:
    remaining: list[Any] = []
    number = 0
    for block in blocks:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "tool_result":
            if not _is_own_tool(names.get((index, number))):
                remaining.append(_clean_field(block, "content"))
            number += 1
        elif isinstance(block, str):
            remaining.append(strip_injected(block))
        elif kind != "tool_use" or not _is_own_tool(block.get("name")):
            remaining.append(_clean_field(block, "text"))
    return remaining


def _clean_field(block: Any, field: str) -> Any:
    text = block.get(field) if isinstance(block, Mapping) else None
    if isinstance(text, list):
        return {**block, field: [_clean_field(part, "text") for part in text]}
    return {**block, field: strip_injected(text)} if isinstance(text, str) else block


def _is_own_call(call: object) -> bool:
    if not isinstance(call, Mapping):
        return False
    function = call.get("function")
    return _is_own_tool((function if isinstance(function, Mapping) else call).get("name"))


def _is_own_tool(name: object) -> bool:
    return isinstance(name, str) and _OWN_TOOL.fullmatch(name.strip()) is not None


class StoredMessage(NamedTuple):
    """A message as it is stored; *nth* is the number of earlier messages with the same text."""

    role: str
    sha256: bytes
    zlib: bytes
    nth: int
    said_at: datetime | None = None


def to_stored(messages: Sequence[Message]) -> tuple[StoredMessage | None, ...]:
    """Return the stored form of each message, None for a message without text."""
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
    """Return the text to store for a message: its text, and its tool calls with their arguments.

    >>> text_to_store({"content": [{"type": "tool_use", "name": "ls", "input": {"path": "."}}]})
    '[calls ls] {"path": "."}'
    """
    lines = [
        text_of(message.get("content")),
        *(_render_call(*call) for call in _tool_calls(message)),
    ]
    return "\n".join(line for line in lines if line)


def _tool_calls(message: Message) -> list[tuple[Any, Any]]:
    """Return the name and the arguments of each tool call, in both formats (``blocks.py``)."""
    content, tool_calls = message.get("content"), message.get("tool_calls")
    blocks = content if isinstance(content, list) else [content]
    calls = [
        (block.get("name"), block.get("input"))
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "tool_use"
    ]
    for call in tool_calls if isinstance(tool_calls, list) else ():
        if isinstance(call, dict):
            tool = call["function"] if isinstance(call.get("function"), dict) else call
            calls.append((tool.get("name"), tool.get("arguments")))
    return calls


def _render_call(name: Any, arguments: Any) -> str:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return f"[calls {name}] {text}" if arguments else f"[calls {name}]"


def role_of(message: Message) -> str:
    """Return the role of *message*: ``tool`` if it has only results, "unknown" if it has none."""
    role = message.get("role")
    turn = parse_turn(message)
    if turn.results and not turn.text.strip():
        return TOOL_ROLE
    return role[:_ROLE_CHARS] if isinstance(role, str) and role.strip() else "unknown"


def date_undated(messages: Sequence[Message], said_at: datetime | None) -> list[Message]:
    """Return *messages* with the timestamp *said_at*, unless one of them has a timestamp."""
    if said_at is None or any(timestamp_of(message) is not None for message in messages):
        return list(messages)
    return [{**message, "timestamp": said_at.isoformat()} for message in messages]


def timestamp_of(message: Message) -> datetime | None:
    """Return the message's timestamp if it has a time zone, else None.

    Years up to 1970 come from a clock that was never set and count as none. A time in the future
    is handled when the message is stored.
    """
    text = message.get("timestamp")
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None and _UNSET_YEAR < moment.year < MAXYEAR else None
