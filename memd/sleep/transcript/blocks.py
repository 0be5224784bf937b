"""Parse a message into text, tool calls and tool results (SPEC 6.10-6.13).

Messages of other programs have one of two formats: a text with ``tool_calls`` and
``tool_call_id`` (OpenAI), or a list of blocks ``text``, ``tool_use``, ``tool_result`` (Anthropic).
Both become a :class:`TranscriptTurn`. Missing, mistyped or cyclic parts are no error, and count as
empty. Messages are never changed.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memd.signals.lines import ERROR_FIELDS, EXIT_CODE_FIELDS

TOOL_ROLE = "tool"
TOOL_NAME = "tool"

_RESULT_KIND = "tool_result"
_FAILED_STATES = ("error", "failed")
_CALL_KIND = "tool_use"
# Blocks without text, or with text that is meant for the model alone.
_SKIPPED_KINDS = frozenset(
    ("thinking", "redacted_thinking", "image", "image_url", "document", _CALL_KIND)
)


class ToolCall(NamedTuple):
    """A tool that a message calls. *id* is "" where the program gives none."""

    id: str
    name: str


class ToolResult(NamedTuple):
    """The result of a tool. *name* is "" unless the message itself contains it.

    *failed* is whether its fields say that it failed; None if they say nothing.
    """

    id: str
    name: str
    text: str
    failed: bool | None = None


class TranscriptTurn(NamedTuple):
    """One message. *text* does not include that of the *results*."""

    role: str
    text: str
    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...]


class ResultPairs(NamedTuple):
    """The calls to which results belong, by the index of the message."""

    names: dict[tuple[int, int], str]
    """The tool's name of a result, by the index of its message and its number there."""
    starts: list[int]
    """For each message the index of the earliest call of one of its results, else its own."""
    unanswered: dict[int, tuple[str, ...]]
    """The names of tools that a message calls and that have no result."""


def parse_turn(message: object) -> TranscriptTurn:
    """Parse *message*. A message of a tool is a turn with one result and no text.

    >>> parse_turn({"role": "tool", "name": "ls", "content": "a.py"}).results
    (ToolResult(id='', name='ls', text='a.py', failed=None),)
    """
    if not isinstance(message, Mapping):
        return TranscriptTurn("", text_of(message), (), ())
    role, content = _string(message.get("role")), message.get("content")
    calls = tuple(_openai_calls(message.get("tool_calls")))
    if role == TOOL_ROLE:
        result = ToolResult(
            _string(message.get("tool_call_id")),
            _tool_name(message),
            text_of(content),
            _has_failed(message, content),
        )
        return TranscriptTurn(role, "", calls, (result,))
    blocks = _blocks(content)
    if blocks is None:
        return TranscriptTurn(role, text_of(content), calls, ())
    results = (_parse_result(block) for block in blocks if _kind(block) == _RESULT_KIND)
    block_calls = (
        ToolCall(_string(b["id"]) if "id" in b else "", _tool_name(b)) for b in _call_blocks(blocks)
    )
    return TranscriptTurn(role, _own_text(blocks), (*calls, *block_calls), tuple(results))


def text_of(content: object) -> str:
    """Return all text of a message's content, including the results in its blocks.

    None is "" (SPEC 6.10); anything that is neither text nor blocks is its ``str()``.

    >>> text_of([{"type": "text", "text": "see "}, {"type": "image"}, {"text": "below"}])
    'see below'
    """
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    blocks = _blocks(content)
    if blocks is None:
        return _to_text(content)
    return "".join(
        _parse_result(block).text if _kind(block) == _RESULT_KIND else _own_text([block])
        for block in blocks
    )


def all_text(message: object) -> str:
    """Return all text of *message*, as :func:`text_of` returns that of its content."""
    return text_of(message.get("content") if isinstance(message, Mapping) else message)


def call_texts(message: object) -> str:
    """Return the strings in the arguments of the calls of *message*, joined by newlines."""
    return "\n".join(_iter_texts([_decode_json(arguments) for arguments in _arguments(message)]))


def call_arguments(message: object) -> list[object]:
    """Return the arguments of each call of *message*, in the order of ``TranscriptTurn.calls``.

    JSON text is decoded; text that is no JSON object is returned as it is.

    >>> call_arguments({"content": [{"type": "tool_use", "input": {"command": "ls"}}]})
    [{'command': 'ls'}]
    """
    if not isinstance(message, Mapping):
        return []
    blocks = _blocks(message.get("content")) or ()
    inputs = [block.get("input") for block in _call_blocks(blocks)]
    return [_decode_json(arguments) for arguments in (*_openai_arguments(message), *inputs)]


def argument_chars(message: object) -> int:
    """Return the number of characters of all call arguments of *message*, as text or JSON.

    >>> argument_chars({"content": [{"type": "tool_use", "input": {"path": "."}}]})
    13
    """
    return sum(len(_serialize(arguments)) for arguments in _arguments(message))


