"""From candidates to the memories of a prompt: rank, re-rank, filter, diversify, cut (SPEC 9.2).

The order matters. The filter comes before diversity, so that hidden memories lower no other's
score; diversity sees the whole over-fetched pool, and the cut to ``max_memories`` comes last
(SPEC 8.5.4-5).

An assistant can read for itself what stands in the code; what it cannot infer (why, who decided,
what failed before) is tagged ``non-inferable``. A filter that fails lets nothing through: an empty
prompt is safer than an unfiltered one (SPEC 8.7).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from memd.domain.enums import FusionStrategy
from memd.domain.inject import Reranker, Retriever
from memd.domain.memory import MemoryEntry
from memd.domain.settings.retrieval import NON_INFERABLE_TAG, MemoryRetrievalConfig, ScoredMemory
from memd.domain.sleep.consolidation import DIGEST_JOINT, DIGEST_TAG, ENDED_FIELD
from memd.extract.passing import passing_kind
from memd.inject.isolation import Failed, isolate
from memd.recall.ranking.scored_memories import (
    diverse_order,
    fuse_ranked_lists,
    rank_memories,
    score_by_rank,
)
from memd.text.lessons import parse_lesson
from memd.text.words import WORD

_log = logging.getLogger(__name__)

Entries = tuple[MemoryEntry, ...]


@dataclass(frozen=True, slots=True)
class Pools:
    """The results of each source, best first. *sparse*: personal ones, by words alone."""

    personal: Entries = ()
    shared: Entries = ()
    sparse: Entries = ()


def rank(pools: Pools, config: MemoryRetrievalConfig, now: datetime) -> tuple[ScoredMemory, ...]:
    """Return the pool, ordered by score or by fused ranks (SPEC 8.3, 8.4.9).

    Without sparse results there is nothing to fuse, and the score decides. At most
    ``config.pool_size`` memories remain, none below ``min_relevance``.
    """
    if not uses_fusion(pools, config):
        return rank_memories(pools.personal, config, now, pools.shared)
    dense = sorted((*pools.personal, *pools.shared), key=relevance, reverse=True)
    fused = fuse_ranked_lists(
        (dense, pools.sparse),
        k=config.rrf_k,
        max_results=config.pool_size,
        shared_ids={entry.id for entry in pools.shared},
    )
    return tuple(memory for memory in fused if memory.combined_score >= config.min_relevance)


def uses_fusion(pools: Pools, config: MemoryRetrievalConfig) -> bool:
    """Return whether :func:`rank` fuses ranks; otherwise it orders by score."""
    return config.fusion_strategy is FusionStrategy.RRF and bool(pools.sparse)


async def rerank_and_select(  # the parts of a strategy
    scored: tuple[ScoredMemory, ...],
    query: str,
    config: MemoryRetrievalConfig,
    *,
    reranker: Reranker | None,
    memory_filter: MemoryFilterStrategy | None,
    failed: Failed | None,
) -> tuple[ScoredMemory, ...]:
    """Return of the ranked memories those that a prompt may have, best first."""
    ordered = scored if reranker is None else await rerank(scored, query, reranker, failed)
    return select(ordered, config, memory_filter, by_rank=ordered is not scored)


async def rerank(
    scored: tuple[ScoredMemory, ...],
    query: str,
    reranker: Reranker | None,
    failed: Failed | None = None,
) -> tuple[ScoredMemory, ...]:
    """Return *scored* in the order of *reranker*; unchanged when that fails (SPEC 9.6).

    A reply that is not a permutation of the memories counts as a failure. A re-ranker that
    raises is added to *failed*.
    """
    if reranker is None or len(scored) <= 1:
        return scored
    ordered = await isolate(reranker.rerank(query, scored), scored, "reranker", failed)
    same = sorted(memory.entry.id for memory in ordered) == sorted(m.entry.id for m in scored)
    return tuple(ordered) if same else scored


def select(
    scored: tuple[ScoredMemory, ...],
    config: MemoryRetrievalConfig,
    memory_filter: MemoryFilterStrategy | None = None,
    *,
    by_rank: bool = False,
) -> tuple[ScoredMemory, ...]:
    """Return the memories that a prompt may have, at most ``max_memories``.

    *by_rank*: the order is a re-ranker's, so diversity goes by rank and not by the earlier
    scores (SPEC 8.5.6), which stay as they are.
    """
    selected = scored
    if memory_filter is not None or config.non_inferable_only:
        selected = filter_for_injection(
            scored, memory_filter, non_inferable_only=config.non_inferable_only
        )
    if config.diversity_penalty_enabled:
        worth = score_by_rank(selected) if by_rank else selected
        order = diverse_order(
            [memory.entry.content for memory in worth],
            [memory.combined_score for memory in worth],
            config.diversity_lambda,
        )
        selected = tuple(selected[place] for place in order)
    return selected[: config.max_memories]


def exclude(scored: Sequence[ScoredMemory], texts: Sequence[str]) -> tuple[ScoredMemory, ...]:
    """Return *scored* without memories whose id, whole text or lesson is among *texts*."""
    excluded = set(texts)
    return tuple(
        memory
        for memory in scored
        if not excluded
        & {memory.entry.id, memory.entry.content, parse_lesson(memory.entry.content)}
    )


def tell_digests_once(scored: Sequence[ScoredMemory]) -> tuple[ScoredMemory, ...]:
    """Return *scored*, digests without what others of *scored* tell of their sessions.

    A digest is left out if what remains of it states nothing.
    """
    others = [memory.entry for memory in scored if DIGEST_TAG not in memory.entry.metadata.tags]
    once: list[ScoredMemory] = []
    for memory in scored:
        entry = memory.entry
        if DIGEST_TAG not in entry.metadata.tags:
            once.append(memory)
            continue
        texts = [_words(other.content) for other in others if other.session_id == entry.session_id]
        lines = entry.content.split("\n")
        left = [line for line in (_without_told(line, texts) for line in lines) if line]
        if left == lines:
            once.append(memory)
        elif any(_states(line) for line in left):
            entry = entry.model_copy(update={"content": "\n".join(left)})
            once.append(memory.model_copy(update={"entry": entry}))
    return tuple(once)


def _without_told(line: str, texts: Sequence[str]) -> str:
    """Return a digest's *line* without its parts that *texts* hold, "" without any."""
    label, colon, value = line.partition(": ")
    parts = value.split(DIGEST_JOINT)
    left = [
        part
        for part, own in zip(parts, map(_words, parts), strict=True)
        if not any(own in text for text in texts)
    ]
    return f"{label}{colon}{DIGEST_JOINT.join(left)}" if left else ""


