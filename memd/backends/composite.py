"""Several backends behind one: each namespace lives in the one it is routed to (SPEC 10.2).

The namespace decides, never the category. An id says where its memory lives:
``<child>:<id there>``, split at the first colon. When several children are
asked and some fail, the others answer and a warning is logged; when the only
one asked fails, its error is the answer. Children without scores sort below
those with.

Its archive is that of all children (SPEC 16.13): ids there say where a memory lies, the
original's as well as the archival one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from memd.base.errors import (
    MemdMemoryError,
    MemoryCapabilityError,
    MemoryConfigError,
    MemoryConnectionError,
    MemoryRetrievalError,
    MemoryStoreError,
)
from memd.domain.backend import MemoryBackend, SharedKnowledgeStore
from memd.domain.enums import MemoryCategory
from memd.domain.memory import MemoryEntry, MemoryQuery, MemoryStoreRequest
from memd.domain.settings.settings import CompositeBackendConfig
from memd.domain.sleep.consolidation import (
    ArchivalEntry,
    ArchivalMode,
    ArchivalStore,
    SupportsArchive,
)

_T = TypeVar("_T")
Entries = tuple[MemoryEntry, ...]

_log = logging.getLogger(__name__)


class CompositeBackend:
    """Owns the *children*, which it connects and disconnects together."""

    def __init__(
        self, children: Mapping[str, MemoryBackend], config: CompositeBackendConfig
    ) -> None:
        for namespace, name in [*config.routes.items(), ("", config.default)]:
            if name not in children:
                what = f"routes.{namespace}" if namespace else "default"
                raise MemoryConfigError(
                    f"composite.{what} = {name!r} is none of {', '.join(children)}",
                    field=f"memory.composite.{what}",
                )
        if any(":" in name for name in children):
            raise MemoryConfigError("the name of a composite's child must not contain a colon")
        self._children = dict(children)
        self._config = config
        self._archive = CompositeArchive(
            {n: c.archival_store for n, c in children.items() if isinstance(c, SupportsArchive)}
        )

    # Its life.

    async def connect(self) -> None:
        """Connect all children at once. When one cannot, none stays connected."""
        try:
            await _all(child.connect() for child in self._children.values())
        except BaseException:
            await self.disconnect()
            raise

    async def disconnect(self) -> None:
        await _all(child.disconnect() for child in self._children.values())

    async def health_check(self) -> bool:
        return all(await _all(child.health_check() for child in self._children.values()))

    @property
    def is_connected(self) -> bool:
        return all(child.is_connected for child in self._children.values())

    @property
    def backend_name(self) -> str:
        return "composite"

    # What it can do. A child that does not say is taken at its best.

    @property
    def supported_categories(self) -> frozenset[MemoryCategory]:
        known = self._values("supported_categories", frozenset(MemoryCategory))
        return frozenset().union(*known)

    @property
    def supports_graph(self) -> bool:
        return any(self._values("supports_graph", False))

    @property
    def supports_temporal(self) -> bool:
        return all(self._values("supports_temporal", True))

    @property
    def supports_vector_search(self) -> bool:
        return any(self._values("supports_vector_search", False))

    @property
    def supports_shared_access(self) -> bool:
        return any(self._values("supports_shared_access", False))

    @property
    def max_memories_per_agent(self) -> int | None:
        limits: list[int | None] = self._values("max_memories_per_agent", None)
        return min((most for most in limits if most is not None), default=None)

    def _values(self, name: str, unsaid: _T) -> list[_T]:
        return [getattr(child, name, unsaid) for child in self._children.values()]

    # An agent's own memories.

    async def store(self, agent_id: str, request: MemoryStoreRequest) -> str:
        self._ready()
        name = self._home(request.namespace)
        return f"{name}:{await self._children[name].store(agent_id, request)}"

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> Entries:
        """Ask the children of the query's namespaces, or all of them, and merge the answers.

        Raises MemoryRetrievalError when several were asked and all of them failed.
        """
        self._ready()
        asked = {name: self._children[name] for name in self._homes(query)}
        return await _merged(asked, lambda child: child.retrieve(agent_id, query), query.limit)

    async def get(self, agent_id: str, memory_id: str) -> MemoryEntry | None:
        self._ready()
        if (place := self._find(memory_id)) is None:
            return None
        name, child, there = place
        entry = await child.get(agent_id, there)
        return entry and _prefixed(name, entry)

    async def delete(self, agent_id: str, memory_id: str) -> bool:
        self._ready()
        if (place := self._find(memory_id)) is None:
            return False
        _, child, there = place
        return await child.delete(agent_id, there)

    async def count(self, agent_id: str, *, category: MemoryCategory | None = None) -> int:
        self._ready()
        children = self._children.values()
        return sum(await _all(child.count(agent_id, category=category) for child in children))

    @property
    def archival_store(self) -> CompositeArchive:
        return self._archive

    async def move_to_archive(
        self, agent_id: str, memory_id: str, mode: ArchivalMode = ArchivalMode.EXTRACTIVE
    ) -> str | None:
        """Move a memory into its child's archive; MemoryCapabilityError when that has none."""
        self._ready()
        if (place := self._find(memory_id)) is None:
            return None
        name, child, there = place
        if not isinstance(child, SupportsArchive):
            raise MemoryCapabilityError(f"backend {name} has no archive")
        archival_id = await child.move_to_archive(agent_id, there, mode)
        return archival_id and f"{name}:{archival_id}"

    # What agents share, among the children that can.

    async def publish(self, agent_id: str, request: MemoryStoreRequest) -> str:
        self._ready()
        name = self._home(request.namespace)
        return f"{name}:{await self._sharing(name).publish(agent_id, request)}"

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: str | None = None
    ) -> Entries:
        self._ready()
        asked = {
            name: child
            for name in self._homes(query)
            if isinstance(child := self._children[name], SharedKnowledgeStore)
        }
        return await _merged(
            asked,
            lambda child: child.search_shared(query, exclude_agent=exclude_agent),
            query.limit,
        )

    async def retract(self, agent_id: str, memory_id: str) -> bool:
        self._ready()
        if (place := self._find(memory_id)) is None:
            return False
        name, _, there = place
        return await self._sharing(name).retract(agent_id, there)

    # Where things live.

    def _ready(self) -> None:
        if not self.is_connected:
            raise MemoryConnectionError("the composite backend is not connected")

    def _home(self, namespace: str) -> str:
        return self._config.routes.get(namespace, self._config.default)

    def _homes(self, query: MemoryQuery) -> list[str]:
        """Return the children that can hold what *query* asks for, each once, in a fixed order."""
        if not query.namespaces:
            return list(self._children)
        homes = {self._home(namespace) for namespace in query.namespaces}
        return [name for name in self._children if name in homes]

    def _find(self, memory_id: str) -> tuple[str, MemoryBackend, str] | None:
        """Return whose memory it is and its id there; None for what no child has given out."""
        name, colon, there = memory_id.partition(":")
        if not colon or name not in self._children:
            return None
        return name, self._children[name], there

    def _sharing(self, name: str) -> SharedKnowledgeStore:
        child = self._children[name]
        if not isinstance(child, SharedKnowledgeStore):
            raise MemoryCapabilityError(f"backend {name} cannot share memories")
        return child


