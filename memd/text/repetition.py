"""Whether a sentence only repeats known texts. Pure.

An assistant repeats injected memories in its answers. Stored as new, they would be
injected twice the next time, in the assistant's name. The rule errs on one side: a sentence
with a number, a name or a "no longer" that the known texts lack is new, whatever the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice

from memd.text.words import ENGLISH_FUNCTION_WORDS, sentences

SHARE = 0.8
"""The share of a sentence's words that one known sentence must have."""
WORDS_MIN = 3
"""A shorter sentence is too common to be a repetition, like "the tests pass"."""
SENTENCES_MAX = 1_024
_WORD = re.compile(r"[^\W_]+(?:[./:_-][^\W_]+)*")
_NEGATIONS = frozenset("no not never nor don without instead longer only except until off".split())  # noqa: SIM905
# Words that introduce something known.
_LEAD = frozenset(
    """according based earlier found know known last mentioned memd memories memory note noted notes
    previous previously recall recalled record recorded records remember remembered said saved says
    session sessions shows stored told understood yes ok okay sure right indeed""".split()  # noqa: SIM905
)
_NAMES = re.compile(r"\d|[a-z][A-Z]|[./:_]")


class KnownWords:
    """The words of the known texts, by sentence."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._by_word: dict[str, set[int]] = {}
        stream = (sentence for text in texts for sentence in sentences(text))
        for number, sentence in enumerate(islice(stream, SENTENCES_MAX)):
            for word in _words(sentence):
                self._by_word.setdefault(word.casefold(), set()).add(number)

    def __bool__(self) -> bool:
        return bool(self._by_word)

    def covers(self, sentence: str) -> bool:
        """Return whether one known sentence says all that *sentence* says.

        >>> known = KnownWords(["We deploy with blue-green since March."])
        >>> known.covers("As noted, you deploy with blue-green since March.")
        True
        >>> known.covers("We no longer deploy with blue-green since March.")
        False
        """
        words = [word for word in _words(sentence) if word.casefold() not in _LEAD]
        folded = {word.casefold() for word in words}
        if len(folded) < WORDS_MIN:
            return False
        counts = Counter(text for word in folded for text in self._by_word.get(word, ()))
        distinctive = {word.casefold() for word in words if _is_distinctive(word)}
        return any(
            count >= SHARE * len(folded)
            and all(text in self._by_word.get(word, ()) for word in distinctive)
            for text, count in counts.items()
        )


def remove_known(text: str, vocabulary: KnownWords) -> str:
    """Return *text* without the sentences that *vocabulary* covers; unchanged if there are none."""
    if not vocabulary:
        return text
    lines = [_remove_known_from_line(line, vocabulary) for line in text.split("\n")]
    if all(is_unchanged for _, is_unchanged in lines):
        return text
    return "\n".join(line for line, is_unchanged in lines if is_unchanged or line.strip()).strip()


def _remove_known_from_line(line: str, vocabulary: KnownWords) -> tuple[str, bool]:
    """Return the rest of a line, and whether that is all of it."""
    parts = sentences(line)
    remaining = [part for part in parts if not vocabulary.covers(part)]
    return (line, True) if len(remaining) == len(parts) else (" ".join(remaining), False)


def _is_distinctive(word: str) -> bool:
    return word.casefold() in _NEGATIONS or _NAMES.search(word) is not None


def _words(text: str) -> list[str]:
    words = (match.group() for match in _WORD.finditer(text))
    return [word for word in words if word.casefold() in _NEGATIONS or _is_content_word(word)]


def _is_content_word(word: str) -> bool:
    return word.casefold() not in ENGLISH_FUNCTION_WORDS
