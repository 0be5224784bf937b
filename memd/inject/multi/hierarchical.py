"""Retrieve memories with a supervisor and its workers (SPEC 14.4, ``retriever: hierarchical``).

The supervisor routes the query to workers, which search concurrently. Their results are merged;
each memory keeps its best score. Poor results are retried up to ``max_retry_count`` times, and each
attempt adds to the previous results. A failure only makes the answer shorter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memd.base.clock import Clock, SystemClock
from memd.domain.enums import MemoryCategory
from memd.domain.inject import Reranker, SupportsRetrieve, SupportsSharedSearch
from memd.domain.settings.retrieval import MemoryRetrievalConfig, ScoredMemory
from memd.inject.isolation import isolate
from memd.inject.multi.supervisor import RuleSupervisor, select_names
from memd.inject.multi.topology import (
    FinalRetrievalResult,
    RetrievalCandidate,
    RetrievalCorrection,
    RetrievalQuery,
    RetrievalResult,
    RetrievalSupervisor,
    RetrievalWorker,
    WorkerRouting,
)
from memd.inject.multi.workers import (
    EPISODIC,
    SEMANTIC,
    EpisodicWorker,
    ProceduralWorker,
    SemanticWorker,
    run_worker,
)
from memd.inject.own_memories import OwnMemories
from memd.inject.pipeline import rerank

_WORKER_OF = {"semantic_only": SEMANTIC, "episodic_only": EPISODIC}
RESULTS_MAX = 100
"""The bound of ``RetrievalQuery.max_results``."""


@dataclass(frozen=True)
class HierarchicalRetriever:
    """Routes a query to workers and merges their results.

    Unknown worker names from the supervisor are ignored. *reranker* orders the merged results.
    """

    workers: Sequence[RetrievalWorker]
    config: MemoryRetrievalConfig = field(default_factory=MemoryRetrievalConfig)
    supervisor: RetrievalSupervisor | None = None
    reranker: Reranker | None = None

    async def retrieve(self, query: RetrievalQuery) -> FinalRetrievalResult:
        """Return the merged results of all workers, best first, at most ``query.max_results``.

        Raises only errors of the process (``isolation.SYSTEM_ERRORS``).
        """
        supervisor = self.supervisor or RuleSupervisor(self.config)
        by_name = {worker.name: worker for worker in self.workers}
        routing = await isolate(supervisor.route(query), WorkerRouting(workers=()), "routing")
        names = select_names(routing.workers, by_name) or select_names((SEMANTIC,), by_name)
        if not names:
            return FinalRetrievalResult()
        attempt = (query.text, names)
        results = await _query_workers(query, [by_name[name] for name in names])
        retries = 0
        while retries < self.config.max_retry_count:
            candidates = merge_candidates(results, query.max_results)
            evaluation = supervisor.evaluate_for_retry(query, candidates)
            correction = await isolate(evaluation, None, "evaluation")
            if correction is None or correction.alternative_strategy == "skip":
                break
            next_attempt = _next_attempt(attempt, correction, by_name)
            if next_attempt == attempt:
                break
            attempt = next_attempt
            text, names = attempt
            retry = query.model_copy(update={"text": text})
            results += await _query_workers(retry, [by_name[name] for name in names])
            retries += 1
        return await self._merge_and_rerank(query, results, retries)

    async def retrieve_scored(
        self,
        agent_id: str,
        query_text: str,
        *,
        limit: int,
        categories: frozenset[MemoryCategory] | None = None,
    ) -> tuple[ScoredMemory, ...]:
        """Return at most *limit* memories, and at most RESULTS_MAX, best first."""
        query = RetrievalQuery(
            text=query_text,
            agent_id=agent_id,
            categories=categories,
            max_results=min(limit, RESULTS_MAX),
        )
        result = await self.retrieve(query)
        return tuple(candidate.to_scored_memory() for candidate in result.candidates)

    async def _merge_and_rerank(
        self, query: RetrievalQuery, results: Sequence[RetrievalResult], retries: int
    ) -> FinalRetrievalResult:
        candidates = merge_candidates(results, query.max_results)
        scored = tuple(candidate.to_scored_memory() for candidate in candidates)
        reranked = await rerank(scored, query.text, self.reranker)
        if reranked is not scored:
            by_id = {candidate.entry.id: candidate for candidate in candidates}
            candidates = tuple(by_id[memory.entry.id] for memory in reranked)
        return FinalRetrievalResult(
            candidates=candidates,
            worker_results=tuple(results),
            retries_performed=retries,
            rerank_applied=reranked is not scored,
        )


def retriever_for(
    memories: OwnMemories,
    config: MemoryRetrievalConfig,
    *,
    clock: Clock | None = None,
    supervisor: RetrievalSupervisor | None = None,
) -> HierarchicalRetriever:
    """Return a retriever over one caller's memories, and memories shared by others."""
    return build_retriever(
        memories, config, shared_store=memories, supervisor=supervisor, clock=clock
    )


def build_retriever(
    backend: SupportsRetrieve,
    config: MemoryRetrievalConfig,
    *,
    shared_store: SupportsSharedSearch | None = None,
    supervisor: RetrievalSupervisor | None = None,
    clock: Clock | None = None,
) -> HierarchicalRetriever:
    """Return a retriever with the three documented workers over *backend*."""
    clock = clock or SystemClock()
    workers: tuple[RetrievalWorker, ...] = (
        SemanticWorker(backend, config, shared_store, clock),
        EpisodicWorker(backend, config, clock=clock),
        ProceduralWorker(backend, config),
    )
    return HierarchicalRetriever(workers, config, supervisor)


def merge_candidates(
    results: Iterable[RetrievalResult], limit: int
) -> tuple[RetrievalCandidate, ...]:
    """Return each memory once, with its highest score, best first, at most *limit*."""
    best: dict[str, RetrievalCandidate] = {}
    for result in results:
        for candidate in result.candidates:
            other = best.get(candidate.entry.id)
            if other is None or candidate.combined_score > other.combined_score:
                best[candidate.entry.id] = candidate
    ordered = sorted(best.values(), key=lambda memory: memory.combined_score, reverse=True)
    return tuple(ordered[:limit])


async def _query_workers(
    query: RetrievalQuery, workers: Sequence[RetrievalWorker]
) -> list[RetrievalResult]:
    """Query all *workers* concurrently; a worker that raises has no candidates."""
    return list(await asyncio.gather(*(_query_worker(worker, query) for worker in workers)))


async def _query_worker(worker: RetrievalWorker, query: RetrievalQuery) -> RetrievalResult:
    results: list[RetrievalResult] = []

    async def retrieve() -> tuple[RetrievalCandidate, ...]:
        results.append(await worker.retrieve(query))
        return ()

    # ``run_worker`` replaces an error of the worker by an empty result.
    empty = await run_worker(worker.name, retrieve())
    return results[0] if results else empty


def _next_attempt(
    attempt: tuple[str, tuple[str, ...]],
    correction: RetrievalCorrection,
    workers: Iterable[str],
) -> tuple[str, tuple[str, ...]]:
    """Return the query text and worker names of the next attempt, which may be the same."""
    text, names = attempt
    alternative = _WORKER_OF.get(correction.alternative_strategy or "")
    return correction.corrected_query or text, select_names((alternative,), set(workers)) or names
