"""Edit YAML in place, at the positions that PyYAML reports.

Libraries that read and write whole files keep comments, but not every quote and blank.
"""

from __future__ import annotations

import json
from typing import Any

import yaml

from memd.assist.connect import text as texts
from memd.assist.connect.text import Path, UnreadableError, line_end, line_start, newline

INDENT = 2
"""Columns by which a new block is indented below its parent."""


def values(text: str) -> Any:
    """Return the value of *text*, ``{}`` for an empty one. Raises UnreadableError."""
    try:
        tree = yaml.safe_load(_without_bom(text))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise UnreadableError("it is not YAML", mark.line + 1 if mark else None) from None
    return {} if tree is None else tree


def put(text: str, path: Path, value: Any) -> str:
    """Return *text* with *value* at *path*; missing parents are created."""
    if texts.at(values(text), path) is not None:
        text = remove(text, path)
    node, column = _root(text), 0
    for depth, key in enumerate(path):
        child = _child(node, key)
        if child is None:
            for outer in reversed(path[depth + 1 :]):
                value = {outer: value}
            return _insert(text, node, column, {key: value})
        column, node = child
    raise UnreadableError("it has another kind of value there")


def append(text: str, path: Path, value: Any) -> str:
    """Return *text* with *value* appended to the list at *path*, which is created if missing."""
    node, column = _root(text), 0
    for key in path:
        child = _child(node, key)
        if child is None:
            return put(text, path, [value])
        column, node = child
    return _insert(text, node, column, [value])


def remove(text: str, path: Path) -> str:
    """Return *text* without the member or item at *path*; unchanged if there is none."""
    node = _root(text)
    for key in path[:-1]:
        child = _child(node, key)
        if child is None:
            return text
        node = child[1]
    spans = _spans(node)
    index = next((n for n, (key, *_) in enumerate(spans) if key == path[-1]), None)
    if index is None:
        return text
    shift = len(text) - len(_without_bom(text))
    _, start, end = spans[index]
    if node is not None and node.flow_style:  # [a, b] or {a: 1}: a comma goes, too
        if index:
            start = spans[index - 1][2]
        elif index + 1 < len(spans):
            end = spans[index + 1][1]
        return text[: start + shift] + text[end + shift :]
    start, end = line_start(text, start + shift), line_end(text, end + shift)
    before = text[:start]
    if end == len(text) and not text.endswith("\n"):
        before = before.removesuffix("\n").removesuffix("\r")
    return before + text[end:]


def _without_bom(text: str) -> str:
    """Return *text* without a byte order mark; positions of PyYAML do not count it."""
    return text.removeprefix("\ufeff")


def _root(text: str) -> Any:
    return yaml.compose(_without_bom(text), yaml.SafeLoader)


def _child(node: Any, key: str | int) -> tuple[int, Any] | None:
    """Return the column and the node of a member or item of *node*, None if there is none."""
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if name.value == key:
                return name.start_mark.column, value
    elif isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
        return node.start_mark.column, node.value[key]
    return None


def _spans(node: Any) -> list[tuple[str | int, int, int]]:
    """Return the key or index, the start and the end of each member or item."""
    if isinstance(node, yaml.MappingNode):
        return [(k.value, k.start_mark.index, max(_end(k), _end(v))) for k, v in node.value]
    if isinstance(node, yaml.SequenceNode):
        return [(n, item.start_mark.index, _end(item)) for n, item in enumerate(node.value)]
    return []


def _end(node: Any) -> int:
    """Return the end of *node*'s text. PyYAML's end mark of a block is after the blanks there."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        return max(end for *_, end in _spans(node)) if node.value else node.start_mark.index
    text = node.end_mark.buffer[: node.end_mark.pointer] if node.end_mark.buffer else ""
    blank = len(text) - len(text.rstrip(" \t\r\n"))
    return int(node.end_mark.index) - blank


def _insert(text: str, node: Any, column: int, value: Any) -> str:
    """Return *text* with the members or items of *value* added to *node*, None for an empty file.

    *column* is that of the key of *node*.
    """
    shift = len(text) - len(_without_bom(text))
    is_list = isinstance(value, list)
    if node is None:
        return _put_lines(text, len(text), 0, value)
    if isinstance(node, yaml.ScalarNode):
        # A key without a value ("hooks:") is an empty scalar, to be filled.
        if node.value or node.style or node.end_mark.index > node.start_mark.index:
            raise UnreadableError("it has another kind of value there", node.start_mark.line + 1)
        at = line_end(text, node.start_mark.index + shift)
        return _put_lines(text, at, column + INDENT, value)
    if is_list is not isinstance(node, yaml.SequenceNode):
        raise UnreadableError("it has another kind of value there", node.start_mark.line + 1)
    if node.flow_style:  # JSON is valid there
        new = json.dumps(value, ensure_ascii=False)[1:-1]
        spans = _spans(node)
        at = shift + (spans[-1][2] if spans else node.start_mark.index + 1)
        return text[:at] + (", " if spans else "") + new + text[at:]
    at = line_end(text, shift + _end(node))
    return _put_lines(text, at, node.start_mark.column, value)


def _put_lines(text: str, at: int, column: int, value: Any) -> str:
    """Return *text* with *value* as a block of lines at position *at*, indented to *column*."""
    line = newline(text)
    block = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10_000)
    new = "".join(f"{' ' * column}{row}{line}" for row in block.splitlines())
    if at and text[:at] and not text[:at].endswith("\n"):
        return text[:at] + line + new.removesuffix(line) + text[at:]
    return text[:at] + new + text[at:]
