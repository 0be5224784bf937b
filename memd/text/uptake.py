"""Whether an answer took up a text that stood beside the question. Pure, and an estimate.

A text is known again by the words that hardly anybody says by chance: numbers, names, paths,
identifiers. Those of the question tell nothing, for an answer has them from there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from memd.text.sentences import sentences

_WORD = re.compile(r"[^\W_]+(?:[./:@_+-]+[^\W_]+)*")
_IDENTIFIER = re.compile(r"[a-z][A-Z]|[./:@_]|[^\W\d]\d|\d[^\W\d]|-\d")
_DIGITS_MIN = 2
"""A single digit is in every other answer."""
_NAME_CHARS_MIN = 2


class Uptake(NamedTuple):
    """Which texts could be known again in an answer, and which were, by their ids."""

    tellable: frozenset[str] = frozenset()
    taken_up: frozenset[str] = frozenset()


def uptake(question: str, given: Mapping[str, str], answer: str) -> Uptake:
    """Return which of the texts *given* beside *question* the *answer* took up.

    >>> found = uptake("Which port?", {"a": "The proxy listens on 8443.", "b": "Be brief."}, "8443")
    >>> sorted(found.tellable), sorted(found.taken_up)
    (['a'], ['a'])
    """
    asked, answer_words = _words(question), _words(answer)
    own = {memory_id: key_terms(text) - asked for memory_id, text in given.items()}
    return Uptake(
        tellable=frozenset(memory_id for memory_id, terms in own.items() if terms),
        taken_up=frozenset(memory_id for memory_id, terms in own.items() if terms & answer_words),
    )


def key_terms(text: str) -> frozenset[str]:
    """Return the numbers, names, paths and identifiers of *text*, folded.

    A sentence's first word is a name only where its letters say so.

    >>> sorted(key_terms("Ask Ada. Restart nginx-2 on port 8443, see /etc/nginx.conf, 3 times"))
    ['8443', 'ada', 'etc/nginx.conf', 'nginx-2']
    """
    terms: set[str] = set()
    for sentence in sentences(text):
        words = [match.group() for match in _WORD.finditer(sentence)]
        terms.update(
            word.casefold() for place, word in enumerate(words) if _tells(word, first=place == 0)
        )
    return frozenset(terms)


def _tells(word: str, *, first: bool) -> bool:
    if sum(map(str.isdigit, word)) >= _DIGITS_MIN or _IDENTIFIER.search(word):
        return True
    if len(word) < _NAME_CHARS_MIN:
        return False
    return word.isupper() or (word[0].isupper() and not first)


def _words(text: str) -> set[str]:
    return {match.group().casefold() for match in _WORD.finditer(text)}
