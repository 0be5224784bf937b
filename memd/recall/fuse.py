"""Fusing several ranked lists into one, by ranks alone (SPEC 8.4).

Reciprocal rank fusion needs no common scale: a memory gains ``1 / (k + rank)``
in each list that holds it. The sums are spread over 0 to 1, so the last one of
several is always exactly 0 and a threshold always drops it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from memd.domain.enums import FusionStrategy
from memd.domain.memory import MemoryEntry
from memd.domain.retrieval import ScoredMemory


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
    scores = _spread({memory_id: math.fsum(found) for memory_id, found in parts.items()})
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


def _spread(raw: dict[str, float]) -> dict[str, float]:
    """Map the lowest score to 0 and the highest to 1; all to 1 when they are one."""
    if not raw:
        return {}
    low, high = min(raw.values()), max(raw.values())
    if low == high:
        return dict.fromkeys(raw, 1.0)
    return {memory_id: (score - low) / (high - low) for memory_id, score in raw.items()}
