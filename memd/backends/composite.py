"""A backend that routes each namespace to one of several child backends (SPEC 10.2).

Routing is by namespace, never by category. An id has the form ``<child>:<the child's id>``, split
at the first colon. If several children are queried and some fail, a warning is logged and the
results of the others are returned; if only one is queried, its error is raised. Entries without
scores are sorted after those with scores.

Its archive is that of all children (SPEC 16.13); both archival and original ids have prefixes.
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
    """Owns its *children*, and connects and disconnects them together."""

    backend_name = "composite"

    def __init__(
        self, children: Mapping[str, MemoryBackend], config: CompositeBackendConfig
    ) -> None:
        for namespace, name in [*config.routes.items(), ("", config.default)]:
            if name not in children:
                setting = f"routes.{namespace}" if namespace else "default"
                raise MemoryConfigError(
                    f"composite.{setting} = {name!r} is none of {', '.join(children)}",
                    field=f"memory.composite.{setting}",
                )
        if any(":" in name for name in children):
            raise MemoryConfigError("the name of a composite's child must not contain a colon")
        self._children = dict(children)
        self._config = config
        self._archive = CompositeArchive(
            {n: c.archival_store for n, c in children.items() if isinstance(c, SupportsArchive)}
        )

    # Lifecycle.

    async def connect(self) -> None:
        """Connect all children concurrently. If one fails, all are disconnected."""
        try:
            await _gather(child.connect() for child in self._children.values())
        except BaseException:
            await self.disconnect()
            raise

    async def disconnect(self) -> None:
        await _gather(child.disconnect() for child in self._children.values())

    async def health_check(self) -> bool:
        return all(await _gather(child.health_check() for child in self._children.values()))

    @property
    def is_connected(self) -> bool:
        return all(child.is_connected for child in self._children.values())

    # Capabilities. A child without one of these properties counts with the default.

    @property
    def supported_categories(self) -> frozenset[MemoryCategory]:
        return frozenset().union(*self._values("supported_categories", frozenset(MemoryCategory)))

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
        return min((limit for limit in limits if limit is not None), default=None)

    def _values(self, name: str, default: _T) -> list[_T]:
        return [getattr(child, name, default) for child in self._children.values()]

    # An agent's own memories.

    async def store(self, agent_id: str, request: MemoryStoreRequest) -> str:
        self._require_connected()
        name = self._child_name(request.namespace)
        return f"{name}:{await self._children[name].store(agent_id, request)}"

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> Entries:
        """Query the children of the query's namespaces, or all of them, and merge the results.

        Raises MemoryRetrievalError when several were queried and all failed.
        """
        self._require_connected()
        children = {name: self._children[name] for name in self._child_names(query)}
        return await _query_and_merge(
            children, lambda child: child.retrieve(agent_id, query), query.limit
        )

    async def get(self, agent_id: str, memory_id: str) -> MemoryEntry | None:
        self._require_connected()
        if (location := self._locate(memory_id)) is None:
            return None
        name, child, child_id = location
        entry = await child.get(agent_id, child_id)
        return entry and _with_prefix(name, entry)

    async def delete(self, agent_id: str, memory_id: str) -> bool:
        self._require_connected()
        if (location := self._locate(memory_id)) is None:
            return False
        _, child, child_id = location
        return await child.delete(agent_id, child_id)

    async def count(self, agent_id: str, *, category: MemoryCategory | None = None) -> int:
        self._require_connected()
        children = self._children.values()
        return sum(await _gather(child.count(agent_id, category=category) for child in children))

    @property
    def archival_store(self) -> CompositeArchive:
        return self._archive

    async def move_to_archive(
        self, agent_id: str, memory_id: str, mode: ArchivalMode = ArchivalMode.EXTRACTIVE
    ) -> str | None:
        """Move a memory into its child's archive; MemoryCapabilityError if it has none."""
        self._require_connected()
        if (location := self._locate(memory_id)) is None:
            return None
        name, child, child_id = location
        if not isinstance(child, SupportsArchive):
            raise MemoryCapabilityError(f"backend {name} has no archive")
        archival_id = await child.move_to_archive(agent_id, child_id, mode)
        return archival_id and f"{name}:{archival_id}"

    # Shared memories, of the children that support them.

    async def publish(self, agent_id: str, request: MemoryStoreRequest) -> str:
        self._require_connected()
        name = self._child_name(request.namespace)
        return f"{name}:{await self._sharing_child(name).publish(agent_id, request)}"

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: str | None = None
    ) -> Entries:
        self._require_connected()
        children = {
            name: child
            for name in self._child_names(query)
            if isinstance(child := self._children[name], SharedKnowledgeStore)
        }
        return await _query_and_merge(
            children,
            lambda child: child.search_shared(query, exclude_agent=exclude_agent),
            query.limit,
        )

    async def retract(self, agent_id: str, memory_id: str) -> bool:
        self._require_connected()
        if (location := self._locate(memory_id)) is None:
            return False
        name, _, child_id = location
        return await self._sharing_child(name).retract(agent_id, child_id)

    # Routing.

    def _require_connected(self) -> None:
        if not self.is_connected:
            raise MemoryConnectionError("the composite backend is not connected")

    def _child_name(self, namespace: str) -> str:
        return self._config.routes.get(namespace, self._config.default)

    def _child_names(self, query: MemoryQuery) -> list[str]:
        """Return the names of the children that *query* concerns, in a fixed order."""
        if not query.namespaces:
            return list(self._children)
        routed = {self._child_name(namespace) for namespace in query.namespaces}
        return [name for name in self._children if name in routed]

    def _locate(self, memory_id: str) -> tuple[str, MemoryBackend, str] | None:
        """Return name and child of *memory_id*, and its id there; None for an unknown child."""
        name, colon, child_id = memory_id.partition(":")
        if not colon or name not in self._children:
            return None
        return name, self._children[name], child_id

    def _sharing_child(self, name: str) -> SharedKnowledgeStore:
        child = self._children[name]
        if not isinstance(child, SharedKnowledgeStore):
            raise MemoryCapabilityError(f"backend {name} cannot share memories")
        return child


