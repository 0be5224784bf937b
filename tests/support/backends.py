"""Backends that fail, or are not there, on purpose."""

from __future__ import annotations

from memd.backends.inmemory import InMemoryBackend
from memd.base.errors import MemoryConnectionError, MemoryRetrievalError
from memd.domain.memory import MemoryEntry, MemoryQuery


class ScoredBackend(InMemoryBackend):
    """Gives every memory it finds the same *score*."""

    def __init__(self, score: float) -> None:
        super().__init__()
        self._score = score

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        entries = await super().retrieve(agent_id, query)
        return tuple(entry.model_copy(update={"relevance_score": self._score}) for entry in entries)


class FailingBackend(InMemoryBackend):
    """Connects, but cannot retrieve."""

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        raise MemoryRetrievalError("the disk of this child is gone")


class UnreachableBackend(InMemoryBackend):
    """Cannot be connected."""

    async def connect(self) -> None:
        raise MemoryConnectionError("nobody answers")
