"""Injection sources with given answers, and strategies over them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from support.clocks import HeldClock

from memd.backends.inmemory import InMemoryBackend
from memd.base.errors import MemoryRetrievalError
from memd.domain.inject import ChatMessage, PreparedPrompt
from memd.domain.memory import MemoryEntry, MemoryQuery
from memd.domain.settings.retrieval import MemoryRetrievalConfig, ScoredMemory
from memd.inject.context import ContextInjectionStrategy


def text_of(prompt: PreparedPrompt) -> str:
    """Return the texts of the messages of *prompt*, one below the other."""
    return "\n".join(message.content for message in prompt.messages)


_FENCE = re.compile(r"<memory-entry>\n(.*?)\n</memory-entry>", re.DOTALL)


@dataclass
class Source:
    """A backend's ``retrieve``, or a store's ``search_shared``: gives *entries*, or fails."""

    entries: Iterable[MemoryEntry] = ()
    fails: BaseException | None = None
    asked: list[MemoryQuery] = field(default_factory=list)
    excluded: list[str | None] = field(default_factory=list)

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        del agent_id
        return self._answer(query)

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: str | None = None
    ) -> tuple[MemoryEntry, ...]:
        self.excluded.append(exclude_agent)
        return self._answer(query)

    def _answer(self, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        self.asked.append(query)
        if self.fails is not None:
            raise self.fails
        return tuple(self.entries)[: query.limit]


@dataclass
class SparseSource(Source):
    """A source that also searches by words."""

    by_words: Iterable[MemoryEntry] = ()

    async def retrieve_sparse(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        del agent_id
        return tuple(self.by_words)[: query.limit]


class Reversing:
    """A re-ranker that turns the order round, or fails, or loses what it was given."""

    def __init__(self, *, fails: BaseException | None = None, loses: int = 0) -> None:
        self._fails = fails
        self._loses = loses
        self.queries: list[str] = []

    async def rerank(
        self, query: str, candidates: tuple[ScoredMemory, ...]
    ) -> tuple[ScoredMemory, ...]:
        self.queries.append(query)
        if self._fails is not None:
            raise self._fails
        return candidates[::-1][self._loses :]


def a_strategy(
    source: Source,
    shared: Source | None = None,
    reranker: Reversing | None = None,
    **config: object,
) -> ContextInjectionStrategy:
    """Return the strategy ``context`` over *source*, at the hour of ``support.entries``."""
    return ContextInjectionStrategy(
        backend=source,
        config=MemoryRetrievalConfig.model_validate(config),
        shared_store=shared,
        reranker=reranker,
        clock=HeldClock(),
    )


def lines_of(messages: Iterable[ChatMessage]) -> list[str]:
    """Return what stands inside the fences of the last message."""
    return lines_in([message.content for message in messages][-1])


DOMAIN_FAILURE = MemoryRetrievalError("the disk is gone")


class ABackend(InMemoryBackend):
    """A connected backend that answers *found*, or round by round, and fails from a call on."""

    def __init__(
        self,
        entries: Iterable[MemoryEntry] = (),
        *,
        fails: BaseException | None = None,
        fails_after: int = 0,
        rounds: Sequence[Iterable[MemoryEntry]] = (),
    ) -> None:
        super().__init__()
        self._rounds = [tuple(each) for each in rounds] or [tuple(entries)]
        self._fails = fails
        self._fails_after = fails_after
        self.asked: list[MemoryQuery] = []

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        del agent_id
        self.asked.append(query)
        self._check()
        return self._rounds[min(len(self.asked), len(self._rounds)) - 1]

    async def get(self, agent_id: str, memory_id: str) -> MemoryEntry | None:
        del agent_id
        self._check()
        known = {entry.id: entry for each in self._rounds for entry in each}
        return known.get(memory_id)

    def _check(self) -> None:
        if self._fails is not None and len(self.asked) >= self._fails_after + bool(self.asked):
            raise self._fails


class Asking:
    """A reformulator that gives *queries* one after another; an exception is raised."""

    def __init__(self, queries: Sequence[str | BaseException | None]) -> None:
        self._left = list(queries)
        self.queries: list[str] = []

    async def reformulate(
        self, original_query: str, results: tuple[MemoryEntry, ...]
    ) -> str | None:
        del results
        self.queries.append(original_query)
        other = self._left.pop(0) if self._left else None
        if isinstance(other, BaseException):
            raise other
        return other


class Judging:
    """A checker that says *answers* one after another, the last one for ever."""

    def __init__(self, answers: Sequence[bool | BaseException]) -> None:
        self._left = list(answers)
        self.queries: list[str] = []
        self.shown: list[list[str]] = []

    async def check_sufficiency(self, query: str, results: tuple[MemoryEntry, ...]) -> bool:
        self.queries.append(query)
        self.shown.append([entry.id for entry in results])
        answer = self._left.pop(0) if len(self._left) > 1 else self._left[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def lines_in(text: str) -> list[str]:
    """Return what stands inside the fences of *text*."""
    return _FENCE.findall(text)
