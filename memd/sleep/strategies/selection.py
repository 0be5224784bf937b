"""Which memories are consolidated, and which of them stays visible (SPEC 16.5, D9).

Pure: entries and the time in, groups out. Beyond SPEC, whose
groups are categories, a group never mixes memories of different lifetimes: another
namespace, another project, or sessions with which they end. So the
summary can be filed exactly where its sources are. Some memories are in no
group: those younger than a day, summaries, protected ones, those composed by a nap,
turns in passing, hidden ones, and those with an expiry date.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from memd.domain.enums import VISIBLE, MemoryCategory, MemoryLevel
from memd.domain.inject import SupportsRetrieve
from memd.domain.memory import MemoryEntry, MemoryQuery
from memd.domain.sleep.consolidation import PROTECTED_TAGS, SUMMARY_TAGS, is_composed

GROUP_THRESHOLD = 3
GROUP_THRESHOLD_MIN = 2
AGE_DAYS_MIN = 1


@dataclass(frozen=True, slots=True)
class ConsolidationGroup:
    """Memories that become one summary: *kept* stays beside it, *to_remove* are in it.

    *to_remove* has the order of the input.
    """

    kept: MemoryEntry
    to_remove: tuple[MemoryEntry, ...]

    @property
    def category(self) -> MemoryCategory:
        return self.kept.category

    @property
    def namespace(self) -> str:
        return self.kept.namespace

    @property
    def level(self) -> MemoryLevel:
        return self.kept.level

    @property
    def project_id(self) -> str | None:
        """The project to which the summary is restricted, if any."""
        return self.kept.project_id if self.level is MemoryLevel.PROJECT else None

    @property
    def session_id(self) -> str | None:
        """The session with which the summary ends, if any."""
        return self.kept.session_id if self.level is MemoryLevel.SESSION else None


class HighestRelevanceSelector:
    """Groups entries and keeps the most relevant one of each group.

    Groups of fewer than *group_threshold* members are left alone. Raises ValueError
    for a threshold below *threshold_min*.
    """

    def __init__(
        self,
        *,
        group_threshold: int = GROUP_THRESHOLD,
        threshold_min: int = GROUP_THRESHOLD_MIN,
    ) -> None:
        if group_threshold < threshold_min:
            raise ValueError(f"group_threshold must be at least {threshold_min}")
        self._threshold = group_threshold

    def select(
        self, entries: Iterable[MemoryEntry], now: datetime
    ) -> tuple[ConsolidationGroup, ...]:
        """Return the groups of *entries*, by category and then namespace."""
        groups: dict[tuple[str, ...], list[MemoryEntry]] = {}
        for entry in {entry.id: entry for entry in entries}.values():
            if self.is_member(entry, now):
                groups.setdefault(_group_key(entry), []).append(entry)
        return tuple(
            _group(members)
            for _, members in sorted(groups.items())
            if len(members) >= self._threshold
        )

    def is_member(self, entry: MemoryEntry, now: datetime) -> bool:
        """Return whether *entry* may be consolidated at *now*."""
        return (
            entry.state in VISIBLE
            and entry.expires_at is None
            and now - entry.created_at >= timedelta(days=AGE_DAYS_MIN)
            and not (PROTECTED_TAGS | SUMMARY_TAGS).intersection(entry.metadata.tags)
            and not is_composed(entry.metadata.tags)
            and entry.passing is None
        )


def most_relevant(members: Iterable[MemoryEntry]) -> MemoryEntry:
    """Return the most relevant of *members*; of equals the newest, and of those the first.

    Listed entries have no relevance: then it is the newest.
    """
    return max(members, key=lambda entry: (entry.relevance_score or 0.0, entry.created_at))


def _group_key(entry: MemoryEntry) -> tuple[str, ...]:
    """Return what all members of a group share."""
    scope_id = {MemoryLevel.PROJECT: entry.project_id, MemoryLevel.SESSION: entry.session_id}
    return entry.category.value, entry.namespace, entry.level.value, scope_id.get(entry.level) or ""


def _group(members: list[MemoryEntry]) -> ConsolidationGroup:
    kept = most_relevant(members)
    return ConsolidationGroup(kept, tuple(entry for entry in members if entry is not kept))


_INSTANT = timedelta(microseconds=1)


async def iter_pages(
    backend: SupportsRetrieve, agent_id: str, query: MemoryQuery
) -> AsyncIterator[tuple[MemoryEntry, ...]]:
    """Yield the memories of *query* page by page, each once; its limit is the page size.

    With a backend that lists the newest first, pages go back in time. If more memories
    than a page holds share one microsecond, the excess is skipped.
    """
    last: frozenset[str] = frozenset()
    while True:
        page = await backend.retrieve(agent_id, query)
        yield tuple(entry for entry in page if entry.id not in last)
        if len(page) < query.limit:
            return
        last = frozenset(entry.id for entry in page)
        oldest = min(entry.created_at for entry in page)
        # The next page includes that microsecond, which may hold more memories.
        next_until = oldest + _INSTANT
        until = next_until if query.until is None or next_until < query.until else oldest
        query = query.model_copy(update={"until": until})
