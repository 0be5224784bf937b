"""The reviewed table: the ranker's weights, its calibration and its gate.

Printed by ``python -m tests.bench.fit FILE --beds dialogues coding everyday --transcripts DIR``,
rounded; ``gate_min``, ``quiet`` and ``bar`` are chosen from the tables that it prints above
(decisions 20 to 22, 108, 110).
Two rows: with vectors, and without (no model installed, or ``degraded``). The cosine
scale belongs to the embedding model: another model needs another row. Weights of features
that go together (``bmn`` corrects ``bmr`` and ``cov``) are not effects: do not read their
signs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

CALIBRATION = ("score", "share", "gate", "few", "few_gate")
"""What a relevance is made of: the ranker's score; the logarithm of the share that the candidate
has of all (a softmax over their scores), which tells one that stands alone from one of many; the
gate's logit; and how small the store is, alone and times that logit."""


@dataclass(frozen=True)
class Weights:
    """A linear ranker, its calibration, the gate over a whole answer, and what an entry costs.

    The calibration is a logistic regression over ``CALIBRATION``. Within one question
    it orders as the score does. Below a chance of *gate_min* the gate is shut; below *quiet* it
    is for whoever does not say how many entries are wanted. *bar* is the least relevance for
    which an entry is worth its place in an answer that nobody doubts (``recall/select.py``).
    """

    features: MappingProxyType[str, float]
    calibration: MappingProxyType[str, float]
    offset: float
    gate: MappingProxyType[str, float]
    gate_offset: float
    gate_min: float
    quiet: float
    bar: float

    def score(self, features: dict[str, float]) -> float:
        return sum(weight * features[name] for name, weight in self.features.items())

    def probability(self, evidence: Mapping[str, float]) -> float:
        """Return how likely a memory answers, by *evidence*, the values of ``CALIBRATION``."""
        return logistic(
            sum(weight * evidence[name] for name, weight in self.calibration.items()) + self.offset
        )

    def gate_logit(self, signals: Mapping[str, float]) -> float:
        return sum(w * signals[name] for name, w in self.gate.items()) + self.gate_offset


def logistic(value: float) -> float:
    """Return the logistic function of *value*, without overflow."""
    if value < -700:  # noqa: PLR2004  # exp overflows beyond 709
        return 0.0
    return 1.0 / (1.0 + math.exp(-value))


HYBRID = Weights(
    features=MappingProxyType(
        {
            "bmxn": 2.61,
            "bmn": -8.78,
            "bmr": 3.34,
            "cov": 4.67,
            "cos": 12.89,
            "name": 3.33,
            "smlift": 2.67,
            "slift": 1.42,
            "s3lift": 4.96,
            "nlift": 4.01,
            "date": 4.41,
            "isq": -0.86,
            "when": 2.06,
            "pair": 3.74,
        }
    ),
    calibration=MappingProxyType(
        {"score": 0.056, "share": 0.967, "gate": 0.346, "few": 0.051, "few_gate": 0.431}
    ),
    offset=-0.894,
    gate=MappingProxyType(
        {
            "maxcos": 5.8,
            "maxcovx": 2.43,
            "sd10": 1.66,
            "t1_nterm": 0.14,
            "t1_bmxn": 0.2,
            "t1_date": 2.95,
            "strange": -1.52,
            "few": -1.83,
            "few_maxcos": 31.04,
            "few_maxcovx": 5.47,
            "few_sd10": -2.71,
        }
    ),
    gate_offset=-5.7,
    gate_min=0.06,
    quiet=0.15,
    bar=0.0203,
)

# What a nap composed is several sentences and is asked for in other words: meaning first, then
# which share of the question's words it holds, and whether its session is near as a whole. The
# signs of a turn (who spoke, a question, a number) do not count. Score and gate are chosen by hand
# (decision 0099), calibration and bar are fitted on the sessions that may be looked at (0110).
COMPOSED = Weights(
    features=MappingProxyType({"cos": 13.0, "bmxn": 4.0, "s3lift": 3.0, "date": 4.29}),
    calibration=MappingProxyType({"share": 0.963, "few": -1.556, "few_gate": 0.696}),
    offset=0.258,
    gate=MappingProxyType({"maxcos": 21.0, "strange": -3.4, "few": 2.5, "project": 0.63}),
    gate_offset=-7.96,
    gate_min=0.16,
    quiet=0.16,
    bar=0.041,
)

WITHOUT_VECTORS = Weights(
    features=MappingProxyType(
        {
            "bmxn": 2.55,
            "bmn": -7.04,
            "bmr": 5.43,
            "cov": 5.4,
            "name": 3.12,
            "smlift": 3.22,
            "slift": 2.25,
            "date": 4.22,
            "isq": -0.73,
            "when": 2.15,
            "pair": 3.71,
        }
    ),
    calibration=MappingProxyType(
        {"score": 0.256, "share": 0.765, "gate": 0.303, "few": 2.385, "few_gate": 0.641}
    ),
    offset=-3.351,
    gate=MappingProxyType(
        {
            "maxcovx": 3.58,
            "sd10": 1.78,
            "t1_nterm": 1.75,
            "t1_bmxn": 1.31,
            "t1_date": 2.58,
            "strange": -1.06,
            "few": 0.37,
            "few_maxcovx": 3.07,
            "few_sd10": -2.06,
        }
    ),
    gate_offset=-4.74,
    gate_min=0.15,
    quiet=0.15,
    bar=0.0224,
)