def _states(line: str) -> bool:
    label, _, text = line.partition(": ")
    return passing_kind(text, by_assistant=label == ENDED_FIELD) is None


def _words(text: str) -> str:
    return f" {' '.join(WORD.findall(text.casefold()))} "


def with_relevance(scored: Sequence[ScoredMemory]) -> tuple[ScoredMemory, ...]:
    """Return *scored* in the same order, with recall's probability as each one's score.

    Recency influences the order only, so a memory has the same score in a prompt, a recall and
    a search.
    """
    return tuple(
        memory.model_copy(update={"combined_score": memory.entry.relevance_score or 0.0})
        for memory in scored
    )


def without_threshold(config: MemoryRetrievalConfig) -> MemoryRetrievalConfig:
    """Return *config* without its default threshold; one that is set explicitly stays.

    The documented 0.3 is meant for similarities. Recall returns probabilities, which are lower,
    and has applied its gate already: with both, hardly anything older than a week would reach a
    prompt (docs/benchmarks.md). Fused ranks are no probabilities and keep it (SPEC 8.4.6).
    """
    if "min_relevance" in config.model_fields_set:
        return config
    return config.model_copy(update={"min_relevance": 0.0})


def disable_unavailable(
    config: MemoryRetrievalConfig, retriever: Retriever | None, reranker: Reranker | None
) -> MemoryRetrievalConfig:
    """Return *config* without the steps for which there is no retriever or re-ranker."""
    return config.model_copy(
        update={
            "retriever": "flat" if retriever is None else config.retriever,
            "query_specific_rerank_enabled": config.query_specific_rerank_enabled
            and reranker is not None,
        }
    )


def relevance(entry: MemoryEntry) -> float:
    """Return how well *entry* answers the query, 0 without a score."""
    return entry.relevance_score or 0.0


@runtime_checkable
class MemoryFilterStrategy(Protocol):
    """Decides which memories may be put into a prompt."""

    @property
    def strategy_name(self) -> str:
        """Return the name of the strategy."""
        ...

    def filter_for_injection(self, memories: tuple[ScoredMemory, ...]) -> tuple[ScoredMemory, ...]:
        """Return the memories that may pass, in the same order."""
        ...


class TagBasedMemoryFilter:
    """Lets memories pass that have one tag."""

    strategy_name = "tag_based"

    def __init__(self, required_tag: str = NON_INFERABLE_TAG) -> None:
        self._tag = required_tag.strip()
        if not self._tag:
            raise ValueError("required_tag must not be blank")

    def filter_for_injection(self, memories: tuple[ScoredMemory, ...]) -> tuple[ScoredMemory, ...]:
        return tuple(memory for memory in memories if self._tag in memory.entry.metadata.tags)


class PassthroughMemoryFilter:
    """Lets every memory pass."""

    strategy_name = "passthrough"

    def filter_for_injection(self, memories: tuple[ScoredMemory, ...]) -> tuple[ScoredMemory, ...]:
        return memories


def filter_for_injection(
    memories: tuple[ScoredMemory, ...],
    memory_filter: MemoryFilterStrategy | None = None,
    *,
    non_inferable_only: bool = False,
) -> tuple[ScoredMemory, ...]:
    """Return what *memory_filter* lets pass; without one, what *non_inferable_only* says.

    A filter that raises lets nothing pass, and a warning is logged. Only an
    exhausted memory or stack goes on upwards.
    """
    if memory_filter is None:
        memory_filter = TagBasedMemoryFilter() if non_inferable_only else PassthroughMemoryFilter()
    try:
        return tuple(memory_filter.filter_for_injection(memories))
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # noqa: BLE001  # somebody else's code decides; see the contract
        _log.warning("a memory filter failed, nothing passes: %s", type(error).__name__)
        return ()
