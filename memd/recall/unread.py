"""Raise the bars of memories for a question that the default model cannot read. Pure.

The model reads English, and gives texts of any other language similar vectors (decision 0380), so
that one German memory in an English store is near to every German question. So the bars depend on
the best, which its words tell, and what naps composed, whose score is mostly similarity, needs
words of the question (0416).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from memd.extract.time_words import fold
from memd.recall.ranking.rankings import RankedCandidate
from memd.text.languages import FOREIGN_FUNCTION_WORDS
from memd.text.words import WORD

UNREAD_SHARE = 0.5
"""Minimum share of the best relevance."""
UNREAD_COVER = 0.24
"""Minimum weighted share of the question's words in what a nap composed: a name alone is less."""
_BEGINNING = 5  # letters


def raise_unread_bars(items: Sequence[RankedCandidate], query: str) -> list[RankedCandidate]:
    """Return *items* in their order, with bars for a *query* that is not English.

    A memory needs ``UNREAD_SHARE`` of the best relevance. One that a nap composed also needs words
    of the query, or one that begins like one of them. Only the default model makes token vectors,
    so memories without a token match keep their bars, and so do those that a time brings, which
    have none.
    """
    asked = _beginnings(query)
    unread = [item for item in items if item.measured.match.mean and item.bar]
    lacking = {
        id(item)
        for item in unread
        if item.measured.candidate.is_composed and not _shares_word(item, asked)
    }
    others = (item.relevance for item in items if item.passes and id(item) not in lacking)
    least = UNREAD_SHARE * max(others, default=0.0)
    bars = {id(item): math.inf if id(item) in lacking else least for item in unread}
    return [replace(item, bar=max(item.bar, bars.get(id(item), 0.0))) for item in items]


def _shares_word(item: RankedCandidate, asked: frozenset[str]) -> bool:
    """Return whether a memory has ``UNREAD_COVER`` of the query's words, or a beginning of one."""
    measured = item.measured
    if not measured.matched:
        return not asked.isdisjoint(_beginnings(measured.candidate.own))
    return measured.features["cov"] >= UNREAD_COVER


def _beginnings(text: str) -> frozenset[str]:
    """Return the first letters, without accents, of the words of *text* that are long enough.

    Words of other languages are compounds and have endings that the stemmer does not know.

    >>> sorted(_beginnings("Zahnarzt") & _beginnings("die Zahnärztin"))
    ['zahna']
    """
    words = (word for word in WORD.findall(text.casefold()) if word not in FOREIGN_FUNCTION_WORDS)
    return frozenset(fold(word)[:_BEGINNING] for word in words if len(word) >= _BEGINNING)
