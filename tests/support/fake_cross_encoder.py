"""A small cross-encoder: the score is the share of the question's words in the text."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from support.daemon import WAIT_S

from memd.embedding.model_files import Manifest

HIGHEST = 8.0  # the logit of a text that holds every word; one that holds none has its negative


def likeness(query: str, text: str) -> float:
    """Return the logit that the fake gives a pair."""
    words = query.lower().split()
    held = sum(word in text.lower().split() for word in words)
    return HIGHEST * (2 * held / len(words) - 1)


class FakePairs:
    """A scorer by :func:`likeness`, or by *rule*; one that fails where it is told to."""

    def __init__(
        self, rule: Callable[[str, str], float] = likeness, *, fails: BaseException | None = None
    ) -> None:
        self._rule = rule
        self._fails = fails
        self.asked: list[tuple[str, list[str]]] = []

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.asked.append((query, list(texts)))
        await asyncio.sleep(0)
        if self._fails is not None:
            raise self._fails
        return [self._rule(query, text) for text in texts]


class FakePairModel:
    """A model in memory that remembers its batches; a test may hold it at the gate."""

    def __init__(self, *, fails_at: str | None = None, says: float | None = None) -> None:
        self.batches: list[list[str]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.loads = 0
        self._fails_at = fails_at
        self._says = says

    def load(self, _folder: Path, _manifest: Manifest) -> FakePairModel:
        self.loads += 1
        return self

    def logits(self, query: str, texts: list[str]) -> list[float]:
        self.entered.set()
        assert self.gate.wait(WAIT_S)
        self.batches.append(texts)
        if self._fails_at in texts:
            raise RuntimeError("planted")
        return [likeness(query, text) if self._says is None else self._says for text in texts]
