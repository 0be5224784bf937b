"""Answering of ``llm.complete`` requests by a client that is the daemon's language model.

Standard library only. The client passes a coroutine function of the request's params that
returns the text, or an object with ``text``, ``input_tokens`` and ``output_tokens``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from memd.rpc import envelope, framing

if TYPE_CHECKING:
    import asyncio

Complete = Callable[[dict[str, Any]], Awaitable[Any]]
METHOD = "llm.complete"


class CompletionHandler:
    """Answers the requests of one connection, several at a time."""

    def __init__(self, complete: Complete) -> None:
        self._complete = complete
        self._tasks: dict[Any, asyncio.Task[None]] = {}

    def handle(self, message: dict[str, Any], writer: asyncio.StreamWriter | None) -> bool:
        """Start answering, or cancel, a request; return whether *message* was either."""
        import asyncio

        method, request_id = message.get("method"), message.get("id")
        if method == envelope.CANCEL:
            task = self._tasks.get(message.get("params", {}).get("id"))
            if task is not None:
                task.cancel()
            return True
        if method != METHOD or writer is None:
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
            writer.write(framing.write(reply))
            await writer.drain()
