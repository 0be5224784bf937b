"""Re-ranking by a model that reads question and text together (SPEC 2.7).

The model alone orders worse than memd's ranker, which also knows who spoke and when; together they
order better than either (docs/benchmarks.md). So the new score is a weighted mean of the two
logits, mapped back to 0..1. Only the first CANDIDATES are scored; the rest stay behind them.
Without a model, similarity and importance are blended as SPEC 2.7 says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memd.base import log
from memd.base.errors import ModelError, UnavailableError
from memd.domain.encoding import PairScorer
from memd.recall.ranking.weights import logistic

if TYPE_CHECKING:  # the scores alone need no store
    from memd.recall.candidates import Ranking
    from memd.recall.ranking.rankings import RankedCandidate

CANDIDATES = 20
WEIGHT = 0.16
"""Of the model's logit; chosen on LoCoMo with each dialogue left out in turn: 0.16 in five of
six, 0.12 in one (``python -m tests.bench.topologies``)."""

SIMILARITY_AND_IMPORTANCE = (0.8, 0.2)
NEW_AND_PLAIN = 0.6  # importance of a memory that has no vector yet: all novelty, no salience (D4)
_SURE = 1e-6
DAMAGED = "the re-ranker is damaged: ordered without; run: memd model install --reranker"
NO_RERANKER = "no re-ranker: ordered without; run: memd model install --reranker"


def blend(
    similarity: float,
    importance: float,
    weights: tuple[float, float] = SIMILARITY_AND_IMPORTANCE,
) -> float:
    """Return the score of a memory that no model has re-ranked, from 0 to 1.

    *weights* count by their proportion. Raises ValueError when one is negative
    or both are 0.
    """
    for_similarity, for_importance = weights
    total = for_similarity + for_importance
    if for_similarity < 0 or for_importance < 0 or not 0 < total < math.inf:
        raise ValueError(f"weights must be at least 0 and not both 0, not {weights}")
    score = (for_similarity * similarity + for_importance * importance) / total
    return max(0.0, min(1.0, score))


def rank_blended(items: Sequence[RankedCandidate]) -> list[RankedCandidate]:
    """Return *items* ordered by blended scores, for want of a re-ranker (SPEC 2.7)."""
    scored = [
        replace(
            item,
            relevance=blend(
                item.relevance,
                NEW_AND_PLAIN
                if item.measured.candidate.importance is None
                else item.measured.candidate.importance,
            ),
        )
        for item in items
    ]
    return sorted(scored, key=lambda item: -item.relevance)


def logit(score: float) -> float:
    """Return the log odds of *score*, bounded for 0 and 1.

    >>> logit(0.5)
    0.0
    """
    within = min(max(score, _SURE), 1 - _SURE)
    return math.log(within / (1 - within))


async def blend_scores(
    scorer: PairScorer, query: str, texts: Sequence[str], scores: Sequence[float]
) -> list[float]:
    """Return new scores of *texts*, from 0 to 1: *scores* blended with the model's logits.

    Raises what *scorer* raises.
    """
    logits = await scorer.score(query, texts)
    return [
        logistic((1 - WEIGHT) * logit(score) + WEIGHT * model_logit)
        for score, model_logit in zip(scores, logits, strict=True)
    ]


async def rerank(
    scorer: PairScorer | None, query: str, items: Sequence[RankedCandidate], candidates: Ranking
) -> tuple[list[RankedCandidate], Ranking]:
    """Return *items* re-ranked, and *candidates* with ``degraded`` set if that failed.

    Without a model, and when it fails or is too slow, the order is that of the blended scores
    (SPEC 2.7).
    """
    if not items:
        return list(items), candidates
    why = NO_RERANKER
    if scorer is not None:
        try:
            return await _rerank_first(scorer, query, items), candidates
        except (UnavailableError, ModelError) as error:
            log.warning("ordered without the re-ranker", kind=error.kind)
            if isinstance(error, ModelError):
                why = DAMAGED
            elif error.hint is None:
                why = f"the re-ranker is not available ({error.kind}): ordered without"
    degraded = why if candidates.degraded is None else f"{candidates.degraded}; {why}"
    return rank_blended(items), replace(candidates, degraded=degraded)


async def _rerank_first(
    scorer: PairScorer, query: str, items: Sequence[RankedCandidate]
) -> list[RankedCandidate]:
    first, rest = items[:CANDIDATES], items[CANDIDATES:]
    texts = [item.measured.candidate.own for item in first]
    scores = await blend_scores(scorer, query, texts, [item.relevance for item in first])
    reranked = [replace(item, relevance=score) for item, score in zip(first, scores, strict=True)]
    reranked.sort(key=lambda item: -item.relevance)  # stable: ties keep their order
    lowest = reranked[-1].relevance
    return [*reranked, *(replace(item, relevance=min(lowest, item.relevance)) for item in rest)]
