"""A supervisor and its workers in place of one pass (SPEC 14.4, ``retriever: hierarchical``).

The supervisor says who looks; they look at the same time, each on its own; what they
find is merged by the best score of each memory. What is poor is looked for again, at
most ``max_retry_count`` times, and every attempt adds to what was found before: a retry
never loses anything. Whatever fails, the answer is only shorter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memd.base.clock import Clock, SystemClock
from memd.domain.enums import MemoryCategory
from memd.domain.inject import Reranker, Retrieves, SearchesShared
from memd.domain.settings.retrieval import MemoryRetrievalConfig, ScoredMemory
from memd.domain.settings.topology import (
    FinalRetrievalResult,
    RetrievalCandidate,
    RetrievalCorrection,
    RetrievalQuery,
    RetrievalResult,
    RetrievalSupervisor,
    RetrievalWorker,
    WorkerRouting,
)
from memd.inject.isolated import isolated
from memd.inject.multi.supervisor import RuleSupervisor, known_names
from memd.inject.multi.workers import (
    EPISODIC,
    SEMANTIC,
    EpisodicWorker,
    ProceduralWorker,
    SemanticWorker,
    reported,
)
from memd.inject.own import OwnMemories
from memd.inject.pipeline import reranked

_ONLY = {"semantic_only": SEMANTIC, "episodic_only": EPISODIC}
RESULTS_MAX = 100  # a query's own bound


@dataclass(frozen=True)
class HierarchicalRetriever:
    """Routes a question to workers and merges what they find.

    *workers* go by their names; a name that the supervisor gives and nobody bears is
    left out. *reranker* orders what is left, as in the flat pipeline.
    """

    workers: Sequence[RetrievalWorker]
    config: MemoryRetrievalConfig = field(default_factory=MemoryRetrievalConfig)
    supervisor: RetrievalSupervisor | None = None
    reranker: Reranker | None = None

    async def retrieve(self, query: RetrievalQuery) -> FinalRetrievalResult:
        """Return what the workers find, best first, at most ``query.max_results``.

        Never raises for what goes wrong with memories, a worker or the supervisor; an
        exhausted process does.
        """
        supervisor = self.supervisor or RuleSupervisor(self.config)
        by_name = {worker.name: worker for worker in self.workers}
        route = isolated(supervisor.route(query), WorkerRouting(workers=()), "routing")
        chosen = known_names((await route).workers, by_name) or known_names((SEMANTIC,), by_name)
        if not chosen:
            return FinalRetrievalResult()
        attempt = (query.text, chosen)
        results = await _looked(query, [by_name[name] for name in chosen])
        retries = 0
        while retries < self.config.max_retry_count:
            candidates = merged(results, query.max_results)
            judged = supervisor.evaluate_for_retry(query, candidates)
            correction = await isolated(judged, None, "evaluation")
            if correction is None or correction.alternative_strategy == "skip":
                break
            proposed = _proposed(attempt, correction, by_name)
            if proposed == attempt:
                break
            attempt = proposed
            again = query.model_copy(update={"text": attempt[0]})
            results += await _looked(again, [by_name[name] for name in attempt[1]])
            retries += 1
        return await self._final(query, results, retries)

    async def scored(
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
        return tuple(candidate.scored() for candidate in candidates.candidates)

    async def _final(
        self, query: RetrievalQuery, results: Sequence[RetrievalResult], retries: int
    ) -> FinalRetrievalResult:
        candidates = merged(results, query.max_results)
        before = tuple(candidate.scored() for candidate in candidates)
        after = await reranked(before, query.text, self.reranker)
        if after is not before:
            by_id = {candidate.entry.id: candidate for candidate in candidates}
            candidates = tuple(by_id[memory.entry.id] for memory in after)
        return FinalRetrievalResult(
            candidates=candidates,
            worker_results=tuple(results),
            retries_performed=retries,
            rerank_applied=after is not before,
        )


def over(
    memories: OwnMemories,
    config: MemoryRetrievalConfig,
    *,
    clock: Clock | None = None,
    supervisor: RetrievalSupervisor | None = None,
) -> HierarchicalRetriever:
    """Return a retriever over one caller's memories and what others share."""
    return hierarchical(memories, config, shared_store=memories, supervisor=supervisor, clock=clock)


def hierarchical(
    backend: Retrieves,
    config: MemoryRetrievalConfig,
    *,
    shared_store: SearchesShared | None = None,
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


def merged(results: Iterable[RetrievalResult], most: int) -> tuple[RetrievalCandidate, ...]:
    """Return each memory once, with the highest of its scores, best first, at most *most*."""
    best: dict[str, RetrievalCandidate] = {}
    for result in results:
        for candidate in result.candidates:
            seen = best.get(candidate.entry.id)
            if seen is None or candidate.combined_score > seen.combined_score:
                best[candidate.entry.id] = candidate
    ordered = sorted(best.values(), key=lambda each: each.combined_score, reverse=True)
    return tuple(ordered[:most])


async def _looked(
    query: RetrievalQuery, workers: Sequence[RetrievalWorker]
) -> list[RetrievalResult]:
    """Return what each of *workers* found; one that raises found nothing."""
    return list(await asyncio.gather(*(_looking(worker, query) for worker in workers)))


async def _looking(worker: RetrievalWorker, query: RetrievalQuery) -> RetrievalResult:
    results: list[RetrievalResult] = []

    async def retrieved() -> tuple[RetrievalCandidate, ...]:
        results.append(await worker.retrieve(query))
        return ()

    failed = await reported(worker.name, retrieved())
    return results[0] if results else failed


def _proposed(
    attempt: tuple[str, tuple[str, ...]],
    correction: RetrievalCorrection,
    workers: Iterable[str],
) -> tuple[str, tuple[str, ...]]:
    """Return what to try next: other words, other workers, or the same again."""
    text, names = attempt
    only = known_names((_ONLY.get(correction.alternative_strategy or ""),), set(workers))
    return correction.corrected_query or text, only or names
