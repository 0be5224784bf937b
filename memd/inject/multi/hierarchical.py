"""Retrieval by a supervisor and its workers (SPEC 14.4, ``retriever: hierarchical``).

The supervisor routes the query to workers, which search concurrently; their results are merged
by the best score of each memory. Poor results are retried at most ``max_retry_count`` times, and
each attempt adds to the results before. A failure only makes the answer shorter.
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
RESULTS_MAX = 100  # the bound of ``RetrievalQuery.max_results``


@dataclass(frozen=True)
class HierarchicalRetriever:
    """Routes a query to workers and merges their results.

    Unknown worker names from the supervisor are ignored. *reranker* orders the merged results,
    as in the flat pipeline.
    """

    workers: Sequence[RetrievalWorker]
    config: MemoryRetrievalConfig = field(default_factory=MemoryRetrievalConfig)
    supervisor: RetrievalSupervisor | None = None
    reranker: Reranker | None = None

    async def retrieve(self, query: RetrievalQuery) -> FinalRetrievalResult:
        """Return the workers' merged results, best first, at most ``query.max_results``.

        Raises only errors of the process itself (``isolation.SYSTEM_ERRORS``).
        """
        supervisor = self.supervisor or RuleSupervisor(self.config)
        by_name = {worker.name: worker for worker in self.workers}
        route = isolate(supervisor.route(query), WorkerRouting(workers=()), "routing")
        chosen = select_names((await route).workers, by_name) or select_names((SEMANTIC,), by_name)
        if not chosen:
            return FinalRetrievalResult()
        attempt = (query.text, chosen)
        results = await _ask_workers(query, [by_name[name] for name in chosen])
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
            retry = query.model_copy(update={"text": attempt[0]})
            results += await _ask_workers(retry, [by_name[name] for name in attempt[1]])
            retries += 1
        return await self._final(query, results, retries)

    async def retrieve_scored(
        self,
        agent_id: str,
        query_text: str,
        *,
        limit: int,
        categories: frozenset[MemoryCategory] | None = None,
    ) -> tuple[ScoredMemory, ...]:
        """Return at most *limit* memories, and at most 100, best first, scores up to 1."""
        query = RetrievalQuery(
            text=query_text,
            agent_id=agent_id,
            categories=categories,
            max_results=min(limit, RESULTS_MAX),
        )
        candidates = await self.retrieve(query)
        return tuple(candidate.to_scored_memory() for candidate in candidates.candidates)

    async def _final(
        self, query: RetrievalQuery, results: Sequence[RetrievalResult], retries: int
    ) -> FinalRetrievalResult:
        candidates = merge_candidates(results, query.max_results)
        before = tuple(candidate.to_scored_memory() for candidate in candidates)
        after = await rerank(before, query.text, self.reranker)
        if after is not before:
            by_id = {candidate.entry.id: candidate for candidate in candidates}
            candidates = tuple(by_id[memory.entry.id] for memory in after)
        return FinalRetrievalResult(
            candidates=candidates,
            worker_results=tuple(results),
            retries_performed=retries,
            rerank_applied=after is not before,
        )


def retriever_for(
    memories: OwnMemories,
    config: MemoryRetrievalConfig,
    *,
    clock: Clock | None = None,
    supervisor: RetrievalSupervisor | None = None,
) -> HierarchicalRetriever:
    """Return a retriever over one caller's memories and those that others share."""
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
    results: Iterable[RetrievalResult], most: int
) -> tuple[RetrievalCandidate, ...]:
    """Return each memory once, with its highest score, best first, at most *most*."""
    best: dict[str, RetrievalCandidate] = {}
    for result in results:
        for candidate in result.candidates:
            seen = best.get(candidate.entry.id)
            if seen is None or candidate.combined_score > seen.combined_score:
                best[candidate.entry.id] = candidate
    ordered = sorted(best.values(), key=lambda memory: memory.combined_score, reverse=True)
    return tuple(ordered[:most])


async def _ask_workers(
    query: RetrievalQuery, workers: Sequence[RetrievalWorker]
) -> list[RetrievalResult]:
    """Query all *workers* at once; one that raises has no results."""
    return list(await asyncio.gather(*(_ask_worker(worker, query) for worker in workers)))


async def _ask_worker(worker: RetrievalWorker, query: RetrievalQuery) -> RetrievalResult:
    results: list[RetrievalResult] = []

    async def retrieve() -> tuple[RetrievalCandidate, ...]:
        results.append(await worker.retrieve(query))
        return ()

    failed = await run_worker(worker.name, retrieve())
    return results[0] if results else failed


def _next_attempt(
    attempt: tuple[str, tuple[str, ...]],
    correction: RetrievalCorrection,
    workers: Iterable[str],
) -> tuple[str, tuple[str, ...]]:
    """Return the next query text and workers, which may be the same again."""
    text, names = attempt
    only = select_names((_WORKER_OF.get(correction.alternative_strategy or ""),), set(workers))
    return correction.corrected_query or text, only or names
