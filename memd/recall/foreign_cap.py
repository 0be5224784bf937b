"""Limit how much of an answer one foreign source can fill. Pure.

An attacker who controls a web page or the output of a tool can state one thing many times in
different words (PROMISES H49-H51, H60). So an answer has only a few foreign memories of one source
or client, fewer that say the same, and one of a burst. Clients are counted because memd knows who
they are, whereas they choose the names of sessions and sources themselves. Memories of the owner
and their assistant are not limited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from memd.base.limits import (
    RECALL_BURST_ITEMS_MAX,
    RECALL_CLIENT_ITEMS_MAX,
    RECALL_SOURCE_ITEMS_MAX,
    RECALL_TWINS_ITEMS_MAX,
)
from memd.domain.enums import Origin, Trust
from memd.domain.trust import FOREIGN
from memd.recall.ranking.rankings import RankedCandidate
from memd.recall.ranking.scored_memories import Bigrams, bigrams, jaccard
from memd.store.search.candidate_rows import SearchCandidate

TWINS_ALIKE = 0.5  # share of common word pairs at which two foreign texts say the same


def spread(items: Sequence[RankedCandidate]) -> list[RankedCandidate]:
    """Return *items* in their order, without foreign memories beyond a limit."""
    counts: Counter[Hashable] = Counter()
    remaining: list[RankedCandidate] = []
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


@dataclass
class _WordPairs:
    """The word pairs of several texts; each text is split once."""

    each: list[Bigrams] = field(default_factory=list)
    all: set[tuple[str, str]] = field(default_factory=set)

    def add(self, pairs: Bigrams) -> None:
        self.each.append(pairs)
        self.all |= pairs

    def count_alike(self, pairs: Bigrams) -> int:
        """Return the number of texts that share ``TWINS_ALIKE`` of their pairs with *pairs*."""
        if len(self.all & pairs) < TWINS_ALIKE * len(pairs):
            return 0  # then no single text can share enough of them
        return sum(jaccard(pairs, each) >= TWINS_ALIKE for each in self.each)


def is_foreign(candidate: SearchCandidate) -> bool:
    """Return whether neither the owner nor their assistant wrote *candidate*."""
    return candidate.trust == Trust.UNTRUSTED or Origin(candidate.origin) in FOREIGN


def _groups(candidate: SearchCandidate) -> Iterator[tuple[Hashable, int]]:
    """Yield the groups that a foreign memory belongs to, each with its limit."""
    if candidate.is_burst:
        yield ("burst", candidate.client_key), RECALL_BURST_ITEMS_MAX
    is_import = Origin(candidate.origin) is Origin.IMPORT
    if candidate.reference is not None:
        cap = RECALL_CLIENT_ITEMS_MAX if is_import else RECALL_SOURCE_ITEMS_MAX
        yield ("source", candidate.reference.partition("#")[0]), cap
    if is_import:
        return  # one client imports all files, which are cut into single statements
    if candidate.reference is None:
        yield ("unnamed", candidate.client_key), RECALL_SOURCE_ITEMS_MAX
    yield ("client", candidate.client_key), RECALL_CLIENT_ITEMS_MAX
