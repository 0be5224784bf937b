"""The documented backend protocols, by call: what ``AsyncClient`` is besides a connection.

Kept apart from the connection, which needs no model to be written down. Nothing
heavy is loaded before a method has a memory to return.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from memd.base.errors import (
    MemdError,
    MemdMemoryError,
    MemoryConnectionError,
    MemoryRetrievalError,
    MemoryStoreError,
    UnavailableError,
)

if TYPE_CHECKING:
    from memd.model.enums import MemoryCategory
    from memd.model.memory import MemoryEntry, MemoryQuery, MemoryStoreRequest


class RemoteBackend:
    """``MemoryBackend`` and ``SharedKnowledgeStore`` over *call*, which the connection provides."""

    @property
    def is_connected(self) -> bool:
        """Return whether calls can be made."""
        raise NotImplementedError

    async def call(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Return the result of *method*."""
        raise NotImplementedError

    # An agent's own memories.

    async def health_check(self) -> bool:
        """Return whether the daemon answers."""
        with suppress(MemdError):
            return bool(await self.call("system.hello"))
        return False

    async def store(self, agent_id: str, request: MemoryStoreRequest) -> str:
        said = request.model_dump(mode="json", exclude_none=True)
        return cast("str", await self._kept(MemoryStoreError, "memory.store", agent_id, said))

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        said = query.model_dump(mode="json", exclude_none=True)
        found = await self._kept(MemoryRetrievalError, "memory.retrieve", agent_id, said)
        return tuple(_entry(item) for item in found)

    async def get(self, agent_id: str, memory_id: str) -> MemoryEntry | None:
        found = await self._kept(MemoryRetrievalError, "memory.get", agent_id, {"id": memory_id})
        return None if found is None else _entry(found)

    async def delete(self, agent_id: str, memory_id: str) -> bool:
        said = {"id": memory_id}
        return cast("bool", await self._kept(MemoryStoreError, "memory.delete", agent_id, said))

    async def count(self, agent_id: str, *, category: MemoryCategory | None = None) -> int:
        said = {"category": category.value} if category else {}
        return cast("int", await self._kept(MemoryRetrievalError, "memory.count", agent_id, said))

    # What agents share.

    async def publish(self, agent_id: str, request: MemoryStoreRequest) -> str:
        said = request.model_dump(mode="json", exclude_none=True)
        return cast("str", await self._kept(MemoryStoreError, "shared.publish", agent_id, said))

    async def search_shared(
        self, query: MemoryQuery, *, exclude_agent: str | None = None
    ) -> tuple[MemoryEntry, ...]:
        said = query.model_dump(mode="json", exclude_none=True)
        if exclude_agent is not None:
            said["exclude_agent"] = exclude_agent
        found = await self._kept(MemoryRetrievalError, "shared.search", None, said)
        return tuple(_entry(item) for item in found)

    async def retract(self, agent_id: str, memory_id: str) -> bool:
        said = {"id": memory_id}
        return cast("bool", await self._kept(MemoryStoreError, "shared.retract", agent_id, said))

    async def _kept(
        self,
        family: type[MemdMemoryError],
        method: str,
        agent_id: str | None,
        said: dict[str, Any],
    ) -> Any:
        """Call as the protocol promises (SPEC 7.6): connected first, one family of errors."""
        if not self.is_connected:
            raise MemoryConnectionError("not connected", hint="await connect() first")
        try:
            return await self.call(
                method, said if agent_id is None else {**said, "agent_id": agent_id}
            )
        except MemdMemoryError:
            raise
        except UnavailableError as error:
            raise MemoryConnectionError(error.message, hint=error.hint) from error
        except MemdError as error:
            raise family(error.message, field=error.field, hint=error.hint) from error


def _entry(item: dict[str, Any]) -> MemoryEntry:
    from memd.model.memory import MemoryEntry

    return MemoryEntry.model_validate(item)
