"""Select groups of memories to consolidate, and the one that stays visible (SPEC 16.5, D9).

In SPEC a group is a category. Here it also has one namespace, one level, and one project or session
if the level has one, so that the summary can be filed exactly where its sources are.

Never in a group are memories younger than a day, summaries, protected memories, those composed by a
nap, turns in passing, hidden memories, and those with an expiry.
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
    """A group of memories: *kept* stays visible, *to_remove* are replaced by a summary.

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
        """The project of the summary, if its level is PROJECT."""
        return self.kept.project_id if self.level is MemoryLevel.PROJECT else None

    @property
    def session_id(self) -> str | None:
        """The session of the summary, if its level is SESSION."""
        return self.kept.session_id if self.level is MemoryLevel.SESSION else None


class HighestRelevanceSelector:
    """Groups entries and keeps the most relevant one of each group.

    Groups of fewer than *group_threshold* members are not consolidated. Raises ValueError for a
    threshold below *threshold_min*.
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
        """Return the groups of *entries*, sorted by category, namespace and level."""
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
    """Return the most relevant of *members*; of equally relevant ones the newest, then the first.

    Listed entries have no relevance, so it is the newest of them.
    """
    return max(members, key=lambda entry: (entry.relevance_score or 0.0, entry.created_at))


def _group_key(entry: MemoryEntry) -> tuple[str, ...]:
    """Return the values that all members of a group share."""
    scope_id = {MemoryLevel.PROJECT: entry.project_id, MemoryLevel.SESSION: entry.session_id}
    return entry.category.value, entry.namespace, entry.level.value, scope_id.get(entry.level) or ""


def _group(members: list[MemoryEntry]) -> ConsolidationGroup:
    kept = most_relevant(members)
    return ConsolidationGroup(kept, tuple(entry for entry in members if entry is not kept))


_INSTANT = timedelta(microseconds=1)


async def iter_pages(
    backend: SupportsRetrieve, agent_id: str, query: MemoryQuery
) -> AsyncIterator[tuple[MemoryEntry, ...]]:
    """Yield the memories of *query* page by page, each once; the query's limit is the page size.

    The backend must list the newest first, as pages go back in time. If more memories than fit a
    page share one microsecond, the remaining ones are skipped.
    """
    previous_ids: frozenset[str] = frozenset()
    while True:
        page = await backend.retrieve(agent_id, query)
        yield tuple(entry for entry in page if entry.id not in previous_ids)
        if len(page) < query.limit:
            return
        previous_ids = frozenset(entry.id for entry in page)
        oldest = min(entry.created_at for entry in page)
        # The next page includes that microsecond, in which there may be more memories.
        next_until = oldest + _INSTANT
        until = next_until if query.until is None or next_until < query.until else oldest
        query = query.model_copy(update={"until": until})
