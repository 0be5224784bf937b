"""Requests in the other direction: what the daemon asks a client on the client's connection.

Each is a JSON-RPC request with an id of its own, which the client answers like any server. A
request that nobody waits for any more is cancelled by ``$/cancelRequest``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from itertools import count
from typing import Any

from memd.base.errors import ProviderBusyError
from memd.rpc import envelope
from memd.serve.events import Peer

METHOD = "llm.complete"


class AssistantLink:
    """One registered client, and what it still has to answer (``llm.assistant.Line``)."""

    def __init__(self, peer: Peer, gone: Callable[[AssistantLink], None]) -> None:
        self._peer = peer
        self._gone = gone
        self._ids = count(1)
        self._waiting: dict[str, asyncio.Future[Any]] = {}

    async def ask(self, params: dict[str, Any]) -> Any:
        """Return the client's result; raises ProviderBusyError where there is none."""
        request_id = f"{METHOD}-{next(self._ids)}"
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        try:
            if not self._send(envelope.request(request_id, METHOD, params)):
                raise ProviderBusyError("the assistant does not read what it is asked")
            return await answer
        except asyncio.CancelledError:
            self._send(envelope.notification(envelope.CANCEL, {"id": request_id}))
            raise
        finally:
            del self._waiting[request_id]

    def answered(self, answer: envelope.PeerAnswer) -> None:
        """Hand an answer to who waits for it; one that nobody waits for is dropped."""
        waiting = self._waiting.get(str(answer.id))
        if waiting is None or waiting.done():
            return
        if answer.failed:
            waiting.set_exception(ProviderBusyError("the assistant answered with an error"))
        else:
            waiting.set_result(answer.result)

    def close(self) -> None:
        """Be asked no more: the client has gone, or lost its rights."""
        self._gone(self)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ProviderBusyError("the assistant has gone"))

    def _send(self, message: dict[str, Any]) -> bool:
        return self._peer.offer(json.dumps(message, ensure_ascii=False).encode() + b"\n")
