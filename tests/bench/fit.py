"""Fits the reviewed table: ``python -m tests.bench.fit FILE``.

With ``--beds dialogues coding everyday --transcripts DIR`` it is fitted on several kinds
of text, all of the same weight (``bench.beds``), and a table says what is lost on a kind
that it was not fitted on; ``--judge coding`` judges that one alone.

Prints the figures with each dialogue left out in turn, the choice of thresholds,
and the table of ``memd/recall/weights.py`` ready to paste.

The ranker is a listwise softmax over each question's candidates, its target half
uniform over the gold, half where the ranker already puts the gold. The gate is a
logistic regression on whether the ten best hold an answer, over honest, foreign
and small-store questions; the calibration is one over single candidates.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from bench import beds
from bench.samples import Sample, folds
from memd.recall.features import NAMES
from memd.recall.rankings import GATE_TOP, Ranked, calibration, ranked, signals
from memd.recall.weights import CALIBRATION, HYBRID, Weights

Array = NDArray[np.float64]

DENSE = frozenset({"cos", "nlift", "s3lift", "maxcos", "few_maxcos"})
SIGNALS = (
    *("maxcos", "maxcovx", "sd10", "t1_nterm", "t1_bmxn", "t1_date", "strange"),
    *("few", "few_maxcos", "few_maxcovx", "few_sd10"),
)
STEPS = 200
RATE = 0.05
L2 = 1e-4
SPREAD_MIN = 0.02  # of a feature: what is the same everywhere on a bed teaches nothing
BED_WEIGHTS = {"dialogues": 8.0, "coding": 1.0, "everyday": 1.0}
HONEST = ("H", "G")
FITTED = frozenset("HGABOUS")  # what naps composed (C, CX) has a table of its own
GROUP_WEIGHTS = {"H": 1.0, "G": 0.5, "A": 0.3, "B": 0.7, "O": 0.3, "S+": 0.35, "S-": 0.35}
ENTRIES = 20  # of an answer: what is calibrated, and the most that are chosen from
ENTRY_WEIGHTS = {"H": 1.0, "G": 0.5, "A": 0.2, "B": 0.5, "O": 0.2, "U": 0.3, "S": 0.4}
BIN_MIN = 50
BINS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
THRESHOLDS = (0.05, 0.10, 0.12, 0.14, 0.15, 0.16, 0.17, 0.18, 0.20, 0.25, 0.30, 0.40)


@dataclass(frozen=True)
class Judged:
    """A sample as one table of weights ranks it: is the answer among the ten best, and how much."""

    sample: Sample
    items: list[Ranked]
    signals: dict[str, float]
    right: list[bool]

    @property
    def recall(self) -> float:
        return sum(self.right[:GATE_TOP]) / self.sample.gold if self.sample.gold else 0.0


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fit", description=__doc__)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--beds", nargs="+", choices=beds.BEDS, default=["dialogues"])
    parser.add_argument("--judge", choices=beds.BEDS)
    parser.add_argument("--transcripts", type=Path, metavar="DIR")
    parser.add_argument("--cache", type=Path, metavar="DIR")
    options = parser.parse_args(argv)
    sources = beds.Sources(options.file, options.transcripts, options.cache)
    samples = [s for bed in options.beds for s in beds.samples(bed, sources) if s.kind in FITTED]
    if len(options.beds) > 1:
        for judge in [options.judge] if options.judge else options.beds:
            print("\n".join(fit_on(samples, judge)))
        if options.judge:
            return
    for dense in (True, False):
        chosen = samples if dense else [without_vectors(sample) for sample in samples]
        name = "HYBRID" if dense else "WITHOUT_VECTORS"
        print(f"# {name}, each dialogue left out in turn")
        found = left_out(chosen, dense=dense)
        print(table(found))
        print(reliability(found))
        print(code(name, fitted(chosen, dense=dense)))


def without_vectors(sample: Sample) -> Sample:
    """Return *sample* as it is without a model: what holds none of the words is not found."""
    at = [place for place, item in enumerate(sample.found) if item.features["bmx"] > 0]
    found = [
        replace(
            sample.found[place],
            features={k: 0.0 if k in DENSE else v for k, v in sample.found[place].features.items()},
        )
        for place in at
    ]
    return replace(sample, found=found, right=[sample.right[place] for place in at])


def fitted(samples: Sequence[Sample], *, dense: bool) -> Weights:
    """Return the table for *samples*; the threshold stays 0, it is chosen by eye."""
    names = [name for name in NAMES if dense or name not in DENSE]
    features = dict(zip(names, _ranker(samples, names).tolist(), strict=True))
    none = MappingProxyType[str, float]({})
    plain = Weights(MappingProxyType(features), none, 0.0, none, 0.0, 0.0, 0.0)
    judged = [judge(sample, plain) for sample in samples if sample.found]
    with_gate = [each for each in judged if each.sample.kind != "U"]
    gate = _gate(with_gate, [name for name in SIGNALS if dense or name not in DENSE])
    gated = replace(plain, gate=MappingProxyType(gate[0]), gate_offset=gate[1])
    return calibrated(judged, gated)


def judge(sample: Sample, weights: Weights) -> Judged:
    """Return *sample* ranked as the product ranks it."""
    right = {id(item): good for item, good in zip(sample.found, sample.right, strict=True)}
    items = ranked(sample.found, weights)
    return Judged(sample, items, signals(items), [right[id(item.measured)] for item in items])


def _ranker(samples: Sequence[Sample], names: Sequence[str]) -> Array:
    """Fit the listwise softmax by Adam on features of unit spread."""
    used = [s for s in samples if s.kind in HONEST and any(s.right)]
    rows = np.array([[m.features[n] for n in names] for s in used for m in s.found])
    spread = np.maximum(rows.std(0), SPREAD_MIN)
    rows = (rows - rows.mean(0)) / spread
    good = np.array([float(g) for s in used for g in s.right])
    sizes = [len(s.found) for s in used]
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
    """
    size = Counter(sample.bed for sample in samples)
    total = sum(BED_WEIGHTS[bed] for bed in size)
    return np.array([BED_WEIGHTS[s.bed] / (total * size[s.bed]) for s in samples])


