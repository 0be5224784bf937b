"""Putting measured candidates in order, and deciding whether to answer at all."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from memd.model.enums import SearchMode
from memd.recall.features import Measured
from memd.recall.weights import Weights

GATE_TOP = 10


@dataclass(frozen=True, slots=True)
class Ranked:
    """One candidate with its score and its calibrated probability."""

    measured: Measured
    score: float
    relevance: float


PROJECT_BOOST = 0.5  # in units of the score, for memories of the active project (SPEC D1)


def ranked(
    measured: Sequence[Measured],
    weights: Weights,
    mode: SearchMode = SearchMode.HYBRID,
    project_id: str | None = None,
) -> list[Ranked]:
    """Return the candidates best first; ties by time, newest first, then by id.

    In mode dense the score is the cosine (S1's), in mode words the saturated
    BM25, and what holds none of the words is left out.
    """
    scored = [_scored(item, weights, mode, project_id) for item in measured]
    if mode is SearchMode.WORDS:
        scored = [item for item in scored if item.score > 0]
    scored.sort(
        key=lambda item: (
            -item.score,
            -item.measured.candidate.created_at_us,
            item.measured.candidate.memory_id,
        )
    )
    return scored


def _scored(item: Measured, weights: Weights, mode: SearchMode, project_id: str | None) -> Ranked:
    if mode is SearchMode.DENSE:
        cosine = item.features["cos"]
        return Ranked(item, cosine, min(1.0, max(0.0, cosine)))
    if mode is SearchMode.WORDS:
        return Ranked(item, item.features["bmx"], item.features["bmx"])
    score = weights.score(item.features)
    if project_id is not None and item.candidate.project_id == project_id:
        score += PROJECT_BOOST
    return Ranked(item, score, weights.probability(score))


def gate(items: Sequence[Ranked], weights: Weights) -> float:
    """Return the probability that the ten best hold an answer; 0 when there is no candidate."""
    if not items:
        return 0.0
    best = items[0].measured
    scores = [item.score for item in items[:GATE_TOP]]
    return weights.gate_probability(
        {
            "maxcos": max(item.measured.features["cos"] for item in items),
            "maxcovx": max(item.measured.covx for item in items),
            "t1_nterm": best.features["nterm"],
            "t1_date": best.features["date"],
            "sd10": statistics.pstdev(scores),
        }
    )
