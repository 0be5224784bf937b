"""Calling the daemon, from a program that waits and from one that does not.

Both clients raise the daemon's own errors by class. Every write gets an
idempotency key, so a call whose answer was lost with the connection is sent once
more and still happens once (SPEC D7). Importing this costs milliseconds: nothing
but the standard library is loaded, pydantic only when a protocol method of
``AsyncClient`` has a model to return.
"""

from __future__ import annotations

import os
import socket as sockets
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, Self, cast

from memd.base import errors
from memd.base.clock import SystemClock
from memd.base.errors import MemdError, MemoryConnectionError
from memd.base.limits import OUT_QUEUE_BYTES_MAX
from memd.base.paths import Paths
from memd.rpc import calling, envelope, framing
from memd.rpc.backend_texts import RemoteTexts
from memd.rpc.calling import Progress

if TYPE_CHECKING:
    import asyncio

    from memd.rpc.calling import Hearing

TIMEOUT_S = 30.0
KEY_FILE = "MEMD_CLIENT_KEY_FILE"
Key = str | os.PathLike[str]
"""A client's key, or as a path the file that it is in."""

_READ_BYTES = 262_144
_FOREVER_S = 1_000_000.0  # eleven days; a socket counts its milliseconds in 31 bits


def socket_path(socket: str | os.PathLike[str] | None = None, profile: str | None = None) -> str:
    """Return where the daemon of *profile* listens; *socket* wins."""
    return os.fspath(socket if socket is not None else Paths.resolve(profile).socket)


def _text_of(key: Key | None) -> str | None:
    """Return the key to present: what was given, what the environment names, or none."""
    if key is None and not os.environ.get(KEY_FILE):
        return None
    from memd.base import client_key

    return client_key.presented(key)


