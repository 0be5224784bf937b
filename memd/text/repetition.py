"""Remove sentences that only repeat known texts. Pure.

An assistant repeats injected memories in its answers. Stored as new memories, they would be
injected twice the next time, with the assistant as origin. In doubt a sentence counts as new: one
with a number, a name or a negation that the known sentence lacks is never a repetition.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice

from memd.text.words import ENGLISH_FUNCTION_WORDS, content_stems, sentences

SHARE = 0.8
"""The share of a sentence's words that one known sentence must contain."""
WORDS_MIN = 3
"""Words of a repetition: a shorter sentence, like "the tests pass", may be said anew."""
SENTENCES_MAX = 1_024
"""Known sentences that are compared, which bounds time and memory."""
_WORD = re.compile(r"[^\W_]+(?:[./:_-][^\W_]+)*")
_NEGATIONS = frozenset("no not never nor don without instead longer only except until off".split())  # noqa: SIM905
# Words that introduce a repetition: "As noted, ...", "I remember that ...".
_LEAD = frozenset(
    """according based earlier found know known last mentioned memd memories memory note noted notes
    previous previously recall recalled record recorded records remember remembered said saved says
    session sessions shows stored told understood yes ok okay sure right indeed""".split()  # noqa: SIM905
)
# Words, besides function words, of an assistant that confirms what it was told: "Set: 30 days."
_CONFIRMS = frozenset(
    """set updated changed added stays uses use using scheduled decision open fixed applied applies
    goes go agreed done will""".split()  # noqa: SIM905
)
_NAMES = re.compile(r"\d|[a-z][A-Z]|[./:_]")


class KnownWords:
    """The words of known texts, with the sentences that contain them."""

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
        counts = Counter(number for word in folded for number in self._by_word.get(word, ()))
        distinctive = {word.casefold() for word in words if _is_distinctive(word)}
        return any(
            count >= SHARE * len(folded)
            and all(number in self._by_word.get(word, ()) for word in distinctive)
            for number, count in counts.items()
        )


def confirms(answer: str, statement: str) -> bool:
    """Return whether *answer* has no name, number, negation or other content new to *statement*.

    >>> told = "paper deadline is november 12, not the 15th"
    >>> [confirms(text, told) for text in ("Noted: 12 November.", "Noted: 13 November.", "Done.")]
    [True, False, False]
    """
    known = _words(statement)
    known_words, known_stems = {word.casefold() for word in known}, content_stems(" ".join(known))
    words = [word for word in _words(answer) if word.casefold() not in _LEAD | _CONFIRMS]
    return bool(words) and all(
        word.casefold() in known_words
        or (not _is_distinctive(word) and content_stems(word) <= known_stems)
        for word in words
    )


def remove_known(text: str, vocabulary: KnownWords) -> str:
    """Return *text* without the sentences that *vocabulary* covers.

    Without such sentences, *text* is returned unchanged, white space included.
    """
    if not vocabulary:
        return text
    lines = [_remove_known_from_line(line, vocabulary) for line in text.split("\n")]
    if all(is_unchanged for _, is_unchanged in lines):
        return text
    return "\n".join(line for line, is_unchanged in lines if is_unchanged or line.strip()).strip()


def _remove_known_from_line(line: str, vocabulary: KnownWords) -> tuple[str, bool]:
    """Return *line* without known sentences, and whether it is unchanged."""
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
