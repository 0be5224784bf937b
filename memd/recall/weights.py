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
            "bmx": 4.96,
            "bm": -3.32,
            "bmxn": 2.38,
            "cos": 4.92,
            "name": 3.28,
            "smcov": 3.01,
            "date": 4.29,
            "ncos": 2.9,
            "isq": -1.19,
            "s3cos": 2.04,
            "nterm": 1.35,
            "when": 2.28,
            "pair": 2.6,
            "scov": 2.17,
            "digit": 1.01,
        }
    ),
    slope=0.3970,
    few_slope=0.5693,
    offset=-7.141,
    gate=MappingProxyType(
        {
            "maxcos": 8.43,
            "maxcovx": 0.64,
            "sd10": 1.73,
            "t1_nterm": 1.53,
            "t1_bmxn": 1.66,
            "t1_date": 2.82,
            "strange": -1.84,
            "few": -0.93,
            "few_maxcos": 29.38,
            "few_maxcovx": 5.09,
            "few_sd10": -2.93,
        }
    ),
    gate_offset=-6.57,
    gate_min=0.16,
)

# What a nap composed is several sentences and is asked for in other words: meaning first, then
# which share of the question's words it holds, and whether its session is near as a whole. The
# signs of a turn (who spoke, a question, a number) do not count. Chosen by hand (decision 0099).
COMPOSED = Weights(
    features=MappingProxyType({"cos": 10.0, "bmxn": 4.0, "s3cos": 3.0, "date": 4.29}),
    slope=0.6,
    few_slope=0.0,
    offset=-5.6,
    gate=MappingProxyType({"maxcos": 21.0, "strange": -3.4, "few": 2.5, "project": 0.63}),
    gate_offset=-7.96,
    gate_min=HYBRID.gate_min,
)

WITHOUT_VECTORS = Weights(
    features=MappingProxyType(
        {
            "bmx": 5.93,
            "bm": -3.87,
            "bmxn": 5.47,
            "name": 3.28,
            "smcov": 3.21,
            "date": 4.22,
            "isq": -0.97,
            "nterm": 1.75,
            "when": 2.23,
            "pair": 2.56,
            "scov": 2.84,
            "digit": 0.97,
        }
    ),
    slope=0.4709,
    few_slope=0.6373,
    offset=-7.339,
    gate=MappingProxyType(
        {
            "maxcovx": 3.19,
            "sd10": 1.43,
            "t1_nterm": 3.55,
            "t1_bmxn": 1.62,
            "t1_date": 3.31,
            "strange": -2.03,
            "few": -2.6,
            "few_maxcovx": 9.17,
            "few_sd10": -1.38,
        }
    ),
    gate_offset=-4.65,
    gate_min=0.15,
)
