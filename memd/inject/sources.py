"""What one recall brings, as the pools of the pipeline: preferences, own, shared (SPEC 9.5).

The documented pipeline asks each source by itself. Inside the daemon one recall
asks them together, with one question understood once, and behind the gate that
says nothing when nothing fits.
"""

from __future__ import annotations

from collections.abc import Callable

from memd.base.limits import RECALL_BUDGET_TOKENS_MAX
from memd.domain.caller import Caller
from memd.domain.enums import FusionStrategy, SearchMode
from memd.domain.inject import PrepareRequest
from memd.domain.memory import MemoryEntry, MemoryMetadata
from memd.domain.recall import MemoryChunk, RecallRequest, RecallResult
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.domain.sleep.consolidation import DETAILED_TAG, is_composed
from memd.inject.own import MemoryRooms
from memd.inject.pipeline import Entries, Pools


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
    found: RecallResult,
    rooms: MemoryRooms,
    caller: Caller,
    request: PrepareRequest,
    config: MemoryRetrievalConfig,
) -> Pools:
    """Return what was *found* by source; for fusion by ranks also what words alone find."""
    chunks = memories(found)
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


def preferences(found: RecallResult) -> list[MemoryChunk]:
    """Return the preferences, the relevant ones first."""
    return [chunk for chunk in found.memories if chunk.preference]


def memories(found: RecallResult) -> list[MemoryChunk]:
    """Return what was recalled besides preferences, best first, and no raw trace (SPEC 16.15)."""
    return [
        chunk for chunk in found.memories if not chunk.preference and DETAILED_TAG not in chunk.tags
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
