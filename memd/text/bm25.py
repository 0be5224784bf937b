"""A text as the words that a sparse search compares, and as a sparse vector of them. Pure.

memd's own sparse search is SQLite's full-text index. This is the documents'
tokenizer for programs that keep sparse vectors of their own: no vocabulary, a term's
index is its hash, and only how often it occurs is kept.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from memd.text.function_words import FUNCTION_WORDS

_WORDS = re.compile(r"[^\W_]+")
_MASK = 0xFFFFFFFF


class BM25Tokenizer:
    """Cuts texts into terms (SPEC 7.10.5): NFKC, casefold, no function words of English."""

    def tokenize(self, text: str) -> list[str]:
        """Return the terms of *text*, in order; none for a text of function words alone.

        >>> BM25Tokenizer().tokenize("The retry_limit of HTTP is 3")
        ['retry', 'limit', 'http', '3']
        """
        words = _WORDS.findall(unicodedata.normalize("NFKC", text).casefold())
        return [word for word in words if word not in FUNCTION_WORDS]

    def encode(self, text: str) -> dict[int, int]:
        """Return how often each term occurs, by its index: the term's MurmurHash3, 32 bits."""
        counted = Counter(self.tokenize(text))
        frequencies: Counter[int] = Counter()
        for term, times in counted.items():
            frequencies[murmurhash3(term.encode())] += times
        return dict(frequencies)


def murmurhash3(key: bytes, seed: int = 0) -> int:
    """Return the 32-bit MurmurHash3 of *key*, unsigned.

    >>> hex(murmurhash3(b"test")), hex(murmurhash3(b"Hello, world!", 1234))
    ('0xba6bd213', '0xfaf6cdb3')
    """
    state = seed
    whole = len(key) & ~3
    for at in range(0, whole, 4):
        state ^= _mixed(int.from_bytes(key[at : at + 4], "little"))
        state = (_rotated(state, 13) * 5 + 0xE6546B64) & _MASK
    state ^= _mixed(int.from_bytes(key[whole:], "little"))
    state ^= len(key)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = ((state ^ state >> shift) * factor) & _MASK
    return state ^ state >> 16


def _mixed(block: int) -> int:
    return _rotated(block * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK


def _rotated(number: int, bits: int) -> int:
    return (number << bits | number >> (32 - bits)) & _MASK