def pair_results(turns: Sequence[TranscriptTurn]) -> ResultPairs:
    """Match results with calls, by id or else by order.

    Some programs restart the numbering of calls in every turn, so an id means the latest call with
    it. A result without an id belongs to the first open call of the latest turn with calls, unless
    another message came in between. Other results belong to no call.
    """
    pairs = ResultPairs({}, list(range(len(turns))), {})
    latest_by_id: dict[str, tuple[int, str]] = {}
    open_calls: dict[int, OrderedDict[str, str]] = {}
    latest_caller = -1  # the index of the turn whose calls a result without an id belongs to
    for index, turn in enumerate(turns):
        for number, result in enumerate(turn.results):
            caller, name = (
                latest_by_id.get(result.id, (-1, "")) if result.id else (latest_caller, "")
            )
            name_by_order = _pop_call(open_calls.get(caller), result.id)
            pairs.names[index, number] = result.name or name or name_by_order or TOOL_NAME
            if caller >= 0:
                pairs.starts[index] = min(pairs.starts[index], caller)
        if turn.calls:
            open_calls[index] = _by_id(turn.calls)
            latest_by_id |= {call.id: (index, call.name) for call in turn.calls if call.id}
            latest_caller = index
        elif not turn.results:
            latest_caller = -1
    for index, calls in open_calls.items():
        if calls:
            pairs.unanswered[index] = tuple(name or TOOL_NAME for name in calls.values())
    return pairs


def _by_id(calls: Sequence[ToolCall]) -> OrderedDict[str, str]:
    """Return the names of *calls* by id; a call without an id gets its number as key."""
    return OrderedDict((call.id or f"\0{number}", call.name) for number, call in enumerate(calls))


def _pop_call(calls: OrderedDict[str, str] | None, call_id: str) -> str:
    """Remove the call *call_id* from *calls*, or the first if it is "", and return its name."""
    if not calls:
        return ""
    return calls.pop(call_id, "") if call_id else calls.popitem(last=False)[1]


def _blocks(content: object) -> Sequence[object] | None:
    """Return the blocks of *content*, or None if it is no list of blocks and texts."""
    if isinstance(content, Mapping):
        return [content] if _kind(content) or "text" in content else None
    if not isinstance(content, list | tuple):
        return None
    readable = any(isinstance(block, Mapping | str) for block in content)
    return content if readable or not content else None


def _own_text(blocks: Sequence[object]) -> str:
    """Return the text blocks, joined without a separator (SPEC 6.11)."""
    return "".join(
        block
        if isinstance(block, str)
        else _string(block.get("text"))
        if isinstance(block, Mapping) and _kind(block) not in _SKIPPED_KINDS
        else ""
        for block in blocks
    )


def _parse_result(block: object) -> ToolResult:
    assert isinstance(block, Mapping)
    content = block.get("content")
    blocks = _blocks(content)
    # One level: no program nests results in results, and nesting may be endless.
    text = text_of(content) if blocks is None else _own_text(blocks)
    return ToolResult(_string(block.get("tool_use_id")), "", text, _has_failed(block, content))


def _has_failed(*parts: object) -> bool | None:
    """Return whether fields of *parts* say that a tool failed; None if they say nothing.

    An error flag that is false says nothing: programs write it for every completed command.
    """
    fields = [part for part in parts if isinstance(part, Mapping)]
    codes = [part[key] for part in fields for key in EXIT_CODE_FIELDS if key in part]
    states = [code != 0 for code in codes if isinstance(code, int) and not isinstance(code, bool)]
    is_error = any(part.get(key) is True for part in fields for key in ERROR_FIELDS)
    is_error |= any(part.get("status") in _FAILED_STATES for part in fields)
    return True if is_error or any(states) else False if states else None


def _call_blocks(blocks: Sequence[object]) -> Iterator[Mapping[str, Any]]:
    return (b for b in blocks if isinstance(b, Mapping) and _kind(b) == _CALL_KIND)


def _openai_calls(calls: object) -> Iterator[ToolCall]:
    for call in calls if isinstance(calls, list | tuple) else ():
        if isinstance(call, Mapping):
            function = call.get("function")
            tool = function if isinstance(function, Mapping) else call
            yield ToolCall(_string(call.get("id")), _tool_name(tool))


def _arguments(message: object) -> Iterator[object]:
    """Yield the arguments of each call of *message*: an object, or its JSON text."""
    if not isinstance(message, Mapping):
        return
    for block in _blocks(message.get("content")) or ():
        if isinstance(block, Mapping):
            yield block.get("input")
    yield from _openai_arguments(message)


def _openai_arguments(message: Mapping[str, Any]) -> Iterator[object]:
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list | tuple) else ():
        if isinstance(call, Mapping):
            function = call.get("function")
            yield (function if isinstance(function, Mapping) else call).get("arguments")


def _serialize(arguments: object) -> str:
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return _to_text(arguments)


def _decode_json(arguments: object) -> object:
    """Return the object if *arguments* is the JSON text of one, else *arguments* unchanged."""
    if not isinstance(arguments, str) or not arguments.startswith("{"):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def _iter_texts(value: object) -> Iterator[str]:
    """Yield the texts within lists and mappings at any depth, each container once."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping | list | tuple) and id(value) not in seen:
            seen.add(id(value))
            inner = value.values() if isinstance(value, Mapping) else value
            stack.extend(reversed(list(inner)))


def _kind(block: object) -> str:
    return _string(block.get("type")) if isinstance(block, Mapping) else ""


def _tool_name(tool: Mapping[str, Any]) -> str:
    return _string(tool.get("name")).strip()


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _to_text(value: object) -> str:
    try:
        return str(value)
    except RecursionError:  # nested deeper than Python can print
        return ""
