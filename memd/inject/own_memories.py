"""The daemon's rooms as the documented backend of the injection strategies, for one caller.

The strategies are written against ``MemoryBackend``, so that they run on every backend. In the
daemon, :class:`OwnMemories` is that backend: a tool writes with the client and session of its
caller.

For a prompt (SPEC 9.5), the documented pipeline queries each source separately. In the daemon, one
recall queries them together. It parses the question once and applies recall's gate, which abstains
if nothing fits. ``fetch_pools`` splits the result by source.
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
    from memd.archive.trash import Trash
    from memd.ingest.ingest import Ingest
    from memd.recall.recall import Recall


@dataclass(frozen=True)
class MemoryRooms:
    """The rooms that the injection strategies use."""

    recall: Recall
    ingest: Ingest
    trash: Trash


@dataclass(frozen=True)
class OwnMemories:
    """A ``MemoryBackend`` over the rooms, for one caller; always connected.

    *repeated*: the request was executed before, under the same idempotency key.
    """

    is_connected = True
    backend_name = "sqlite"

    rooms: MemoryRooms
    caller: Caller
    repeated: bool = False

    async def connect(self) -> None:
        """Do nothing: the daemon has the file open."""

    async def disconnect(self) -> None:
        """Do nothing: the daemon closes the file."""

    async def health_check(self) -> bool:
        """Return True: this runs in the daemon itself."""
        return True

    async def store(self, agent_id: str, request: MemoryStoreRequest) -> str:
        """Store *request* and return the memory's id; the default origin is the assistant."""
        request = request.model_copy(update={"origin": request.origin or Origin.ASSISTANT})
        return await self.rooms.ingest.store(self._caller(agent_id), request)

    async def update(self, agent_id: str, memory_id: str, changes: MemoryUpdate) -> MemoryEntry:
        """Change a memory in place, keeping the old version; the origin defaults to ASSISTANT."""
        changes = changes.model_copy(update={"origin": changes.origin or Origin.ASSISTANT})
        return await self.rooms.ingest.update(self._caller(agent_id), memory_id, changes)

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """Return the memories that match, best first; without a text, newest first.

        Raw traces of tasks are included only in a query for their tag (SPEC 16.15).
        """
        entries = await self.rooms.recall.retrieve(self._caller(agent_id), query)
        if DETAILED_TAG in query.tags:
            return entries
        return tuple(entry for entry in entries if DETAILED_TAG not in entry.metadata.tags)

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: str | None = None
    ) -> tuple[MemoryEntry, ...]:
        """Return memories shared by agents other than *exclude_agent*."""
        return await self.rooms.recall.search_shared(query, exclude_agent)

    async def get(self, agent_id: str, memory_id: str) -> MemoryEntry | None:
        """Return one memory, or None."""
        return await self.rooms.recall.get(self._caller(agent_id), memory_id)

    async def delete(self, agent_id: str, memory_id: str) -> bool:
        """Move one memory to the trash; return False if there is none."""
        return await self.rooms.trash.delete(self._caller(agent_id), memory_id)

    async def count(self, agent_id: str, *, category: MemoryCategory | None = None) -> int:
        """Return how many memories the agent has."""
        return await self.rooms.recall.count(self._caller(agent_id), category)

    def _caller(self, agent_id: str) -> Caller:
        if not agent_id.strip():
            raise MemoryStoreError("agent_id is blank", field="agent_id")
        return self.caller.acting_for(agent_id)


async def recall_for_prompt(
    rooms: MemoryRooms,
    caller: Caller,
    request: PrepareRequest,
    config: MemoryRetrievalConfig,
    mode: SearchMode = SearchMode.HYBRID,
    on_retrieving: Callable[[], object] = bool,
) -> RecallResult:
    """Recall the preferences, and the memories that may be put into a prompt.

    A hidden memory that answers is returned instead of its summary, which would cost many times as
    many tokens (decision 0277). If the documented threshold is set, or with rank fusion, the
    result is the whole pool, from which the pipeline selects later. *on_retrieving* is passed to
    ``Recall.recall``.
    """
    shared = request.include_shared
    recall_request = RecallRequest(
        query=request.query,
        token_budget=RECALL_BUDGET_TOKENS_MAX,
        categories=request.categories,
        project_id=request.project_id,
        include_shared=config.include_shared if shared is None else shared,
        search_mode=mode,
        reranker_enabled=False,  # the pipeline re-ranks, after it has applied recency
        show_sources=True,
    )
    has_threshold = "min_relevance" in config.model_fields_set
    if has_threshold or config.fusion_strategy is FusionStrategy.RRF:
        # ``model_copy`` skips validation: the pool may exceed the bound for clients.
        recall_request = recall_request.model_copy(update={"top_k": config.pool_size})
    return await rooms.recall.recall(caller, recall_request, on_retrieving)


async def fetch_pools(
    result: RecallResult,
    rooms: MemoryRooms,
    caller: Caller,
    request: PrepareRequest,
    config: MemoryRetrievalConfig,
) -> Pools:
    """Return *result* split by source.

    For rank fusion, it includes the results of a search of personal memories by words alone.
    """
    chunks = without_preferences(result)
    sparse: Entries = ()
    if chunks and config.fusion_strategy is FusionStrategy.RRF:
        personal = request.model_copy(update={"include_shared": False})
        by_words = await recall_for_prompt(rooms, caller, personal, config, SearchMode.WORDS)
        recalled_ids = {chunk.id for chunk in chunks}
        sparse = tuple(
            entry_of(chunk)
            for chunk in without_preferences(by_words)
            if chunk.id in recalled_ids or not is_composed(chunk.tags)
        )
    return Pools(
        tuple(entry_of(chunk) for chunk in chunks if not chunk.is_shared),
        tuple(entry_of(chunk) for chunk in chunks if chunk.is_shared),
        sparse,
    )


def only_preferences(result: RecallResult) -> list[MemoryChunk]:
    """Return the preferences in *result*, the relevant ones first."""
    return [chunk for chunk in result.memories if chunk.preference]


def without_preferences(result: RecallResult) -> list[MemoryChunk]:
    """Return *result* without preferences and raw traces, best first (SPEC 16.15)."""
    return [
        chunk
        for chunk in result.memories
        if not chunk.preference and DETAILED_TAG not in chunk.tags
    ]


def entry_of(chunk: MemoryChunk) -> MemoryEntry:
    """Return a recalled chunk as the entry that the pipeline expects."""
    return MemoryEntry.model_construct(
        id=chunk.id,
        agent_id=chunk.user_id,
        namespace=chunk.namespace,
        category=chunk.memory_type,
        content=chunk.content,
        metadata=MemoryMetadata.model_construct(source=chunk.source, tags=chunk.tags),
        created_at=chunk.created_at,
        updated_at=chunk.updated_at,
        occurred_at=chunk.occurred_at,
        relevance_score=chunk.relevance_score,
        session_id=chunk.session_id,
        project_id=chunk.project_id,
        speaker=chunk.speaker,
        importance=chunk.importance,
        token_count=chunk.token_count,
        state=chunk.state,
        origin=chunk.origin,
        trust=chunk.trust,
    )
