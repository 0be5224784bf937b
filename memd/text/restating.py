"""Whether a sentence only says again what somebody was told. Pure.

An assistant that is told a memory repeats it in its answers. Taken as new, it would be
told twice the next time, in the assistant's name. The rule is lopsided: a sentence with a
number, a name or a "no longer" that was not in what was told is news, whatever the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice

from memd.text.function_words import FUNCTION_WORDS
from memd.text.sentences import sentences

SHARE = 0.8
"""Of a sentence's words, those that one sentence of what was told has to have."""
WORDS_MIN = 3
"""Who says less than that says nothing that could be told from another's "the tests pass"."""
SENTENCES_MAX = 1_024
_WORD = re.compile(r"[^\W_]+(?:[./:_-][^\W_]+)*")
_SENSE = frozenset("no not never nor don without instead longer only except until off".split())  # noqa: SIM905
# How what is known is spoken of.
_LEAD = frozenset(
    """according based earlier found know known last mentioned memd memories memory note noted notes
    previous previously recall recalled record recorded records remember remembered said saved says
    session sessions shows stored told understood yes ok okay sure right indeed""".split()  # noqa: SIM905
)
_NAMES = re.compile(r"\d|[a-z][A-Z]|[./:_]")


class KnownWords:
    """What somebody was told, by its words."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._by_word: dict[str, set[int]] = {}
        stream = (sentence for text in texts for sentence in sentences(text))
        for number, sentence in enumerate(islice(stream, SENTENCES_MAX)):
            for word in _words(sentence):
                self._by_word.setdefault(word.casefold(), set()).add(number)

    def __bool__(self) -> bool:
        return bool(self._by_word)

    def says(self, sentence: str) -> bool:
        """Return whether one sentence that was told says all that *sentence* says.

        >>> told = KnownWords(["We deploy with blue-green since March."])
        >>> told.says("As noted, you deploy with blue-green since March.")
        True
        >>> told.says("We no longer deploy with blue-green since March.")
        False
        """
        words = [word for word in _words(sentence) if word.casefold() not in _LEAD]
        folded = {word.casefold() for word in words}
        if len(folded) < WORDS_MIN:
            return False
        counts = Counter(each for word in folded for each in self._by_word.get(word, ()))
        new = {word.casefold() for word in words if _tells_apart(word)}
        return any(
            count >= SHARE * len(folded)
            and all(text in self._by_word.get(word, ()) for word in new)
            for text, count in counts.items()
        )


def unsaid(text: str, vocabulary: KnownWords) -> str:
    """Return *text* without the sentences that *vocabulary* says; as it is when there are none."""
    if not vocabulary:
        return text
    lines = [_unsaid(line, vocabulary) for line in text.split("\n")]
    if all(same for _, same in lines):
        return text
    return "\n".join(line for line, same in lines if same or line.strip()).strip()


def _unsaid(line: str, vocabulary: KnownWords) -> tuple[str, bool]:
    """Return what is left of a line, and whether that is all of it."""
    parts = sentences(line)
    kept = [part for part in parts if not vocabulary.says(part)]
    return (line, True) if len(kept) == len(parts) else (" ".join(kept), False)


def _tells_apart(word: str) -> bool:
    return word.casefold() in _SENSE or _NAMES.search(word) is not None


def _words(text: str) -> list[str]:
    words = (match.group() for match in _WORD.finditer(text))
    return [word for word in words if word.casefold() in _SENSE or _counts(word)]


def _counts(word: str) -> bool:
    return word.casefold() not in FUNCTION_WORDS
