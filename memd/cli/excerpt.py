"""The part of a long memory that a person who asked wants to see first. Pure."""

from __future__ import annotations

import re

_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"\w{3,}")


def excerpt(text: str, query: str, chars_max: int) -> str:
    """Return at most *chars_max* characters of *text*, from the sentence nearest to *query*.

    A text that is short enough is returned whole.

    >>> excerpt("A first one. The server is called heron. A last one.", "which server?", 40)
    '… The server is called heron. A last on…'
    >>> excerpt("Short.", "anything", 40)
    'Short.'
    """
    if len(text) <= chars_max:
        return text
    wanted = set(_WORD.findall(query.casefold()))
    starts = [0, *(found.end() for found in _BREAK.finditer(text))]
    ends = [*starts[1:], len(text)]
    shared = [
        len(wanted & set(_WORD.findall(text[start:end].casefold())))
        for start, end in zip(starts, ends, strict=True)
    ]
    start = starts[shared.index(max(shared))]
    room = chars_max - (2 if start else 0)
    part = text[start:] if len(text) - start <= room else text[start : start + room - 1] + "…"
    return f"… {part}" if start else part
