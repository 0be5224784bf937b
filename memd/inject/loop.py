"""Search, ask whether that was enough, ask in other words, search again (SPEC 12.9).

The loop ends as soon as anything says so: enough was found, there are no other
words, they are the same words, something failed. It never loses what it found.
At most 1 + rounds searches, rounds + 1 checks and rounds reformulations.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from memd.base import log
from memd.domain.inject import QueryReformulator, SufficiencyChecker
from memd.domain.memory import MemoryEntry
from memd.inject.isolated import isolated
from memd.inject.pipeline import Entries

Search = Callable[[str], Awaitable[Entries]]


@dataclass(frozen=True, slots=True)
class Loop:
    """The two collaborators, and how often to ask anew."""

    reformulator: QueryReformulator
    checker: SufficiencyChecker
    rounds: int

    async def run(self, query: str, search: Search) -> Entries:
        """Return everything that was found, best first. Raises what the first search raises."""
        found = await search(query)
        for _ in range(self.rounds):
            if await self._enough(query, found):
                return found
            other = await isolated(
                self.reformulator.reformulate(query, found), None, "reformulation"
            )
            if not other or other == query:
                return found
            more = await isolated(search(other), None, "another search")
            if more is None:
                return found
            query, found = other, merged(found, more)
        log.debug("search ended", enough=await self._enough(query, found))
        return found

    async def _enough(self, query: str, found: Entries) -> bool:
        """Return the checker's word; a checker that fails ends the search."""
        checked = self.checker.check_sufficiency(query, found)
        return await isolated(checked, True, "sufficiency check")


def merged(*found: Iterable[MemoryEntry]) -> Entries:
    """Return each memory once, with its highest relevance, best first; equals as first seen."""
    best: dict[str, MemoryEntry] = {}
    for entries in found:
        for entry in entries:
            known = best.get(entry.id)
            if known is None or _relevance(entry) > _relevance(known):
                best[entry.id] = entry
    return tuple(sorted(best.values(), key=_relevance, reverse=True))


def _relevance(entry: MemoryEntry) -> float:
    return entry.relevance_score or 0.0
