"""An archive that lives as long as its process: the in-memory backend's, or anybody's.

It is the documents' ``ArchivalStore`` (SPEC 16.13): what is archived is a copy
under an id of its own. A backend that shares its memories with it (*hot*) can
also put one away as a whole and bring it back under its own id.
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
class _Kept:
    """What was archived, and the memory as it was where a backend put it away as a whole."""

    entry: ArchivalEntry
    whole: MemoryEntry


class InMemoryArchive:
    """Keeps what was put away. Nobody sees what another agent has in it."""

    def __init__(
        self, *, clock: Clock | None = None, ids: Ids | None = None, hot: Hot | None = None
    ) -> None:
        self._clock = clock or SystemClock()
        self._ids = ids or Ids(self._clock)
        self._hot: Hot = {} if hot is None else hot
        self._kept: dict[str, _Kept] = {}

    async def archive(self, entry: ArchivalEntry) -> str:
        """Keep a copy of *entry* and return its archival id."""
        whole = MemoryEntry(
            id=entry.original_id,
            agent_id=entry.agent_id,
            category=entry.category,
            content=entry.content,
            metadata=entry.metadata,
            created_at=entry.created_at,
        )
        return self._put(_Kept(entry, whole))

    async def search(self, agent_id: str, query: MemoryQuery) -> tuple[ArchivalEntry, ...]:
        """Return what the agent has in the archive, by substring, newest first."""
        mine = [
            kept.whole.model_copy(update={"id": archival_id})
            for archival_id, kept in self._kept.items()
            if kept.entry.agent_id == agent_id
        ]
        matches = select(mine, query, from_us(self._clock.now_us()))
        return tuple(self._kept[entry.id].entry for entry in matches)

    async def restore(self, agent_id: str, entry_id: str) -> ArchivalEntry | None:
        """Return an archived entry by its archival id, None when unknown or another's."""
        kept = self._mine(agent_id, entry_id)
        return None if kept is None else kept.entry

    async def count(self, agent_id: str) -> int:
        return sum(kept.entry.agent_id == agent_id for kept in self._kept.values())

    # With the memories of a backend at hand.

    def move_to_archive(self, agent_id: str, memory_id: str, mode: ArchivalMode) -> str | None:
        """Move a memory into the archive in one step; None when the agent has none of that id."""
        whole = self._hot.get(agent_id, {}).pop(memory_id, None)
        if whole is None:
            return None
        now = from_us(self._clock.now_us())
        return self._put(_Kept(archival_entry(whole, mode, now), whole))

    async def restore_to_hot(self, agent_id: str, entry_id: str) -> MemoryEntry | None:
        """Bring a memory back under its own id; None when unknown, another's, or not alone there.

        Only what was put away can be brought back; a copy of somebody else's cannot.
        """
        kept = self._mine(agent_id, entry_id)
        own = self._hot.setdefault(agent_id, {})
        if kept is None or kept.whole.id in own:
            return None
        del self._kept[entry_id]
        own[kept.whole.id] = kept.whole
        return kept.whole

    def _put(self, kept: _Kept) -> str:
        archival_id = self._ids.new()
        self._kept[archival_id] = kept
        return archival_id

    def _mine(self, agent_id: str, entry_id: str) -> _Kept | None:
        kept = self._kept.get(entry_id)
        return kept if kept is not None and kept.entry.agent_id == agent_id else None
