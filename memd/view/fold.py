r"""What a text can be mistaken for: its plain letters, and where it begins to look like memd.

One fold for both sides: what memd prints and what a text would print are compared after it,
so that no compatibility form, no look-alike (Unicode TR39), no accent and no letter case
makes a difference. Pure, standard library.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from memd.view.lookalikes import LOOKALIKES

AHEAD = 80  # no shape of memd's is longer
_TABLE = str.maketrans(
    {
        **{char: plain for plain, alike in LOOKALIKES.items() for char in alike},
        **dict.fromkeys("i1|", "l"),
        "0": "o",
    }
)
OPENERS = frozenset(f"<{LOOKALIKES['<']}\u226e\ufe64\uff1c")
"""What a reader may take for ``<``."""
_UNOPENED = re.compile(f"[^{''.join(sorted(OPENERS))}]*")
_BLANKS = re.compile(r"\s+")
_PAIRS = (("rn", "m"), ("vv", "w"))


def fold(text: str) -> str:
    r"""Return *text* in the plain letters that it can be mistaken for, without marks on them.

    >>> fold("\uff2dEM\u043eRY"), fold("rnernory"), fold("pIaybook") == fold("playbook")
    ('memory', 'memory', True)
    """
    if not text.isascii():
        text = _plain(text)
    text = text.casefold().translate(_TABLE)
    for pair, letter in _PAIRS:
        text = text.replace(pair, letter)
    return text


def _plain(text: str) -> str:
    """Return *text* decomposed, look-alikes in either form for what they are taken for.

    Marks go before cases are folded: one of Greek's would become a letter.
    """
    text = text.translate(_TABLE)
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(filter(shows, decomposed.translate(_TABLE)))


def ahead(text: str, start: int) -> str:
    """Return what *text* looks like from *start* on, as far as a shape of memd's can reach.

    Marks and runs of blanks do not count: no number of them puts the rest out of sight. It
    ends where a next tag could begin, so that all of a text is looked at about once.
    """
    part = text[start : start + AHEAD].partition("<")[0]
    if part.isascii() and "  " not in part and len(part.strip()) > 1:
        return fold(part)
    size = AHEAD
    while True:
        part = _UNOPENED.match(text, start, start + size)[0]  # type: ignore[index]  # of any text
        seen = part if part.isascii() else "".join(map(_seen, part))
        seen = _BLANKS.sub(" ", seen)
        if len(part) < size or len(seen) >= AHEAD:
            return fold(seen[:AHEAD])
        size *= 4


def seen_from(text: str, place: int) -> int:
    """Return where, from *place* on, a reader sees something: behind blanks and marks."""
    while place < len(text) and letter_of(text[place]) in {"", " "}:
        blanks = _BLANKS.match(text, place)  # a run at once: a line may be nothing else
        place = blanks.end() if blanks else place + 1
    return place


@lru_cache(maxsize=4096)
def letter_of(letter: str) -> str:
    """Return the plain character that *letter* can be taken for: " " for a blank, "" for a mark."""
    return " " if letter.isspace() else fold(letter)[:1]


def firsts_of(names: Iterable[str]) -> str:
    """Return what one of *names* may begin with: rn is taken for m, vv for w."""
    firsts = "".join(fold(name)[0] for name in names)
    return firsts.replace("m", "mr").replace("w", "wv")


@lru_cache(maxsize=4096)
def _seen(letter: str) -> str:
    """Return *letter* as far as it counts: a space for any blank, nothing for a mark."""
    if letter_of(letter) == " ":
        return " "
    return letter if shows(letter) else ""


@lru_cache(maxsize=4096)
def shows(letter: str) -> bool:
    """Return whether *letter* is more than a mark on another one."""
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