class Client:
    """One connection, one call at a time. Connects with the first call.

    With a *key* it is that client, without ``local``; without *timeout* it waits for ever.

    >>> Client(socket="/nowhere/memd.sock").call("system.hello")
    Traceback (most recent call last):
    ...
    memd.base.errors.NotRunningError: no daemon listens on /nowhere/memd.sock
    """

    def __init__(
        self,
        socket: str | os.PathLike[str] | None = None,
        profile: str | None = None,
        timeout: float | None = TIMEOUT_S,
        key: Key | None = None,
    ) -> None:
        self.path = socket_path(socket, profile)
        self._timeout = _FOREVER_S if timeout is None else timeout
        self._key = key
        self._clock = SystemClock()
        self._ids = count(1)
        self._sock: sockets.socket | None = None
        self._splitter = framing.Splitter(OUT_QUEUE_BYTES_MAX)
        self._frames: list[bytes] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        if self._sock is not None:
            self._sock.close()
            self._sock = None
        self._splitter = framing.Splitter(OUT_QUEUE_BYTES_MAX)
        self._frames.clear()

    def call(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        progress: Progress | None = None,
    ) -> Any:
        """Return the result of *method*, or raise the daemon's own error.

        A lost connection is tried once more with the same idempotency key; after
        that it is a MemoryConnectionError. Nobody listening is a NotRunningError,
        no answer in time a ``memd.base.errors.TimeoutError``.
        """
        request = calling.prepared(method, params, wants_progress=progress is not None)
        try:
            return self._exchange(method, request, progress)
        except MemoryConnectionError as error:
            if not isinstance(error, calling.LostError):
                raise  # the daemon's own word about a backend
            return self._exchange(method, request, progress)

    def _exchange(self, method: str, request: dict[str, Any], progress: Progress | None) -> Any:
        request_id = next(self._ids)
        frame = calling.frame(request_id, method, request)
        if self._sock is None:
            self._present(_text_of(self._key))
        return self._asked(request_id, method, frame, progress)

    def _present(self, key: str | None) -> None:
        """Connect, and say who we are before anything else is asked on the connection."""
        self._connect()
        if key is None:
            return
        try:
            self._asked(0, "system.hello", calling.hello(key), None)
        except MemdError:
            self.close()
            raise

    def _asked(self, request_id: int, method: str, frame: bytes, progress: Progress | None) -> Any:
        sock = self._sock
        assert sock is not None
        until_us = self._clock.monotonic_us() + int(self._timeout * 1e6)
        try:
            sock.settimeout(self._timeout)
            with suppress(BrokenPipeError):  # it may have said why before it closed
                sock.sendall(frame)
            while True:
                answer = self._next(sock, until_us)
                if answer.get("method") == envelope.PROGRESS:
                    calling.tell(progress, answer)
                elif answer.get("id") in (request_id, None) and "method" not in answer:
                    return envelope.outcome(answer)
        except TimeoutError:
            self.close()
            raise errors.TimeoutError(f"no answer to {method} in {self._timeout:g} s") from None
        except OSError as error:
            self.close()
            raise calling.LostError(
                f"the connection to memd was lost ({error.strerror})"
            ) from error
        except KeyboardInterrupt:
            with suppress(OSError):
                sock.sendall(calling.cancel(request_id))  # nobody waits for it any more
            self.close()
            raise

    def _connect(self) -> None:
        sock = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
        sock.settimeout(min(TIMEOUT_S, self._timeout))
        try:
            sock.connect(self.path)
        except OSError as error:
            sock.close()
            if isinstance(error, TimeoutError):
                raise errors.TimeoutError("memd takes no connections now") from None
            raise calling.not_running(self.path) from error
        self._sock = sock

    def _next(self, sock: sockets.socket, until_us: int) -> dict[str, Any]:
        while not self._frames:
            left_us = until_us - self._clock.monotonic_us()
            if left_us <= 0:
                raise TimeoutError
            sock.settimeout(left_us / 1e6)
            chunk = sock.recv(_READ_BYTES)
            if not chunk:
                raise ConnectionResetError(0, "closed by the daemon")
            self._frames.extend(self._splitter.feed(chunk))
        return calling.answer(self._frames.pop(0))

    # What is called most.

    def ingest(self, text: str, **more: Any) -> dict[str, Any]:
        """Let *text* become memories; returns the receipt."""
        return cast("dict[str, Any]", self.call("memory.ingest", {"text": text, **more}))

    def add(self, content: str, category: str | None = None, **more: Any) -> str:
        """Store *content* as one memory, as it is, by default a fact or the owner's preference."""
        request = calling.to_store(content, category, more)
        return cast("str", self.call("memory.store", request))

    def recall(self, query: str, **more: Any) -> dict[str, Any]:
        """Return what is known about *query*, with the block for a prompt."""
        return cast("dict[str, Any]", self.call("memory.recall", {"query": query, **more}))

    def search(self, text: str, **more: Any) -> list[dict[str, Any]]:
        """Return memories that match *text*, best first."""
        return cast("list[dict[str, Any]]", self.call("memory.retrieve", {"text": text, **more}))


