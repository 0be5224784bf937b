"""The daemon's archive, by call: the documented ``ArchivalStore`` (SPEC 16.13)."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from memd.base.errors import MemoryNotFoundError, MemoryRetrievalError, MemoryStoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from memd.domain.consolidation import ArchivalEntry
    from memd.domain.memory import MemoryEntry, MemoryQuery


class RemoteArchive:
    """``ArchivalStore`` over *kept*, which calls as the protocols of backends promise.

    What is archived must be a memory of the daemon's: it is moved there, in one
    transaction, and never copied.
    """

    def __init__(self, kept: Callable[..., Awaitable[Any]]) -> None:
        self._kept = kept

    async def archive(self, entry: ArchivalEntry) -> str:
        """Move the memory that *entry* is of into the archive and return its id there.

        Raises MemoryStoreError when the daemon has no such memory.
        """
        archival_id = await self.move(entry.agent_id, entry.original_id)
        if archival_id is None:
            raise MemoryStoreError(
                "only what the daemon holds can be put into its archive", field="original_id"
            )
        return archival_id

    async def move(self, agent_id: str, memory_id: str) -> str | None:
        """Move a memory into the archive; its id there, None when there is none."""
        said = {"id": memory_id}
        moved = await self._kept(MemoryStoreError, "archive.add", agent_id, said)
        return cast("str | None", moved)

    async def search(self, agent_id: str, query: MemoryQuery) -> tuple[ArchivalEntry, ...]:
        """Return what lies in the archive, by words with text, newest first without."""
        said = query.model_dump(mode="json", exclude_none=True)
        found = await self._kept(MemoryRetrievalError, "archive.search", agent_id, said)
        return tuple(map(_documented, found))

    async def restore(self, agent_id: str, entry_id: str) -> ArchivalEntry | None:
        """Return an archived memory, None when it is unknown or another's; it stays there."""
        with suppress(MemoryNotFoundError):
            said = {"id": entry_id}
            found = await self._kept(MemoryRetrievalError, "archive.restore", agent_id, said)
            return _documented(found)
        return None

    async def restore_to_hot(self, agent_id: str, entry_id: str) -> MemoryEntry | None:
        """Make an archived memory an ordinary one again; None when there is none."""
        from memd.domain.memory import MemoryEntry

        with suppress(MemoryNotFoundError):
            said = {"id": entry_id}
            found = await self._kept(MemoryStoreError, "archive.restore_to_hot", agent_id, said)
            return MemoryEntry.model_validate(found)
        return None

    async def count(self, agent_id: str) -> int:
        """Return how many of the agent's memories are in the archive."""
        found = await self._kept(MemoryRetrievalError, "archive.count", agent_id, {})
        return cast("int", found)


def _documented(item: dict[str, Any]) -> ArchivalEntry:
    from memd.domain.consolidation import archival_entry
    from memd.domain.removal import Archived

    found = Archived.model_validate(item)
    return archival_entry(found.entry, found.mode, found.archived_at)
