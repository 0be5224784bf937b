"""Fit the ranker's weights and the bar of selection to the owner's pairs. Pure, numpy.

A listwise softmax like that of the reviewed table, but starting from that table and regularised
towards it. Scores keep their spread and answers their length, so that gate, calibration and bar
stay valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memd.recall.ranking.rankings import GATE_TOP, Ranked
from memd.recall.ranking.weights import Weights
from memd.recall.select import ENTRIES_MAX

Numbers = NDArray[np.float64]

STEPS = 200
RATE = 0.05
PULL = 0.02
"""The regularisation of each weight, in units of its feature's spread, to the reviewed one."""
SPREAD_MIN = 0.02


@dataclass(frozen=True, slots=True)
class RankedQuestion:
    """A question's candidates, best first, and which of them answers it."""

    items: Sequence[Ranked]
    right: Sequence[bool]


def fit(
    samples: Sequence[RankedQuestion],
    reviewed: Mapping[str, float],
    progress: Callable[[float], None] = lambda _share: None,
) -> dict[str, float]:
    """Return weights that rank right candidates higher; *reviewed* without any evidence.

    *progress* is called with the share of steps done, and may raise to stop.
    """
    used = [sample for sample in samples if any(sample.right)]
    if not used:
        return dict(reviewed)
    names = list(reviewed)
    rows = np.array([[i.measured.features[n] for n in names] for s in used for i in s.items])
    spread = np.maximum(rows.std(0), SPREAD_MIN)
    rows = rows / spread
    start = np.array([reviewed[name] for name in names]) * spread
    good = np.array([float(right) for s in used for right in s.right])
    sizes = [len(sample.items) for sample in used]
    weights = _descend(start, _gradient(rows, good, sizes), progress)
    scores = rows @ start, rows @ weights
    before, after = (_sd_of_best(ranking, sizes) for ranking in scores)
    weights = weights * (before / after if after else 1.0) / spread
    return dict(zip(names, weights.tolist(), strict=True))


def _gradient(rows: Numbers, good: Numbers, sizes: Sequence[int]) -> Callable[[Numbers], Numbers]:
    """Return the gradient function of the softmax loss over each question's *rows*."""
    starts, owner = np.cumsum([0, *sizes[:-1]]), np.repeat(np.arange(len(sizes)), sizes)
    total = np.add.reduceat(good, starts)[owner]

    def gradient(weights: Numbers) -> Numbers:
        score = rows @ weights
        share = np.exp(score - np.maximum.reduceat(score, starts)[owner])
        share /= np.add.reduceat(share, starts)[owner]
        slope: Numbers = rows.T @ (share - good / total) / len(sizes)
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
    """Return the mean standard deviation of the ten best scores of each question."""
    parts = np.split(scores, np.cumsum(sizes)[:-1])
    return float(np.mean([np.sort(part)[-GATE_TOP:].std() for part in parts]))


def bar_for(samples: Sequence[RankedQuestion], weights: Weights, entries: float) -> float:
    """Return the bar with which an answer to *samples* has *entries* on average."""
    worth = sorted(
        (
            item.relevance * weights.bar / item.bar
            for sample in samples
            for item in sample.items[:ENTRIES_MAX]
            if item.passes and math.isfinite(item.bar)
        ),
        reverse=True,
    )
    count = round(entries * len(samples))
    if not 0 < count <= len(worth):
        return weights.bar
    return worth[count - 1]


def mean_entries(samples: Sequence[RankedQuestion]) -> float:
    """Return the mean number of entries in the answers to *samples*."""
    number = sum(_is_in_answer(item) for s in samples for item in s.items[:ENTRIES_MAX])
    return number / len(samples) if samples else 0.0


def share_answered(samples: Sequence[RankedQuestion]) -> float:
    """Return the share of *samples* whose answer has the right memory."""
    answered = sum(
        any(right and _is_in_answer(item) for item, right in zip(s.items, s.right, strict=True))
        for s in samples
    )
    return answered / len(samples) if samples else 0.0


def _is_in_answer(item: Ranked) -> bool:
    return item.passes and item.relevance >= item.bar
