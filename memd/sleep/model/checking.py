"""Whether the turns that a language model names hold what it says of them. Pure.

Not whether it is true, but whether its words come from there: every concrete thing (a path, a
number, a name in code, a word with a capital) must stand in those turns letter by letter, no
negation may be new, and of the other words that mean something most must be there. What a
model made up, or was told by a text to say, names things that the turns do not have.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from memd.sleep.nap.consolidator import count_things
from memd.text.function_words import FUNCTION_WORDS

WORDS_HELD = 0.6
"""The share of a fact's words that its turns must have."""
_STEM_CHARS = 5
_WORD = re.compile(r"[^\W_][\w'-]*")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b[A-Z][\w-]+")
_CAPITALS = re.compile(r"\b[A-Z]{2,}\b")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|without|cannot|nicht|kein\w*|nie|ohne|pas|jamais|sans|nunca|sin)\b"
    r"|n['\u2019]t\b",
    re.IGNORECASE,
)
_CALL = "()"


class TurnCheck:
    """The turns of one prompt by their places, and what they hold."""

    def __init__(self, turns: Mapping[int, str]) -> None:
        self._turns = turns

    def by(self, text: str, places: Sequence[int]) -> bool:
        """Return whether the turns at *places* hold *text*; never without a place.

        >>> held = TurnCheck({3: "We deploy with ansible to port 8443."})
        >>> held.by("Deploys go by ansible to port 8443", [3])
        True
        >>> held.by("Deploys go to port 9000", [3]), held.by("We deploy with ansible", [4])
        (False, False)
        """
        if not places or any(place not in self._turns for place in places):
            return False
        source = "\n".join(self._turns[place] for place in dict.fromkeys(places)).casefold()
        if any(thing.casefold() not in source for thing in _things(text)):
            return False
        if _NEGATION.search(text) and not _NEGATION.search(source):
            return False
        words = [word for word in map(str.casefold, _WORD.findall(text)) if _means(word)]
        if not words:
            return False
        stems = {_stem(word) for word in _WORD.findall(source)}
        return sum(_stem(word) in stems for word in words) >= WORDS_HELD * len(words)


def _things(text: str) -> set[str]:
    """Return what of *text* must stand in its source as it is."""
    names = {thing.removesuffix(_CALL) for thing in count_things(text)}
    names.update(_NUMBER.findall(text))
    for pattern in (_NAME, _CAPITALS):
        names.update(pattern.findall(text))
    return names


def _means(word: str) -> bool:
    return word not in FUNCTION_WORDS and not word.isdigit()


def _stem(word: str) -> str:
    return word[:_STEM_CHARS]
