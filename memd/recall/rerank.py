"""Scores where a second opinion is missing, and the scale of one that is there (SPEC 2.7)."""

from __future__ import annotations

import math

SIMILARITY_AND_IMPORTANCE = (0.8, 0.2)


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
