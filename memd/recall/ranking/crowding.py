"""So that nobody fills an answer alone: at most a few memories of one foreign source. Pure.

Whoever can make a tool print, or a page say, something can say it ten times in
ten words (PROMISES H49-H51, H60). Of what came from outside, an answer holds a few of
one source, fewer that say the same, one of a burst, and no more than a few of one client:
that is what memd knows, while sessions and sources are names that the client gives. What
the owner or his assistant wrote is never crowded out by this rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

from memd.base.limits import (
    RECALL_BURST_ITEMS_MAX,
    RECALL_CLIENT_ITEMS_MAX,
    RECALL_SOURCE_ITEMS_MAX,
    RECALL_TWINS_ITEMS_MAX,
)
from memd.domain.enums import Origin, Trust
from memd.domain.trust import FOREIGN
from memd.recall.ranking.diversify import Bigrams, bigrams, jaccard
from memd.recall.ranking.rankings import Ranked
from memd.store.search.candidate_rows import SearchCandidate

ALIKE = 0.5  # of their word pairs in common: the same thing said again


def spread(items: Sequence[Ranked]) -> list[Ranked]:
    """Return *items* in their order, without the foreign ones that are too many of their kind."""
    counts: Counter[Hashable] = Counter()
    kept: list[Ranked] = []
    foreign = _WordPairs()
    for item in items:
        its = item.measured.candidate
        if is_foreign(its):
            groups = list(_groups(its))
            if any(counts[group] >= most for group, most in groups):
                continue
            pairs = bigrams(its.own)
            if foreign.alike(pairs) >= RECALL_TWINS_ITEMS_MAX:
                continue
            counts.update(group for group, _ in groups)
            foreign.add(pairs)
        kept.append(item)
    return kept


class _WordPairs:
    """The word pairs of several texts, each text's read once."""

    def __init__(self) -> None:
        self._each: list[Bigrams] = []
        self._all: set[tuple[str, str]] = set()

    def add(self, pairs: Bigrams) -> None:
        self._each.append(pairs)
        self._all |= pairs

    def alike(self, pairs: Bigrams) -> int:
        """Return how many of the texts have at least the share ``ALIKE`` in common with *pairs*."""
        if len(self._all & pairs) < ALIKE * len(pairs):  # then no one of them holds so many
            return 0
        return sum(jaccard(pairs, each) >= ALIKE for each in self._each)


def is_foreign(its: SearchCandidate) -> bool:
    """Return whether neither the owner nor his assistant wrote it."""
    return its.trust == Trust.UNTRUSTED or Origin(its.origin) in FOREIGN


def _groups(its: SearchCandidate) -> Iterator[tuple[Hashable, int]]:
    """Yield what a memory belongs to, and how many of that an answer may hold."""
    if its.is_burst:
        yield ("burst", its.client_key), RECALL_BURST_ITEMS_MAX
    if its.reference is not None:
        yield ("source", its.reference.partition("#")[0]), RECALL_SOURCE_ITEMS_MAX
    if Origin(its.origin) is Origin.IMPORT:
        return  # a file of one's own memories is brought by one client, and all of it counts
    if its.reference is None:
        yield ("unnamed", its.client_key), RECALL_SOURCE_ITEMS_MAX
    yield ("client", its.client_key), RECALL_CLIENT_ITEMS_MAX
