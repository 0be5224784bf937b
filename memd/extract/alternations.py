"""Compile lists of phrases to patterns. Pure.

A list is text: expressions separated by commas, over any number of lines. A blank in one
matches any white space.
"""

from __future__ import annotations

import re


def any_of(phrases: str) -> str:
    r"""Return an alternation of the expressions of a list.

    >>> print(any_of("let me, i am"))
    let\s+me|i\s+am
    """
    return "|".join(item.replace(" ", r"\s+") for item in _items(phrases))


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
    return " ".join(phrases.split()).split(", ")
