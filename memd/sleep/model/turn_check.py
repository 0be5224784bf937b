"""Whether the turns that a language model cites support what it wrote. Pure.

This checks the wording, not the truth: every concrete thing (a path, a
number, a name in code, a capitalised word) must occur in those turns verbatim, no
negation may be new, and most of the other content words must occur. What a
model invented, or a text told it to write, names things that the turns lack.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from memd.sleep.nap.consolidator import count_things
from memd.text.function_words import FUNCTION_WORDS

WORDS_SHARE_MIN = 0.6
"""The share of a fact's content words that its turns must have."""
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
    """The turns of one prompt by their places, to check statements against."""

    def __init__(self, turns: Mapping[int, str]) -> None:
        self._turns = turns

    def supports(self, text: str, places: Sequence[int]) -> bool:
        """Return whether the turns at *places* support *text*; never without a place.

        >>> check = TurnCheck({3: "We deploy with ansible to port 8443."})
        >>> check.supports("Deploys go by ansible to port 8443", [3])
        True
        >>> check.supports("Deploys go to port 9000", [3]), check.supports("We use ansible", [4])
        (False, False)
        """
        if not places or any(place not in self._turns for place in places):
            return False
        source = "\n".join(self._turns[place] for place in dict.fromkeys(places)).casefold()
        if any(thing.casefold() not in source for thing in _things(text)):
            return False
        if _NEGATION.search(text) and not _NEGATION.search(source):
            return False
        words = [word for word in map(str.casefold, _WORD.findall(text)) if _is_content_word(word)]
        if not words:
            return False
        stems = {_stem(word) for word in _WORD.findall(source)}
        return sum(_stem(word) in stems for word in words) >= WORDS_SHARE_MIN * len(words)


def _things(text: str) -> set[str]:
    """Return the parts of *text* that must occur in its source verbatim."""
    names = {thing.removesuffix(_CALL) for thing in count_things(text)}
    names.update(_NUMBER.findall(text))
    for pattern in (_NAME, _CAPITALS):
        names.update(pattern.findall(text))
    return names


def _is_content_word(word: str) -> bool:
    return word not in FUNCTION_WORDS and not word.isdigit()


def _stem(word: str) -> str:
    return word[:_STEM_CHARS]
