"""The parts of a text while it is cut, counted; and cutting by words, and inside a word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from memd.domain.encoding import TokenCounter

# A word-piece vocabulary counts a word of more than 100 characters as one unknown
# piece. To whoever reads the chunk it costs what it costs: about a token for
# each four characters, so such runs are charged for. Ideographs are counted
# one by one and need no charge.
_LONG_WORD = re.compile(r"[^\s!-/:-@\[-`{-~\u3000-\u303f\u3400-\u9fff]{101,}")
_WORD_CHARS_MAX = 100
_CHARS_PER_TOKEN = 4

_JOINER = "\u200d"
_GRAPHEME_CHARS_MAX = 32  # how far back a cut looks for a seam between graphemes
_INTERPOLATIONS_MAX = 8  # after that the search halves


class Piece(NamedTuple):
    """A text with its tokens: counted, or the *estimated* sum of its parts."""

    text: str
    tokens: int
    estimated: bool = False

    def then(self, other: Piece, glue: str) -> Piece:
        return Piece(self.text + glue + other.text, self.tokens + other.tokens, estimated=True)


@dataclass(frozen=True, slots=True)
class Rule:
    """The bounds, and the counter they are measured with."""

    counter: TokenCounter
    tokens_min: int
    tokens_max: int

    def piece(self, text: str) -> Piece:
        return Piece(text, self.tokens(text))

    def tokens(self, text: str) -> int:
        counted = self.counter.count(text)
        # Two looks that cost less than the pattern's: most parts are short, most words too.
        if (
            len(text) <= _WORD_CHARS_MAX
            or len(max(text.split(), key=len, default="")) <= _WORD_CHARS_MAX
        ):
            return counted or 1
        charged = sum(len(word) for word in _LONG_WORD.findall(text)) // _CHARS_PER_TOKEN
        return max(1, counted + charged)


def worded(text: str, rule: Rule) -> Iterator[Piece]:
    """Fill up to the maximum with words joined by one space (SPEC 1.3.4)."""
    words = [unit for word in text.split() for unit in _units(word, rule)]
    start = 0
    guess = rule.tokens_max
    while start < len(words):
        guess, piece = _longest(partial(_words, words, start), len(words) - start, guess, rule)
        yield piece
        start += guess


def _units(word: str, rule: Rule) -> Iterator[str]:
    """Yield *word*, or the parts of a word that is too large, cut between graphemes."""
    if len(word) * _CHARS_PER_TOKEN <= rule.tokens_max or rule.tokens(word) <= rule.tokens_max:
        yield word
        return
    start = 0
    before = ""
    guess = rule.tokens_max * _CHARS_PER_TOKEN
    while start < len(word):
        guess, part = _longest(partial(_characters, word, start), len(word) - start, guess, rule)
        end = _seam(word, start, start + guess)
        if end == len(word) and before and part.tokens < rule.tokens_min:
            yield from _halves(before, word[start:], rule)
            return
        if before:
            yield before
        before = word[start:end]
        start = end
    yield before


def _halves(before: str, tail: str, rule: Rule) -> tuple[str, str]:
    """Return the last two parts of a word, cut in the middle where both halves fit."""
    last = before + tail
    middle = _seam(last, 0, len(last) // 2)
    halves = last[:middle], last[middle:]
    fit = all(rule.tokens_min <= rule.tokens(half) <= rule.tokens_max for half in halves)
    return halves if fit else (before, tail)


def _words(words: list[str], start: int, n: int) -> str:
    return " ".join(words[start : start + n])


def _characters(word: str, start: int, n: int) -> str:
    return word[start : start + n]


def _longest(take: Callable[[int], str], size: int, guess: int, rule: Rule) -> tuple[int, Piece]:
    """Return the largest n in 1..*size* for which ``take(n)`` fits, with that piece.

    Guesses in proportion first, as most texts are even, then halves. It never
    tries more than twice what is known to fit. n = 1 is returned also when it
    does not fit.
    """
    fits, best = 0, None
    too_large = size + 1
    n = min(guess, size)
    tries = 0
    while fits + 1 < too_large:
        piece = rule.piece(take(n))
        if piece.tokens <= rule.tokens_max:
            fits, best = n, piece
            if piece.tokens == rule.tokens_max:
                break
        else:
            too_large = n
        tries += 1
        ahead = min(too_large, 2 * fits + 2)
        even = n * rule.tokens_max // piece.tokens
        n = even if tries <= _INTERPOLATIONS_MAX else (fits + ahead) // 2
        n = max(fits + 1, min(n, ahead - 1))
    return (fits, best) if best else (1, rule.piece(take(1)))


def _seam(word: str, start: int, end: int) -> int:
    """Move *end* back to a seam between graphemes, if there is one not far back.

    A mark, a joiner, a variation selector or a skin tone belongs to what stands
    before it, and so does whatever follows a joiner; two regional indicators
    make one flag. A chain of dozens is cut all the same, between two of its
    links; only a character buried under dozens of marks loses some of them.
    """
    if end >= len(word):
        return len(word)
    near = range(end, max(start, end - _GRAPHEME_CHARS_MAX), -1)
    links = [at for at in near if not _clings(word[at])]
    for at in links:
        if word[at - 1] != _JOINER and not _in_flag(word, start, at):
            return at
    return links[0] if links else end


def _clings(character: str) -> bool:
    return (
        character == _JOINER
        or unicodedata.category(character).startswith("M")  # variation selectors too
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )


def _in_flag(word: str, start: int, at: int) -> bool:
    """Return whether a cut at *at* would part two regional indicators that are one flag."""
    before = at
    while before > start and "\U0001f1e6" <= word[before - 1] <= "\U0001f1ff":
        before -= 1
    return (at - before) % 2 == 1 and "\U0001f1e6" <= word[at] <= "\U0001f1ff"
