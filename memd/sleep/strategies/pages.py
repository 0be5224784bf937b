"""All memories of a listing, page by page, over a protocol that only knows the newest."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Protocol

from memd.domain.memory import MemoryEntry, MemoryQuery

_INSTANT = timedelta(microseconds=1)


class Listing(Protocol):
    """What can be listed: any backend."""

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]: ...


async def pages(
    backend: Listing, agent_id: str, query: MemoryQuery
) -> AsyncIterator[tuple[MemoryEntry, ...]]:
    """Yield what *query* lists, each memory once; its limit is that of a page.

    With a backend that lists the newest first the pages go back in time. Of more
    memories of one single microsecond than a page holds, the rest is passed over.
    """
    last: frozenset[str] = frozenset()
    while True:
        page = await backend.retrieve(agent_id, query)
        yield tuple(entry for entry in page if entry.id not in last)
        if len(page) < query.limit:
            return
        last = frozenset(entry.id for entry in page)
        oldest = min(entry.created_at for entry in page)
        # What was made in the very same moment may be on the next page.
        following = oldest + _INSTANT
        until = following if query.until is None or following < query.until else oldest
        query = query.model_copy(update={"until": until})
