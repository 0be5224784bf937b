"""From what was found to what may be said: rank, re-rank, filter, diversify, cut (SPEC 9.2).

The order matters. A filter comes before diversity, so that what is hidden
repels nothing; diversity sees the whole over-fetched pool, and the cut to
``max_memories`` comes last (SPEC 8.5.4-5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memd.domain.enums import FusionStrategy
from memd.domain.inject import Reranker, Retriever
from memd.domain.memory import MemoryEntry
from memd.domain.settings.retrieval import MemoryRetrievalConfig, ScoredMemory
from memd.inject.isolated import Failed, isolated
from memd.recall.filter import MemoryFilterStrategy, filter_for_injection
from memd.recall.ranking.diversify import diverse_order, scored_by_rank
from memd.recall.ranking.rank import fuse_ranked_lists, rank_memories
from memd.text.lessons import as_lesson

Entries = tuple[MemoryEntry, ...]


@dataclass(frozen=True, slots=True)
class Pools:
    """What each source found, best first. *sparse* is by words alone, of one's own."""

    personal: Entries = ()
    shared: Entries = ()
    sparse: Entries = ()


def ranked(pools: Pools, config: MemoryRetrievalConfig, now: datetime) -> tuple[ScoredMemory, ...]:
    """Return the pool in order: by score, or by fused ranks (SPEC 8.3, 8.4.9).

    Without anything found by words there is nothing to fuse, and the score
    decides. At most ``config.pool_size`` remain, none below ``min_relevance``.
    """
    if not fuses(pools, config):
        return rank_memories(pools.personal, config, now, pools.shared)
    dense = sorted((*pools.personal, *pools.shared), key=_relevance, reverse=True)
    fused = fuse_ranked_lists(
        (dense, pools.sparse),
        k=config.rrf_k,
        max_results=config.pool_size,
        shared_ids={entry.id for entry in pools.shared},
    )
    return tuple(memory for memory in fused if memory.combined_score >= config.min_relevance)


def fuses(pools: Pools, config: MemoryRetrievalConfig) -> bool:
    """Return whether :func:`ranked` fuses ranks; otherwise it goes by the scores."""
    return config.fusion_strategy is FusionStrategy.RRF and bool(pools.sparse)


async def reranked(
    scored: tuple[ScoredMemory, ...],
    query: str,
    reranker: Reranker | None,
    failed: Failed | None = None,
) -> tuple[ScoredMemory, ...]:
    """Return *scored* as *reranker* orders it; in the order it had when that fails (SPEC 9.6).

    An answer that is not the same memories in another order counts as a failure. One
    that raises is named in *failed*.
    """
    if reranker is None or len(scored) <= 1:
        return scored
    ordered = await isolated(reranker.rerank(query, scored), scored, "reranker", failed)
    same = sorted(memory.entry.id for memory in ordered) == sorted(m.entry.id for m in scored)
    return tuple(ordered) if same else scored


def selected(
    scored: tuple[ScoredMemory, ...],
    config: MemoryRetrievalConfig,
    memory_filter: MemoryFilterStrategy | None = None,
    *,
    by_rank: bool = False,
) -> tuple[ScoredMemory, ...]:
    """Return what may be put into a prompt, at most ``max_memories``.

    *by_rank*: the order was a re-ranker's, so diversity goes by place and not by
    the scores of before (SPEC 8.5.6). The scores themselves stay.
    """
    kept = filter_for_injection(scored, memory_filter, non_inferable_only=config.non_inferable_only)
    if config.diversity_penalty_enabled:
        worth = scored_by_rank(kept) if by_rank else kept
        order = diverse_order(
            [memory.entry.content for memory in worth],
            [memory.combined_score for memory in worth],
            config.diversity_lambda,
        )
        kept = tuple(kept[place] for place in order)
    return kept[: config.max_memories]


def without(scored: Sequence[ScoredMemory], texts: Sequence[str]) -> tuple[ScoredMemory, ...]:
    """Return *scored* less those whose id, whole text or lesson is among *texts*."""
    known = set(texts)
    return tuple(
        memory
        for memory in scored
        if not known & {memory.entry.id, memory.entry.content, as_lesson(memory.entry.content)}
    )


def as_recalled(scored: Sequence[ScoredMemory]) -> tuple[ScoredMemory, ...]:
    """Return *scored*, each with the probability that recall gave it: what it says of itself.

    Recency has its say in the order. The number is the same in a prompt, a recall and a search.
    """
    return tuple(
        memory.model_copy(update={"combined_score": _relevance(memory.entry)}) for memory in scored
    )


def gated(config: MemoryRetrievalConfig) -> MemoryRetrievalConfig:
    """Return *config* without its threshold, unless somebody set one.

    The documented 0.3 is meant for likenesses. Recall gives probabilities, which are
    lower, and has asked its gate already whether anything fits: with both, hardly
    anything older than a week would reach a prompt (docs/benchmarks.md). Fused ranks
    are no probabilities, and keep it (SPEC 8.4.6).
    """
    if "min_relevance" in config.model_fields_set:
        return config
    return config.model_copy(update={"min_relevance": 0.0})


def possible(
    config: MemoryRetrievalConfig, retriever: Retriever | None, reranker: Reranker | None
) -> MemoryRetrievalConfig:
    """Return *config* without what nobody is there to do: a prompt does not wait for it."""
    return config.model_copy(
        update={
            "retriever": "flat" if retriever is None else config.retriever,
            "query_specific_rerank_enabled": config.query_specific_rerank_enabled
            and reranker is not None,
        }
    )


def _relevance(entry: MemoryEntry) -> float:
    return entry.relevance_score or 0.0
