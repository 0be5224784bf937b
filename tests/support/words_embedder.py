"""Rooms over a real file with a small embedder: a word is one dimension of the vector."""

from __future__ import annotations

import hashlib
import math
import struct
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from support import store

from memd.backends.rooms import Rooms
from memd.base.clock import Clock
from memd.base.errors import EmbeddingError
from memd.domain.encoding import Embedder, Encoding, ModelFingerprint
from memd.domain.settings.settings import Settings
from memd.domain.values import Emit, unheard

DIMENSION = 256


class WordsEmbedder:
    """Texts that share words are alike, and nothing else is. Remembers what it embedded."""

    def __init__(self) -> None:
        self.name = "words"
        self.installed = True
        self.fails = False
        self.asked: list[str] = []
        self.loaded = False

    @property
    def fingerprint(self) -> ModelFingerprint | None:
        if not self.installed:
            return None
        weights = hashlib.sha256(self.name.encode()).hexdigest()
        return ModelFingerprint(self.name, weights, 256, "mean", DIMENSION)

    async def embed(self, texts: Sequence[str], *, bulk: bool = False) -> list[bytes]:
        del bulk
        if self.fails:
            raise EmbeddingError("planted")
        self.asked.extend(texts)
        return [vector(text) for text in texts]

    async def encode(self, texts: Sequence[str], *, bulk: bool = False) -> list[Encoding]:
        return [Encoding(each) for each in await self.embed(texts, bulk=bulk)]

    def warm(self) -> None:
        """Nothing has to be loaded."""

    def serve(self, name: str | None) -> None:
        """There is no other model (``ChosenEmbedder``)."""

    def embedder_of(self, name: str) -> WordsEmbedder:
        """Return itself: there is no other model."""
        del name
        return self

    async def close(self) -> None:
        return


def vector(text: str) -> bytes:
    """Return the unit vector of the words of *text*."""
    numbers = [0.0] * DIMENSION
    for word, times in Counter(text.lower().split()).items():
        place = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % DIMENSION
        numbers[place] += times
    length = math.sqrt(sum(number * number for number in numbers)) or 1.0
    return struct.pack(f"<{DIMENSION}f", *(number / length for number in numbers))


def a_house(
    folder: Path,
    *,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
    settings: Settings | None = None,
    hear: Emit = unheard,
) -> AbstractAsyncContextManager[Rooms]:
    """Open the rooms over a file in *folder*. Nothing runs beside them: drain the queue by hand."""
    path, embedder = folder / "memd.db", embedder or WordsEmbedder()
    return store.a_house(path, clock, embedder, settings, hear)