async def _gather(calls: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Run *calls* concurrently, wait for all, then raise the first error if any."""
    results = await asyncio.gather(*calls, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]


async def _query_and_merge(
    children: Mapping[str, _T], query: Callable[[_T], Coroutine[Any, Any, Entries]], limit: int
) -> Entries:
    """Query all *children* and return the entries, ids prefixed, best first, at most *limit*."""
    if len(children) == 1:
        [(name, child)] = children.items()
        return tuple(_with_prefix(name, entry) for entry in await query(child))[:limit]
    answers = await asyncio.gather(*map(query, children.values()), return_exceptions=True)
    entries: list[MemoryEntry] = []
    failed: list[str] = []
    for name, answer in zip(children, answers, strict=True):
        if isinstance(answer, MemdMemoryError):
            _log.warning("backend %s failed and is left out: %s", name, answer.kind)
            failed.append(name)
        elif isinstance(answer, BaseException):
            raise answer
        else:
            entries += [_with_prefix(name, entry) for entry in answer]
    if failed and len(failed) == len(children):
        raise MemoryRetrievalError(f"all of {', '.join(failed)} failed")
    entries.sort(key=lambda entry: entry.relevance_score or 0.0, reverse=True)
    return tuple(entries[:limit])


def _with_prefix(name: str, entry: MemoryEntry) -> MemoryEntry:
    return entry.model_copy(update={"id": f"{name}:{entry.id}"})


class CompositeArchive:
    """The documented ``ArchivalStore`` over the archives of *children*."""

    def __init__(self, children: Mapping[str, ArchivalStore]) -> None:
        self._children = children

    async def archive(self, entry: ArchivalEntry) -> str:
        """Archive *entry* in the child of its original; raises MemoryStoreError for another id."""
        name, _, child_id = entry.original_id.partition(":")
        if not child_id or name not in self._children:
            raise MemoryStoreError(
                f"no child with an archive has {entry.original_id!r}", field="original_id"
            )
        child_entry = entry.model_copy(update={"original_id": child_id})
        return f"{name}:{await self._children[name].archive(child_entry)}"

    async def search(self, agent_id: str, query: MemoryQuery) -> tuple[ArchivalEntry, ...]:
        """Return the children's results, one child after the other."""
        entries: list[ArchivalEntry] = []
        for name, child in self._children.items():
            entries += [
                _with_original_prefix(name, entry) for entry in await child.search(agent_id, query)
            ]
        return tuple(entries[: query.limit])

    async def restore(self, agent_id: str, entry_id: str) -> ArchivalEntry | None:
        name, _, child_id = entry_id.partition(":")
        if not child_id or name not in self._children:
            return None
        entry = await self._children[name].restore(agent_id, child_id)
        return None if entry is None else _with_original_prefix(name, entry)

    async def count(self, agent_id: str) -> int:
        return sum([await child.count(agent_id) for child in self._children.values()])


def _with_original_prefix(name: str, entry: ArchivalEntry) -> ArchivalEntry:
    return entry.model_copy(update={"original_id": f"{name}:{entry.original_id}"})
