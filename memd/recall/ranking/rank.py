"""The documented ranking: relevance with recency (SPEC 8.3), and reciprocal rank fusion (SPEC 8.4).

Pure: the same entries, settings and time give the same ranking. Fusion needs no common scale: a
memory gains ``1 / (k + rank)`` in each list that holds it. The sums are spread over 0 to 1, so the
last of several is exactly 0 and any threshold drops it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime, timedelta

from memd.domain.enums import FusionStrategy
from memd.domain.memory import MemoryEntry
from memd.domain.settings.retrieval import MemoryRetrievalConfig, ScoredMemory

_HOUR = timedelta(hours=1)


def compute_recency_score(created_at: datetime, now: datetime, decay_rate: float) -> float:
    """Return how recent a memory is: 1 now or in the future, falling by *decay_rate* an hour.

    >>> from datetime import UTC
    >>> now = datetime(2026, 3, 2, tzinfo=UTC)
    >>> round(compute_recency_score(now - timedelta(hours=24), now, 0.01), 4)
    0.7866
    """
    age_hours = (now - created_at) / _HOUR
    return math.exp(-decay_rate * age_hours) if age_hours > 0 else 1.0


def compute_combined_score(
    relevance: float, recency: float, relevance_weight: float, recency_weight: float
) -> float:
    """Return the weighted sum of *relevance* and *recency*, from 0 to 1."""
    return max(0.0, min(1.0, relevance_weight * relevance + recency_weight * recency))


def rank_memories(
    entries: Iterable[MemoryEntry],
    config: MemoryRetrievalConfig,
    now: datetime,
    shared_entries: Iterable[MemoryEntry] = (),
) -> tuple[ScoredMemory, ...]:
    """Rank an agent's own *entries* together with *shared_entries*, best first.

    Own ones get the personal boost and come first among equals. What scores
    below ``min_relevance`` is dropped, what scores exactly that is kept. At most
    ``config.pool_size`` remain: ``max_memories``, or more while diversity still
    has to choose (SPEC 8.5.5). Nothing is merged: the same memory in both lists
    stays twice. Age is that of the event where it is known (SPEC D22).
    """
    scored = [
        *_score_entries(entries, config, now, is_shared=False),
        *_score_entries(shared_entries, config, now, is_shared=True),
    ]
    kept = [memory for memory in scored if memory.combined_score >= config.min_relevance]
    kept.sort(key=lambda memory: memory.combined_score, reverse=True)
    return tuple(kept[: config.pool_size])


def _score_entries(
    entries: Iterable[MemoryEntry], config: MemoryRetrievalConfig, now: datetime, *, is_shared: bool
) -> Iterator[ScoredMemory]:
    for entry in entries:
        relevance = entry.relevance_score
        if relevance is None:
            relevance = config.default_relevance
        if not is_shared:
            relevance = min(1.0, relevance + config.personal_boost)
        moment = entry.occurred_at or entry.created_at
        recency = compute_recency_score(moment, now, config.recency_decay_rate)
        yield ScoredMemory(
            entry=entry,
            relevance_score=relevance,
            recency_score=recency,
            combined_score=compute_combined_score(
                relevance, recency, config.relevance_weight, config.recency_weight
            ),
            is_shared=is_shared,
            scoring_strategy=FusionStrategy.LINEAR,
        )


def fuse_ranked_lists(
    ranked_lists: Iterable[Iterable[MemoryEntry]],
    k: int = 60,
    max_results: int = 20,
    *,
    shared_ids: Collection[str] = (),
) -> tuple[ScoredMemory, ...]:
    """Fuse *ranked_lists*, each best first, and return the best *max_results*.

    An id that repeats within a list neither counts again nor takes a rank. Of
    several entries with one id the first one met is returned. Equals keep the
    order in which they were met; when all are equal, all score 1. Entries named
    in *shared_ids* are marked as shared. No threshold is applied. Raises
    ValueError when *k* or *max_results* is below 1.
    """
    if k < 1 or max_results < 1:
        raise ValueError(f"k and max_results must be at least 1, not {k} and {max_results}")
    met: dict[str, MemoryEntry] = {}
    parts: dict[str, list[float]] = {}
    for ranked in ranked_lists:
        here: set[str] = set()
        for entry in ranked:
            if entry.id not in here:
                here.add(entry.id)
                met.setdefault(entry.id, entry)
                parts.setdefault(entry.id, []).append(1 / (k + len(here)))
    # fsum does not depend on the order of the lists. A plain sum may differ in
    # its last bit, which spreading over 0 to 1 would turn into a whole rank.
    scores = _rescale({memory_id: math.fsum(shares) for memory_id, shares in parts.items()})
    best = sorted(met, key=lambda memory_id: scores[memory_id], reverse=True)[:max_results]
    return tuple(
        ScoredMemory(
            entry=met[memory_id],
            relevance_score=met[memory_id].relevance_score or 0.0,
            recency_score=0.0,
            combined_score=scores[memory_id],
            is_shared=memory_id in shared_ids,
            scoring_strategy=FusionStrategy.RRF,
        )
        for memory_id in best
    )


def _rescale(raw: dict[str, float]) -> dict[str, float]:
    """Map the lowest score to 0 and the highest to 1; all to 1 when they are one."""
    if not raw:
        return {}
    low, high = min(raw.values()), max(raw.values())
    if low == high:
        return dict.fromkeys(raw, 1.0)
    return {memory_id: (score - low) / (high - low) for memory_id, score in raw.items()}
