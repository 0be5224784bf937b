"""How good rankings are: macro recall, hit rate, MRR, nDCG, as percentages. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

CUTS = (5, 10, 20)
NDCG_CUT = 10


class Graded(NamedTuple):
    """One question: its category, what would have been right, and what was found, best first."""

    category: int
    gold: tuple[str, ...]
    places: tuple[str, ...]


def recall_at(graded: Graded, cut: int) -> float:
    """Return which share of the gold is among the first *cut*.

    >>> recall_at(Graded(1, ("a", "b"), ("x", "a")), 5)
    0.5
    """
    top = set(graded.places[:cut])
    return sum(place in top for place in graded.gold) / len(graded.gold)


def hit_at(graded: Graded, cut: int) -> float:
    """Return 1 if any of the gold is among the first *cut*."""
    return float(bool(set(graded.gold) & set(graded.places[:cut])))


def reciprocal_rank(graded: Graded) -> float:
    """Return one over the rank of the first gold, 0 without one."""
    return next((1 / rank for rank, p in enumerate(graded.places, 1) if p in graded.gold), 0.0)


def ndcg(graded: Graded) -> float:
    """Return the normalised discounted gain at NDCG_CUT, each gold worth the same."""
    gains = [1 / math.log2(rank + 1) for rank in range(1, NDCG_CUT + 1)]
    won = sum(g for g, place in zip(gains, graded.places, strict=False) if place in graded.gold)
    return won / sum(gains[: len(graded.gold)])


def block(rows: Sequence[Graded]) -> dict[str, float]:
    """Return every figure over *rows*, in percent."""
    if not rows:
        return {}
    figures = {f"R@{cut}": [recall_at(row, cut) for row in rows] for cut in CUTS}
    figures |= {f"hit@{cut}": [hit_at(row, cut) for row in rows] for cut in CUTS}
    figures["MRR"] = [reciprocal_rank(row) for row in rows]
    figures[f"nDCG@{NDCG_CUT}"] = [ndcg(row) for row in rows]
    return {name: round(100 * sum(v) / len(v), 2) for name, v in figures.items()} | {
        "questions": len(rows)
    }


def report(rows: Iterable[Graded], adversarial: int) -> dict[str, Any]:
    """Return the block without the *adversarial* category, by category, and that one apart."""
    by_category: dict[int, list[Graded]] = defaultdict(list)
    for row in rows:
        by_category[row.category].append(row)
    apart = by_category.pop(adversarial, [])
    return {
        **block([row for rows in by_category.values() for row in rows]),
        "by_category": {str(key): block(by_category[key]) for key in sorted(by_category)},
        "adversarial": block(apart),
    }


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value below which *share* of *values* lies, by nearest rank.

    >>> quantile([3.0, 1.0, 2.0], 0.5)
    2.0
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def p50_p95(times_ms: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th percentile of times in milliseconds."""
    return {
        "p50_ms": round(quantile(times_ms, 0.5), 1),
        "p95_ms": round(quantile(times_ms, 0.95), 1),
    }
