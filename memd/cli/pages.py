"""The daemon's memories as the listing that the wiki reads, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memd.base.limits import PAGE_ITEMS_MAX

if TYPE_CHECKING:
    from memd.client import Client
    from memd.domain.memory import MemoryEntry, MemoryQuery


class RemotePages:
    """What ``WikiExporter`` asks of a backend, over one connection."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """Return what *query*, which has no text, lists; its pages may be of any size."""
        params = query.model_dump(mode="json", include={"tags", "until"}, exclude_none=True)
        found: list[MemoryEntry] = []
        after: str | None = None
        while len(found) < query.limit:
            page, after = await self._page("memory.list", agent_id, after, query.limit, params)
            found += page
            if after is None:
                break
        return tuple(found[: query.limit])

    async def originals(
        self, agent_id: str, after: str | None, limit: int
    ) -> tuple[tuple[MemoryEntry, ...], str | None]:
        """Return a page of what was told, newest first, and where the next one begins."""
        return await self._page("store.export", agent_id, after, limit, {})

    async def _page(
        self, method: str, agent_id: str, after: str | None, limit: int, more: dict[str, Any]
    ) -> tuple[tuple[MemoryEntry, ...], str | None]:
        from memd.domain.memory import MemoryEntry

        asked = {"agent_id": agent_id, "limit": min(limit, PAGE_ITEMS_MAX), **more}
        page = self._client.call(method, asked if after is None else {**asked, "after": after})
        return tuple(map(MemoryEntry.model_validate, page["items"])), page["next"]
