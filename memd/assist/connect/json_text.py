"""Edit JSON in place; comments and trailing commas are allowed and stay.

A text is parsed into nodes with positions. An edit replaces the text between two positions and
leaves every other byte. No maintained library does that (decision 0132). Adding a value and
removing it again restores the same bytes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from memd.assist.connect.text import Path, UnreadableError, line_of, line_start, newline

NESTING_MAX: Final = 200
"""Maximum depth, so that a hostile file cannot exhaust the stack."""

_SPACE = re.compile(r"[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/", re.DOTALL)
"""White space, a byte order mark, or one comment."""
_SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?\d[\d.eE+-]*|true|false|null')
"""A string, a number or a constant; ``json.loads`` then checks it."""
_LINE_COMMENT = re.compile(r"[ \t]*(?://[^\n]*?(?=\r?\n|\Z)|/\*[^\n]*?\*/)")
"""A comment on the rest of a line, such as `` // why``, without the line break."""
_BLANKS = re.compile(r"[ \t]*")


@dataclass(slots=True)
class Node:
    """A value: its position in the text, and its content."""

    start: int
    end: int
    value: Any = None
    """The value of a scalar, None for a container."""
    opens: str = ""
    """``{`` or ``[`` for a container, "" for a scalar."""
    members: list[JsonMember] = field(default_factory=list)
    """The members or items of a container."""


@dataclass(slots=True)
class JsonMember:
    """A key and its value, or an item of a list."""

    key: str | int
    """The key, or the index of an item."""
    start: int
    """The position of the key, or of an item."""
    node: Node


def values(text: str) -> Any:
    """Return the value of *text*, ``{}`` for an empty one. Raises UnreadableError."""
    return _to_python(_read(text))


def put(text: str, path: Path, value: Any) -> str:
    """Return *text* with *value* at *path*; missing parents are created."""
    root = _read(text)
    for depth, key in enumerate(path):
        member = _member(root, key)
        if member is None:
            for parent in reversed(path[depth + 1 :]):
                value = {parent: value}
            return _insert(_or_empty_object(text), root, str(key), value)
        if depth == len(path) - 1:
            node = member.node
            unit = "" if _inline(text, root) else _unit(text)
            new = _render(value, unit, _indent(text, member.start), newline(text))
            return text[: node.start] + new + text[node.end :]
        root = member.node
    raise UnreadableError("there is nothing to put")


def append(text: str, path: Path, value: Any) -> str:
    """Return *text* with *value* appended to the list at *path*, which is created if missing."""
    node = _at(_read(text), path)
    if node is None:
        return put(text, path, [value])
    return _insert(text, node, None, value)


def remove(text: str, path: Path) -> str:
    """Return *text* without the member or item at *path*; unchanged if there is none."""
    parent = _at(_read(text), path[:-1])
    member = _member(parent, path[-1]) if parent else None
    if parent is None or member is None:
        return text
    return _remove_member(text, parent, member)


def literal(text: str, path: Path) -> str | None:
    """Return the source text of the value at *path*, None if there is none."""
    node = _at(_read(text), path)
    return None if node is None else text[node.start : node.end]


def put_literal(text: str, path: Path, rendered: str) -> str:
    """Return *text* with *rendered* as the source text of the value at *path*."""
    node = _at(_read(text), path)
    if node is None:
        raise UnreadableError("there is nothing to replace")
    return text[: node.start] + rendered + text[node.end :]


def _or_empty_object(text: str) -> str:
    return text if text.strip("\ufeff \t\r\n") else text + "{}\n"


def _read(text: str) -> Node:
    complete = _or_empty_object(text)
    at = _skip(complete, 0)
    node = _node(complete, at, 0)
    end = _skip(complete, node.end)
    if end != len(complete):
        _refuse(complete, end)
    return node


def _node(text: str, at: int, depth: int) -> Node:
    opens = text[at : at + 1]
    if opens in ("{", "["):
        if depth > NESTING_MAX:
            raise UnreadableError("it is nested too deeply", line_of(text, at))
        return _container(text, at, depth)
    match = _SCALAR.match(text, at)
    if match is None:
        _refuse(text, at)
    try:
        return Node(at, match.end(), json.loads(match[0]))
    except ValueError:
        _refuse(text, at)


