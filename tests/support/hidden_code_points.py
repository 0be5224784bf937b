"""Code points that the view replaces, and one of each kind that it keeps."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

from memd.view.view import hidden_characters

BATCH = 2_048
REPRESENTATIVES = 40
"""How many of each category are tried where none of it is changed, or very many are."""


def _changed() -> Iterator[int]:
    """Yield every changed point below the planes that hold nothing else, and samples of all."""
    seen: dict[tuple[str, bool], int] = {}
    hidden = hidden_characters("".join(map(chr, range(sys.maxunicode + 1))))
    for point in range(sys.maxunicode + 1):
        letter = chr(point)
        kind = (unicodedata.category(letter), letter in hidden)
        seen[kind] = seen.get(kind, 0) + 1
        many = kind[0] in {"Cn", "Co", "Cs"} or not kind[1]
        if not many or seen[kind] <= REPRESENTATIVES or letter in "\n\r\x0b\x0c\x85\u2028\u2029":
            yield point


@cache
def changed() -> tuple[int, ...]:
    """Return every changed point, looked for when a test first asks: there are a million."""
    return tuple(_changed())


def chunks(points: Iterable[int]) -> list[list[int]]:
    """Return *points* in batches."""
    every = list(points)
    return [every[at : at + BATCH] for at in range(0, len(every), BATCH)]
