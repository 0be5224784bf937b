"""Compile lists of phrases to patterns. Pure.

A list is text: expressions separated by commas, over any number of lines. A blank in one
matches any white space, and an umlaut its spelling with two letters, too ("ae"). A line that
begins with "|" continues the one before.
"""

from __future__ import annotations

import re
from typing import Final

_SPELLINGS: Final = str.maketrans(
    {" ": r"\s+", "ä": "(?:ä|ae)", "ö": "(?:ö|oe)", "ü": "(?:ü|ue)", "ß": "(?:ß|ss)"}
)

_CONTINUED: Final = re.compile(r"\n\s*(?=\|)")


def any_of(phrases: str) -> str:
    r"""Return an alternation of the expressions of a list.

    >>> print(any_of("let me, i am, für"))
    let\s+me|i\s+am|f(?:ü|ue)r
    """
    return "|".join(item.translate(_SPELLINGS) for item in _items(phrases))


def longest_first(phrases: str) -> str:
    """Return :func:`any_of` with longer expressions first, so that a prefix hides none."""
    return any_of(", ".join(sorted(_items(phrases), key=len, reverse=True)))


def opening(*phrases: str, before: str = "") -> re.Pattern[str]:
    """Return the pattern of any expression at the start, as whole words, ignoring case."""
    return re.compile(rf"{before}(?:{any_of(', '.join(phrases))})(?!\w)", re.IGNORECASE)


def anywhere(*phrases: str) -> re.Pattern[str]:
    """Return the pattern of any expression anywhere, as whole words, ignoring case."""
    return re.compile(rf"(?<!\w)(?:{any_of(', '.join(phrases))})(?!\w)", re.IGNORECASE)


def _items(phrases: str) -> list[str]:
    return " ".join(_CONTINUED.sub("", phrases).split()).split(", ")