def weighed(samples: Sequence[Sample], groups: Sequence[str], parts: dict[str, float]) -> Array:
    """Return the weight of each sample: *parts* by group, all beds but the small alike.

    A bed that lacks a group gives its part to the others.
    """
    place = [(sample.bed, group) for sample, group in zip(samples, groups, strict=True)]
    size = Counter(place)
    total: Counter[str] = Counter()
    for bed, group in size:
        total[bed] += parts[group]  # type: ignore[assignment]  # a sum of parts
    small = {sample.bed for sample in samples if sample.kind == "S"}
    count = len(set(total) - small)
    full = max((total[bed] for bed in total if bed not in small), default=1.0)
    scale = {bed: 1.0 if bed in small else full / (count * total[bed]) for bed in total}
    return np.array([scale[bed] * parts[group] / size[bed, group] for bed, group in place])


def _gate(judged: Sequence[Judged], names: Sequence[str]) -> tuple[dict[str, float], float]:
    rows = np.array([[each.signals[name] for name in names] for each in judged])
    good = np.array([float(any(each.right[:GATE_TOP])) for each in judged])
    groups = [_group(each.sample) for each in judged]
    of = [each.sample for each in judged]
    share = weighed(of, groups, GROUP_WEIGHTS) * _bed_factors(of)
    found = logistic_regression(rows, good, share * len(groups) / share.sum())
    return dict(zip(names, found[:-1].tolist(), strict=True)), float(found[-1])


