"""Fits the reviewed table: ``python -m tests.bench.fit FILE``.

Prints the figures with each dialogue left out in turn, the choice of thresholds,
and the table of ``memd/recall/weights.py`` ready to paste.

The ranker is a listwise softmax over each question's candidates, its target half
uniform over the gold, half where the ranker already puts the gold. The gate is a
logistic regression on whether the ten best hold an answer, over honest, foreign
and small-store questions; the calibration is one over single candidates.
"""

from __future__ import annotations

import argparse
import asyncio
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import locomo
from bench.samples import Sample, collect, folds
from memd.recall.features import NAMES
from memd.recall.rankings import GATE_TOP, Ranked, lifted, ranked, signals
from memd.recall.weights import Weights

Array = NDArray[np.float64]

DENSE = frozenset({"cos", "ncos", "s3cos", "maxcos", "few_maxcos"})
SIGNALS = (
    *("maxcos", "maxcovx", "sd10", "t1_nterm", "t1_bmxn", "t1_date", "strange"),
    *("few", "few_maxcos", "few_maxcovx", "few_sd10"),
)
STEPS = 200
RATE = 0.05
L2 = 1e-4
HONEST = ("H", "G")
GROUP_WEIGHTS = {"H": 1.0, "G": 0.5, "A": 0.3, "B": 0.7, "O": 0.3, "S+": 0.35, "S-": 0.35}
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
    parser.add_argument("file", type=Path)
    samples = asyncio.run(collect(locomo.read(parser.parse_args(argv).file)))
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
    plain = Weights(MappingProxyType(features), 1.0, 0.0, 0.0, MappingProxyType({}), 0.0, 0.0)
    judged = [judge(sample, plain) for sample in samples if sample.found and sample.kind != "U"]
    gate = _gate(judged, [name for name in SIGNALS if dense or name not in DENSE])
    gated = replace(plain, gate=MappingProxyType(gate[0]), gate_offset=gate[1])
    slope, few_slope, offset = _calibration(judged, gated)
    return replace(gated, slope=slope, few_slope=few_slope, offset=offset)


def judge(sample: Sample, weights: Weights) -> Judged:
    """Return *sample* ranked as the product ranks it."""
    right = {id(item): good for item, good in zip(sample.found, sample.right, strict=True)}
    items = ranked(sample.found, weights)
    return Judged(sample, items, signals(items), [right[id(item.measured)] for item in items])


def _ranker(samples: Sequence[Sample], names: Sequence[str]) -> Array:
    """Fit the listwise softmax by Adam on features of unit spread."""
    used = [s for s in samples if s.kind in HONEST and any(s.right)]
    rows = np.array([[m.features[n] for n in names] for s in used for m in s.found])
    spread = rows.std(0) + 1e-9
    rows = (rows - rows.mean(0)) / spread
    good = np.array([float(g) for s in used for g in s.right])
    sizes = [len(s.found) for s in used]
    starts, owner = np.cumsum([0, *sizes[:-1]]), np.repeat(np.arange(len(used)), sizes)
    total = np.add.reduceat(good, starts)[owner]
    weights = np.zeros(len(names))
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        score = rows @ weights
        chance = np.exp(score - np.maximum.reduceat(score, starts)[owner])
        chance /= np.add.reduceat(chance, starts)[owner]
        among = chance * good
        among /= np.maximum(np.add.reduceat(among, starts), 1e-30)[owner]
        slope = rows.T @ (chance - 0.5 * good / total - 0.5 * among) / len(used) + L2 * weights
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope * slope
        move = (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        weights = weights - RATE * move
    return np.asarray(weights / spread)


def _gate(judged: Sequence[Judged], names: Sequence[str]) -> tuple[dict[str, float], float]:
    rows = np.array([[each.signals[name] for name in names] for each in judged])
    good = np.array([float(any(each.right[:GATE_TOP])) for each in judged])
    groups = [_group(each.sample) for each in judged]
    size = {group: groups.count(group) for group in groups}
    share = np.array([GROUP_WEIGHTS[group] / size[group] for group in groups])
    found = logistic_regression(rows, good, share * len(groups) / share.sum())
    return dict(zip(names, found[:-1].tolist(), strict=True)), float(found[-1])


def _calibration(judged: Sequence[Judged], weights: Weights) -> tuple[float, float, float]:
    """Fit how likely a candidate of the ten best answers; honest, foreign and small alike."""
    rows, good, share = [], [], []
    sort = [("H" if each.sample.kind in HONEST else _group(each.sample)[0]) for each in judged]
    parts = {"H": 1.0, "S": 0.5} | dict.fromkeys("ABO", 1 / 3)
    counts = Counter(sort)
    for each, kind in zip(judged, sort, strict=True):
        lift = lifted(each.signals, weights)
        for item, right in list(zip(each.items, each.right, strict=True))[:GATE_TOP]:
            rows.append([item.score, lift])
            good.append(float(right))
            share.append(parts[kind] / counts[kind])
    weight = np.array(share)
    found = logistic_regression(np.array(rows), np.array(good), weight * len(weight) / weight.sum())
    return float(found[0]), float(found[1]), float(found[2])


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


def _group(sample: Sample) -> str:
    return sample.kind if sample.kind != "S" else f"S{'+' if sample.gold else '-'}"


def left_out(samples: Sequence[Sample], *, dense: bool) -> list[tuple[Judged | Sample, float]]:
    """Return every sample, judged by a table that was fitted without its dialogue, and its gate."""
    found: list[tuple[Judged | Sample, float]] = []
    for train, test in folds(samples):
        weights = fitted(train, dense=dense)
        for sample in test:
            if not sample.found:
                found.append((sample, 0.0))
                continue
            judged = judge(sample, weights)
            found.append((judged, 1 / (1 + math.exp(-weights.gate_logit(judged.signals)))))
    return found


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
            f"    slope={weights.slope:.4f},",
            f"    few_slope={weights.few_slope:.4f},",
            f"    offset={weights.offset:.3f},",
            f"    gate=MappingProxyType({_rounded(weights.gate)}),",
            f"    gate_offset={weights.gate_offset:.2f},",
            "    gate_min=0.0,  # choose one above",
            ")",
        ]
    )


def _rounded(values: Any) -> dict[str, float]:
    return {name: round(value, 2) for name, value in values.items()}


if __name__ == "__main__":
    main()
