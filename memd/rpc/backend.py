"""The documented backend protocols over RPC: base classes of ``AsyncClient``.

pydantic is imported only when a method has a memory to return. ``ArchivalStore`` is the
daemon's archive (SPEC 16.13).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from memd.base.errors import (
    MemdError,
    MemdMemoryError,
    MemoryConnectionError,
    MemoryNotFoundError,
    MemoryRetrievalError,
    MemoryStoreError,
    OrgMemoryConnectionError,
    OrgMemoryError,
    UnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pydantic import BaseModel

    from memd.domain.enums import MemoryCategory
    from memd.domain.memory import MemoryEntry, MemoryQuery, MemoryStoreRequest
    from memd.domain.sleep.consolidation import ArchivalEntry, ArchivalMode


class RemoteArchive:
    """The daemon's archive as an ``ArchivalStore``.

    *read* and *write* call the daemon and raise the errors of the backend protocols. Only a
    memory that the daemon has can be archived: it is moved in one transaction, never copied.
    """

    def __init__(
        self, read: Callable[..., Awaitable[Any]], write: Callable[..., Awaitable[Any]]
    ) -> None:
        self._read, self._write = read, write

    async def archive(self, entry: ArchivalEntry) -> str:
        """Move the memory of *entry* into the archive and return its id there.

        Raises MemoryStoreError when the daemon has no such memory.
        """
        archival_id = await self.move(entry.agent_id, entry.original_id)
        if archival_id is None:
            raise MemoryStoreError(
                "only a memory that the daemon has can be archived", field="original_id"
            )
        return archival_id

    async def move(self, agent_id: str, memory_id: str) -> str | None:
        """Move a memory into the archive and return its id there, None if it is unknown."""
        return cast("str | None", await self._write("archive.add", agent_id, id=memory_id))

    async def search(self, agent_id: str, query: MemoryQuery) -> tuple[ArchivalEntry, ...]:
        """Search the archive by words, or without a text list it, newest first."""
        items = await self._read("archive.search", agent_id, **_params(query))
        return tuple(map(_archival_entry, items))

    async def restore(self, agent_id: str, entry_id: str) -> ArchivalEntry | None:
        """Return an archived memory, which stays archived; None if unknown or another agent's."""
        with suppress(MemoryNotFoundError):
            return _archival_entry(await self._read("archive.restore", agent_id, id=entry_id))
        return None

    async def restore_to_hot(self, agent_id: str, entry_id: str) -> MemoryEntry | None:
        """Make an archived memory active again and return it, None when it is unknown."""
        from memd.domain.memory import MemoryEntry

        with suppress(MemoryNotFoundError):
            item = await self._write("archive.restore_to_hot", agent_id, id=entry_id)
            return MemoryEntry.model_validate(item)
        return None

    async def count(self, agent_id: str) -> int:
        """Return how many of the agent's memories are in the archive."""
        return cast("int", await self._read("archive.count", agent_id))


def _archival_entry(item: dict[str, Any]) -> ArchivalEntry:
    from memd.domain.removal import ArchivedMemory
    from memd.domain.sleep.consolidation import archival_entry

    archival = ArchivedMemory.model_validate(item)
    return archival_entry(archival.entry, archival.mode, archival.archived_at)


T = TypeVar("T")


