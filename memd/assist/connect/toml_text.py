"""Edit TOML in place: add a table at the end of the file, and remove it.

``tomllib`` parses, but reports no positions. So the text of a table is found by trial: it goes
from a header to the next header up to which it parses. ``edits.py`` checks after each edit that
nothing else changed.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from memd.assist.connect import text as texts
from memd.assist.connect.text import Path, UnreadableError, newline

_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)
"""The beginning of ``[table]``, or of a line of an array or of a text that looks like it."""
_LINE = re.compile(r"\(at line (\d+)")
"""The line number in a message of ``tomllib``."""


def values(text: str) -> Any:
    """Return the value of *text*. Raises UnreadableError."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        line = _LINE.search(str(error))
        raise UnreadableError("it is not TOML", int(line[1]) if line else None) from None


def put(text: str, path: Path, value: Any) -> str:
    """Return *text* with the table *value* at *path* appended; an existing one is removed."""
    if texts.at(values(text), path) is not None:
        text = remove(text, path)
    line = newline(text)
    header = ".".join(_key(str(key)) for key in path)
    lines = [
        f"[{header}]",
        *(f"{_key(key)} = {_render_value(item)}" for key, item in value.items()),
    ]
    block = line.join(lines)
    if not text.removeprefix("\ufeff"):
        return text + block + line
    if text.endswith("\n"):
        return text + line + block + line
    return text + line + line + block  # the file still ends without a newline


def append(text: str, path: Path, value: Any) -> str:
    """Raise UnreadableError: memd adds no items to lists in TOML."""
    raise UnreadableError("a list cannot be edited there")


def remove(text: str, path: Path) -> str:
    """Return *text* without the table at *path*, its subtables and the blank line before it."""
    while texts.at(values(text), path) is not None:
        start, end = _find_table(text, path)
        before = text[:start]
        if before.endswith(("\n\n", "\n\r\n")):
            before = before[:-2] if before.endswith("\r\n") else before[:-1]
        if end == len(text) and not text.endswith("\n"):
            before = before.removesuffix("\n").removesuffix("\r")
        text = before + text[end:]
    return text


def _find_table(text: str, path: Path) -> tuple[int, int]:
    """Return start and end of the first table at or below *path*, without comments after it."""
    starts = [match.start() for match in _HEADER.finditer(text)]
    for number, start in enumerate(starts):
        for end in (*starts[number + 1 :], len(text)):
            try:
                table = tomllib.loads(text[start:end])
            except tomllib.TOMLDecodeError:
                continue  # the end is inside a value of several lines
            if texts.at(table, path) is not None:
                return start, _content_end(text, start, end)
            break
    raise UnreadableError("memd is there, but not as a table")


def _content_end(text: str, start: int, end: int) -> int:
    """Return the end of a table's text, without the blank lines and comments at its end."""
    while end > start:
        line = text.rfind("\n", start, end - 1) + 1
        if line <= start or not re.match(r"[ \t]*(#[^\n]*)?\r?\n?\Z", text[line:end]):
            break
        end = line
    return end


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _render_value(key)


def _render_value(value: Any) -> str:
    if isinstance(value, dict):
        pairs = ", ".join(f"{_key(key)} = {_render_value(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_render_value, value))}]"
    # A JSON string is a TOML string if it has no escaped surrogates (hence ensure_ascii=False)
    # and no DEL character, which JSON does not escape.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
