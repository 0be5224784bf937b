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
    found = [
        entry
        for entry in entries
        if not expired(entry, now) and fits(entry, query) and needle in entry.content.casefold()
    ]
    found.sort(key=lambda entry: entry.id)
    found.sort(key=lambda entry: entry.created_at, reverse=True)
    return tuple(found[: query.limit])


def fits(entry: MemoryEntry, wanted: MemoryFilter) -> bool:
    """Return whether every condition given in *wanted* holds. An empty set is no condition."""
    return all(
        (
            not wanted.namespaces or entry.namespace in wanted.namespaces,
            not wanted.categories or entry.category in wanted.categories,
            not wanted.levels or entry.level in wanted.levels,
            set(wanted.tags) <= set(entry.metadata.tags),
            wanted.since is None or wanted.since <= entry.created_at,
            wanted.until is None or entry.created_at < wanted.until,
            wanted.occurred_since is None or wanted.occurred_since <= _event(entry),
            wanted.occurred_until is None or _event(entry) < wanted.occurred_until,
            wanted.session_id in (None, entry.session_id),
            wanted.project_id in (None, entry.project_id),
        )
    )


def _event(entry: MemoryEntry) -> datetime:
    return entry.occurred_at or entry.created_at