class RemoteBackend:
    """``MemoryBackend``, ``MemoryCapabilities``, ``SharedKnowledgeStore`` and sparse retrieval.

    They use *call*, which the subclass provides. *archival_store* is an ``ArchivalStore``. The
    daemon reports its capabilities on connecting; before, they are those of any daemon.
    """

    _capabilities: Mapping[str, Any] = MappingProxyType({})
    _archive: RemoteArchive | None = None

    @property
    def is_connected(self) -> bool:
        """Return whether calls can be made."""
        raise NotImplementedError

    async def call(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Return the result of *method*."""
        raise NotImplementedError

    # Capabilities.

    @property
    def supported_categories(self) -> frozenset[MemoryCategory]:
        from memd.domain.enums import MemoryCategory

        names = self._capabilities.get("supported_categories", MemoryCategory)
        return frozenset(map(MemoryCategory, names))

    @property
    def supports_graph(self) -> bool:
        return self._capability("supports_graph", True)

    @property
    def supports_temporal(self) -> bool:
        return self._capability("supports_temporal", True)

    @property
    def supports_vector_search(self) -> bool:
        return self._capability("supports_vector_search", False)

    @property
    def supports_shared_access(self) -> bool:
        return self._capability("supports_shared_access", False)

    @property
    def max_memories_per_agent(self) -> int | None:
        return self._capability("max_memories_per_agent", None)

    def _capability(self, name: str, default: T) -> T:
        return cast("T", self._capabilities.get(name, default))

    # An agent's own memories.

    async def health_check(self) -> bool:
        """Return whether the daemon answers."""
        with suppress(MemdError):
            return bool(await self.call("system.hello"))
        return False

    async def store(self, agent_id: str, request: MemoryStoreRequest) -> str:
        return cast("str", await self._write_backend("memory.store", agent_id, **_params(request)))

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        items = await self._read_backend("memory.retrieve", agent_id, **_params(query))
        return tuple(map(_entry, items))

    async def retrieve_sparse(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """Search by the words of the query's text, best first; nothing without a text."""
        items = await self._read_backend("memory.retrieve_sparse", agent_id, **_params(query))
        return tuple(map(_entry, items))

    async def get(self, agent_id: str, memory_id: str) -> MemoryEntry | None:
        item = await self._read_backend("memory.get", agent_id, id=memory_id, include_shared=False)
        return None if item is None else _entry(item)

    async def delete(self, agent_id: str, memory_id: str) -> bool:
        return cast("bool", await self._write_backend("memory.delete", agent_id, id=memory_id))

    async def count(self, agent_id: str, *, category: MemoryCategory | None = None) -> int:
        params = {"category": category.value} if category else {}
        return cast("int", await self._read_backend("memory.count", agent_id, **params))

    # The archive.

    @property
    def archival_store(self) -> RemoteArchive:
        """Return the daemon's own archive, the same one each time."""
        if self._archive is None:
            self._archive = RemoteArchive(self._read_backend, self._write_backend)
        return self._archive

    async def move_to_archive(
        self, agent_id: str, memory_id: str, mode: ArchivalMode | None = None
    ) -> str | None:
        """Move a memory into the archive and return its id there, None when it is unknown.

        *mode* is ignored: the lineage has it (docs/decisions/0039).
        """
        del mode
        return await self.archival_store.move(agent_id, memory_id)

    # Shared memories.

    async def publish(self, agent_id: str, request: MemoryStoreRequest) -> str:
        return cast(
            "str", await self._write_backend("shared.publish", agent_id, **_params(request))
        )

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: str | None = None
    ) -> tuple[MemoryEntry, ...]:
        params = _params(query)
        if exclude_agent is not None:
            params["exclude_agent"] = exclude_agent
        return tuple(map(_entry, await self._read_backend("shared.search", None, **params)))

    async def retract(self, agent_id: str, memory_id: str) -> bool:
        return cast("bool", await self._write_backend("shared.retract", agent_id, id=memory_id))

    async def _read_backend(self, method: str, agent_id: str | None, /, **params: Any) -> Any:
        return await self._call_backend(MemoryRetrievalError, method, agent_id, params)

    async def _write_backend(self, method: str, agent_id: str | None, /, **params: Any) -> Any:
        return await self._call_backend(MemoryStoreError, method, agent_id, params)

    async def _call_backend(
        self, error: type[MemdError], method: str, agent_id: str | None, params: dict[str, Any]
    ) -> Any:
        """Call *method*, raising only errors of the family of *error* (SPEC 7.6, 15.4).

        Raises the family's connection error if there is no connection.
        """
        family, connection_error = _ORG if issubclass(error, OrgMemoryError) else _MEMORY
        if not self.is_connected:
            raise connection_error("not connected", hint="await connect() first")
        try:
            return await self.call(
                method, params if agent_id is None else {**params, "agent_id": agent_id}
            )
        except family:
            raise
        except UnavailableError as cause:
            raise connection_error(cause.message, hint=cause.hint) from cause
        except MemdError as cause:
            raise error(cause.message, field=cause.field, hint=cause.hint) from cause


_MEMORY: tuple[type[MemdError], type[MemdError]] = (MemdMemoryError, MemoryConnectionError)
_ORG: tuple[type[MemdError], type[MemdError]] = (OrgMemoryError, OrgMemoryConnectionError)
"""The base class of a family of errors, and its error for a failed connection."""


def _params(query: BaseModel) -> dict[str, Any]:
    return query.model_dump(mode="json", exclude_none=True)


def _entry(item: dict[str, Any]) -> MemoryEntry:
    from memd.domain.memory import MemoryEntry

    return MemoryEntry.model_validate(item)