def calibrated(judged: Sequence[Judged], weights: Weights) -> Weights:
    """Fit how likely one of the best twenty answers, over honest, foreign and small alike."""
    rows, good, share = [], [], []
    sort = [each.sample.kind for each in judged]
    of = [each.sample for each in judged]
    shares = weighed(of, sort, ENTRY_WEIGHTS) * _bed_factors(of)
    for each, sample_share in zip(judged, shares, strict=True):
        scores = [item.score for item in each.items]
        evidence = calibration(scores, each.signals, weights)
        for its, right in list(zip(evidence, each.right, strict=True))[:ENTRIES]:
            rows.append([its[name] for name in CALIBRATION])
            good.append(float(right))
            share.append(sample_share)
    weight = np.array(share)
    found = logistic_regression(np.array(rows), np.array(good), weight * len(weight) / weight.sum())
    table = MappingProxyType(dict(zip(CALIBRATION, found[:-1].tolist(), strict=True)))
    return replace(weights, calibration=table, offset=float(found[-1]))


def logistic_regression(rows: Array, good: Array, share: Array, ridge: float = 1e-2) -> Array:
    """Return weights and, last, the offset, by iteratively reweighted least squares."""
    full = np.hstack([rows, np.ones((len(rows), 1))])
    found = np.zeros(full.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(full @ found, -30, 30)))
        curve = full.T @ (full * (share * chance * (1 - chance))[:, None])
        curve += ridge * np.eye(len(found))
        found = found + np.linalg.solve(curve, full.T @ (share * (good - chance)) - ridge * found)
    return found


def _bed_factors(samples: Sequence[Sample]) -> Array:
    """Return how much more a sample of a bed weighs where beds differ in weight; 1 for small."""
    beds_here = {sample.bed for sample in samples} & BED_WEIGHTS.keys()
    mean = np.mean([BED_WEIGHTS[bed] for bed in beds_here] or [1.0])
    return np.array([BED_WEIGHTS.get(sample.bed, mean) / mean for sample in samples])


def _group(sample: Sample) -> str:
    return sample.kind if sample.kind != "S" else f"S{'+' if sample.gold else '-'}"


def left_out(samples: Sequence[Sample], *, dense: bool) -> list[tuple[Judged | Sample, float]]:
    """Return every sample, judged by a table that was fitted without its dialogue, and its gate."""
    found: list[tuple[Judged | Sample, float]] = []
    for train, test in folds(samples):
        weights = fitted(train, dense=dense)
        found += told_by(weights, test)
    return found


def fit_on(samples: Sequence[Sample], judge_bed: str) -> list[str]:
    """Return how the bed *judge_bed* is ranked by tables fitted on itself, on the others, on all.

    Of itself and of all beds each fold is left out in turn; ``reviewed`` is the table in use.
    """
    own = [sample for sample in samples if sample.bed == judge_bed]
    others = [sample for sample in samples if sample.bed != judge_bed]
    small = [sample for sample in samples if sample.kind == "S"]
    rows = {
        "itself": crossed(own, small),
        "the others": told_by(fitted(others, dense=True), own),
        "all": crossed(own, others),
        "reviewed": told_by(HYBRID, own),
    }
    lines = [f"# judged on {judge_bed}, fitted on"]
    return lines + [f"{name:11} {figures(found)}" for name, found in rows.items()]


def crossed(own: Sequence[Sample], always: Sequence[Sample]) -> list[tuple[Judged | Sample, float]]:
    """Return *own*, each fold judged by a table fitted on its other folds and on *always*."""
    found: list[tuple[Judged | Sample, float]] = []
    for train, test in folds(own):
        found += told_by(fitted([*train, *always], dense=True), test)
    return found


def told_by(weights: Weights, samples: Sequence[Sample]) -> list[tuple[Judged | Sample, float]]:
    """Return the samples as *weights* ranks them, each with its gate."""
    found: list[tuple[Judged | Sample, float]] = []
    for sample in samples:
        if not sample.found:
            found.append((sample, 0.0))
            continue
        judged = judge(sample, weights)
        found.append((judged, 1 / (1 + math.exp(-weights.gate_logit(judged.signals)))))
    return found


