"""What a prompt is composed of besides memories, as protocols of whoever gives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from memd.inject.own import OwnMemories
from memd.model.caller import Caller
from memd.model.inject import Retriever
from memd.model.retrieval import MemoryRetrievalConfig

MakeRetriever = Callable[[OwnMemories, MemoryRetrievalConfig], Retriever]
"""Makes a retriever over one caller's memories, which also search what is shared."""


class Policy(Protocol):
    """One thing that everybody has to heed."""

    @property
    def content(self) -> str: ...


class Organisation(Protocol):
    """Whoever knows the policies."""

    async def list_policies(
        self, caller: Caller, limit: int | None = None, offset: int = 0
    ) -> Sequence[Policy]: ...


class Synthesizer(Protocol):
    """Whoever makes one block of all sources (SPEC 5)."""

    async def synthesize(self, caller: Caller, query: str, max_tokens: int) -> str: ...
