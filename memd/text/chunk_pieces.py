"""Count the pieces of a text during chunking, and split texts into words and parts of words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from memd.domain.encoding import TokenCounter

# A word-piece vocabulary counts a word of more than 100 characters as one unknown
# piece. For the language model that reads the chunk it costs about one token per
# four characters, so these are added. The pattern ends words at white space,
# ASCII punctuation and ideographs, which the vocabulary counts one by one.
_LONG_WORD = re.compile(r"[^\s!-/:-@\[-`{-~\u3000-\u303f\u3400-\u9fff]{101,}")
_WORD_CHARS_MAX = 100
_CHARS_PER_TOKEN = 4

_JOINER = "\u200d"
_GRAPHEME_CHARS_MAX = 32
"""How many characters back to look for a boundary between graphemes."""
_INTERPOLATIONS_MAX = 8
"""Interpolation steps before the search for the longest fitting prefix bisects."""


class Piece(NamedTuple):
    """A text and its number of tokens.

    *estimated*: the number is the sum of the counts of its parts, not a count of the text.
    """

    text: str
    tokens: int
    estimated: bool = False

    def join(self, other: Piece, glue: str) -> Piece:
        return Piece(self.text + glue + other.text, self.tokens + other.tokens, estimated=True)


@dataclass(frozen=True, slots=True)
class ChunkBounds:
    """The bounds of a chunk, and the counter that measures them."""

    counter: TokenCounter
    tokens_min: int
    tokens_max: int

    def piece(self, text: str) -> Piece:
        return Piece(text, self.tokens(text))

    def block(self, text: str) -> Piece:
        """Return *text* as a piece; one of more words than tokens fit is split, so not counted.

        A block may have megabytes, and the tokenizer takes half a second for each.
        """
        words = len(text.split())
        return Piece(text, words, estimated=True) if words > self.tokens_max else self.piece(text)

    def tokens(self, text: str) -> int:
        tokens = self.counter.count(text)
        # Two checks that are cheaper than the pattern: most parts are short, and most words.
        if (
            len(text) <= _WORD_CHARS_MAX
            or len(max(text.split(), key=len, default="")) <= _WORD_CHARS_MAX
        ):
            return tokens or 1
        charged = sum(len(word) for word in _LONG_WORD.findall(text)) // _CHARS_PER_TOKEN
        return max(1, tokens + charged)


def split_words(text: str, bounds: ChunkBounds) -> Iterator[Piece]:
    """Yield pieces filled up to the maximum with words joined by one space (SPEC 1.3.4)."""
    words = [unit for word in text.split() for unit in _units(word, bounds)]
    start = 0
    guess = bounds.tokens_max
    while start < len(words):
        guess, piece = _longest_fitting(
            partial(_words, words, start), len(words) - start, guess, bounds
        )
        yield piece
        start += guess


def _units(word: str, bounds: ChunkBounds) -> Iterator[str]:
    """Yield *word* or, if it is too large, its parts, cut between graphemes."""
    if (
        len(word) * _CHARS_PER_TOKEN <= bounds.tokens_max
        or bounds.tokens(word) <= bounds.tokens_max
    ):
        yield word
        return
    start = 0
    before = ""
    guess = bounds.tokens_max * _CHARS_PER_TOKEN
    while start < len(word):
        guess, part = _longest_fitting(
            partial(_characters, word, start), len(word) - start, guess, bounds
        )
        end = _seam(word, start, start + guess)
        if end == len(word) and before and part.tokens < bounds.tokens_min:
            yield from _halves(before, word[start:], bounds)
            return
        if before:
            yield before
        before = word[start:end]
        start = end
    yield before


def _halves(before: str, tail: str, bounds: ChunkBounds) -> tuple[str, str]:
    """Return the last two parts of a word, cut in the middle if both halves are in bounds."""
    last = before + tail
    middle = _seam(last, 0, len(last) // 2)
    halves = last[:middle], last[middle:]
    fit = all(bounds.tokens_min <= bounds.tokens(half) <= bounds.tokens_max for half in halves)
    return halves if fit else (before, tail)


def _words(words: list[str], start: int, n: int) -> str:
    return " ".join(words[start : start + n])


def _characters(word: str, start: int, n: int) -> str:
    return word[start : start + n]


def _longest_fitting(
    take: Callable[[int], str], size: int, guess: int, bounds: ChunkBounds
) -> tuple[int, Piece]:
    """Return the largest n in 1..*size* for which ``take(n)`` fits, with that piece.

    The search interpolates first, as most texts have evenly many tokens per character, then
    bisects. It never tries more than about twice an n that fits, which bounds the characters
    counted. Returns n = 1 even if that does not fit.
    """
    fitting_n, fitting_piece = 0, None
    too_large = size + 1
    n = min(guess, size)
    tries = 0
    while fitting_n + 1 < too_large:
        piece = bounds.piece(take(n))
        if piece.tokens <= bounds.tokens_max:
            fitting_n, fitting_piece = n, piece
            if piece.tokens == bounds.tokens_max:
                break
        else:
            too_large = n
        tries += 1
        limit = min(too_large, 2 * fitting_n + 2)
        proportional = n * bounds.tokens_max // piece.tokens
        n = proportional if tries <= _INTERPOLATIONS_MAX else (fitting_n + limit) // 2
        n = max(fitting_n + 1, min(n, limit - 1))
    return (fitting_n, fitting_piece) if fitting_piece else (1, bounds.piece(take(1)))


def _seam(word: str, start: int, end: int) -> int:
    """Return the last boundary between graphemes at or before *end*, if there is one nearby.

    A mark, a joiner, a variation selector or a skin tone belongs to the character before it.
    So does the character after a joiner, and two regional indicators make one flag. If all
    of the last _GRAPHEME_CHARS_MAX characters are one grapheme, it is cut before a character
    that does not combine, or else at *end*.
    """
    if end >= len(word):
        return len(word)
    places = range(end, max(start, end - _GRAPHEME_CHARS_MAX), -1)
    uncombined = [place for place in places if not _is_combining(word[place])]
    for place in uncombined:
        if word[place - 1] != _JOINER and not _in_flag(word, start, place):
            return place
    return uncombined[0] if uncombined else end


def _is_combining(character: str) -> bool:
    return (
        character == _JOINER
        or unicodedata.category(character).startswith("M")  # variation selectors too
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin tones
    )


def _in_flag(word: str, start: int, at: int) -> bool:
    """Return whether a cut at *at* would split two regional indicators that are one flag.

    Indicators pair up from the beginning of their run, so an odd number before *at* splits one.
    """
    before = at
    while before > start and "\U0001f1e6" <= word[before - 1] <= "\U0001f1ff":
        before -= 1
    return (at - before) % 2 == 1 and "\U0001f1e6" <= word[at] <= "\U0001f1ff"
