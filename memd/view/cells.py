"""Measure, cut, wrap and pad texts by their width on a terminal.

East Asian letters and emoji take two cells, combining marks none. The widths come from
``unicodedata``, because importing rich would add 15 ms to each listing.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

ELLIPSIS = "…"


def width(text: str) -> int:
    """Return the number of cells of *text*, one line rendered by ``view``.

    >>> width("memd"), width("東京"), width("é"), width("e" + chr(0x301))
    (4, 4, 1, 1)
    """
    return len(text) if text.isascii() else sum(map(_cells, text))


def cut(text: str, cells_max: int) -> str:
    """Return *text* cut to at most *cells_max* cells, with an ellipsis if it was cut.

    >>> cut("東京のサーバー", 6), cut("short", 6), cut("anything", 0)
    ('東京…', 'short', '')
    """
    if width(text) <= cells_max:
        return text
    if cells_max <= 0:
        return ""
    return text[: _count_fitting(text, cells_max - 1)] + ELLIPSIS


def wrap(text: str, cells_max: int, lines_max: int) -> list[str]:
    """Return *text* as at most *lines_max* lines of at most *cells_max* cells, the last one cut.

    Lines end between words; a word longer than a line, or a text without blanks, is split.

    >>> wrap("We deploy with blue-green since March", 16, 2), wrap("東京のサーバー", 6, 3)
    (['We deploy with', 'blue-green sinc…'], ['東京の', 'サーバ', 'ー'])
    """
    lines: list[str] = []
    while width(text) > cells_max and len(lines) < lines_max - 1:
        end = _count_fitting(text, cells_max) or 1
        blank = text.rfind(" ", 0, end + 1)
        end = blank if blank > 0 else end
        lines.append(text[:end].rstrip(" "))
        text = text[end:].lstrip(" ")
    return [*lines, cut(text, cells_max)] if text else lines


def _count_fitting(text: str, cells: int) -> int:
    """Return how many characters of *text* fit into *cells*."""
    if text.isascii():
        return min(len(text), cells)
    for index, char in enumerate(text):
        cells -= _cells(char)
        if cells < 0:
            return index
    return len(text)


def pad(text: str, cells: int) -> str:
    """Return *text* padded with spaces to *cells* cells.

    >>> pad("東", 4) + "|"
    '東  |'
    """
    return text + " " * (cells - width(text))


@lru_cache(maxsize=4096)
def _cells(char: str) -> int:
    category = unicodedata.category(char)
    if category in {"Mn", "Me", "Cf"}:
        return 0
    if category == "Cn" and "\U0001f300" <= char <= "\U0001faff":
        return 2  # an emoji newer than this Python's tables
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1
