"""Select the memories of a prompt: rank, re-rank, filter, diversify, cut (SPEC 9.2).

The order of these steps matters. The filter precedes diversity, so that filtered memories do not
lower the scores of others. Diversity sees the whole over-fetched pool, so the cut to
``max_memories`` comes last (SPEC 8.5.4-5).

The tag ``non-inferable`` marks memories that an assistant cannot infer from the code: why, who
decided, what failed before. A filter that fails lets nothing pass: an empty prompt is safer than an
unfiltered one (SPEC 8.7).
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
    """The results by source, best first; *sparse*: personal memories retrieved by words alone."""

    personal: Entries = ()
    shared: Entries = ()
    sparse: Entries = ()


def rank(pools: Pools, config: MemoryRetrievalConfig, now: datetime) -> tuple[ScoredMemory, ...]:
    """Return the memories of all sources, ordered by fused ranks or by score (SPEC 8.3, 8.4.9).

    Ranks are fused if the settings say so and there are sparse results. At most
    ``config.pool_size`` memories are returned, none below ``min_relevance``.
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
    """Return whether :func:`rank` fuses ranks instead of ordering by score."""
    return config.fusion_strategy is FusionStrategy.RRF and bool(pools.sparse)


async def rerank_and_select(
    scored: tuple[ScoredMemory, ...],
    query: str,
    config: MemoryRetrievalConfig,
    *,
    reranker: Reranker | None,
    memory_filter: MemoryFilterStrategy | None,
    failed: Failed | None,
) -> tuple[ScoredMemory, ...]:
    """Return those of the ranked memories that a prompt may have, best first."""
    ordered = scored if reranker is None else await rerank(scored, query, reranker, failed)
    return select(ordered, config, memory_filter, by_rank=ordered is not scored)


async def rerank(
    scored: tuple[ScoredMemory, ...],
    query: str,
    reranker: Reranker | None,
    failed: Failed | None = None,
) -> tuple[ScoredMemory, ...]:
    """Return *scored* in the order of *reranker*, or unchanged if that fails (SPEC 9.6).

    An answer that is no permutation of the memories counts as a failure. If the re-ranker raises,
    "reranker" is added to *failed*.
    """
    if reranker is None or len(scored) <= 1:
        return scored
    ordered = await isolate(reranker.rerank(query, scored), scored, "reranker", failed)
    is_permutation = _sorted_ids(ordered) == _sorted_ids(scored)
    return tuple(ordered) if is_permutation else scored


def _sorted_ids(memories: Sequence[ScoredMemory]) -> list[str]:
    return sorted(memory.entry.id for memory in memories)


def select(
    scored: tuple[ScoredMemory, ...],
    config: MemoryRetrievalConfig,
    memory_filter: MemoryFilterStrategy | None = None,
    *,
    by_rank: bool = False,
) -> tuple[ScoredMemory, ...]:
    """Return at most ``max_memories`` memories that a prompt may have.

    *by_rank*: a re-ranker made the order, so diversity uses the ranks instead of the scores, which
    are returned unchanged (SPEC 8.5.6).
    """
    selected = scored
    if memory_filter is not None or config.non_inferable_only:
        selected = filter_for_injection(
            scored, memory_filter, non_inferable_only=config.non_inferable_only
        )
    if config.diversity_penalty_enabled:
        by_score = score_by_rank(selected) if by_rank else selected
        order = diverse_order(
            [memory.entry.content for memory in by_score],
            [memory.combined_score for memory in by_score],
            config.diversity_lambda,
        )
        selected = tuple(selected[place] for place in order)
    return selected[: config.max_memories]


def exclude(scored: Sequence[ScoredMemory], texts: Sequence[str]) -> tuple[ScoredMemory, ...]:
    """Return *scored* without the memories whose id, text or lesson is among *texts*."""
    excluded = set(texts)
    return tuple(
        memory
        for memory in scored
        if not excluded
        & {memory.entry.id, memory.entry.content, parse_lesson(memory.entry.content)}
    )


def trim_digests(scored: Sequence[ScoredMemory]) -> tuple[ScoredMemory, ...]:
    """Return *scored* with digests trimmed of what other memories of their session say.

    A digest is left out if no remaining line states anything.
    """
    others = [memory.entry for memory in scored if DIGEST_TAG not in memory.entry.metadata.tags]
    memories: list[ScoredMemory] = []
    for memory in scored:
        entry = memory.entry
        if DIGEST_TAG not in entry.metadata.tags:
            memories.append(memory)
            continue
        texts = [_words(other.content) for other in others if other.session_id == entry.session_id]
        lines = entry.content.split("\n")
        remaining = [line for line in (_trim_line(line, texts) for line in lines) if line]
        if remaining == lines:
            memories.append(memory)
        elif any(_is_statement(line) for line in remaining):
            entry = entry.model_copy(update={"content": "\n".join(remaining)})
            memories.append(memory.model_copy(update={"entry": entry}))
    return tuple(memories)


def _trim_line(line: str, texts: Sequence[str]) -> str:
    """Return a digest's *line* without the parts that occur in *texts*; "" if none remains.

    *texts* are in the form of :func:`_words`.
    """
    label, colon, value = line.partition(": ")
    parts = value.split(DIGEST_JOINT)
    remaining = [part for part in parts if not any(_words(part) in text for text in texts)]
    return f"{label}{colon}{DIGEST_JOINT.join(remaining)}" if remaining else ""


def _is_statement(line: str) -> bool:
    """Return whether the value of a digest's line is more than a turn in passing."""
    label, _, text = line.partition(": ")
    return passing_kind(text, by_assistant=label == ENDED_FIELD) is None


def _words(text: str) -> str:
    """Return the words of *text*, each between spaces, so that ``in`` compares whole words."""
    return f" {' '.join(WORD.findall(text.casefold()))} "


def with_relevance(scored: Sequence[ScoredMemory]) -> tuple[ScoredMemory, ...]:
    """Return *scored* in the same order, with the relevance of the recall as score.

    Recency only affects the order, so a memory has the same score in a prompt, a recall and a
    search.
    """
    return tuple(
        memory.model_copy(update={"combined_score": memory.entry.relevance_score or 0.0})
        for memory in scored
    )


def without_threshold(config: MemoryRetrievalConfig) -> MemoryRetrievalConfig:
    """Return *config* with the threshold 0, unless a threshold is set explicitly.

    The documented default of 0.3 is meant for similarities. Recall returns probabilities, which
    are lower, and has applied its own gate. With both, hardly any memory older than a week would
    reach a prompt (docs/benchmarks.md). Callers keep the default for fused ranks (SPEC 8.4.6).
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
    """Return the relevance of *entry*, 0 without a score."""
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
    """Return the memories that *memory_filter* lets pass.

    Without a filter, return all memories or, with *non_inferable_only*, those with that tag. A
    filter that raises lets nothing pass, and a warning is logged. Raises MemoryError and
    RecursionError.
    """
    if memory_filter is None:
        memory_filter = TagBasedMemoryFilter() if non_inferable_only else PassthroughMemoryFilter()
    try:
        return tuple(memory_filter.filter_for_injection(memories))
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # noqa: BLE001  # a filter is foreign code; see the docstring
        _log.warning("a memory filter failed, nothing passes: %s", type(error).__name__)
        return ()
