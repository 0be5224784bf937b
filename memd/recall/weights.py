"""The reviewed table: the ranker's weights, its calibration and its gate.

Fitted by ``python -m tests.bench.fit`` on the development dialogues of EVAL.
Two rows: with vectors, and without (no model installed, or ``degraded``). The
cosine scale belongs to the embedding model: another model needs another row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Weights:
    """A linear ranker, its Platt calibration, and the gate over a whole answer."""

    features: MappingProxyType[str, float]
    slope: float
    offset: float
    gate: MappingProxyType[str, float]
    gate_offset: float
    gate_min: float

    def score(self, features: dict[str, float]) -> float:
        return sum(weight * features[name] for name, weight in self.features.items())

    def probability(self, score: float) -> float:
        return logistic(self.slope * score + self.offset)

    def gate_probability(self, signals: dict[str, float]) -> float:
        return logistic(sum(w * signals[name] for name, w in self.gate.items()) + self.gate_offset)


def logistic(value: float) -> float:
    """Return the logistic function of *value*, without overflow."""
    if value < -700:  # noqa: PLR2004  # exp overflows beyond 709
        return 0.0
    return 1.0 / (1.0 + math.exp(-value))


HYBRID = Weights(
    features=MappingProxyType(
        {
            "bmx": 6.49,
            "bm": -3.44,
            "bmxn": 0.84,
            "cos": 4.76,
            "name": 2.82,
            "smcov": 4.40,
            "date": 4.17,
            "ncos": 2.44,
            "isq": -0.79,
            "len": 2.15,
            "s3cos": 3.93,
            "nterm": 1.88,
            "cap": 0.21,
        }
    ),
    slope=0.5035,
    offset=-9.072,
    gate=MappingProxyType(
        {"maxcos": 7.44, "maxcovx": 3.58, "t1_nterm": 1.47, "sd10": 1.86, "t1_date": 2.92}
    ),
    gate_offset=-7.88,
    gate_min=0.130,
)

WITHOUT_VECTORS = HYBRID
