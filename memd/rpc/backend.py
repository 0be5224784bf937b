"""The documented backend protocols, by call: what ``AsyncClient`` is besides a connection.

Kept apart from the connection, which needs no model to be written down. Nothing
heavy is loaded before a method has a memory to return.

``ArchivalStore`` is the daemon's archive (SPEC 16.13).
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
    UnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from memd.domain.enums import MemoryCategory
    from memd.domain.memory import MemoryEntry, MemoryQuery, MemoryStoreRequest
    from memd.domain.sleep.consolidation import ArchivalEntry, ArchivalMode


class RemoteArchive:
    """``ArchivalStore`` over *kept*, which calls as the protocols of backends promise.

    What is archived must be a memory of the daemon's: it is moved there, in one
    transaction, and never copied.
    """

    def __init__(self, kept: Callable[..., Awaitable[Any]]) -> None:
        self._kept = kept

    async def archive(self, entry: ArchivalEntry) -> str:
        """Move the memory that *entry* is of into the archive and return its id there.

        Raises MemoryStoreError when the daemon has no such memory.
        """
        archival_id = await self.move(entry.agent_id, entry.original_id)
        if archival_id is None:
            raise MemoryStoreError(
                "only what the daemon holds can be put into its archive", field="original_id"
            )
        return archival_id

    async def move(self, agent_id: str, memory_id: str) -> str | None:
        """Move a memory into the archive; its id there, None when there is none."""
        params = {"id": memory_id}
        moved = await self._kept(MemoryStoreError, "archive.add", agent_id, params)
        return cast("str | None", moved)

    async def search(self, agent_id: str, query: MemoryQuery) -> tuple[ArchivalEntry, ...]:
        """Return what lies in the archive, by words with text, newest first without."""
        params = query.model_dump(mode="json", exclude_none=True)
        items = await self._kept(MemoryRetrievalError, "archive.search", agent_id, params)
        return tuple(map(_documented, items))

    async def restore(self, agent_id: str, entry_id: str) -> ArchivalEntry | None:
        """Return an archived memory, None when it is unknown or another's; it stays there."""
        with suppress(MemoryNotFoundError):
            params = {"id": entry_id}
            item = await self._kept(MemoryRetrievalError, "archive.restore", agent_id, params)
            return _documented(item)
        return None

    async def restore_to_hot(self, agent_id: str, entry_id: str) -> MemoryEntry | None:
        """Make an archived memory an ordinary one again; None when there is none."""
        from memd.domain.memory import MemoryEntry

        with suppress(MemoryNotFoundError):
            params = {"id": entry_id}
            item = await self._kept(MemoryStoreError, "archive.restore_to_hot", agent_id, params)
            return MemoryEntry.model_validate(item)
        return None

    async def count(self, agent_id: str) -> int:
        """Return how many of the agent's memories are in the archive."""
        count = await self._kept(MemoryRetrievalError, "archive.count", agent_id, {})
        return cast("int", count)


def _documented(item: dict[str, Any]) -> ArchivalEntry:
    from memd.domain.removal import Archived
    from memd.domain.sleep.consolidation import archival_entry

    archival = Archived.model_validate(item)
    return archival_entry(archival.entry, archival.mode, archival.archived_at)


T = TypeVar("T")


