"""What turns text into vectors and counts, as the rooms see it.

A vector is ``bytes``: little-endian float32, L2-normalised, ready for the file.
So no room but ``encode`` needs an array library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ModelFingerprint:
    """What makes two vectors comparable: weights, window and pooling, not a name."""

    name: str
    weights_sha256: str
    window_tokens: int
    pooling: str
    dimension: int

    def __str__(self) -> str:
        return f"{self.weights_sha256[:16]}/{self.window_tokens}/{self.pooling}/{self.dimension}"


class TokenCounter(Protocol):
    """Counts pieces of text."""

    def count(self, text: str) -> int:
        """Return how many tokens *text* has, without special ones; 0 for an empty text."""
        ...


class Installed(Protocol):
    """A model on this computer, or the place where one would be."""

    @property
    def fingerprint(self) -> ModelFingerprint | None:
        """Return the model's identity, or None when no model is installed. Never loads it."""
        ...

    @property
    def loaded(self) -> bool:
        """Return whether the model is in memory now."""
        ...


class Embedder(Installed, Protocol):
    """Turns texts into vectors, off the loop, in one thread."""

    async def embed(self, texts: Sequence[str], *, bulk: bool = False) -> list[bytes]:
        """Return one vector for each text, in order.

        Interactive texts go before bulk ones. Loads the model when it must.
        Raises DegradedError when no model is installed, BusyError when the queue
        is full, EmbeddingError when the model fails.
        """
        ...


class PairScorer(Protocol):
    """Says how well texts answer a question, reading each beside it, off the loop."""

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one raw logit for each text, in order: above 0 rather yes, below rather no.

        Loads its model when it must. Raises DegradedError when none is installed,
        BusyError when it is asked too much, EmbeddingError when it fails or is too slow.
        """
        ...
