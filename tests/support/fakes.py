"""Fake embedders and token counters: an embedding is made of hashes of words."""

from __future__ import annotations

import hashlib
import re
import struct
from array import array
from collections.abc import Collection, Sequence
from functools import lru_cache

from memd.base.errors import DegradedError
from memd.domain.encoding import TOKEN_BYTES, Encoding, ModelFingerprint, SentenceLogits

DIMENSION = 32


def fingerprint(name: str = "hash", dimension: int = DIMENSION) -> ModelFingerprint:
    """Return the identity of a HashEmbedder called *name*."""
    return ModelFingerprint(name, hashlib.sha256(name.encode()).hexdigest(), 256, "hash", dimension)


def hash_vector(text: str, dimension: int = DIMENSION, salt: str = "hash") -> bytes:
    """Return a unit vector in which texts with words in common are near each other.

    Each word has its own direction, of signs; a text is the sum of its words.
    """
    words = re.findall(r"\w+", text.lower()) or [text]
    total = list(
        map(sum, zip(*(_signs(f"{salt} {word}", dimension) for word in words), strict=True))
    )
    length = sum(number * number for number in total) ** 0.5
    if length == 0.0:
        total[0], length = 1, 1.0
    return struct.pack(f"<{dimension}f", *(number / length for number in total))


@lru_cache(maxsize=100_000)
def _signs(word: str, dimension: int) -> tuple[int, ...]:
    bits = int.from_bytes(hashlib.sha256(word.encode()).digest(), "big")
    return tuple(1 if bits >> place & 1 else -1 for place in range(dimension))


def hash_tokens(text: str) -> bytes:
    """Return a token vector for each word of *text*: equal words are one, others are far apart."""
    words = re.findall(r"\w+", text.lower()) or [text]
    signs = (_signs(f"token {word}", TOKEN_BYTES) for word in words)
    return array("b", (16 * sign for each in signs for sign in each)).tobytes()


def numbers(vector: bytes) -> array[float]:
    """Return a stored vector as numbers."""
    return array("f", vector)


class WordCounter:
    """Counts words between white space."""

    def count(self, text: str) -> int:
        return len(text.split())


class QuarterCounter:
    """Counts four characters for a token."""

    def count(self, text: str) -> int:
        return len(text) // 4


class HashEmbedder:
    """Embeds by hash, at once. *present* False is a model that is not installed."""

    def __init__(
        self,
        name: str = "hash",
        *,
        dimension: int = DIMENSION,
        present: bool = True,
        with_tokens: bool = False,
    ) -> None:
        self.name = name
        self.with_tokens = with_tokens
        self.dimension = dimension
        self.present = present
        self.texts: list[str] = []

    @property
    def fingerprint(self) -> ModelFingerprint | None:
        return fingerprint(self.name, self.dimension) if self.present else None

    @property
    def loaded(self) -> bool:
        return self.present

    async def embed(self, texts: Sequence[str], *, bulk: bool = False) -> list[bytes]:
        del bulk
        if not self.present:
            raise DegradedError("no model is installed")
        self.texts.extend(texts)
        return [hash_vector(text, self.dimension, self.name) for text in texts]

    async def encode(self, texts: Sequence[str], *, bulk: bool = False) -> list[Encoding]:
        made = await self.embed(texts, bulk=bulk)
        tokens = [hash_tokens(text) if self.with_tokens else b"" for text in texts]
        return [Encoding(*each) for each in zip(made, tokens, strict=True)]

    async def classify(
        self, messages: Sequence[Sequence[str]], agents: Collection[int] = ()
    ) -> list[list[SentenceLogits]]:
        del agents
        raise DegradedError(f"of {len(messages)} messages this model judges none")

    @property
    def has_states(self) -> bool:
        return False

    def warm(self) -> None:
        """Nothing has to be loaded."""

    def release(self) -> None:
        """Nothing was loaded."""

    async def close(self) -> None:
        """Nothing was opened."""


class ColdEmbedder(HashEmbedder):
    """A model that no text has loaded yet."""

    @property
    def loaded(self) -> bool:
        return bool(self.texts)
