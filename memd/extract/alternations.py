"""Lists of phrases as patterns. Pure.

A list is text: expressions between commas, in lines as they fit. A blank in one is any
white space.
"""

from __future__ import annotations

import re


def any_of(listed: str) -> str:
    r"""Return an alternation of the expressions of a list.

    >>> print(any_of("let me, i am"))
    let\s+me|i\s+am
    """
    return "|".join(one.replace(" ", r"\s+") for one in _items(listed))


def longest_first(listed: str) -> str:
    """Return :func:`any_of` so that no expression hides a longer one behind it."""
    return any_of(", ".join(sorted(_items(listed), key=len, reverse=True)))


def opening(*listed: str, before: str = "") -> re.Pattern[str]:
    """Return the pattern of any expression at a start, as whole words, in whatever case."""
    return re.compile(rf"{before}(?:{any_of(', '.join(listed))})(?!\w)", re.IGNORECASE)


def anywhere(*listed: str) -> re.Pattern[str]:
    """Return the pattern of any expression anywhere, as whole words, in whatever case."""
    return re.compile(rf"(?<!\w)(?:{any_of(', '.join(listed))})(?!\w)", re.IGNORECASE)


def _items(listed: str) -> list[str]:
    return " ".join(listed.split()).split(", ")
