"""A provider over HTTP: any server with OpenAI's ``/chat/completions``, such as Ollama or vLLM.

The answer is read as a stream, so that one that is too long is cut off and one that hangs times
out. No proxy is used and no redirect followed: prompts go only to the host of the settings. Why
httpx is used: docs/decisions/0172.
"""

from __future__ import annotations

import asyncio
import functools
import json
import ssl
import stat
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import httpx

from memd.base.errors import ProviderBusyError, ProviderRefusedError
from memd.base.limits import COMPLETION_BYTES_MAX, KEY_FILE_BYTES_MAX
from memd.llm.provider import (
    Completion,
    CompletionRequest,
    TokenUsage,
    estimate_usage,
    read_usage,
)

_RETRY_STATUSES: Final = frozenset({408, 409, 425, 429})
_SERVER_ERROR = 500
_SCHEMA_STATUSES: Final = frozenset({400, 422})  # of a server that does not support schemas
_DATA = "data:"
_DONE = "[DONE]"
_EVENTS = "text/event-stream"


class OpenAICompatible:
    """One endpoint. The connection is opened with the first request, closed by :meth:`close`."""

    def __init__(
        self, url: str, model: str, *, timeout_ms: int, api_key_file: str | None = None
    ) -> None:
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._model = model
        self._timeout_ms = timeout_ms
        self._key_file = None if api_key_file is None else Path(api_key_file).expanduser()
        self._client: httpx.AsyncClient | None = None

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return the endpoint's answer (``Provider.complete``).

        If the server rejects the schema, the request is sent again without one. Raises
        ProviderBusyError for an answer over COMPLETION_BYTES_MAX, or that is no completion.
        """
        limit_ms = request.timeout_ms or self._timeout_ms
        try:
            async with asyncio.timeout(limit_ms / 1_000):
                try:
                    return await self._complete_once(request)
                except _SchemaRejectedError:
                    return await self._complete_once(replace(request, schema=None))
        except TimeoutError:
            raise ProviderBusyError(
                f"the language model did not answer within {limit_ms / 1_000:g} s"
            ) from None
        except httpx.HTTPError as error:
            raise ProviderBusyError(
                f"the language model is out of reach: {type(error).__name__}",
                hint="does it run, and may memd reach it? docs/llm.md",
            ) from None

    async def close(self) -> None:
        """Close the connection to the endpoint."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _complete_once(self, request: CompletionRequest) -> Completion:
        body = self._body(request)
        async with self._open_client().stream(
            "POST", self._url, json=body, headers=self._headers()
        ) as answer:
            if answer.status_code != httpx.codes.OK:
                raise _refusal(answer.status_code, with_schema=request.schema is not None)
            reply = _Reply()
            if answer.headers.get("content-type", "").startswith(_EVENTS):
                await _stream(answer, reply)
            else:
                raw = b"".join([part async for part in _read_limited(answer)])
                reply.add(_object(raw), "message")
        text = "".join(reply.texts)
        usage = reply.usage or estimate_usage(request, text)
        return Completion(text, usage, str(body["model"]))

    def _open_client(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(
                verify=_authorities(),
                trust_env=False,
                follow_redirects=False,
                timeout=httpx.Timeout(None, connect=self._timeout_ms / 1_000),
                limits=httpx.Limits(max_keepalive_connections=1),
            )
        return self._client

    def _headers(self) -> dict[str, str]:
        if self._key_file is None:
            return {}
        return {"Authorization": f"Bearer {_key(self._key_file)}"}

    def _body(self, request: CompletionRequest) -> dict[str, Any]:
        messages = [{"role": "user", "content": request.prompt}]
        if request.system:
            messages.insert(0, {"role": "system", "content": request.system})
        body: dict[str, Any] = {
            "model": request.model or self._model,
            "messages": messages,
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.schema is not None:
            shape = {"name": request.purpose.value, "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        return body


@functools.cache
def _authorities() -> ssl.SSLContext:
    """Return the context that checks certificates, cached because it takes 30 ms to load."""
    return httpx.create_ssl_context(trust_env=False)


class _SchemaRejectedError(Exception):
    """The server rejects a request with a schema, perhaps because of it."""


def _refusal(status: int, *, with_schema: bool) -> Exception:
    """Return the error for a status other than 200."""
    if status in _SCHEMA_STATUSES and with_schema:
        return _SchemaRejectedError()
    if status in _RETRY_STATUSES or status >= _SERVER_ERROR:
        return ProviderBusyError(f"the language model's endpoint answered with status {status}")
    return ProviderRefusedError(
        f"the language model's endpoint refused with status {status}",
        hint="look at llm.url, llm.model and llm.api_key_file",
    )


class _Reply:
    """The parts of an answer received so far."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.usage: TokenUsage | None = None

    def add(self, chunk: dict[str, Any], field: str) -> None:
        """Add one object of the protocol, whose text is in *field*: ``message`` or ``delta``."""
        if "error" in chunk:
            raise ProviderBusyError("the language model's endpoint answered with an error")
        usage = read_usage(chunk.get("usage"), "prompt_tokens", "completion_tokens")
        self.usage = usage or self.usage
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            raise _no_completion()
        for choice in choices[:1]:
            piece = choice.get(field) if isinstance(choice, dict) else None
            content = piece.get("content") if isinstance(piece, dict) else None
            if isinstance(content, str):
                self.texts.append(content)
            elif content is not None:
                raise _no_completion()


async def _stream(answer: httpx.Response, reply: _Reply) -> None:
    """Read server-sent events up to the final one. Raises ProviderBusyError without it."""
    pending = b""
    async for part in _read_limited(answer):
        *lines, pending = (pending + part).split(b"\n")
        for data in filter(None, map(_event_data, lines)):
            if data == _DONE:
                return
            reply.add(_object(data), "delta")
        if _event_data(pending) == _DONE:
            return  # some servers do not end the last line
    raise ProviderBusyError("the language model's answer broke off")


def _event_data(line: bytes) -> str:
    """Return the data of a line of events, "" for a line of another field or a comment."""
    text = line.decode("utf-8", "replace").strip()
    return text.removeprefix(_DATA).strip() if text.startswith(_DATA) else ""


async def _read_limited(answer: httpx.Response) -> AsyncIterator[bytes]:
    """Yield the parts of the body. Raises ProviderBusyError over COMPLETION_BYTES_MAX."""
    size = 0
    async for part in answer.aiter_bytes():
        size += len(part)
        if size > COMPLETION_BYTES_MAX:
            raise ProviderBusyError("the language model's answer is too long")
        yield part


def _object(raw: bytes | str) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        raise _no_completion() from None
    if not isinstance(value, dict):
        raise _no_completion()
    return value


def _no_completion() -> ProviderBusyError:
    return ProviderBusyError("what the language model's endpoint answered is no chat completion")


def _key(path: Path) -> str:
    """Return the key in *path*. Raises ProviderRefusedError if others can read the file."""
    try:
        with path.open("rb") as stream:
            mode = path.stat().st_mode
            raw = stream.read(KEY_FILE_BYTES_MAX)
        key = raw.decode("ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise ProviderRefusedError("llm.api_key_file cannot be read") from None
    if stat.S_IMODE(mode) & 0o077 or not key.isprintable():
        raise ProviderRefusedError(
            "llm.api_key_file is not its owner's alone", hint="chmod 600 and ask again"
        )
    return key