def figures(found: Sequence[tuple[Judged | Sample, float]]) -> str:
    """Return R@10 past the gate, what the gate costs, what foreign it lets through, reliability."""
    least = HYBRID.gate_min
    honest = [(e.recall, chance >= least) for e, chance in found if _is_honest(e)]
    past = 100 * np.mean([recall for recall, _ in honest])
    lost = past - 100 * np.mean([recall * told for recall, told in honest])
    strange: dict[str, list[float]] = defaultdict(list)
    for each, chance in found:
        sample = each.sample if isinstance(each, Judged) else each
        if sample.kind not in HONEST:
            strange[sample.kind].append(float(chance >= least))
    told = " ".join(f"{kind} {100 * np.mean(v):.0f}" for kind, v in sorted(strange.items()))
    return f"R@10 {past:.1f}, lost to the gate {lost:.1f}; answered: {told}; gap {gap(found):.2f}"


def _is_honest(each: Judged | Sample) -> TypeGuard[Judged]:
    return isinstance(each, Judged) and each.sample.kind in HONEST


def gap(found: Sequence[tuple[Judged | Sample, float]]) -> float:
    """Return the largest gap of relevance and share of evidence, in ten bins of 50 or more."""
    told = [
        (item.relevance, right)
        for each, _ in found
        if _is_honest(each)
        for item, right in list(zip(each.items, each.right, strict=True))[:GATE_TOP]
    ]
    bins: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for relevance, right in told:
        bins[min(9, int(10 * relevance))].append((relevance, right))
    large = [np.array(rows, float) for rows in bins.values() if len(rows) >= BIN_MIN]
    return max((float(abs(np.diff(rows.mean(0))[0])) for rows in large), default=0.0)


def table(found: Sequence[tuple[Judged | Sample, float]]) -> str:
    """Return R@10 and the shares answered at each threshold."""
    lines = []
    for least in (0.0, *THRESHOLDS):
        shares: dict[str, list[float]] = defaultdict(list)
        for each, chance in found:
            sample = each.sample if isinstance(each, Judged) else each
            told = isinstance(each, Judged) and chance >= least
            name = sample.name or sample.kind
            shares[name].append(each.recall if told and sample.kind in HONEST else float(told))  # type: ignore[union-attr]  # told says it is judged
        lines.append(
            f"{least:4.2f}  "
            + "  ".join(f"{name} {100 * np.mean(v):.1f}" for name, v in shares.items())
        )
    return "\n".join(lines)


def reliability(found: Sequence[tuple[Judged | Sample, float]]) -> str:
    """Return which share of the candidates told so relevant are evidence, honest questions only."""
    told = [
        (item.relevance, right)
        for each, _ in found
        if isinstance(each, Judged) and each.sample.kind in HONEST
        for item, right in list(zip(each.items, each.right, strict=True))[:GATE_TOP]
    ]
    lines = []
    for low, high in pairwise(BINS):
        rights = [right for relevance, right in told if low <= relevance < high]
        if rights:
            lines.append(f"relevance {low} to {high}: {len(rights)}, right {np.mean(rights):.2f}")
    return "\n".join(lines)


def code(name: str, weights: Weights) -> str:
    """Return *weights* as they stand in the reviewed table."""
    return "\n".join(
        [
            f"{name} = Weights(",
            f"    features=MappingProxyType({_rounded(weights.features)}),",
            f"    calibration=MappingProxyType({_rounded(weights.calibration, 3)}),",
            f"    offset={weights.offset:.3f},",
            f"    gate=MappingProxyType({_rounded(weights.gate)}),",
            f"    gate_offset={weights.gate_offset:.2f},",
            "    gate_min=0.0,  # choose one above",
            "    bar=0.0,  # python -m tests.bench.choose",
            ")",
        ]
    )


def _rounded(values: Any, places: int = 2) -> dict[str, float]:
    return {name: round(value, places) for name, value in values.items()}


if __name__ == "__main__":
    main()