class AsyncClient(RemoteTexts):
    """One connection, as many calls at a time as wanted.

    It satisfies ``MemoryBackend``, ``MemoryCapabilities``, ``SharedKnowledgeStore`` and
    ``OrgMemoryBackend``, finds by words alone (``retrieve_sparse``) and has an
    ``archival_store``: code written for a backend runs against the daemon (SPEC D26).
    """

    def __init__(
        self,
        socket: str | os.PathLike[str] | None = None,
        profile: str | None = None,
        timeout: float = TIMEOUT_S,
        key: Key | None = None,
    ) -> None:
        self.path = socket_path(socket, profile)
        self._timeout = timeout
        self._key = key
        self._ids = count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._listeners: dict[int, Progress] = {}
        self._hearings: list[Hearing] = []
        self._writer: asyncio.StreamWriter | None = None
        self._listening: asyncio.Task[None] | None = None
        self._connecting: asyncio.Lock | None = None

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.disconnect()

    @property
    def is_connected(self) -> bool:
        return self._writer is not None

    @property
    def backend_name(self) -> str:
        return "memd"

    async def connect(self) -> None:
        """Connect, unless connected, and present the key, if there is one.

        Raises NotRunningError when nobody listens, DeniedError for a key that is none.
        """
        import asyncio

        self._connecting = self._connecting or asyncio.Lock()
        async with self._connecting:
            if self._writer is not None:
                return
            key = _text_of(self._key)
            try:
                reader, self._writer = await asyncio.open_unix_connection(self.path)
            except OSError as error:
                raise calling.not_running(self.path) from error
            self._listening = asyncio.create_task(self._listen(reader, self._writer))
            try:
                await self._present(key)
            except MemdError:
                await self.disconnect()
                raise

    async def _present(self, key: str | None) -> None:
        """Say who we are, and hear what the daemon is capable of; it has to know a *key* only."""
        try:
            who = await self._asked(0, "system.hello", calling.hello(key), None)
        except MemdError:
            if key is not None:
                raise
            return
        self._capabilities = who.get("capabilities", {}).get("memory", {})

    async def disconnect(self) -> None:
        """Close the connection; calls that still wait are lost. Safe to repeat."""
        writer, listening = self._writer, self._listening
        self._writer = self._listening = None
        if listening is not None:
            listening.cancel()
        if writer is not None:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        self._lose(calling.LostError("the connection to memd was closed"))

    async def call(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        progress: Progress | None = None,
    ) -> Any:
        """Return the result of *method*, as ``Client.call`` does.

        Cancelling the call cancels it in the daemon too.
        """
        request = calling.prepared(method, params, wants_progress=progress is not None)
        try:
            return await self._exchange(method, request, progress)
        except calling.LostError:
            return await self._exchange(method, request, progress)

    def events(self, *names: str, **more: Any) -> AsyncGenerator[dict[str, Any], None]:
        """Yield events of these *names*, all without any, as they happen (``rpc.hearing``)."""
        from memd.rpc.calling import events

        return events(self.call, self._hearings, names, more)

    async def _exchange(
        self, method: str, request: dict[str, Any], progress: Progress | None
    ) -> Any:
        request_id = next(self._ids)
        request = {**request, calling.TOKEN: request_id} if progress is not None else request
        frame = calling.frame(request_id, method, request)
        await self.connect()
        return await self._asked(request_id, method, frame, progress)

    async def _asked(
        self, request_id: int, method: str, frame: bytes, progress: Progress | None
    ) -> Any:
        import asyncio

        if self._writer is None:
            raise calling.LostError("the connection to memd was lost")
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        if progress is not None:
            self._listeners[request_id] = progress
        try:
            async with asyncio.timeout(self._timeout):
                self._writer.write(frame)
                with suppress(ConnectionError):  # it may have said why before it closed
                    await self._writer.drain()
                return await answer
        except TimeoutError:
            self._give_up(request_id)
            raise errors.TimeoutError(f"no answer to {method} in {self._timeout:g} s") from None
        except asyncio.CancelledError:
            self._give_up(request_id)
            raise
        finally:
            self._waiting.pop(request_id, None)
            self._listeners.pop(request_id, None)

    def _give_up(self, request_id: int) -> None:
        if self._writer is not None:
            self._writer.write(calling.cancel(request_id))

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        splitter = framing.Splitter(OUT_QUEUE_BYTES_MAX)
        lost: MemdError = calling.LostError("the connection to memd was lost")
        try:
            while chunk := await reader.read(_READ_BYTES):
                for frame in splitter.feed(chunk):
                    lost = self._hear(calling.answer(frame)) or lost
        except OSError as error:
            lost = calling.LostError(f"the connection to memd was lost ({error.strerror})")
        except MemdError as error:
            lost = error
        finally:
            writer.close()
            if self._writer is writer:
                self._writer = None
            self._lose(lost)

    def _hear(self, answer: dict[str, Any]) -> MemdError | None:
        """Hand *answer* to who waits for it; return an error that is for everybody."""
        if "method" in answer:
            taken = calling.deliver(answer, self._listeners, self._hearings)
            if not taken and self._providing is not None:
                self._providing.hear(answer, self._writer)
            return None
        waiting = self._waiting.get(cast("int", answer.get("id")))
        try:
            result = envelope.outcome(answer)
        except MemdError as error:
            if waiting is None:
                return error
            if not waiting.done():
                waiting.set_exception(error)
            return None
        if waiting is not None and not waiting.done():
            waiting.set_result(result)
        return None

    def _lose(self, error: MemdError) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(error)  # who waits takes himself off the list
        for hearing in self._hearings:
            hearing.end(error)
