"""Which memories a query keeps, decided in Python: for what lies in a process, not in a file."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from memd.domain.memory import MemoryEntry, MemoryFilter, MemoryQuery


def expired(entry: MemoryEntry, now: datetime) -> bool:
    return entry.expires_at is not None and entry.expires_at <= now


def select(
    entries: Iterable[MemoryEntry], query: MemoryQuery, now: datetime
) -> tuple[MemoryEntry, ...]:
    """Return what matches *query*, newest first and by id among equals, at most its limit."""
    needle = query.text.casefold() if query.text else ""
    matches = [
        entry
        for entry in entries
        if not expired(entry, now) and fits(entry, query) and needle in entry.content.casefold()
    ]
    matches.sort(key=lambda entry: entry.id)
    matches.sort(key=lambda entry: entry.created_at, reverse=True)
    return tuple(matches[: query.limit])


def fits(entry: MemoryEntry, filters: MemoryFilter) -> bool:
    """Return whether every condition given in *filters* holds. An empty set is no condition."""
    return all(
        (
            not filters.namespaces or entry.namespace in filters.namespaces,
            not filters.categories or entry.category in filters.categories,
            not filters.levels or entry.level in filters.levels,
            set(filters.tags) <= set(entry.metadata.tags),
            filters.since is None or filters.since <= entry.created_at,
            filters.until is None or entry.created_at < filters.until,
            filters.occurred_since is None or filters.occurred_since <= _event(entry),
            filters.occurred_until is None or _event(entry) < filters.occurred_until,
            filters.session_id in (None, entry.session_id),
            filters.project_id in (None, entry.project_id),
        )
    )


def _event(entry: MemoryEntry) -> datetime:
    return entry.occurred_at or entry.created_at
