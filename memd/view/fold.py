r"""Folding of texts to the plain letters that a reader may take them for.

memd's own tags and labels and a stored text are compared after folding, so that compatibility
forms, look-alikes (Unicode TR39), accents and letter case make no difference. Pure, standard
library.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from memd.view.lookalikes import LOOKALIKES

AHEAD = 80  # no tag or label of memd is longer
_TABLE = str.maketrans(
    {
        **{char: plain for plain, alike in LOOKALIKES.items() for char in alike},
        **dict.fromkeys("i1|", "l"),
        "0": "o",
    }
)
OPENERS = frozenset(f"<{LOOKALIKES['<']}\u226e\ufe64\uff1c")
"""Characters that a reader may take for ``<``."""
_UNOPENED = re.compile(f"[^{''.join(sorted(OPENERS))}]*")
_BLANKS = re.compile(r"\s+")
_PAIRS = (("rn", "m"), ("vv", "w"))


def fold(text: str) -> str:
    r"""Return *text* in the plain letters that it can be mistaken for, without marks.

    >>> fold("\uff2dEM\u043eRY"), fold("rnernory"), fold("pIaybook") == fold("playbook")
    ('memory', 'memory', True)
    """
    if not text.isascii():
        text = _decompose(text)
    text = text.casefold().translate(_TABLE)
    for pair, letter in _PAIRS:
        text = text.replace(pair, letter)
    return text


def _decompose(text: str) -> str:
    """Return *text* decomposed, with look-alikes replaced before and after.

    Marks are removed before case folding, which would turn a Greek one into a letter.
    """
    text = text.translate(_TABLE)
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(filter(is_visible, decomposed.translate(_TABLE)))


def fold_ahead(text: str, start: int) -> str:
    """Return *text* folded from *start* on, as far as a tag or label of memd can reach.

    Marks and runs of blanks do not count, so that padding cannot hide the rest. The result
    ends where the next tag could begin, so that all of a text is scanned about once.
    """
    part = text[start : start + AHEAD].partition("<")[0]
    if part.isascii() and "  " not in part and len(part.strip()) > 1:
        return fold(part)
    size = AHEAD
    while True:
        part = _UNOPENED.match(text, start, start + size)[0]  # type: ignore[index]  # of any text
        visible = part if part.isascii() else "".join(map(_visible_char, part))
        visible = _BLANKS.sub(" ", visible)
        if len(part) < size or len(visible) >= AHEAD:
            return fold(visible[:AHEAD])
        size *= 4


def skip_invisible(text: str, place: int) -> int:
    """Return the position from *place* on after blanks and marks."""
    while place < len(text) and letter_of(text[place]) in {"", " "}:
        blanks = _BLANKS.match(text, place)  # whole runs, because a line may be one
        place = blanks.end() if blanks else place + 1
    return place


@lru_cache(maxsize=4096)
def letter_of(letter: str) -> str:
    """Return the plain character that *letter* looks like: " " for a blank, "" for a mark."""
    return " " if letter.isspace() else fold(letter)[:1]


def first_letters(names: Iterable[str]) -> str:
    """Return the letters that *names* may begin with; rn looks like m, vv like w."""
    firsts = "".join(fold(name)[0] for name in names)
    return firsts.replace("m", "mr").replace("w", "wv")


@lru_cache(maxsize=4096)
def _visible_char(letter: str) -> str:
    """Return *letter*, a space for any blank, "" for a mark."""
    if letter_of(letter) == " ":
        return " "
    return letter if is_visible(letter) else ""


@lru_cache(maxsize=4096)
def is_visible(letter: str) -> bool:
    """Return whether *letter* is more than a mark on another letter."""
    if letter.isascii() or ord(letter) in _TABLE:
        return True
    return unicodedata.category(letter) not in {"Mn", "Me", "Mc"}


@lru_cache(maxsize=4096)
def is_bracket(letter: str) -> bool:
    """Return whether *letter* can be taken for an opening bracket; parentheses are none."""
    if letter.isascii():
        return letter == "["
    if fold(letter)[:1] in {"(", "{"}:
        return False
    return unicodedata.category(letter) in {"Ps", "Pi"} or fold(letter)[:1] == "["
