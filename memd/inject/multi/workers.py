"""The three workers of the hierarchical retriever (SPEC 14.2).

The semantic worker searches all categories and ranks like the flat pipeline. The episodic worker
searches the last days and prefers new memories. The procedural worker returns procedures in the
backend's order. A worker that fails has no candidates. An error that is no MemdError is a bug; its
class is named in the result.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from memd.base import log
from memd.base.clock import Clock, SystemClock, from_us
from memd.base.errors import MemdError
from memd.domain.enums import FusionStrategy, MemoryCategory
from memd.domain.inject import SupportsRetrieve, SupportsSharedSearch
from memd.domain.memory import MemoryEntry, MemoryQuery
from memd.domain.settings.retrieval import MemoryRetrievalConfig, ScoredMemory
from memd.inject.isolation import isolate, system_error
from memd.inject.multi.topology import RetrievalCandidate, RetrievalQuery, RetrievalResult
from memd.recall.ranking.scored_memories import fuse_ranked_lists, rank_memories

SEMANTIC, EPISODIC, PROCEDURAL = "semantic", "episodic", "procedural"
WINDOW_HOURS = 72.0
"""Hours before now that the episodic worker searches."""
FETCH_FACTOR = 4
"""The episodic worker fetches this multiple of its limit, because it reorders by recency."""
RELEVANCE_WEIGHT, RECENCY_WEIGHT = 0.4, 0.6
QUERY_ROWS_MAX = 1_000
"""The bound of ``MemoryQuery.limit``."""

Candidates = tuple[RetrievalCandidate, ...]


@dataclass(frozen=True)
class SemanticWorker:
    """Searches all categories that the query allows, personal and shared.

    Ranks by score, with the threshold ``min_relevance``, or by fused ranks of both lists, without
    a threshold. If the shared source fails, the personal results are used.
    """

    backend: SupportsRetrieve
    config: MemoryRetrievalConfig
    shared_store: SupportsSharedSearch | None = None
    clock: Clock = field(default_factory=SystemClock)

    @property
    def name(self) -> str:
        return SEMANTIC

    async def retrieve(self, query: RetrievalQuery) -> RetrievalResult:
        """Return the best memories of both sources."""
        return await run_worker(self.name, self._candidates(query))

    async def _candidates(self, query: RetrievalQuery) -> Candidates:
        memory_query = MemoryQuery(
            text=query.text, categories=query.categories, limit=query.max_results
        )
        shared_search = asyncio.ensure_future(
            isolate(self._search_shared(query.agent_id, memory_query), (), "shared")
        )
        try:
            personal = await self.backend.retrieve(query.agent_id, memory_query)
            shared = await shared_search
        finally:
            shared_search.cancel()
        scored = self._rank(personal, shared, query.max_results)
        return tuple(_candidate(memory, self.name) for memory in scored)

    async def _search_shared(
        self, agent_id: str, memory_query: MemoryQuery
    ) -> tuple[MemoryEntry, ...]:
        if self.shared_store is None or not self.config.include_shared:
            return ()
        return await self.shared_store.search_shared(memory_query, exclude_agent=agent_id)

    def _rank(
        self, personal: tuple[MemoryEntry, ...], shared: tuple[MemoryEntry, ...], limit: int
    ) -> tuple[ScoredMemory, ...]:
        if self.config.fusion_strategy is FusionStrategy.RRF:
            ids = {entry.id for entry in shared}
            lists = (personal, shared)
            return fuse_ranked_lists(lists, self.config.rrf_k, limit, shared_ids=ids)
        # The pipeline applies diversity later. Here it would only enlarge the pool.
        changes = {"max_memories": limit, "diversity_penalty_enabled": False}
        config = self.config.model_copy(update=changes)
        return rank_memories(personal, config, from_us(self.clock.now_us()), shared)


@dataclass(frozen=True)
class EpisodicWorker:
    """Searches episodic memories of the last *window_hours*.

    Raises ValueError if *window_hours* is not above 0.
    """

    backend: SupportsRetrieve
    config: MemoryRetrievalConfig
    window_hours: float = WINDOW_HOURS
    clock: Clock = field(default_factory=SystemClock)

    def __post_init__(self) -> None:
        if not self.window_hours > 0:
            raise ValueError(f"window_hours must be above 0, not {self.window_hours}")

    @property
    def name(self) -> str:
        return EPISODIC

    async def retrieve(self, query: RetrievalQuery) -> RetrievalResult:
        """Return the newest and most relevant memories, if the query allows the category."""
        if not _allows(query, MemoryCategory.EPISODIC):
            return RetrievalResult(worker_name=self.name)
        return await run_worker(self.name, self._candidates(query))

    async def _candidates(self, query: RetrievalQuery) -> Candidates:
        now = from_us(self.clock.now_us())
        memory_query = MemoryQuery(
            text=query.text,
            categories=frozenset({MemoryCategory.EPISODIC}),
            since=now - timedelta(hours=self.window_hours),
            limit=min(FETCH_FACTOR * query.max_results, QUERY_ROWS_MAX),
        )
        entries = await self.backend.retrieve(query.agent_id, memory_query)
        candidates = [self._candidate(entry, now) for entry in entries]
        candidates.sort(key=lambda candidate: candidate.combined_score, reverse=True)
        return tuple(candidates[: query.max_results])

    def _candidate(self, entry: MemoryEntry, now: datetime) -> RetrievalCandidate:
        relevance = _relevance(entry, self.config)
        # The age is that of the event, if its time is known (SPEC D22).
        age = now - (entry.occurred_at or entry.created_at)
        recency = min(1.0, max(0.0, 1.0 - age / timedelta(hours=self.window_hours)))
        return RetrievalCandidate(
            entry=entry,
            relevance_score=relevance,
            recency_score=recency,
            combined_score=RELEVANCE_WEIGHT * relevance + RECENCY_WEIGHT * recency,
            source_worker=self.name,
        )


@dataclass(frozen=True)
class ProceduralWorker:
    """Searches procedural memories, in the backend's order."""

    backend: SupportsRetrieve
    config: MemoryRetrievalConfig

    @property
    def name(self) -> str:
        return PROCEDURAL

    async def retrieve(self, query: RetrievalQuery) -> RetrievalResult:
        """Return procedural memories, if the query allows the category."""
        if not _allows(query, MemoryCategory.PROCEDURAL):
            return RetrievalResult(worker_name=self.name)
        return await run_worker(self.name, self._candidates(query))

    async def _candidates(self, query: RetrievalQuery) -> Candidates:
        memory_query = MemoryQuery(
            text=query.text,
            categories=frozenset({MemoryCategory.PROCEDURAL}),
            limit=query.max_results,
        )
        entries = await self.backend.retrieve(query.agent_id, memory_query)
        return tuple(
            RetrievalCandidate(
                entry=entry,
                relevance_score=_relevance(entry, self.config),
                recency_score=0.0,
                combined_score=_relevance(entry, self.config),
                source_worker=self.name,
            )
            for entry in entries
        )


