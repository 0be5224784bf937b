"""Use a connected client as the language model, by ``llm.complete`` requests to it.

Of several registered clients the last one is used. If it disconnects, times out, or answers with
an error or without a text, the caller gets ProviderBusyError and falls back to its rule.
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple, Protocol

from memd.base.errors import ProviderBusyError
from memd.llm.provider import Completion, CompletionRequest, estimate_usage, read_usage

TEXT_CHARS_MAX = 500_000


class AssistantConnection(Protocol):
    """Requests to the client of a connection (``serve.routes.llm``)."""

    async def ask(self, params: dict[str, Any]) -> Any:
        """Return the client's answer. Raises ProviderBusyError if there is none."""
        ...


class _Registration(NamedTuple):
    line: AssistantConnection
    name: str
    model: str | None


class ConnectedAssistant:
    """The registered clients, of which the last one is used."""

    def __init__(self, *, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._registered: list[_Registration] = []

    @property
    def names(self) -> list[str]:
        """Return the names of the clients, the one in use first."""
        return [provider.name for provider in reversed(self._registered)]

    def register(self, line: AssistantConnection, name: str, model: str | None) -> None:
        """Use the client of *line* from now on."""
        self.drop(line)
        self._registered.append(_Registration(line, name, model))

    def drop(self, line: AssistantConnection) -> None:
        """Stop using the client of *line*."""
        self._registered = [provider for provider in self._registered if provider.line is not line]

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return the assistant's answer (``Provider.complete``)."""
        if not self._registered:
            raise ProviderBusyError("no assistant is connected as language model")
        line, name, model = self._registered[-1]
        limit_ms = request.timeout_ms or self._timeout_ms
        params = {
            "prompt": request.prompt,
            "system": request.system,
            "purpose": request.purpose.value,
            "schema": None if request.schema is None else dict(request.schema),
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            "model": request.model,
            "timeout_ms": limit_ms,
        }
        try:
            async with asyncio.timeout(limit_ms / 1_000):
                reply = await line.ask(params)
        except TimeoutError:
            raise ProviderBusyError(
                f"the assistant did not answer within {limit_ms / 1_000:g} s"
            ) from None
        return _completion(request, reply, model or name)

    async def close(self) -> None:
        """Drop all clients; the server owns their connections."""
        self._registered.clear()


def _completion(request: CompletionRequest, reply: Any, model: str) -> Completion:
    """Return a client's *reply* as a completion, with its usage if it has one."""
    text = reply.get("text") if isinstance(reply, dict) else reply
    if not isinstance(text, str) or len(text) > TEXT_CHARS_MAX:
        raise ProviderBusyError("what the assistant answered is no text")
    usage = read_usage(reply, "input_tokens", "output_tokens") or estimate_usage(request, text)
    return Completion(text, usage, model)
