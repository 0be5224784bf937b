"""``llm.*``: the language model's state, and a connected client that serves as one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from itertools import count
from typing import Any

from memd.base.errors import InvalidStateError, ProviderBusyError
from memd.domain.values import Name, Value
from memd.llm.assistant import ConnectedAssistant
from memd.llm.llm import LanguageModel
from memd.llm.provider import LlmStatus, Purpose, PurposeUsage
from memd.rpc import envelope
from memd.serve.events import Peer
from memd.serve.routes.routes import Context, KeyParams, Params, Router

router = Router()

METHOD = "llm.complete"
_BY_RULE = "no provider is set"


@router.method("llm.status", "Get the language model, its uses and token counts.")
async def status(context: Context, _params: Params) -> LlmStatus:
    model = context.rooms.llm
    if model is not None:
        return await model.status()
    return LlmStatus(
        provider="none",
        available=False,
        why_not=_BY_RULE,
        purposes=tuple(
            PurposeUsage(purpose=purpose, uses_model=False, why_not=_BY_RULE) for purpose in Purpose
        ),
    )


class RegisterParams(KeyParams):
    """The assistant that registers, and the model it answers with."""

    name: Name
    model: Name | None = None


class RegisteredAssistants(Value):
    """The registered assistants, in the order in which they are asked."""

    assistants: tuple[Name, ...]


@router.method(
    "llm.register",
    "Offer this connection as the language model; the daemon sends llm.complete requests.",
    scope="admin",
    repeats="anew",
)
async def register(context: Context, params: RegisterParams) -> RegisteredAssistants:
    """Use the caller's connection as the language model, with ``llm.provider = assistant``."""
    (model, assistants), peer = _assistants(context), context.peer
    if peer is None:
        raise InvalidStateError("requests need a connection; this call has none")
    if peer.link is not None:
        peer.link.close()
    link = AssistantLink(peer, assistants.drop)
    peer.link = link
    assistants.register(link, params.name, params.model)
    model.reset_failures()
    return RegisteredAssistants(assistants=tuple(assistants.names))


@router.method(
    "llm.unregister",
    "Withdraw this connection as the language model.",
    scope="admin",
    repeats="anew",
)
async def unregister(context: Context, _params: KeyParams) -> RegisteredAssistants:
    (_, assistants), peer = _assistants(context), context.peer
    if peer is not None and peer.link is not None:
        peer.link.close()
        peer.link = None
    return RegisteredAssistants(assistants=tuple(assistants.names))


def _assistants(context: Context) -> tuple[LanguageModel, ConnectedAssistant]:
    model = context.rooms.llm
    provider = None if model is None else model.provider
    if model is None or not isinstance(provider, ConnectedAssistant):
        raise InvalidStateError(
            "the language model is not an assistant",
            hint="set llm.provider to assistant and start memd again",
        )
    return model, provider


class AssistantLink:
    """One registered client and its pending requests (``llm.assistant.Line``).

    The daemon sends JSON-RPC requests on the client's connection, with ids of its own, and the
    client answers them like a server. A request that is no longer awaited is cancelled with
    ``$/cancelRequest``.
    """

    def __init__(self, peer: Peer, on_close: Callable[[AssistantLink], None]) -> None:
        self._peer = peer
        self._on_close = on_close
        self._ids = count(1)
        self._pending: dict[str, asyncio.Future[Any]] = {}

    async def ask(self, params: dict[str, Any]) -> Any:
        """Return the client's result. Raises ProviderBusyError if the client fails or is gone."""
        request_id = f"{METHOD}-{next(self._ids)}"
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[request_id] = answer
        try:
            if not self._send(envelope.request(request_id, METHOD, params)):
                raise ProviderBusyError("the assistant does not read its requests")
            return await answer
        except asyncio.CancelledError:
            self._send(envelope.notification(envelope.CANCEL, {"id": request_id}))
            raise
        finally:
            del self._pending[request_id]

    def resolve(self, answer: envelope.PeerAnswer) -> None:
        """Complete the request that *answer* is for; ignore an answer to no pending request."""
        pending = self._pending.get(str(answer.id))
        if pending is None or pending.done():
            return
        if answer.failed:
            pending.set_exception(ProviderBusyError("the assistant answered with an error"))
        else:
            pending.set_result(answer.result)

    def close(self) -> None:
        """End the registration: the client has disconnected, or lost its rights."""
        self._on_close(self)
        for pending in self._pending.values():
            if not pending.done():
                pending.set_exception(ProviderBusyError("the assistant has disconnected"))

    def _send(self, message: dict[str, Any]) -> bool:
        return self._peer.offer(json.dumps(message, ensure_ascii=False).encode() + b"\n")