async def run_worker(name: str, pending: Awaitable[Candidates]) -> RetrievalResult:
    """Return the candidates that *pending* gives, with the time that it took.

    If it fails, the result has no candidates. Raises only errors of the process
    (``isolation.SYSTEM_ERRORS``).
    """
    started = time.monotonic()
    candidates: Candidates = ()
    error: str | None = None
    try:
        candidates = await pending
    except MemdError as failure:
        log.warning("a worker found nothing", worker=name, kind=failure.kind)
    except Exception as failure:  # a bug in one worker must not stop the others
        system = system_error(failure)
        if system is not None:
            raise system from failure
        error = type(failure).__name__
        log.error("a worker failed", worker=name, trace=log.trace_of(failure))
    return RetrievalResult(
        candidates=candidates,
        worker_name=name,
        execution_ms=1_000 * (time.monotonic() - started),
        error=error,
    )


def _allows(query: RetrievalQuery, category: MemoryCategory) -> bool:
    return not query.categories or category in query.categories


def _relevance(entry: MemoryEntry, config: MemoryRetrievalConfig) -> float:
    score = entry.relevance_score
    return config.default_relevance if score is None else score


def _candidate(memory: ScoredMemory, name: str) -> RetrievalCandidate:
    return RetrievalCandidate(
        entry=memory.entry,
        relevance_score=memory.relevance_score,
        recency_score=memory.recency_score,
        combined_score=memory.combined_score,
        source_worker=name,
        is_shared=memory.is_shared,
    )
