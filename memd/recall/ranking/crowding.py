"""Cap how much of an answer one foreign source may fill. Pure.

An attacker who controls a tool's output or a web page can state the same thing many times in
different words (PROMISES H49-H51, H60). So of memories from outside an answer holds a few of one
source, fewer that say the same, one of a burst, and a few of one client. The client counts because
memd knows it, whereas sessions and sources are names that a client chooses. What the owner or
their assistant wrote is not capped.
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

ALIKE = 0.5  # share of common word pairs from which two texts say the same


def spread(items: Sequence[Ranked]) -> list[Ranked]:
    """Return *items* in their order, without the foreign ones that exceed a cap."""
    counts: Counter[Hashable] = Counter()
    remaining: list[Ranked] = []
    foreign = _WordPairs()
    for item in items:
        candidate = item.measured.candidate
        if is_foreign(candidate):
            groups = list(_groups(candidate))
            if any(counts[group] >= cap for group, cap in groups):
                continue
            pairs = bigrams(candidate.own)
            if foreign.count_alike(pairs) >= RECALL_TWINS_ITEMS_MAX:
                continue
            counts.update(group for group, _ in groups)
            foreign.add(pairs)
        remaining.append(item)
    return remaining


class _WordPairs:
    """The word pairs of several texts; each text is split once."""

    def __init__(self) -> None:
        self._each: list[Bigrams] = []
        self._all: set[tuple[str, str]] = set()

    def add(self, pairs: Bigrams) -> None:
        self._each.append(pairs)
        self._all |= pairs

    def count_alike(self, pairs: Bigrams) -> int:
        """Return how many of the texts say the same as a text of *pairs*."""
        if len(self._all & pairs) < ALIKE * len(pairs):  # no single text can hold enough of them
            return 0
        return sum(jaccard(pairs, each) >= ALIKE for each in self._each)


def is_foreign(candidate: SearchCandidate) -> bool:
    """Return whether neither the owner nor their assistant wrote *candidate*."""
    return candidate.trust == Trust.UNTRUSTED or Origin(candidate.origin) in FOREIGN


def _groups(candidate: SearchCandidate) -> Iterator[tuple[Hashable, int]]:
    """Yield each group that a memory counts for, with the cap of that group."""
    if candidate.is_burst:
        yield ("burst", candidate.client_key), RECALL_BURST_ITEMS_MAX
    if candidate.reference is not None:
        yield ("source", candidate.reference.partition("#")[0]), RECALL_SOURCE_ITEMS_MAX
    if Origin(candidate.origin) is Origin.IMPORT:
        return  # one client imports a whole file of the owner's memories
    if candidate.reference is None:
        yield ("unnamed", candidate.client_key), RECALL_SOURCE_ITEMS_MAX
    yield ("client", candidate.client_key), RECALL_CLIENT_ITEMS_MAX
