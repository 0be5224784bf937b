"""An archive in memory, for the in-memory backend or by itself.

It is the documented ``ArchivalStore`` (SPEC 16.13): ``archive`` stores a copy under a new id. A
backend that shares its memories with it (*hot*) can also move a memory into it and restore it
under its own id.
"""

from __future__ import annotations

from dataclasses import dataclass

from memd.backends.matching import select
from memd.base.clock import Clock, SystemClock, from_us
from memd.base.ids import Ids
from memd.domain.memory import MemoryEntry, MemoryQuery
from memd.domain.sleep.consolidation import ArchivalEntry, ArchivalMode, archival_entry

Hot = dict[str, dict[str, MemoryEntry]]
"""Each agent's memories by id."""


@dataclass(frozen=True, slots=True)
class _ArchivedMemory:
    """An archived entry, and the whole memory if a backend moved it here."""

    entry: ArchivalEntry
    whole: MemoryEntry


class InMemoryArchive:
    """Owns archived memories; no agent sees another agent's."""

    def __init__(
        self, *, clock: Clock | None = None, ids: Ids | None = None, hot: Hot | None = None
    ) -> None:
        self._clock = clock or SystemClock()
        self._ids = ids or Ids(self._clock)
        self._hot: Hot = {} if hot is None else hot
        self._archived: dict[str, _ArchivedMemory] = {}

    async def archive(self, entry: ArchivalEntry) -> str:
        """Store a copy of *entry* and return its archival id."""
        whole = MemoryEntry(
            id=entry.original_id,
            agent_id=entry.agent_id,
            category=entry.category,
            content=entry.content,
            metadata=entry.metadata,
            created_at=entry.created_at,
        )
        return self._put(_ArchivedMemory(entry, whole))

    async def search(self, agent_id: str, query: MemoryQuery) -> tuple[ArchivalEntry, ...]:
        """Return the agent's archived entries that match, by substring, newest first."""
        own = [
            archived.whole.model_copy(update={"id": archival_id})
            for archival_id, archived in self._archived.items()
            if archived.entry.agent_id == agent_id
        ]
        matches = select(own, query, from_us(self._clock.now_us()))
        return tuple(self._archived[entry.id].entry for entry in matches)

    async def restore(self, agent_id: str, entry_id: str) -> ArchivalEntry | None:
        """Return an archived entry by its archival id, None for an unknown or another agent's."""
        archived = self._find_own(agent_id, entry_id)
        return None if archived is None else archived.entry

    async def count(self, agent_id: str) -> int:
        return sum(archived.entry.agent_id == agent_id for archived in self._archived.values())

    # With the memories of a backend.

    def move_to_archive(self, agent_id: str, memory_id: str, mode: ArchivalMode) -> str | None:
        """Move a memory into the archive in one step; None if the agent has none with this id."""
        whole = self._hot.get(agent_id, {}).pop(memory_id, None)
        if whole is None:
            return None
        now = from_us(self._clock.now_us())
        return self._put(_ArchivedMemory(archival_entry(whole, mode, now), whole))

    async def restore_to_hot(self, agent_id: str, entry_id: str) -> MemoryEntry | None:
        """Restore a memory under its own id.

        None for an unknown id, another agent's, or if a memory with its id exists, as it does for
        a copy.
        """
        archived = self._find_own(agent_id, entry_id)
        own = self._hot.setdefault(agent_id, {})
        if archived is None or archived.whole.id in own:
            return None
        del self._archived[entry_id]
        own[archived.whole.id] = archived.whole
        return archived.whole

    def _put(self, archived: _ArchivedMemory) -> str:
        archival_id = self._ids.new()
        self._archived[archival_id] = archived
        return archival_id

    def _find_own(self, agent_id: str, entry_id: str) -> _ArchivedMemory | None:
        archived = self._archived.get(entry_id)
        return archived if archived is not None and archived.entry.agent_id == agent_id else None
