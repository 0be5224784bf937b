"""Iteration over all pages of a listing, through a protocol that returns only the newest."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Protocol

from memd.domain.memory import MemoryEntry, MemoryQuery

_INSTANT = timedelta(microseconds=1)


class ListableBackend(Protocol):
    """Anything whose memories can be listed: every backend."""

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]: ...


async def iter_pages(
    backend: ListableBackend, agent_id: str, query: MemoryQuery
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