async def _all(calls: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Run *calls* side by side, wait for every one, then raise the first error if any."""
    results = await asyncio.gather(*calls, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


async def _merged(
    asked: Mapping[str, _T], ask: Callable[[_T], Coroutine[Any, Any, Entries]], limit: int
) -> Entries:
    """Return what all of *asked* answer, ids prefixed, best first, at most *limit*."""
    if len(asked) == 1:
        [(name, child)] = asked.items()
        return tuple(_prefixed(name, entry) for entry in await ask(child))[:limit]
    answers = await asyncio.gather(*map(ask, asked.values()), return_exceptions=True)
    entries: list[MemoryEntry] = []
    failed: list[str] = []
    for name, answer in zip(asked, answers, strict=True):
        if isinstance(answer, MemdMemoryError):
            _log.warning("backend %s failed and is left out: %s", name, answer.kind)
            failed.append(name)
        elif isinstance(answer, BaseException):
            raise answer
        else:
            entries += [_prefixed(name, entry) for entry in answer]
    if failed and len(failed) == len(asked):
        raise MemoryRetrievalError(f"all of {', '.join(failed)} failed")
    entries.sort(key=lambda entry: entry.relevance_score or 0.0, reverse=True)
    return tuple(entries[:limit])


def _prefixed(name: str, entry: MemoryEntry) -> MemoryEntry:
    return entry.model_copy(update={"id": f"{name}:{entry.id}"})


class CompositeArchive:
    """The documents' ``ArchivalStore`` over the archives of *children*."""

    def __init__(self, children: Mapping[str, ArchivalStore]) -> None:
        self._children = children

    async def archive(self, entry: ArchivalEntry) -> str:
        """Archive *entry* where its original lives; raises MemoryStoreError for another id."""
        name, _, there = entry.original_id.partition(":")
        if not there or name not in self._children:
            raise MemoryStoreError(
                f"no child with an archive has {entry.original_id!r}", field="original_id"
            )
        own = entry.model_copy(update={"original_id": there})
        return f"{name}:{await self._children[name].archive(own)}"

    async def search(self, agent_id: str, query: MemoryQuery) -> tuple[ArchivalEntry, ...]:
        """Return what the children find, each child's in its order."""
        entries: list[ArchivalEntry] = []
        for name, child in self._children.items():
            entries += [_archived(name, each) for each in await child.search(agent_id, query)]
        return tuple(entries[: query.limit])

    async def restore(self, agent_id: str, entry_id: str) -> ArchivalEntry | None:
        name, _, there = entry_id.partition(":")
        if not there or name not in self._children:
            return None
        entry = await self._children[name].restore(agent_id, there)
        return None if entry is None else _archived(name, entry)

    async def count(self, agent_id: str) -> int:
        return sum([await child.count(agent_id) for child in self._children.values()])


def _archived(name: str, entry: ArchivalEntry) -> ArchivalEntry:
    return entry.model_copy(update={"original_id": f"{name}:{entry.original_id}"})
