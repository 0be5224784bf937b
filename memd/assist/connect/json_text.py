"""JSON, with comments and trailing commas where a file has them, edited where it stands.

A text is read into nodes that know where they begin and end; an edit puts text between two
positions and leaves the rest as it is. No library of the package index keeps every byte of a
file and is looked after (decision 0132). What is put in and taken out again leaves the same bytes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from memd.assist.connect.text import Path, UnreadableError, line_of, line_start, newline

NESTING_MAX: Final = 200

_SPACE = re.compile(r"[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/", re.DOTALL)
_SCALAR = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"|-?\d[\d.eE+-]*|true|false|null')
_LINE_COMMENT = re.compile(r"[ \t]*(?://[^\n]*?(?=\r?\n|\Z)|/\*[^\n]*?\*/)")
_BLANKS = re.compile(r"[ \t]*")


@dataclass(slots=True)
class Node:
    """A value: where it stands, and what is in it."""

    start: int
    end: int
    value: Any = None
    """Of a scalar; of a container None."""
    opens: str = ""
    """``{`` or ``[`` of a container."""
    members: list[JsonMember] = field(default_factory=list)


@dataclass(slots=True)
class JsonMember:
    """A key and its value, or an item of a list; *start* is that of the key."""

    key: str | int
    start: int
    node: Node


def values(text: str) -> Any:
    """Return what *text* says; of an empty one ``{}``. Raises UnreadableError."""
    return _plain(_read(text))


def put(text: str, path: Path, value: Any) -> str:
    """Return *text* with *value* at *path*; what stands above it is made where it is missing."""
    root = _read(text)
    for depth, key in enumerate(path):
        member = _member(root, key)
        if member is None:
            for above in reversed(path[depth + 1 :]):
                value = {above: value}
            return _inserted(_filled(text), root, str(key), value)
        if depth == len(path) - 1:
            node = member.node
            unit = "" if _inline(text, root) else _unit(text)
            new = _rendered(value, unit, _indent(text, member.start), newline(text))
            return text[: node.start] + new + text[node.end :]
        root = member.node
    raise UnreadableError("there is nothing to put")


def append(text: str, path: Path, value: Any) -> str:
    """Return *text* with *value* last in the list at *path*, which is made if missing."""
    node = _at(_read(text), path)
    if node is None:
        return put(text, path, [value])
    return _inserted(text, node, None, value)


def take(text: str, path: Path) -> str:
    """Return *text* without the member or item that *path* leads to."""
    above = _at(_read(text), path[:-1])
    member = _member(above, path[-1]) if above else None
    if above is None or member is None:
        return text
    return _without(text, above, member)


def literal(text: str, path: Path) -> str | None:
    """Return how the value at *path* is written."""
    node = _at(_read(text), path)
    return None if node is None else text[node.start : node.end]


def put_literal(text: str, path: Path, written: str) -> str:
    """Return *text* with the value at *path* written so."""
    node = _at(_read(text), path)
    if node is None:
        raise UnreadableError("there is nothing to replace")
    return text[: node.start] + written + text[node.end :]


def _filled(text: str) -> str:
    return text if text.strip("\ufeff \t\r\n") else text + "{}\n"


def _read(text: str) -> Node:
    filled = _filled(text)
    at = _skip(filled, 0)
    node = _node(filled, at, 0)
    rest = _skip(filled, node.end)
    if rest != len(filled):
        _refuse(filled, rest)
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
                raise UnreadableError(f"{name.value!r} stands there twice", line_of(text, start))
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
    while match := _SPACE.match(text, at):
        at = match.end()
    return at


def _refuse(text: str, at: int) -> NoReturn:
    raise UnreadableError("it is not JSON", line_of(text, min(at, len(text))))


def _plain(node: Node) -> Any:
    if node.opens == "{":
        return {member.key: _plain(member.node) for member in node.members}
    if node.opens:
        return [_plain(member.node) for member in node.members]
    return node.value


def _at(node: Node, path: Path) -> Node | None:
    for key in path:
        member = _member(node, key)
        if member is None:
            return None
        node = member.node
    return node


def _member(node: Node, key: str | int) -> JsonMember | None:
    return next((each for each in node.members if each.key == key), None)


def _inserted(text: str, above: Node, key: str | None, value: Any) -> str:
    """Return *text* with a last member or item in *above*."""
    if above.opens != ("[" if key is None else "{"):
        raise UnreadableError("it holds something else there", line_of(text, above.start))
    inline, line = _inline(text, above), newline(text)
    if above.members:
        indent = _indent(text, above.members[-1].start)
    else:
        indent = _indent(text, above.start) + _unit(text)
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    new = name + _rendered(value, "" if inline else _unit(text), indent, line)
    new = f" {new}" if inline else line + indent + new
    if not above.members:
        at = above.start + 1
        return text[:at] + new + _closing(text, above) + text[at:]
    end = above.members[-1].node.end
    comma = _comma(text, end)
    at = end if comma is None else comma + 1
    at = at if inline else _after_comment(text, at)
    if comma is None:
        return text[:end] + "," + text[end:at] + new + text[at:]
    return text[:at] + new + "," + text[at:]


def _closing(text: str, above: Node) -> str:
    """Return what follows the first member of an empty container, so that it can be told again."""
    line, at = newline(text), above.start + 1
    if text[at] in "}]":
        return line + _indent(text, above.start)
    return line if text.startswith(line, at) else ""


def _without(text: str, above: Node, member: JsonMember) -> str:
    """Return *text* as it was before *member* was put into it."""
    place = above.members.index(member)
    start, end = _back(text, member.start), member.node.end
    comma = _comma(text, end)
    if comma is not None:
        return text[:start] + text[comma + 1 :]
    if place:
        before = _comma(text, above.members[place - 1].node.end)
        assert before is not None
        return text[:before] + text[before + 1 : start] + text[end:]
    if text[above.start + 1 : start].strip():
        return text[:start] + text[end:]  # a comment's line ends here
    line = newline(text)
    closing = line + _indent(text, above.start)
    if text.startswith(closing, end) and end + len(closing) == above.end - 1:
        end += len(closing)
    elif text.startswith(line + line, end):
        end += len(line)
    return text[:start] + text[end:]


def _comma(text: str, at: int) -> int | None:
    at = _skip(text, at)
    return at if text[at : at + 1] == "," else None


def _after_comment(text: str, at: int) -> int:
    """Return where the comment that follows on the same line ends, or *at*."""
    match = _LINE_COMMENT.match(text, at)
    return match.end() if match else at


def _back(text: str, at: int) -> int:
    """Return where the blanks before *at* begin: one line break, and what indents."""
    start = at
    while start and text[start - 1] in " \t":
        start -= 1
    if start and text[start - 1] == "\n":
        start -= 2 if text[start - 2 : start - 1] == "\r" else 1
    return start


def _inline(text: str, node: Node) -> bool:
    """Return whether a container with something in it stands on one line."""
    return bool(node.members) and "\n" not in text[node.start : node.members[-1].start]


def _indent(text: str, at: int) -> str:
    match = _BLANKS.match(text, line_start(text, at))
    return match[0] if match else ""


def _unit(text: str) -> str:
    """Return how much deeper each level stands: what the first indented line shows, or two."""
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else "  "


def _rendered(value: Any, unit: str, indent: str, line: str) -> str:
    if not unit:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return (line + indent).join(lines)