def _container(text: str, at: int, depth: int) -> Node:
    node = Node(at, at, opens=text[at])
    closes = "}" if text[at] == "{" else "]"
    keys: set[str | int] = set()
    at = _skip(text, at + 1)
    while text[at : at + 1] != closes:
        start = at
        key: str | int = len(node.members)
        if closes == "}":
            name = _node(text, at, depth + 1)
            at = _skip(text, name.end)
            if not isinstance(name.value, str) or text[at : at + 1] != ":":
                _refuse(text, at)
            if name.value in keys:
                raise UnreadableError(f"{name.value!r} occurs twice", line_of(text, start))
            keys.add(name.value)
            key, at = name.value, _skip(text, at + 1)
        inner = _node(text, at, depth + 1)
        node.members.append(JsonMember(key, start, inner))
        at = _skip(text, inner.end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != closes:
            _refuse(text, at)
    node.end = at + 1
    return node


def _skip(text: str, at: int) -> int:
    """Return the position after white space and comments."""
    while match := _SPACE.match(text, at):
        at = match.end()
    return at


def _refuse(text: str, at: int) -> NoReturn:
    raise UnreadableError("it is not JSON", line_of(text, min(at, len(text))))


def _to_python(node: Node) -> Any:
    if node.opens == "{":
        return {member.key: _to_python(member.node) for member in node.members}
    if node.opens:
        return [_to_python(member.node) for member in node.members]
    return node.value


def _at(node: Node, path: Path) -> Node | None:
    for key in path:
        member = _member(node, key)
        if member is None:
            return None
        node = member.node
    return node


def _member(node: Node, key: str | int) -> JsonMember | None:
    return next((member for member in node.members if member.key == key), None)


def _insert(text: str, parent: Node, key: str | None, value: Any) -> str:
    """Return *text* with a new last member of *parent*, or a new last item if *key* is None."""
    if parent.opens != ("[" if key is None else "{"):
        raise UnreadableError("it has another kind of value there", line_of(text, parent.start))
    inline, line = _inline(text, parent), newline(text)
    if parent.members:
        indent = _indent(text, parent.members[-1].start)
    else:
        indent = _indent(text, parent.start) + _unit(text)
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    new = name + _render(value, "" if inline else _unit(text), indent, line)
    new = f" {new}" if inline else line + indent + new
    if not parent.members:
        at = parent.start + 1
        return text[:at] + new + _closing_blanks(text, parent) + text[at:]
    end = parent.members[-1].node.end
    comma = _comma(text, end)
    at = end if comma is None else comma + 1
    at = at if inline else _after_comment(text, at)
    if comma is None:
        return text[:end] + "," + text[end:at] + new + text[at:]
    return text[:at] + new + "," + text[at:]


def _closing_blanks(text: str, parent: Node) -> str:
    """Return the blanks to put after the first member of an empty container.

    :func:`_remove_member` recognizes them, so that removal restores the same bytes.
    """
    line, at = newline(text), parent.start + 1
    if text[at] in "}]":
        return line + _indent(text, parent.start)
    return line if text.startswith(line, at) else ""


def _remove_member(text: str, parent: Node, member: JsonMember) -> str:
    """Return *text* without *member*, restoring the blanks from before it was added."""
    index = parent.members.index(member)
    start, end = _blanks_start(text, member.start), member.node.end
    comma = _comma(text, end)
    if comma is not None:  # not the last member, or one with a trailing comma
        return text[:start] + text[comma + 1 :]
    if index:  # the last of several members: the comma before it goes, too
        before = _comma(text, parent.members[index - 1].node.end)
        assert before is not None
        return text[:before] + text[before + 1 : start] + text[end:]
    # The only member.
    if text[parent.start + 1 : start].strip():
        return text[:start] + text[end:]  # below a comment, whose line must end
    line = newline(text)
    closing = line + _indent(text, parent.start)
    if text.startswith(closing, end) and end + len(closing) == parent.end - 1:
        end += len(closing)
    elif text.startswith(line + line, end):
        end += len(line)
    return text[:start] + text[end:]


def _comma(text: str, at: int) -> int | None:
    """Return the position of a comma that follows, None if something else does."""
    at = _skip(text, at)
    return at if text[at : at + 1] == "," else None


def _after_comment(text: str, at: int) -> int:
    """Return the end of a comment that follows on the same line, or *at*."""
    match = _LINE_COMMENT.match(text, at)
    return match.end() if match else at


def _blanks_start(text: str, at: int) -> int:
    """Return the start of the blanks before *at*: one line break and the indentation."""
    start = at
    while start and text[start - 1] in " \t":
        start -= 1
    if start and text[start - 1] == "\n":
        start -= 2 if text[start - 2 : start - 1] == "\r" else 1
    return start


def _inline(text: str, node: Node) -> bool:
    """Return whether a non-empty container is written on one line."""
    return bool(node.members) and "\n" not in text[node.start : node.members[-1].start]


def _indent(text: str, at: int) -> str:
    """Return the indentation of the line at position *at*."""
    match = _BLANKS.match(text, line_start(text, at))
    return match[0] if match else ""


def _unit(text: str) -> str:
    """Return the indentation of one level: that of the first indented line, or two blanks."""
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else "  "


def _render(value: Any, unit: str, indent: str, line: str) -> str:
    """Return *value* as JSON on one line, or with *unit* as indentation on several.

    The lines after the first begin with *indent*, and end with the line ending *line*.
    """
    if not unit:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return (line + indent).join(lines)
