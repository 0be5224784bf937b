"""The reviewed table: the ranker's weights, its calibration and its gate.

Printed by ``python -m tests.bench.fit FILE``, rounded; ``gate_min`` is chosen from
the table that it prints above (decisions 20 to 22). Two rows: with vectors, and
without (no model installed, or ``degraded``). The cosine scale belongs to the
embedding model: another model needs another row. Weights of features that go
together (``bm`` corrects ``bmx``) are not effects: do not read their signs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Weights:
    """A linear ranker, its calibration, and the gate over a whole answer.

    The calibration is Platt's over a candidate's score; in a small store, where
    scores are low because the words are few, the gate's logit counts as well.
    Within one question it orders as the score does.
    """

    features: MappingProxyType[str, float]
    slope: float
    few_slope: float
    offset: float
    gate: MappingProxyType[str, float]
    gate_offset: float
    gate_min: float

    def score(self, features: dict[str, float]) -> float:
        return sum(weight * features[name] for name, weight in self.features.items())

    def probability(self, score: float, lift: float) -> float:
        """Return how likely a memory answers; *lift* is the gate's logit times ``few``."""
        return logistic(self.slope * score + self.few_slope * lift + self.offset)

    def gate_logit(self, signals: dict[str, float]) -> float:
        return sum(w * signals[name] for name, w in self.gate.items()) + self.gate_offset


def logistic(value: float) -> float:
    """Return the logistic function of *value*, without overflow."""
    if value < -700:  # noqa: PLR2004  # exp overflows beyond 709
        return 0.0
    return 1.0 / (1.0 + math.exp(-value))


HYBRID = Weights(
    features=MappingProxyType(
        {
            "bmx": 5.36,
            "bm": -3.26,
            "bmxn": 2.11,
            "cos": 4.93,
            "name": 3.33,
            "smcov": 2.94,
            "date": 4.32,
            "ncos": 3.05,
            "isq": -1.13,
            "s3cos": 2.06,
            "nterm": 1.52,
            "when": 2.27,
            "pair": 2.48,
            "scov": 2.17,
            "digit": 1.06,
        }
    ),
    slope=0.3883,
    few_slope=0.5118,
    offset=-7.173,
    gate=MappingProxyType(
        {
            "maxcos": 7.93,
            "maxcovx": 1.06,
            "sd10": 1.74,
            "t1_nterm": 1.71,
            "t1_bmxn": 1.35,
            "t1_date": 3.47,
            "strange": -1.92,
            "few": -1.13,
            "few_maxcos": 31.46,
            "few_maxcovx": 5.45,
            "few_sd10": -3.24,
        }
    ),
    gate_offset=-6.59,
    gate_min=0.16,
)

WITHOUT_VECTORS = Weights(
    features=MappingProxyType(
        {
            "bmx": 7.2,
            "bm": -3.93,
            "bmxn": 5.0,
            "name": 3.32,
            "smcov": 3.14,
            "date": 4.26,
            "isq": -0.9,
            "nterm": 1.92,
            "when": 2.24,
            "pair": 2.37,
            "scov": 2.85,
            "digit": 1.04,
        }
    ),
    slope=0.4609,
    few_slope=0.6631,
    offset=-7.559,
    gate=MappingProxyType(
        {
            "maxcovx": 3.07,
            "sd10": 1.54,
            "t1_nterm": 3.38,
            "t1_bmxn": 2.2,
            "t1_date": 3.86,
            "strange": -2.09,
            "few": -2.69,
            "few_maxcovx": 9.48,
            "few_sd10": -1.68,
        }
    ),
    gate_offset=-4.79,
    gate_min=0.15,
)
