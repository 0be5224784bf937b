"""An agent's own memories as the documented backend, inside the daemon.

The strategies are written against ``MemoryBackend``, so that they run on every
backend. Inside the daemon the backend is the rooms themselves, seen by one
caller: what a tool writes is written in that client's name and session.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memd.base.errors import MemoryStoreError
from memd.domain.caller import Caller
from memd.domain.enums import MemoryCategory, Origin
from memd.domain.memory import (
    MemoryEntry,
    MemoryQuery,
    MemoryStoreRequest,
    MemoryUpdate,
)
from memd.domain.sleep.consolidation import DETAILED_TAG

if TYPE_CHECKING:
    from memd.archive.archive import Archive
    from memd.ingest.ingest import Ingest
    from memd.recall.recall import Recall


@dataclass(frozen=True)
class MemoryRooms:
    """The rooms that the injection strategies use."""

    recall: Recall
    ingest: Ingest
    archive: Archive


@dataclass(frozen=True)
class OwnMemories:
    """A ``MemoryBackend`` over the rooms, for one caller; always connected.

    *repeated*: the caller sends a request that was done before, under the same key.
    """

    rooms: MemoryRooms
    caller: Caller
    repeated: bool = False

    async def connect(self) -> None:
        """Do nothing: the daemon has the file open."""

    async def disconnect(self) -> None:
        """Do nothing: the daemon closes the file."""

    async def health_check(self) -> bool:
        """Return that the daemon, which asks, is there."""
        return True

    @property
    def is_connected(self) -> bool:
        return True

    @property
    def backend_name(self) -> str:
        return "sqlite"

    async def store(self, agent_id: str, request: MemoryStoreRequest) -> str:
        """Keep *request* as it is, as what the assistant wrote, and return its id."""
        request = request.model_copy(update={"origin": request.origin or Origin.ASSISTANT})
        return await self.rooms.ingest.store(self._caller(agent_id), request)

    async def update(self, agent_id: str, memory_id: str, changes: MemoryUpdate) -> MemoryEntry:
        """Change a memory in place, as the assistant does; the version before is kept."""
        changes = changes.model_copy(update={"origin": changes.origin or Origin.ASSISTANT})
        return await self.rooms.ingest.update(self._caller(agent_id), memory_id, changes)

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """Return what matches, best first; without a text, newest first.

        The raw trace of a task is there for who asks for its tag (SPEC 16.15).
        """
        found = await self.rooms.recall.retrieve(self._caller(agent_id), query)
        if DETAILED_TAG in query.tags:
            return found
        return tuple(entry for entry in found if DETAILED_TAG not in entry.metadata.tags)

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: str | None = None
    ) -> tuple[MemoryEntry, ...]:
        """Return what agents other than *exclude_agent* share."""
        return await self.rooms.recall.search_shared(query, exclude_agent)

    async def get(self, agent_id: str, memory_id: str) -> MemoryEntry | None:
        """Return one memory, or None."""
        return await self.rooms.recall.get(self._caller(agent_id), memory_id)

    async def delete(self, agent_id: str, memory_id: str) -> bool:
        """Put one memory into the trash; False when there is none."""
        return await self.rooms.archive.delete(self._caller(agent_id), memory_id)

    async def count(self, agent_id: str, *, category: MemoryCategory | None = None) -> int:
        """Return how many memories the agent has."""
        return await self.rooms.recall.count(self._caller(agent_id), category)

    def _caller(self, agent_id: str) -> Caller:
        if not agent_id.strip():
            raise MemoryStoreError("agent_id is blank", field="agent_id")
        return self.caller.acting_for(agent_id)
