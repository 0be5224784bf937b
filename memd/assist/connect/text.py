"""Shared parts of the three formats: paths to values, positions of lines, the error."""

from __future__ import annotations

import re
from typing import Any

Path = tuple[str | int, ...]
"""The keys and list indexes that lead to a value, such as ``("hooks", "Stop", 0)``."""


class UnreadableError(Exception):
    """A text does not parse, or has a form that memd does not edit.

    *line* is the number of the line at fault, from 1, None if it is unknown.
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def newline(text: str) -> str:
    r"""Return the line ending of the first line of *text*.

    >>> newline("a\r\nb"), newline("a")
    ('\r\n', '\n')
    """
    return "\r\n" if re.search(r"^[^\n]*\r\n", text) else "\n"


def line_of(text: str, at: int) -> int:
    """Return the number, from 1, of the line at position *at*."""
    return text.count("\n", 0, at) + 1


def line_start(text: str, at: int) -> int:
    """Return the start of the line at position *at*."""
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """Return the end of the line at position *at*, after its newline."""
    index = text.find("\n", at)
    return len(text) if index < 0 else index + 1


def at(values: Any, path: Path) -> Any:
    """Return the value at *path*, or None.

    >>> at({"a": [{"b": 1}]}, ("a", 0, "b")), at({"a": 1}, ("a", "b"))
    (1, None)
    """
    for key in path:
        if isinstance(key, int):
            if not isinstance(values, list) or key >= len(values):
                return None
        elif not isinstance(values, dict) or key not in values:
            return None
        values = values[key]
    return values


def has(values: Any, path: Path) -> bool:
    """Return whether the member at *path* exists, even with a null value.

    >>> has({"a": None}, ("a",)), has({"a": None}, ("a", "b"))
    (True, False)
    """
    parent = at(values, path[:-1])
    return isinstance(parent, dict) and path[-1] in parent
