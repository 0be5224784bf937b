"""The score of a second opinion, by a model that reads question and text together (SPEC 2.7).

The model alone orders worse than memd's ranker, which also knows who spoke and when;
together they order better than either (docs/benchmarks.md). So the new score is a
weighted mean of the two logits, back on the scale from 0 to 1. Only the first
CANDIDATES get one: what was further behind stays there. Where the opinion is missing,
likeness and importance are blended as the documents say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from memd.domain.encoding import PairScorer

CANDIDATES = 20
WEIGHT = 0.16
"""Of the second opinion; chosen on LoCoMo with each dialogue left out in turn: 0.16 in five of
six, 0.12 in one (``python -m tests.bench.topologies``)."""

SIMILARITY_AND_IMPORTANCE = (0.8, 0.2)
_SURE = 1e-6


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


def squash(logit: float) -> float:
    """Return a re-ranker's raw *logit* on the scale from 0 to 1, however large it is.

    >>> squash(0.0)
    0.5
    """
    if logit < 0:  # exp of a large number overflows, exp of a very negative one is 0
        grown = math.exp(logit)
        return grown / (1.0 + grown)
    return 1.0 / (1.0 + math.exp(-logit))


def logit(score: float) -> float:
    """Return the log of the odds of *score*; of certainty a large number, not infinity.

    >>> logit(0.5)
    0.0
    """
    within = min(max(score, _SURE), 1 - _SURE)
    return math.log(within / (1 - within))


async def second_scores(
    scorer: PairScorer, query: str, texts: Sequence[str], scores: Sequence[float]
) -> list[float]:
    """Return the scores of *texts* after a second look, from 0 to 1; *scores* are the first's.

    Raises what *scorer* raises.
    """
    logits = await scorer.score(query, texts)
    return [
        squash((1 - WEIGHT) * logit(score) + WEIGHT * said)
        for score, said in zip(scores, logits, strict=True)
    ]
