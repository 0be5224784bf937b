"""What tuning put to use: a matrix for the question's vector, weights, a rule (SPEC 18, D17).

Recall asks for it once and then has it in memory. Without one everything is as shipped, and
costs what it cost; with one a question's vector is multiplied by one small matrix.
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
    """One tuning, for the model *fingerprint* alone.

    *matrix* is None, or a square of little-endian float32, row by row. Its cosines are brought
    back to the scale of the shipped ones, *shift* + *scale* x cosine: the gate knows no other.
    """

    fingerprint: str
    weights: Weights = HYBRID
    matrix: bytes | None = None
    shift: float = 0.0
    scale: float = 1.0

    def vector(self, question: bytes) -> bytes:
        """Return where *question*, a unit vector, is to look; one, too."""
        if self.matrix is None:
            return question
        import numpy as np  # the model that made the vector has loaded it

        asked = np.frombuffer(question, "<f4")
        turned = np.frombuffer(self.matrix, "<f4").reshape(len(asked), len(asked)) @ asked
        return bytes((turned / np.linalg.norm(turned)).astype("<f4").tobytes())

    def cosines(self, cosines: dict[int, float]) -> dict[int, float]:
        """Return *cosines* on the scale of the shipped ones."""
        if self.matrix is None:
            return cosines
        return {key: self.shift + self.scale * cosine for key, cosine in cosines.items()}

    def body(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        matrix = None if self.matrix is None else base64.b64encode(self.matrix).decode("ascii")
        return {
            "fingerprint": self.fingerprint,
            "features": dict(self.weights.features),
            "bar": self.weights.bar,
            "matrix": matrix,
            "shift": self.shift,
            "scale": self.scale,
        }


def tuned_of(body: Mapping[str, Any]) -> Tuned:
    """Return what :meth:`Tuned.body` holds; a feature that it does not know weighs as shipped."""
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
    """What one recall uses in place of what is in use: a tuning, or what was shipped."""

    tuned: Tuned | None
    apart: int | None = None
    """The memory that is the question itself: nothing is found by it, nor by standing beside it."""


class ActiveTuning:
    """What is in use; read from the file when recall first asks, and told of every change."""

    def __init__(self) -> None:
        self._tuned: Tuned | None = None
        self._read = False

    @property
    def unread(self) -> bool:
        """Whether the file is still to be asked what is in use."""
        return not self._read

    def note(self, body: Mapping[str, Any] | None) -> None:
        """Take what the file says, unless a change came before it."""
        if not self._read:
            self.put(None if body is None else tuned_of(body))

    def of(self, fingerprint: ModelFingerprint | None) -> Tuned | None:
        """Return what is in use for the model *fingerprint*, if anything is."""
        fits = self._tuned is not None and self._tuned.fingerprint == str(fingerprint)
        return self._tuned if fits else None

    def put(self, tuned: Tuned | None) -> None:
        """Use *tuned* from the next question on; None is what was shipped."""
        self._tuned, self._read = tuned, True