class RemoteBackend:
    """The documented backend protocols over *call*, which the connection provides.

    ``MemoryBackend``, ``MemoryCapabilities``, ``SharedKnowledgeStore`` and sparse
    retrieval; *archival_store* is an ``ArchivalStore``. What it is capable of the daemon
    says when the connection is made; before, it is what every daemon is capable of.
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

    # What it can do.

    @property
    def supported_categories(self) -> frozenset[MemoryCategory]:
        from memd.domain.enums import MemoryCategory

        known = self._capabilities.get("supported_categories", MemoryCategory)
        return frozenset(map(MemoryCategory, known))

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

    def _capability(self, name: str, unsaid: T) -> T:
        return cast("T", self._capabilities.get(name, unsaid))

    # An agent's own memories.

    async def health_check(self) -> bool:
        """Return whether the daemon answers."""
        with suppress(MemdError):
            return bool(await self.call("system.hello"))
        return False

    async def store(self, agent_id: str, request: MemoryStoreRequest) -> str:
        params = request.model_dump(mode="json", exclude_none=True)
        return cast("str", await self._kept(MemoryStoreError, "memory.store", agent_id, params))

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        params = query.model_dump(mode="json", exclude_none=True)
        items = await self._kept(MemoryRetrievalError, "memory.retrieve", agent_id, params)
        return tuple(_entry(item) for item in items)

    async def retrieve_sparse(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        """Return what holds words of the query's text, best first; nothing without a text."""
        params = query.model_dump(mode="json", exclude_none=True)
        items = await self._kept(MemoryRetrievalError, "memory.retrieve_sparse", agent_id, params)
        return tuple(_entry(item) for item in items)

    async def get(self, agent_id: str, memory_id: str) -> MemoryEntry | None:
        item = await self._kept(MemoryRetrievalError, "memory.get", agent_id, {"id": memory_id})
        return None if item is None else _entry(item)

    async def delete(self, agent_id: str, memory_id: str) -> bool:
        params = {"id": memory_id}
        return cast("bool", await self._kept(MemoryStoreError, "memory.delete", agent_id, params))

    async def count(self, agent_id: str, *, category: MemoryCategory | None = None) -> int:
        params = {"category": category.value} if category else {}
        return cast("int", await self._kept(MemoryRetrievalError, "memory.count", agent_id, params))

    # What is archived.

    @property
    def archival_store(self) -> RemoteArchive:
        """Return the daemon's own archive, the same one each time."""
        if self._archive is None:
            self._archive = RemoteArchive(self._kept)
        return self._archive

    async def move_to_archive(
        self, agent_id: str, memory_id: str, mode: ArchivalMode | None = None
    ) -> str | None:
        """Move a memory into the archive, in one transaction; its id there, None for none.

        *mode* is not kept: the lineage tells it (docs/decisions/0039).
        """
        del mode
        return await self.archival_store.move(agent_id, memory_id)

    # What agents share.

    async def publish(self, agent_id: str, request: MemoryStoreRequest) -> str:
        params = request.model_dump(mode="json", exclude_none=True)
        return cast("str", await self._kept(MemoryStoreError, "shared.publish", agent_id, params))

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: str | None = None
    ) -> tuple[MemoryEntry, ...]:
        params = query.model_dump(mode="json", exclude_none=True)
        if exclude_agent is not None:
            params["exclude_agent"] = exclude_agent
        items = await self._kept(MemoryRetrievalError, "shared.search", None, params)
        return tuple(_entry(item) for item in items)

    async def retract(self, agent_id: str, memory_id: str) -> bool:
        params = {"id": memory_id}
        return cast("bool", await self._kept(MemoryStoreError, "shared.retract", agent_id, params))

    async def _kept(
        self,
        family: type[MemdMemoryError],
        method: str,
        agent_id: str | None,
        params: dict[str, Any],
    ) -> Any:
        """Call as the protocol promises (SPEC 7.6): connected first, one family of errors."""
        if not self.is_connected:
            raise MemoryConnectionError("not connected", hint="await connect() first")
        try:
            return await self.call(
                method, params if agent_id is None else {**params, "agent_id": agent_id}
            )
        except MemdMemoryError:
            raise
        except UnavailableError as error:
            raise MemoryConnectionError(error.message, hint=error.hint) from error
        except MemdError as error:
            raise family(error.message, field=error.field, hint=error.hint) from error


def _entry(item: dict[str, Any]) -> MemoryEntry:
    from memd.domain.memory import MemoryEntry

    return MemoryEntry.model_validate(item)
