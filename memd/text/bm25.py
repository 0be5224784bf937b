"""Terms of a text, and its sparse vector, for BM25. Pure.

memd's own sparse search is SQLite's full-text index. This is the specification's
tokenizer for programs with sparse vectors of their own: without a vocabulary, a term's
index is its hash, and only its frequency is stored.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from memd.text.function_words import FUNCTION_WORDS

_WORDS = re.compile(r"[^\W_]+")
_MASK = 0xFFFFFFFF


class BM25Tokenizer:
    """Splits texts into terms (SPEC 7.10.5): NFKC, casefold, without English function words."""

    def tokenize(self, text: str) -> list[str]:
        """Return the terms of *text*, in order; none for a text of function words alone.

        >>> BM25Tokenizer().tokenize("The retry_limit of HTTP is 3")
        ['retry', 'limit', 'http', '3']
        """
        words = _WORDS.findall(unicodedata.normalize("NFKC", text).casefold())
        return [word for word in words if word not in FUNCTION_WORDS]

    def encode(self, text: str) -> dict[int, int]:
        """Return each term's frequency by its index: the term's MurmurHash3, 32 bits."""
        counts = Counter(self.tokenize(text))
        frequencies: Counter[int] = Counter()
        for term, times in counts.items():
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
        state ^= _mix(int.from_bytes(key[at : at + 4], "little"))
        state = (_rotate(state, 13) * 5 + 0xE6546B64) & _MASK
    state ^= _mix(int.from_bytes(key[whole:], "little"))
    state ^= len(key)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = ((state ^ state >> shift) * factor) & _MASK
    return state ^ state >> 16


def _mix(block: int) -> int:
    return _rotate(block * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK


def _rotate(number: int, bits: int) -> int:
    return (number << bits | number >> (32 - bits)) & _MASK
