"""The documented rankings of SPEC 8: by score, by fused ranks, and with less repetition.

Pure: the same entries, settings and time give the same ranking. Relevance is combined with recency
(SPEC 8.3). Reciprocal rank fusion (SPEC 8.4) needs no common scale: a memory gains
``1 / (k + rank)`` in each list that holds it. The sums are spread over 0 to 1, so the last of
several is exactly 0 and any threshold drops it.

Maximal marginal relevance (SPEC 8.5) reorders a ranking so that it repeats itself less: each pick
maximises its score minus its similarity to the closest earlier pick. This comes after re-ranking
and filtering, so that excluded memories repel nothing, and before the cut to ``max_memories``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

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
        yield ScoredMemory.model_construct(
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


Bigrams = frozenset[tuple[str, str]]


def bigram_jaccard(text_a: str, text_b: str) -> float:
    """Return the Jaccard similarity of two texts' word pairs.

    Words are separated by white space and compared in lower case. A text of one word has no pairs
    and is similar to nothing, not even itself.

    >>> round(bigram_jaccard("a b c", "a b d"), 4)
    0.3333
    """
    return jaccard(bigrams(text_a), bigrams(text_b))


def apply_diversity_penalty(
    scored: tuple[ScoredMemory, ...],
    *,
    diversity_lambda: float = 0.7,
    similarity_fn: Callable[[str, str], float] | None = None,
) -> tuple[ScoredMemory, ...]:
    """Return all of *scored*, each once, in diverse order.

    *diversity_lambda* 1 orders by score alone, 0 by difference alone; among
    equals the earlier in *scored* wins. *similarity_fn* takes two contents and
    returns 0 to 1. Raises ValueError when *diversity_lambda* is not from 0 to 1.
    """
    order = diverse_order(
        [memory.entry.content for memory in scored],
        [memory.combined_score for memory in scored],
        diversity_lambda,
        similarity_fn=similarity_fn,
    )
    return tuple(scored[i] for i in order)


def diverse_order(
    texts: Sequence[str],
    scores: Sequence[float],
    diversity_lambda: float,
    *,
    similarity_fn: Callable[[str, str], float] | None = None,
) -> list[int]:
    """Return the indexes of *texts* in diverse order, by the rule of the penalty above."""
    if not 0.0 <= diversity_lambda <= 1.0:  # also false for NaN
        raise ValueError(f"diversity_lambda must be from 0 to 1, not {diversity_lambda}")
    remaining = list(range(len(texts)))
    similarity = _similarity(texts, similarity_fn)
    closest = [0.0] * len(texts)
    order: list[int] = []
    while remaining:
        values = [
            diversity_lambda * scores[i] - (1 - diversity_lambda) * closest[i] for i in remaining
        ]
        pick = remaining.pop(values.index(max(values)))
        order.append(pick)
        for i in remaining:
            closest[i] = max(closest[i], similarity(i, pick))
    return order


def score_by_rank(scored: tuple[ScoredMemory, ...]) -> tuple[ScoredMemory, ...]:
    """Return *scored* with scores that fall with the rank, from 1 down.

    A re-ranker changes the order but not the scores, by which the diversity penalty would sort
    again (SPEC 8.5.6).
    """
    return tuple(
        memory.model_copy(update={"combined_score": 1.0 - rank / len(scored)})
        for rank, memory in enumerate(scored)
    )


def _similarity(
    texts: Sequence[str], similarity_fn: Callable[[str, str], float] | None
) -> Callable[[int, int], float]:
    """Return a function of two indexes; by default each text is split into word pairs once."""
    if similarity_fn is not None:
        return lambda i, j: similarity_fn(texts[i], texts[j])
    pairs = [bigrams(text) for text in texts]
    return lambda i, j: jaccard(pairs[i], pairs[j])


def bigrams(text: str) -> Bigrams:
    """Return the word pairs of *text*, as :func:`bigram_jaccard` compares them."""
    words = text.lower().split()
    return frozenset(itertools.pairwise(words))


def jaccard(a: frozenset[Any], b: frozenset[Any]) -> float:
    """Return the Jaccard similarity of two sets, of words or word pairs; 0 if one is empty."""
    if not a or not b:
        return 0.0
    common = len(a & b)
    return common / (len(a) + len(b) - common)
