"""A text as a set of plain words, for rules that compare texts without an index. Pure."""

from __future__ import annotations

_AROUND = "!.,?;:\"'()"


def words_of(text: str) -> frozenset[str]:
    """Return the distinct words, in lower case, without punctuation at their ends (SPEC 5.6).

    >>> sorted(words_of('Use Python 3.11, "please"!'))
    ['3.11', 'please', 'python', 'use']
    """
    return frozenset(filter(None, (word.strip(_AROUND) for word in text.lower().split())))
