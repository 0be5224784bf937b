"""Fit the ranker's weights and the selection threshold (*bar*) to the owner's pairs. Pure, numpy.

The loss is the listwise softmax with which the reviewed weights were made. Fitting starts at
those weights and is regularised towards them. The spread of scores and the mean length of answers
stay the same, so that gate, calibration and threshold stay valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memd.recall.ranking.rankings import GATE_TOP, RankedCandidate
from memd.recall.ranking.weights import Weights
from memd.recall.select import ENTRIES_MAX

Numbers = NDArray[np.float64]

STEPS = 200
RATE = 0.05
"""The learning rate of Adam."""
PULL = 0.02
"""The strength of the regularisation towards the reviewed weights, each times its spread."""
SPREAD_MIN = 0.02
"""The least standard deviation by which a feature is divided, for nearly constant features."""


@dataclass(frozen=True, slots=True)
class RankedQuestion:
    """A question's candidates, best first, and for each whether it is the right answer."""

    items: Sequence[RankedCandidate]
    right: Sequence[bool]


def fit(
    samples: Sequence[RankedQuestion],
    reviewed: Mapping[str, float],
    progress: Callable[[float], None] = lambda _share: None,
) -> dict[str, float]:
    """Return weights that rank right candidates higher; *reviewed* if no sample has one.

    *progress* is called with the share of steps done, and may raise to stop.
    """
    used = [sample for sample in samples if any(sample.right)]
    if not used:
        return dict(reviewed)
    names = list(reviewed)
    rows = np.array(
        [[item.measured.features[name] for name in names] for s in used for item in s.items]
    )
    spread = np.maximum(rows.std(0), SPREAD_MIN)
    rows = rows / spread
    start = np.array([reviewed[name] for name in names]) * spread
    is_right = np.array([float(right) for s in used for right in s.right])
    sizes = [len(sample.items) for sample in used]
    weights = _descend(start, _gradient(rows, is_right, sizes), progress)
    scores = rows @ start, rows @ weights
    before, after = (_sd_of_best(ranking, sizes) for ranking in scores)
    # Undo the scaling of the features, and restore the spread of the best scores.
    weights = weights * (before / after if after else 1.0) / spread
    return dict(zip(names, weights.tolist(), strict=True))


def _gradient(
    rows: Numbers, is_right: Numbers, sizes: Sequence[int]
) -> Callable[[Numbers], Numbers]:
    """Return the gradient function of the softmax loss.

    *rows* are the candidates of all questions in order, *sizes* their number per question.
    """
    starts, question = np.cumsum([0, *sizes[:-1]]), np.repeat(np.arange(len(sizes)), sizes)
    total = np.add.reduceat(is_right, starts)[question]

    def gradient(weights: Numbers) -> Numbers:
        score = rows @ weights
        share = np.exp(score - np.maximum.reduceat(score, starts)[question])
        share /= np.add.reduceat(share, starts)[question]
        slope: Numbers = rows.T @ (share - is_right / total) / len(sizes)
        return slope

    return gradient


def _descend(
    start: Numbers,
    gradient: Callable[[Numbers], Numbers],
    progress: Callable[[float], None],
) -> Numbers:
    """Return the weights that Adam finds from *start*, regularised towards it."""
    weights = start.copy()
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        slope = gradient(weights) + PULL * (weights - start)
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope * slope
        move = (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        weights = weights - RATE * move
        progress(step / STEPS)
    return weights


def _sd_of_best(scores: Numbers, sizes: Sequence[int]) -> float:
    """Return the mean, over questions, of the standard deviation of the GATE_TOP best scores."""
    parts = np.split(scores, np.cumsum(sizes)[:-1])
    return float(np.mean([np.sort(part)[-GATE_TOP:].std() for part in parts]))


def bar_for(samples: Sequence[RankedQuestion], weights: Weights, entries: float) -> float:
    """Return the threshold with which answers to *samples* have *entries* on average."""
    # The threshold at which each item would just be in its answer, the easiest first.
    thresholds = sorted(
        (
            item.relevance * weights.bar / item.bar
            for sample in samples
            for item in sample.items[:ENTRIES_MAX]
            if item.passes and math.isfinite(item.bar)
        ),
        reverse=True,
    )
    count = round(entries * len(samples))
    if not 0 < count <= len(thresholds):
        return weights.bar
    return thresholds[count - 1]


def mean_entries(samples: Sequence[RankedQuestion]) -> float:
    """Return the mean number of entries in the answers to *samples*."""
    count = sum(_is_in_answer(item) for s in samples for item in s.items[:ENTRIES_MAX])
    return count / len(samples) if samples else 0.0


def share_answered(samples: Sequence[RankedQuestion]) -> float:
    """Return the share of *samples* whose answer has the right memory."""
    answered = sum(
        any(right and _is_in_answer(item) for item, right in zip(s.items, s.right, strict=True))
        for s in samples
    )
    return answered / len(samples) if samples else 0.0


def _is_in_answer(item: RankedCandidate) -> bool:
    return item.passes and item.relevance >= item.bar
