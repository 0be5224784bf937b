"""What a message says: its text, the tools it calls, the results it brings (SPEC 6.10-6.13).

Messages come from other people's programs, in two shapes: a text beside
``tool_calls`` and ``tool_call_id``, or a list of blocks (``text``, ``tool_use``,
``tool_result``). Both are read into one :class:`Turn`, and nothing that is
missing, of another type, or nested without end is an error: what cannot be read
has no text. Messages are never changed.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

TOOL_ROLE = "tool"
TOOL_NAME = "tool"

_RESULT = "tool_result"
_CALL = "tool_use"
# Their text is for the model's own eyes, or is no text at all.
_SILENT = frozenset(("thinking", "redacted_thinking", "image", "image_url", "document", _CALL))


class ToolCall(NamedTuple):
    """A tool that a message calls. *id* is "" where the program gives none."""

    id: str
    name: str


class Result(NamedTuple):
    """What a tool answered; *name* only where the message itself says it."""

    id: str
    name: str
    text: str


class TranscriptTurn(NamedTuple):
    """One message: its own *text* without the *results* that it carries."""

    role: str
    text: str
    calls: tuple[ToolCall, ...]
    results: tuple[Result, ...]


class Pairs(NamedTuple):
    """Which results belong to which calls, by the place of the message in the list."""

    names: dict[tuple[int, int], str]
    """Of the n-th result of a message, the name of the tool."""
    starts: list[int]
    """Of each message, the earliest one that calls a tool whose result it carries; or itself."""
    unanswered: dict[int, tuple[str, ...]]
    """Of a message, the names of tools that it calls and that never answered."""


def turn(message: object) -> TranscriptTurn:
    """Return *message* as it is understood. A tool message is a turn with one result and no text.

    >>> turn({"role": "tool", "name": "ls", "content": "a.py"}).results
    (Result(id='', name='ls', text='a.py'),)
    """
    if not isinstance(message, Mapping):
        return TranscriptTurn("", text_of(message), (), ())
    role, content = _word(message.get("role")), message.get("content")
    calls = tuple(_openai_calls(message.get("tool_calls")))
    if role == TOOL_ROLE:
        result = Result(_word(message.get("tool_call_id")), _name(message), text_of(content))
        return TranscriptTurn(role, "", calls, (result,))
    blocks = _blocks(content)
    if blocks is None:
        return TranscriptTurn(role, text_of(content), calls, ())
    results = (_result(block) for block in blocks if _kind(block) == _RESULT)
    called = (
        ToolCall(_word(b["id"]) if "id" in b else "", _name(b)) for b in _dicts(blocks, _CALL)
    )
    return TranscriptTurn(role, _own_text(blocks), (*calls, *called), tuple(results))


def text_of(content: object) -> str:
    """Return all text of a message's content, the results in its blocks included.

    None is "" (SPEC 6.10), anything that is neither text nor blocks is ``str()`` of it.

    >>> text_of([{"type": "text", "text": "see "}, {"type": "image"}, {"text": "below"}])
    'see below'
    """
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    blocks = _blocks(content)
    if blocks is None:
        return _printed(content)
    return "".join(
        _result(block).text if _kind(block) == _RESULT else _own_text([block]) for block in blocks
    )


def all_text(message: object) -> str:
    """Return all text that *message* has, as :func:`text_of` its content."""
    return text_of(message.get("content") if isinstance(message, Mapping) else message)


def call_texts(message: object) -> str:
    """Return the texts that *message* calls tools with, a line each or more; "" without a call."""
    return "\n".join(_leaves([_opened(each) for each in _arguments(message)]))


def called_with(message: object) -> list[object]:
    """Return what *message* calls its tools with, in the order of its ``Turn.calls``.

    An object where the program sent one, or the text of one; a text where that cannot be read.

    >>> called_with({"content": [{"type": "tool_use", "input": {"command": "ls"}}]})
    [{'command': 'ls'}]
    """
    if not isinstance(message, Mapping):
        return []
    blocks = _blocks(message.get("content")) or ()
    inputs = [block.get("input") for block in _dicts(blocks, _CALL)]
    return [_opened(each) for each in (*_openai_arguments(message), *inputs)]


def argument_chars(message: object) -> int:
    """Return how many characters *message* calls tools with, as they are sent: text or JSON.

    >>> argument_chars({"content": [{"type": "tool_use", "input": {"path": "."}}]})
    13
    """
    return sum(len(_sent(each)) for each in _arguments(message))


def paired(turns: Sequence[TranscriptTurn]) -> Pairs:
    """Match results with calls: by id with the latest call of that id, without one in order.

    Some programs number their calls anew in every turn, so an id means the call
    that is nearest. A result without an id answers the first open call of the
    turn just before; a result whose call is nowhere belongs to nobody.
    """
    pairs = Pairs({}, list(range(len(turns))), {})
    latest: dict[str, tuple[int, str]] = {}
    waiting: dict[int, OrderedDict[str, str]] = {}
    recent = -1
    for place, one in enumerate(turns):
        for number, result in enumerate(one.results):
            at, name = latest.get(result.id, (-1, "")) if result.id else (recent, "")
            taken = _taken(waiting.get(at), result.id)
            pairs.names[place, number] = result.name or name or taken or TOOL_NAME
            if at >= 0:
                pairs.starts[place] = min(pairs.starts[place], at)
        if one.calls:
            waiting[place] = _by_id(one.calls)
            latest |= {call.id: (place, call.name) for call in one.calls if call.id}
            recent = place
        elif not one.results:
            recent = -1
    for place, calls in waiting.items():
        if calls:
            pairs.unanswered[place] = tuple(name or TOOL_NAME for name in calls.values())
    return pairs


def _by_id(calls: Sequence[ToolCall]) -> OrderedDict[str, str]:
    """Return the names of *calls* by id; one without an id is known by its number."""
    return OrderedDict((call.id or f"\0{number}", call.name) for number, call in enumerate(calls))


def _taken(calls: OrderedDict[str, str] | None, call_id: str) -> str:
    """Take the call *call_id*, or the first one if it is "", out of *calls*; return its name."""
    if not calls:
        return ""
    return calls.pop(call_id, "") if call_id else calls.popitem(last=False)[1]


def _blocks(content: object) -> Sequence[object] | None:
    """Return the blocks of *content*, or None if it has none: a list of numbers is no message."""
    if isinstance(content, Mapping):
        return [content] if _kind(content) or "text" in content else None
    if not isinstance(content, list | tuple):
        return None
    readable = any(isinstance(block, Mapping | str) for block in content)
    return content if readable or not content else None


def _own_text(blocks: Sequence[object]) -> str:
    """Return the text blocks, one after the other with nothing between (SPEC 6.11)."""
    return "".join(
        block
        if isinstance(block, str)
        else _word(block.get("text"))
        if isinstance(block, Mapping) and _kind(block) not in _SILENT
        else ""
        for block in blocks
    )


def _result(block: object) -> Result:
    assert isinstance(block, Mapping)
    content = block.get("content")
    blocks = _blocks(content)
    # One level: a result within a result is nobody's format, and may go on for ever.
    text = text_of(content) if blocks is None else _own_text(blocks)
    return Result(_word(block.get("tool_use_id")), "", text)


def _dicts(blocks: Sequence[object], kind: str) -> Iterator[Mapping[str, Any]]:
    return (b for b in blocks if isinstance(b, Mapping) and _kind(b) == kind)


def _openai_calls(calls: object) -> Iterator[ToolCall]:
    for call in calls if isinstance(calls, list | tuple) else ():
        if isinstance(call, Mapping):
            function = call.get("function")
            named = function if isinstance(function, Mapping) else call
            yield ToolCall(_word(call.get("id")), _name(named))


def _arguments(message: object) -> Iterator[object]:
    """Yield what *message* calls each tool with: an object, or the text of one."""
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


def _sent(arguments: object) -> str:
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return _printed(arguments)


def _opened(arguments: object) -> object:
    """Return what a JSON text holds; any other text, and what cannot be read, as it is."""
    if not isinstance(arguments, str) or not arguments.startswith("{"):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


def _leaves(value: object) -> Iterator[str]:
    """Yield the texts within lists and mappings, however deep, each container once."""
    seen: set[int] = set()
    rest = [value]
    while rest:
        value = rest.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping | list | tuple) and id(value) not in seen:
            seen.add(id(value))
            inner = value.values() if isinstance(value, Mapping) else value
            rest.extend(reversed(list(inner)))


def _kind(block: object) -> str:
    return _word(block.get("type")) if isinstance(block, Mapping) else ""


def _name(named: Mapping[str, Any]) -> str:
    return _word(named.get("name")).strip()


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def _printed(value: object) -> str:
    try:
        return str(value)
    except RecursionError:  # nested deeper than Python can print
        return ""
