"""``OrgMemoryBackend`` and the documented functions ``ingest`` and ``recall`` over RPC.

Also the answering of ``llm.complete`` requests by a client that is the daemon's language model.
pydantic is imported only when a method has a value to return.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from memd.base.errors import (
    MemdError,
    OrgMemoryAccessDeniedError,
    OrgMemoryQueryError,
    OrgMemoryWriteError,
    UnavailableError,
)
from memd.rpc import envelope
from memd.rpc.backend import RemoteBackend

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from memd.domain.enums import MemoryType
    from memd.domain.org.org import OrgFact, OrgFactAuthor, OrgFactWriteRequest, OrgMemoryQuery
    from memd.domain.recall import MemoryChunk, RecallResult


class RemoteOrg(RemoteBackend):
    """``OrgMemoryBackend`` over *call*."""

    _completions: CompletionHandler | None = None

    async def provide(self, complete: Complete, name: str, model: str | None = None) -> None:
        """Serve as the daemon's language model: *complete* answers its requests.

        It ends with the connection; after a reconnect call it again.
        """
        self._completions = CompletionHandler(complete)
        await self.call("llm.register", {"name": name, "model": model})

    async def query(self, query: OrgMemoryQuery) -> tuple[OrgFact, ...]:
        params = query.model_dump(mode="json", exclude_none=True)
        return _facts(await self._call_backend(OrgMemoryQueryError, "org.query", None, params))

    async def write(
        self, request: OrgFactWriteRequest, *, author: OrgFactAuthor | None = None
    ) -> str:
        """Write a fact and return its id.

        The daemon takes the author from this client's key, whatever *author* is (SPEC D14);
        a human author is refused before the call.
        """
        if author is not None and author.is_human and self.is_connected:
            raise OrgMemoryAccessDeniedError(
                "a human signs what is written over the socket", hint="memd org write"
            )
        params = request.model_dump(mode="json", exclude_none=True)
        return cast("str", await self._call_backend(OrgMemoryWriteError, "org.write", None, params))

    async def list_policies(
        self, *, limit: int | None = None, offset: int = 0
    ) -> tuple[OrgFact, ...]:
        params = {"offset": offset} if limit is None else {"offset": offset, "limit": limit}
        return _facts(await self._call_backend(OrgMemoryQueryError, "org.policies", None, params))

    async def count_policies(self) -> int:
        return cast(
            "int", await self._call_backend(OrgMemoryQueryError, "org.count_policies", None, {})
        )


def _facts(items: list[dict[str, Any]]) -> tuple[OrgFact, ...]:
    from memd.domain.org.org import OrgFact

    return tuple(map(OrgFact.model_validate, items))


class RemoteTexts(RemoteOrg):
    """``ingest`` and ``recall`` as in document 001, over *call* (SPEC 1.1, 2.1)."""

    async def ingest(
        self,
        text: str,
        user_id: str,
        session_id: str,
        memory_type_hint: MemoryType | None = None,
    ) -> list[MemoryChunk]:
        """Store *text* as memories and return them after COMMIT, those known already last.

        Returns [] for a blank text. Chunks below the threshold of importance and quarantined
        ones are left out. A chunk that waits for its vector has no importance yet. Raises
        InvalidError for a blank *user_id* or *session_id*, UnavailableError if it may succeed
        later, and IngestionError for any other failure in the daemon.
        """
        from memd.base.errors import IngestionError, InvalidError

        for name, value in (("user_id", user_id), ("session_id", session_id)):
            if not value.strip():
                raise InvalidError(f"{name} is blank", field=name)
        if not text.strip():
            return []
        params = {"text": text, "user_id": user_id, "session_id": session_id}
        if memory_type_hint is not None:
            params["memory_type_hint"] = memory_type_hint.value
        try:
            receipt = await self.call("memory.ingest", params)
        except (IngestionError, InvalidError, UnavailableError):
            raise
        except MemdError as error:
            raise IngestionError(error.message, field=error.field, hint=error.hint) from error
        items = [*receipt["stored"], *receipt["pending"], *receipt["merged"]]
        return await self._chunks(user_id, [item["id"] for item in items])

    async def recall(
        self,
        query: str,
        user_id: str,
        top_k: int = 5,
        token_budget: int = 2000,
        memory_types: Sequence[MemoryType] | None = None,
    ) -> RecallResult:
        """Return the memories of *user_id* that answer *query*, best first, and a prompt block."""
        from memd.domain.recall import RecallResult

        params: dict[str, Any] = {
            "query": query,
            "user_id": user_id,
            "top_k": top_k,
            "token_budget": token_budget,
        }
        if memory_types is not None:
            params["memory_types"] = [memory_type.value for memory_type in memory_types]
        return RecallResult.model_validate(await self.call("memory.recall", params))

    async def _chunks(self, user_id: str, ids: Sequence[str]) -> list[MemoryChunk]:
        """Return the memories of these *ids* that still exist, as ``recall`` returns them."""
        from memd.domain.memory import MemoryEntry
        from memd.domain.recall import MemoryChunk

        chunks = []
        for memory_id in ids:
            answer = await self.call("memory.get", {"id": memory_id, "user_id": user_id})
            if answer is None:
                continue
            entry = MemoryEntry.model_validate(answer)
            common = entry.model_dump(
                include=set(MemoryChunk.model_fields) & set(MemoryEntry.model_fields)
            )
            chunks.append(
                MemoryChunk(
                    **common,
                    user_id=entry.agent_id,
                    memory_type=entry.category,
                    source=entry.metadata.source,
                    tags=entry.metadata.tags,
                )
            )
        return chunks


# A client as the daemon's language model.

Complete = Callable[[dict[str, Any]], Awaitable[Any]]
"""Gets the params of ``llm.complete``; returns the text, or a dict of it and token counts."""
_COMPLETE = "llm.complete"


class CompletionHandler:
    """Answers the ``llm.complete`` requests of one connection, several at a time."""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete
        self._tasks: dict[Any, asyncio.Task[None]] = {}

    def handle(self, message: dict[str, Any], writer: asyncio.StreamWriter | None) -> bool:
        """Start to answer a request, or cancel one; return False for any other *message*."""
        import asyncio

        method, request_id = message.get("method"), message.get("id")
        if method == envelope.CANCEL:
            task = self._tasks.get(message.get("params", {}).get("id"))
            if task is not None:
                task.cancel()
            return True
        if method != _COMPLETE or writer is None:
            return False
        params = message.get("params", {})
        task = asyncio.get_running_loop().create_task(self._answer(request_id, params, writer))
        self._tasks[request_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(request_id, None))
        return True

    async def _answer(
        self, request_id: Any, params: dict[str, Any], writer: asyncio.StreamWriter
    ) -> None:
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id}
        try:
            reply["result"] = await self._complete(params)
        except Exception as error:  # noqa: BLE001  # the caller's own code may raise anything
            reply["error"] = {"code": -32000, "message": type(error).__name__}
        with suppress(OSError):
            writer.write(envelope.write(reply))
            await writer.drain()
