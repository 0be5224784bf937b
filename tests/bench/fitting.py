"""Fits a table of weights to samples: the ranker, the gate and the calibration.

The ranker is a listwise softmax over each question's candidates, its target half
uniform over the gold, half where the ranker already puts the gold. The gate is a
logistic regression on whether the ten best hold an answer, over honest, foreign
and small-store questions; the calibration is one over single candidates. Each is fitted
over the one before as it is rounded for the table, so the same samples give the same table.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from bench import public_dialogues
from bench.samples import Sample
from memd.recall.ranking.rankings import GATE_TOP, RankedCandidate, calibration, rank, signals
from memd.recall.ranking.weights import CALIBRATION, WITHOUT_VECTORS, Weights, logistic

Array = NDArray[np.float64]

DENSE = frozenset({"cos", "nlift", "s3lift", "maxsim", "maxcos", "few_maxcos"})
SIGNALS = (
    *("maxcos", "maxcovx", "sd10", "t1_nterm", "t1_bmxn", "t1_date", "strange"),
    *("few", "few_maxcos", "few_maxcovx", "few_sd10"),
)
GATE_SIGNS = {
    **dict.fromkeys(("maxcos", "maxcovx", "sd10", "t1_nterm", "t1_bmxn", "t1_date"), 1),
    **dict.fromkeys(("few_maxcos", "few_maxcovx"), 1),
    "strange": -1,
}
"""Which way a signal may move the gate: more of the question found never shuts it (decision 0234).
Of the others, how small a store is and how far its best lie apart, neither way is absurd."""
STEPS = 200
RATE = 0.05
L2 = 3e-3
ALONE = "alone"
ROUGH = tuple(name for name in CALIBRATION if name != ALONE)
SPREAD_MIN = 0.02  # of a feature: what is the same everywhere on a bed teaches nothing
HONEST = ("H", "G")
ENTRIES = 20  # of an answer: what is calibrated, and the most that are chosen from
# How much a bed and, within it, a kind of question weighs in each of the three fits. The gate is
# fitted on dialogues and small stores alone: with the other beds it gains nothing (0110, 0225).
_PUBLIC = dict.fromkeys(public_dialogues.SOURCES, 1.0)
RANKER_BEDS = {"dialogues": 12.0, "coding": 1.0, "everyday": 1.0, "small": 3.0, **_PUBLIC}
GATE_BEDS = {"dialogues": 1.0, "small": 0.15}
ENTRY_BEDS = {
    **dict.fromkeys(_PUBLIC, 0.5),
    "dialogues": 2.0,
    "everyday": 1.0,
    "coding": 2.0,
    "chats": 1.0,
    "small": 0.3,
}
_KINDS = ("H", "G", "A", "B", "O", "U", "S+", "S-")
GATE_WEIGHTS = dict(zip(_KINDS, (1.0, 0.5, 0.3, 0.7, 0.3, 0.05, 0.35, 0.35), strict=True))
ENTRY_WEIGHTS = dict(zip(_KINDS, (1.0, 0.5, 0.035, 0.075, 0.035, 0.035, 0.2, 0.1), strict=True))


@dataclass(frozen=True)
class Judged:
    """A sample as one table of weights ranks it: is the answer among the ten best, and how much."""

    sample: Sample
    items: list[RankedCandidate]
    signals: dict[str, float]
    right: list[bool]
    chance: float
    """Of the gate."""

    @property
    def recall(self) -> float:
        return sum(self.right[:GATE_TOP]) / self.sample.gold if self.sample.gold else 0.0


def without_vectors(sample: Sample) -> Sample:
    """Return *sample* as it is without a model: what holds none of the words is not found."""
    at = [place for place, item in enumerate(sample.candidates) if item.features["bmx"] > 0]
    candidates = [
        replace(
            sample.candidates[place],
            features={
                k: 0.0 if k in DENSE else v for k, v in sample.candidates[place].features.items()
            },
        )
        for place in at
    ]
    return replace(sample, candidates=candidates, right=[sample.right[place] for place in at])


def fitted(
    samples: Sequence[Sample], reviewed: Weights, features: Mapping[str, float] | None = None
) -> Weights:
    """Return the table for *samples* that would take the place of *reviewed*.

    Its ranker has the *features* that are given, or weighs those of *reviewed* anew. The thresholds
    are those in use: they are chosen by eye.
    """
    if features is None:
        names = list(reviewed.features)
        features = dict(zip(names, _ranker(samples, names).tolist(), strict=True))
    plain = replace(reviewed, features=rounded(features, 2))
    judged = [judge(sample, plain) for sample in samples if sample.candidates]
    dense = reviewed is not WITHOUT_VECTORS
    gate, offset = fit_gate(judged, [name for name in SIGNALS if dense or name not in DENSE])
    gated = replace(plain, gate=rounded(gate, 2), gate_offset=round(offset, 2))
    return calibrated(judged, gated)


def rounded(values: Mapping[str, float], places: int) -> MappingProxyType[str, float]:
    """Return *values* as they stand in the table."""
    return MappingProxyType({name: round(value, places) for name, value in values.items()})


def judge(sample: Sample, weights: Weights) -> Judged:
    """Return *sample* ranked as the product ranks it."""
    right = {id(item): good for item, good in zip(sample.candidates, sample.right, strict=True)}
    items = rank(sample.candidates, weights)
    measures = signals(items)
    rights = [right[id(item.measured)] for item in items]
    return Judged(sample, items, measures, rights, logistic(weights.gate_logit(measures)))


def _ranker(samples: Sequence[Sample], names: Sequence[str]) -> Array:
    """Fit the listwise softmax by Adam on features of unit spread."""
    used = [s for s in samples if s.kind in (*HONEST, "S") and any(s.right)]
    rows = np.array([[m.features[n] for n in names] for s in used for m in s.candidates])
    spread = np.maximum(rows.std(0), SPREAD_MIN)
    rows = (rows - rows.mean(0)) / spread
    good = np.array([float(g) for s in used for g in s.right])
    sizes = [len(s.candidates) for s in used]
    starts, owner = np.cumsum([0, *sizes[:-1]]), np.repeat(np.arange(len(used)), sizes)
    total = np.add.reduceat(good, starts)[owner]
    share = (bed_shares(used) * len(used))[owner]
    weights = np.zeros(len(names))
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        score = rows @ weights
        chance = np.exp(score - np.maximum.reduceat(score, starts)[owner])
        chance /= np.add.reduceat(chance, starts)[owner]
        among = chance * good
        among /= np.maximum(np.add.reduceat(among, starts), 1e-30)[owner]
        wrong = chance - 0.5 * good / total - 0.5 * among
        slope = rows.T @ (share * wrong) / len(used) + L2 * weights
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope * slope
        move = (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        weights = weights - RATE * move
    return np.asarray(weights / spread)


def bed_shares(samples: Sequence[Sample]) -> Array:
    """Return the weight of each sample of the ranker's fit, by its bed; they sum to 1.

    Dialogues weigh most: there are people, sessions and times to learn from, and most questions.
    The small stores tell what a note is, which has neither, where no household is fitted on.
    """
    size = Counter(sample.bed for sample in samples)
    total = sum(RANKER_BEDS[bed] for bed in size)
    return np.array([RANKER_BEDS[s.bed] / (total * size[s.bed]) for s in samples])


def weighed(
    samples: Sequence[Sample], parts: Mapping[str, float], of_bed: Mapping[str, float]
) -> Array:
    """Return the weight of each sample: *of_bed*, shared out by *parts*, whatever their sizes.

    The weights of a bed sum to its own, and those of a kind within it to its part. Where
    nothing but beds without a weight is at hand, they weigh alike.
    """
    place = [(sample.bed, _group(sample)) for sample in samples]
    size = Counter(place)
    total: dict[str, float] = defaultdict(float)
    for bed, group in size:
        total[bed] += parts[group]
    known = {bed: of_bed[bed] for bed in total if of_bed.get(bed)}
    if not set(known) - {"small"}:
        known = dict.fromkeys(total, 1.0) | known
    return np.array(
        [
            known.get(bed, 0.0) * parts[group] / (size[bed, group] * total[bed])
            for bed, group in place
        ]
    )


def fit_gate(judged: Sequence[Judged], names: Sequence[str]) -> tuple[dict[str, float], float]:
    """Fit the gate; a signal that would move it the wrong way (``GATE_SIGNS``) is left out."""
    rows = np.array([[each.signals[name] for name in names] for each in judged])
    good = np.array([float(any(each.right[:GATE_TOP])) for each in judged])
    share = weighed([each.sample for each in judged], GATE_WEIGHTS, GATE_BEDS)
    fit = logistic_regression(rows, good, share * len(share) / share.sum())
    gate = dict(zip(names, fit[:-1].tolist(), strict=True))
    right = [name for name in names if gate[name] * GATE_SIGNS.get(name, 0) >= 0]
    return (gate, float(fit[-1])) if right == list(names) else fit_gate(judged, right)


def calibrated(judged: Sequence[Judged], weights: Weights) -> Weights:
    """Fit how likely one of the best twenty answers, over honest, foreign and small alike.

    What ``alone`` adds is fitted over the rest: together they leave more of a gap where a kind of
    text is left out (decision 0324).
    """
    rows, good, share = [], [], []
    shares = weighed([each.sample for each in judged], ENTRY_WEIGHTS, ENTRY_BEDS)
    for each, sample_share in zip(judged, shares, strict=True):
        scores = [item.score for item in each.items]
        common, evidence = calibration(scores, each.signals, weights)
        for its, right in list(zip(evidence, each.right, strict=True))[:ENTRIES]:
            rows.append([{**common, **its}[name] for name in (*ROUGH, ALONE)])
            good.append(float(right))
            share.append(sample_share)
    weight = np.array(share)
    weight *= len(weight) / weight.sum()
    every, target = np.array(rows), np.array(good)
    rough = every[:, :-1]
    fit = logistic_regression(rough, target, weight)
    table = rounded(dict(zip(ROUGH, fit[:-1].tolist(), strict=True)), 2)
    offset = round(float(fit[-1]), 2)
    if ALONE in weights.calibration:
        logits = rough @ np.array(list(table.values())) + offset
        alone = fit_one(every[:, -1], target, weight, logits)
        table = MappingProxyType({**table, ALONE: round(alone, 2)})
    return replace(weights, calibration=table, offset=offset)


def fit_one(values: Array, good: Array, share: Array, logits: Array) -> float:
    """Return the weight of one feature beside what is known of each row, its *logits*."""
    weight = 0.0
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(logits + weight * values, -30, 30)))
        slope = (share * values * (good - chance)).sum()
        weight += float(slope / (share * values**2 * chance * (1 - chance)).sum())
    return weight


def logistic_regression(rows: Array, good: Array, share: Array, ridge: float = 1e-2) -> Array:
    """Return weights and, last, the offset, by iteratively reweighted least squares."""
    full = np.hstack([rows, np.ones((len(rows), 1))])
    weights = np.zeros(full.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(full @ weights, -30, 30)))
        curve = full.T @ (full * (share * chance * (1 - chance))[:, None])
        curve += ridge * np.eye(len(weights))
        weights = weights + np.linalg.solve(
            curve, full.T @ (share * (good - chance)) - ridge * weights
        )
    return weights


def _group(sample: Sample) -> str:
    return sample.kind if sample.kind != "S" else f"S{'+' if sample.gold else '-'}"
