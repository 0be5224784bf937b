"""What a reader takes a text for, by Unicode's own tables; memd's code has no part in it.

``tests/golden/confusables.tsv`` holds what TR39 takes for the characters of memd's shapes, from
confusable_homoglyphs 3.3.1 (Unicode License v3).
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_TABLE = Path(__file__).parents[1] / "golden" / "confusables.tsv"
_ONE = {"i": "l", "1": "l", "|": "l", "0": "o"}


def _read() -> dict[str, str]:
    plain_of: dict[str, str] = {}
    for line in _TABLE.read_text("utf-8").splitlines():
        plain, _, points = line.partition("\t")
        for point in points.split():
            plain_of.setdefault(chr(int(point, 16)), plain)
    return plain_of


CONFUSABLES = _read()


@cache
def of_letter(letter: str) -> str:
    """Return what one character is taken for: nothing for marks and for what nobody sees."""
    plain = CONFUSABLES.get(letter)
    if plain is None:
        decomposed = unicodedata.normalize("NFKD", letter)
        plain = "".join(CONFUSABLES.get(each, each) for each in decomposed)
    shown = (each for each in plain if unicodedata.category(each) not in {"Mn", "Me", "Mc", "Cf"})
    return "".join(_ONE.get(each, each) for each in "".join(shown).casefold())


def skeleton(text: str) -> str:
    """Return what *text* is taken for, in one line of plain letters."""
    plain = "".join(map(of_letter, text))
    return plain.replace("rn", "m").replace("vv", "w").strip()


def alike() -> Iterator[str]:
    """Yield every code point that is taken for a printable ASCII character that it is not."""
    for point in range(128, sys.maxunicode + 1):
        letter = chr(point)
        if letter not in CONFUSABLES and not unicodedata.decomposition(letter):
            continue
        plain = of_letter(letter)
        if len(plain) == 1 and " " <= plain <= "~":
            yield letter
