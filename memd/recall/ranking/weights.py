"""The reviewed table: the ranker's weights, its calibration and its gate.

``python -m tests.bench.fit_ranker FILE --transcripts DIR --public DIR --table`` prints all of it
but ``COMPOSED`` and says whether it is still the same (decision 0234); ``gate_min``, ``quiet``,
``bar`` and ``doubt`` are chosen from the tables that the command prints without ``--table``. Three
tables: with token vectors, with vectors alone (another model, or memories of before that wait for
theirs), and without (no model installed, or ``degraded``). The cosine scale belongs to the
embedding model: another one has to be on the same (``embedding/encoders.py``). Weights of features
that go together (``bmn`` corrects ``bmr`` and ``cov``) are not effects: do not read their signs.

A tuning to the owner's data (SPEC 18, D17) replaces the shipped weights for the model that it was
made for, and maps a question's vector by one small matrix. Recall loads it once; without one there
is no extra cost.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from memd.domain.encoding import ModelFingerprint

CALIBRATION = ("share", "gate", "few", "few_gate", "unsaid", "sd10", "unsaid_sd10", "alone")
"""What a relevance is made of: the logarithm of the share that the candidate has of all (a softmax
over their scores), which tells one that stands alone from one of many; the gate's logit; how
small the store is, alone and times that logit; of the ten best, how many nobody is named as
the speaker of, how far they lie apart, and both times each other; and how little is left for the
others, as a logarithm (decisions 0210, 0225, 0246, 0254, 0324). What a table does not name weighs
nothing."""


@dataclass(frozen=True)
class Weights:
    """A linear ranker, its calibration, the gate over a whole answer, and what an entry costs.

    The calibration is a logistic regression over ``CALIBRATION``. Within one question
    it orders as the score does. Below a chance of *gate_min* the gate is shut; below *quiet* it
    is for whoever does not say how many entries are wanted. *bar* is the least relevance for
    which an entry is worth its place in an answer that nobody doubts (``recall/select.py``), and
    *doubt* how much higher it stands where the gate does.
    """

    features: MappingProxyType[str, float]
    calibration: MappingProxyType[str, float]
    offset: float
    gate: MappingProxyType[str, float]
    gate_offset: float
    gate_min: float
    quiet: float
    bar: float
    doubt: float

    def score(self, features: dict[str, float]) -> float:
        score = 0.0
        for name, weight in self.features.items():  # a generator would take half as long again
            score += weight * features[name]
        return score

    def probabilities(
        self, common: Mapping[str, float], evidence: Sequence[Mapping[str, float]]
    ) -> list[float]:
        """Return how likely each memory answers, by the values of ``CALIBRATION``.

        *common* are those that all share, *evidence* has the others of each.
        """
        table = self.calibration
        shared = sum(table[name] * value for name, value in common.items() if name in table)
        own = [(name, weight) for name, weight in table.items() if name not in common]
        return [
            logistic(sum(weight * its[name] for name, weight in own) + shared + self.offset)
            for its in evidence
        ]

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
            "bmxn": 2.41,
            "bmn": -5.51,
            "bmr": 3.24,
            "cov": 1.13,
            "cos": 9.05,
            "name": 3.03,
            "smlift": 2.29,
            "slift": 1.24,
            "s3lift": 4.4,
            "nlift": 4.14,
            "date": 4.68,
            "isq": -0.68,
            "when": 1.57,
            "pair": 2.66,
            "maxsim": 6.29,
        }
    ),
    calibration=MappingProxyType(
        {
            "share": 1.06,
            "gate": 0.23,
            "few": -1.48,
            "few_gate": 0.16,
            "unsaid": -0.38,
            "sd10": -0.25,
            "unsaid_sd10": 0.45,
            "alone": 0.09,
        }
    ),
    offset=0.74,
    gate=MappingProxyType(
        {
            "maxcos": 7.88,
            "maxcovx": 2.03,
            "sd10": 1.73,
            "t1_nterm": 1.11,
            "t1_bmxn": 1.05,
            "t1_date": 3.7,
            "strange": -2.21,
            "few": -0.56,
            "few_maxcos": 28.99,
            "few_maxcovx": 2.55,
            "few_sd10": -2.39,
        }
    ),
    gate_offset=-6.91,
    gate_min=0.02,
    quiet=0.15,
    bar=0.029,
    doubt=0.35,
)

# What a nap composed is several sentences and is asked for in other words: meaning first, then
# which share of the question's words it holds itself (what stands beside it is another exchange),
# and whether its session is near as a whole. The signs of a turn (who spoke, a question, a number)
# do not count. Score, gate and bar are chosen by hand (decisions 0099, 0245), the calibration is
# fitted on the sessions that may be looked at (0110).
COMPOSED = Weights(
    features=MappingProxyType({"cos": 13.0, "cov": 4.0, "s3lift": 5.0, "date": 4.29}),
    calibration=MappingProxyType({"share": 0.963, "few": -1.556, "few_gate": 0.696}),
    offset=0.258,
    gate=MappingProxyType({"maxcos": 21.0, "strange": -3.4, "few": 2.5, "project": 0.63}),
    gate_offset=-7.96,
    gate_min=0.16,
    quiet=0.16,
    bar=0.033,
    doubt=0.3,
)

WITHOUT_TOKENS = Weights(
    features=MappingProxyType(
        {
            "bmxn": 2.46,
            "bmn": -6.74,
            "bmr": 3.25,
            "cov": 4.16,
            "cos": 12.25,
            "name": 3.03,
            "smlift": 2.23,
            "slift": 1.6,
            "s3lift": 4.8,
            "nlift": 4.14,
            "date": 4.54,
            "isq": -0.77,
            "when": 1.77,
            "pair": 3.13,
        }
    ),
    calibration=MappingProxyType(
        {
            "share": 1.06,
            "gate": 0.23,
            "few": -1.44,
            "few_gate": 0.12,
            "unsaid": -0.4,
            "sd10": -0.23,
            "unsaid_sd10": 0.47,
        }
    ),
    offset=0.68,
    gate=MappingProxyType(
        {
            "maxcos": 7.57,
            "maxcovx": 1.77,
            "sd10": 1.55,
            "t1_nterm": 1.43,
            "t1_bmxn": 1.24,
            "t1_date": 3.98,
            "strange": -2.49,
            "few": -1.27,
            "few_maxcos": 31.85,
            "few_maxcovx": 3.31,
            "few_sd10": -2.24,
        }
    ),
    gate_offset=-6.62,
    gate_min=0.02,
    quiet=0.15,
    bar=0.029,
    doubt=0.35,
)

WITHOUT_VECTORS = Weights(
    features=MappingProxyType(
        {
            "bmxn": 3.72,
            "bmn": -4.99,
            "bmr": 4.58,
            "cov": 4.8,
            "name": 2.76,
            "smlift": 2.7,
            "slift": 2.39,
            "date": 4.24,
            "isq": -0.59,
            "when": 1.87,
            "pair": 3.32,
        }
    ),
    calibration=MappingProxyType(
        {
            "share": 1.09,
            "gate": 0.26,
            "few": -0.37,
            "few_gate": 0.09,
            "unsaid": -0.36,
            "sd10": -0.3,
            "unsaid_sd10": 0.55,
        }
    ),
    offset=0.78,
    gate=MappingProxyType(
        {
            "maxcovx": 3.8,
            "sd10": 1.47,
            "t1_nterm": 3.18,
            "t1_bmxn": 1.56,
            "t1_date": 4.85,
            "strange": -3.09,
            "few": -2.29,
            "few_maxcovx": 9.06,
            "few_sd10": -2.14,
        }
    ),
    gate_offset=-4.99,
    gate_min=0.08,
    quiet=0.18,
    bar=0.025,
    doubt=0.55,
)


def shipped_weights(*, vector: bool, tokens: bool) -> Weights:
    """Return the table for a question with a vector, or without, and with token vectors or not."""
    if not vector:
        return WITHOUT_VECTORS
    return HYBRID if tokens else WITHOUT_TOKENS


@dataclass(frozen=True, slots=True)
class RankerTuning:
    """A tuning, valid for the model *fingerprint* alone.

    *matrix* is None, or a square of little-endian float32, row by row. Its cosines are mapped
    back to the scale of the shipped ones, *shift* + *scale* x cosine, which the gate was fitted on.
    """

    fingerprint: str
    weights: Weights = HYBRID
    matrix: bytes | None = None
    shift: float = 0.0
    scale: float = 1.0

    def weights_for(self, *, tokens: bool) -> Weights:
        """Return the weights for candidates whose tokens could be compared, or could not."""
        if tokens or "maxsim" not in self.weights.features:
            return self.weights
        return replace(WITHOUT_TOKENS, bar=self.weights.bar)

    def vector(self, question: bytes) -> bytes:
        """Return the unit vector to search with for the unit vector *question*."""
        if self.matrix is None:
            return question
        import numpy as np  # the model that made the vector has loaded it

        vector = np.frombuffer(question, "<f4")
        mapped = np.frombuffer(self.matrix, "<f4").reshape(len(vector), len(vector)) @ vector
        return bytes((mapped / np.linalg.norm(mapped)).astype("<f4").tobytes())

    def cosines(self, cosines: dict[int, float]) -> dict[int, float]:
        """Return *cosines* on the scale of the shipped ones."""
        if self.matrix is None:
            return cosines
        return {key: self.shift + self.scale * cosine for key, cosine in cosines.items()}

    def body(self) -> dict[str, Any]:
        """Return the tuning as JSON values; :func:`parse_tuning` reads them."""
        matrix = None if self.matrix is None else base64.b64encode(self.matrix).decode("ascii")
        return {
            "fingerprint": self.fingerprint,
            "features": dict(self.weights.features),
            "bar": self.weights.bar,
            "matrix": matrix,
            "shift": self.shift,
            "scale": self.scale,
        }


def parse_tuning(body: Mapping[str, Any]) -> RankerTuning:
    """Return the tuning in *body*; a feature missing there keeps its shipped weight.

    One that was made before there were token vectors keeps to the table without them.
    """
    shipped = HYBRID if "maxsim" in body["features"] else WITHOUT_TOKENS
    features = {**shipped.features, **body["features"]}
    known = {name: features[name] for name in shipped.features}
    return RankerTuning(
        fingerprint=body["fingerprint"],
        weights=replace(shipped, features=MappingProxyType(known), bar=body["bar"]),
        matrix=None if body["matrix"] is None else base64.b64decode(body["matrix"]),
        shift=body["shift"],
        scale=body["scale"],
    )


class TuningTrial(NamedTuple):
    """What one search uses in place of the active tuning; *tuned* None is the shipped weights."""

    tuned: RankerTuning | None
    excluded_key: int | None = None
    """The memory that is the question itself: neither it nor its words beside others count."""


class ActiveTuning:
    """The tuning in use; loaded from the file by the first recall, then changed by ``activate``."""

    def __init__(self) -> None:
        self.tuned: RankerTuning | None = None
        """The one in use, of whichever model it is."""
        self.loaded = False

    def load(self, body: Mapping[str, Any] | None) -> None:
        """Use the stored tuning *body*, unless one was loaded or activated before."""
        if not self.loaded:
            self.activate(None if body is None else parse_tuning(body))

    def for_model(self, fingerprint: ModelFingerprint | None) -> RankerTuning | None:
        """Return the tuning in use for the model *fingerprint*, if there is one."""
        matches = self.tuned is not None and self.tuned.fingerprint == str(fingerprint)
        return self.tuned if matches else None

    def activate(self, tuned: RankerTuning | None) -> None:
        """Use *tuned* from the next question on; None is the shipped weights."""
        self.tuned, self.loaded = tuned, True
