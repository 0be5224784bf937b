"""Sentences and words of a text, and English function words, which carry no meaning. Pure.

memd's own sparse search is SQLite's full-text index. :class:`BM25Tokenizer` is the specification's
tokenizer for programs with sparse vectors of their own: without a vocabulary, a term's index is its
hash, and only its frequency is stored.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

_END = re.compile(
    r"(?<=[.!?])(?<!\.\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!^\d\.)(?<!\betc\.)(?:\s+(?=\S)|[\"'\u201d\u2019)\]]+\s+(?=[^\sa-z]))"
    r"|(?<=[\u3002\uff01\uff1f])|\n+",
    re.MULTILINE,
)

FUNCTION_WORDS = frozenset(
    """
    a about after again all also am an and any are as at be because been before being between both
    but by can could did do does doing done down during each few for from further get got had has
    have having he her here hers herself him himself his how i if in into is it its itself just ll
    let me more most my myself no nor not now of off on once only or other our ours ourselves out
    over own re s same she should so some such t than that the their theirs them themselves then
    there these they this those through to too under until up us ve very was we were what when
    where which while who whom whose why will with would you your yours yourself yourselves d m
    """.split()  # noqa: SIM905  # a list of 150 strings would fill two screens
)

_WORD = re.compile(r"[^\W_]+")
_PUNCTUATION = "!.,?;:\"'()"
_MASK = 0xFFFFFFFF


def sentences(text: str) -> list[str]:
    """Return the sentences of *text* in order.

    >>> sentences("No. Use tabs, e.g. here.")
    ['No.', 'Use tabs, e.g. here.']
    """
    return [part.strip() for part in _END.split(text) if part.strip()]


def content_words(text: str) -> list[str]:
    """Return the content words of *text*, folded, each once; all words where there are none.

    >>> content_words("How do we deploy to production?")
    ['deploy', 'production']
    """
    words = dict.fromkeys(match.group().casefold() for match in _WORD.finditer(text))
    return [word for word in words if word not in FUNCTION_WORDS] or list(words)


def words_of(text: str) -> frozenset[str]:
    """Return the distinct words, in lower case, without punctuation at their ends (SPEC 5.6).

    >>> sorted(words_of('Use Python 3.11, "please"!'))
    ['3.11', 'please', 'python', 'use']
    """
    return frozenset(filter(None, (word.strip(_PUNCTUATION) for word in text.lower().split())))


class BM25Tokenizer:
    """Splits texts into terms (SPEC 7.10.5): NFKC, casefold, without English function words."""

    def tokenize(self, text: str) -> list[str]:
        """Return the terms of *text*, in order; none for a text of function words alone.

        >>> BM25Tokenizer().tokenize("The retry_limit of HTTP is 3")
        ['retry', 'limit', 'http', '3']
        """
        words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
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
