"""Which memories are consolidated, and which of them stays as it is (SPEC 16.5, D9).

Pure: entries and the time come in, groups go out. Beyond the documents, whose
groups are categories, a group never mixes what has a fate of its own: another
namespace, another project's memories, a session's that end with it. So the
summary can live exactly where its sources lived. And some memories are in no
group: what is younger than a day, what is a summary already, what is protected, what a nap
composed, what states nothing, what is hidden, and what has a date on which it goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from memd.domain.enums import VISIBLE, MemoryCategory, MemoryLevel
from memd.domain.memory import MemoryEntry
from memd.domain.sleep.consolidation import PROTECTED_TAGS, SUMMARY_TAGS, is_composed

GROUP_THRESHOLD = 3
GROUP_THRESHOLD_MIN = 2
AGE_DAYS_MIN = 1


@dataclass(frozen=True, slots=True)
class ConsolidationGroup:
    """Memories that become one summary: *kept* stays beside it, *to_remove* are in it.

    *to_remove* are in the order in which they came.
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
        """Return the project by which the summary is filtered, if it is."""
        return self.kept.project_id if self.level is MemoryLevel.PROJECT else None

    @property
    def session_id(self) -> str | None:
        """Return the session with which the summary ends, if it does."""
        return self.kept.session_id if self.level is MemoryLevel.SESSION else None


class HighestRelevanceSelector:
    """Groups entries and keeps of each group the most relevant one.

    Groups of fewer than *group_threshold* members are left alone. Raises ValueError
    for a threshold below *threshold_min*.
    """

    def __init__(
        self,
        *,
        group_threshold: int = GROUP_THRESHOLD,
        threshold_min: int = GROUP_THRESHOLD_MIN,
        age_days_min: int = AGE_DAYS_MIN,
    ) -> None:
        if group_threshold < threshold_min:
            raise ValueError(f"group_threshold must be at least {threshold_min}")
        self._threshold = group_threshold
        self._age_min = timedelta(days=age_days_min)

    def select(
        self, entries: Iterable[MemoryEntry], now: datetime
    ) -> tuple[ConsolidationGroup, ...]:
        """Return the groups of *entries*, by category and then namespace."""
        groups: dict[tuple[str, ...], list[MemoryEntry]] = {}
        for entry in {entry.id: entry for entry in entries}.values():
            if self.is_member(entry, now):
                groups.setdefault(_place(entry), []).append(entry)
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
            and now - entry.created_at >= self._age_min
            and not (PROTECTED_TAGS | SUMMARY_TAGS).intersection(entry.metadata.tags)
            and not is_composed(entry.metadata.tags)
            and entry.passing is None
        )


def kept_of(members: Iterable[MemoryEntry]) -> MemoryEntry:
    """Return the most relevant of *members*; of equals the newest, and of those the first.

    A listing gives no relevance: then it is the newest.
    """
    return max(members, key=lambda entry: (entry.relevance_score or 0.0, entry.created_at))


def _place(entry: MemoryEntry) -> tuple[str, ...]:
    """Return what the members of a group have in common."""
    fate = {MemoryLevel.PROJECT: entry.project_id, MemoryLevel.SESSION: entry.session_id}
    return entry.category.value, entry.namespace, entry.level.value, fate.get(entry.level) or ""


def _group(members: list[MemoryEntry]) -> ConsolidationGroup:
    kept = kept_of(members)
    return ConsolidationGroup(kept, tuple(entry for entry in members if entry is not kept))
