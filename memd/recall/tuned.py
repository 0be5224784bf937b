"""The active tuning: a matrix for the question's vector, weights and a bar (SPEC 18, D17).

Recall loads it once. Without one, recall uses the shipped weights at no extra cost; with one, a
question's vector is multiplied by one small matrix.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from memd.domain.encoding import ModelFingerprint
from memd.recall.ranking.weights import HYBRID, Weights


@dataclass(frozen=True, slots=True)
class Tuned:
    """A tuning, valid for the model *fingerprint* alone.

    *matrix* is None, or a square of little-endian float32, row by row. Its cosines are mapped
    back to the scale of the shipped ones, *shift* + *scale* x cosine, which the gate was fitted on.
    """

    fingerprint: str
    weights: Weights = HYBRID
    matrix: bytes | None = None
    shift: float = 0.0
    scale: float = 1.0

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


def parse_tuning(body: Mapping[str, Any]) -> Tuned:
    """Return the tuning of :meth:`Tuned.body`; a feature missing there keeps its shipped weight."""
    features = {**HYBRID.features, **body["features"]}
    known = {name: features[name] for name in HYBRID.features}
    return Tuned(
        fingerprint=body["fingerprint"],
        weights=replace(HYBRID, features=MappingProxyType(known), bar=body["bar"]),
        matrix=None if body["matrix"] is None else base64.b64decode(body["matrix"]),
        shift=body["shift"],
        scale=body["scale"],
    )


class TuningTrial(NamedTuple):
    """What one search uses in place of the active tuning; *tuned* None is the shipped weights."""

    tuned: Tuned | None
    excluded_key: int | None = None
    """The memory that is the question itself: neither it nor its words beside others count."""


class ActiveTuning:
    """The tuning in use; loaded from the file by the first recall, then changed by ``activate``."""

    def __init__(self) -> None:
        self._tuned: Tuned | None = None
        self._loaded = False

    @property
    def needs_loading(self) -> bool:
        """Whether the stored tuning is still to be loaded."""
        return not self._loaded

    def load(self, body: Mapping[str, Any] | None) -> None:
        """Use the stored tuning *body*, unless one was loaded or activated before."""
        if not self._loaded:
            self.activate(None if body is None else parse_tuning(body))

    def for_model(self, fingerprint: ModelFingerprint | None) -> Tuned | None:
        """Return the tuning in use for the model *fingerprint*, if there is one."""
        matches = self._tuned is not None and self._tuned.fingerprint == str(fingerprint)
        return self._tuned if matches else None

    def activate(self, tuned: Tuned | None) -> None:
        """Use *tuned* from the next question on; None is the shipped weights."""
        self._tuned, self._loaded = tuned, True
