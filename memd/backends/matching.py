"""Filter memories by a query in Python, for backends without a database."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from memd.domain.memory import MemoryEntry, MemoryFilter, MemoryQuery


def is_expired(entry: MemoryEntry, now: datetime) -> bool:
    return entry.expires_at is not None and entry.expires_at <= now


def select(
    entries: Iterable[MemoryEntry], query: MemoryQuery, now: datetime
) -> tuple[MemoryEntry, ...]:
    """Return the entries that match *query*, newest first, then by id, at most its limit."""
    needle = query.text.casefold() if query.text else ""
    matches = [
        entry
        for entry in entries
        if not is_expired(entry, now)
        and matches_filter(entry, query)
        and needle in entry.content.casefold()
    ]
    matches.sort(key=lambda entry: entry.id)
    matches.sort(key=lambda entry: entry.created_at, reverse=True)
    return tuple(matches[: query.limit])


def matches_filter(entry: MemoryEntry, filters: MemoryFilter) -> bool:
    """Return whether *entry* meets all conditions of *filters*. An empty set is no condition."""
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
