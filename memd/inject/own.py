"""An agent's own memories as the documented backend, inside the daemon.

The strategies are written against ``MemoryBackend``, so that they run on every
backend. Inside the daemon the backend is the rooms themselves, seen by one
caller: what a tool writes is written in that client's name and session.

For a prompt (SPEC 9.5) the documented pipeline asks each source by itself. Here one recall
asks them together, with one question understood once, and behind the gate that says nothing
when nothing fits; ``pools_of`` sorts what it brings by source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memd.base.errors import MemoryStoreError
from memd.base.limits import RECALL_BUDGET_TOKENS_MAX
from memd.domain.caller import Caller
from memd.domain.enums import FusionStrategy, MemoryCategory, Origin, SearchMode
from memd.domain.inject import PrepareRequest
from memd.domain.memory import (
    MemoryEntry,
    MemoryMetadata,
    MemoryQuery,
    MemoryStoreRequest,
    MemoryUpdate,
)
from memd.domain.recall import MemoryChunk, RecallRequest, RecallResult
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.domain.sleep.consolidation import DETAILED_TAG, is_composed
from memd.inject.pipeline import Entries, Pools

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
        entries = await self.rooms.recall.retrieve(self._caller(agent_id), query)
        if DETAILED_TAG in query.tags:
            return entries
        return tuple(entry for entry in entries if DETAILED_TAG not in entry.metadata.tags)

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


async def recalled(
    rooms: MemoryRooms,
    caller: Caller,
    request: PrepareRequest,
    config: MemoryRetrievalConfig,
    mode: SearchMode = SearchMode.HYBRID,
    begun: Callable[[], object] = bool,
) -> RecallResult:
    """Return the preferences, and as many memories as are worth their place in a prompt.

    Where somebody set the documented threshold, or ranks are fused, it is the whole pool:
    what is said is decided afterwards. *begun*: as ``Recall.recall`` has it.
    """
    shared = request.include_shared
    asked = RecallRequest(
        query=request.query,
        token_budget=RECALL_BUDGET_TOKENS_MAX,
        categories=request.categories,
        project_id=request.project_id,
        include_shared=config.include_shared if shared is None else shared,
        search_mode=mode,
        reranker_enabled=False,  # the pipeline does it, after recency has had its say
    )
    documented = "min_relevance" in config.model_fields_set
    if documented or config.fusion_strategy is FusionStrategy.RRF:
        # The pool may be larger than what one answer to a client may hold.
        asked = asked.model_copy(update={"top_k": config.pool_size})
    return await rooms.recall.recall(caller, asked, begun)


async def pools_of(
    result: RecallResult,
    rooms: MemoryRooms,
    caller: Caller,
    request: PrepareRequest,
    config: MemoryRetrievalConfig,
) -> Pools:
    """Return *result* by source; for fusion by ranks also what words alone find."""
    chunks = memories(result)
    sparse: Entries = ()
    if chunks and config.fusion_strategy is FusionStrategy.RRF:
        own = request.model_copy(update={"include_shared": False})
        words = await recalled(rooms, caller, own, config, SearchMode.WORDS)
        offered = {chunk.id for chunk in chunks}
        sparse = tuple(
            entry_of(chunk)
            for chunk in memories(words)
            if chunk.id in offered or not is_composed(chunk.tags)
        )
    return Pools(
        tuple(entry_of(chunk) for chunk in chunks if not chunk.is_shared),
        tuple(entry_of(chunk) for chunk in chunks if chunk.is_shared),
        sparse,
    )


def preferences(result: RecallResult) -> list[MemoryChunk]:
    """Return the preferences, the relevant ones first."""
    return [chunk for chunk in result.memories if chunk.preference]


def memories(result: RecallResult) -> list[MemoryChunk]:
    """Return what was recalled besides preferences, best first, and no raw trace (SPEC 16.15)."""
    return [
        chunk
        for chunk in result.memories
        if not chunk.preference and DETAILED_TAG not in chunk.tags
    ]


def entry_of(chunk: MemoryChunk) -> MemoryEntry:
    """Return a recalled memory as the pipeline takes it."""
    return MemoryEntry(
        id=chunk.id,
        agent_id=chunk.user_id,
        namespace=chunk.namespace,
        category=chunk.memory_type,
        content=chunk.content,
        metadata=MemoryMetadata(source=chunk.source, tags=chunk.tags),
        created_at=chunk.created_at,
        updated_at=chunk.updated_at,
        occurred_at=chunk.occurred_at,
        relevance_score=chunk.relevance_score,
        session_id=chunk.session_id,
        speaker=chunk.speaker,
        importance=chunk.importance,
        token_count=chunk.token_count,
        state=chunk.state,
        origin=chunk.origin,
        trust=chunk.trust,
    )
