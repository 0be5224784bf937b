"""Estimate whether an answer used a text that was injected with the question. Pure.

A text is recognised by words that are rarely used by chance: numbers, names, paths,
identifiers. Those of the question do not count, as the answer may have them from there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from memd.text.words import sentences

_WORD = re.compile(r"[^\W_]+(?:[./:@_+-]+[^\W_]+)*")
_IDENTIFIER = re.compile(r"[a-z][A-Z]|[./:@_]|[^\W\d]\d|\d[^\W\d]|-\d")
_DIGITS_MIN = 2
"""A single digit is too common in answers to identify a text."""
_NAME_CHARS_MIN = 2


class Uptake(NamedTuple):
    """The ids of the texts that could be recognised in an answer, and of those that were."""

    recognisable: frozenset[str] = frozenset()
    taken_up: frozenset[str] = frozenset()


def measure_uptake(question: str, texts: Mapping[str, str], answer: str) -> Uptake:
    """Return which of the *texts*, injected with *question*, the *answer* used.

    >>> used = measure_uptake(
    ...     "Which port?", {"a": "The proxy listens on 8443.", "b": "Be brief."}, "8443"
    ... )
    >>> sorted(used.recognisable), sorted(used.taken_up)
    (['a'], ['a'])
    """
    question_words, answer_words = _words(question), _words(answer)
    terms_by_id = {memory_id: key_terms(text) - question_words for memory_id, text in texts.items()}
    return Uptake(
        recognisable=frozenset(memory_id for memory_id, terms in terms_by_id.items() if terms),
        taken_up=frozenset(
            memory_id for memory_id, terms in terms_by_id.items() if terms & answer_words
        ),
    )


def key_terms(text: str) -> frozenset[str]:
    """Return the numbers, names, paths and identifiers of *text*, folded.

    A sentence's first word is a name only if its letters show it.

    >>> sorted(key_terms("Ask Ada. Restart nginx-2 on port 8443, see /etc/nginx.conf, 3 times"))
    ['8443', 'ada', 'etc/nginx.conf', 'nginx-2']
    """
    terms: set[str] = set()
    for sentence in sentences(text):
        words = [match.group() for match in _WORD.finditer(sentence)]
        terms.update(
            word.casefold()
            for place, word in enumerate(words)
            if _is_key_term(word, first=place == 0)
        )
    return frozenset(terms)


def _is_key_term(word: str, *, first: bool) -> bool:
    if sum(map(str.isdigit, word)) >= _DIGITS_MIN or _IDENTIFIER.search(word):
        return True
    if len(word) < _NAME_CHARS_MIN:
        return False
    return word.isupper() or (word[0].isupper() and not first)


def _words(text: str) -> set[str]:
    return {match.group().casefold() for match in _WORD.finditer(text)}
