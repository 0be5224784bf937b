"""Synchronous and asynchronous clients of the daemon.

Both raise the daemon's own errors by class. Every write gets an idempotency key, so a call
whose answer was lost with the connection is sent again and still happens once (SPEC D7).
Importing this costs milliseconds: only the standard library is loaded, pydantic only when
a protocol method of ``AsyncClient`` has a model to return.
"""

from __future__ import annotations

import os
import socket as sockets
import threading  # noqa: TID251  # a lock, and no thread
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, Never, Self, cast

from memd.base import errors
from memd.base.clock import SystemClock
from memd.base.errors import MemdError
from memd.base.limits import OUT_QUEUE_BYTES_MAX
from memd.rpc import calling, envelope, framing
from memd.rpc.backend_texts import RemoteTexts
from memd.rpc.calling import EventQueue, Key, Progress

if TYPE_CHECKING:
    import asyncio

TIMEOUT_S = 30.0
_READ_BYTES = 262_144  # per read from the socket
_NO_TIMEOUT_S = 1_000_000.0  # eleven days; a socket counts its milliseconds in 31 bits


class Client:
    """One connection, one call at a time, of any thread; connects with the first call.

    With a *key* it is that client, without one ``local``. A *timeout* of None waits for ever.

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
        self.path = calling.socket_path(socket, profile)
        self._timeout = _NO_TIMEOUT_S if timeout is None else timeout
        self._key = key
        self._clock = SystemClock()
        self._ids = count(1)
        self._sock: sockets.socket | None = None
        self._splitter = framing.Splitter(OUT_QUEUE_BYTES_MAX)
        self._frames: list[bytes] = []
        self._turn = threading.RLock()
        self._calls = self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next call opens another.

        A call that another thread makes meanwhile raises MemoryConnectionError.
        """
        self._closed = True
        if self._sock is not None:
            with suppress(OSError):
                self._sock.shutdown(sockets.SHUT_RDWR)  # this wakes the thread that reads it
        with self._turn:
            self._drop()

    def _drop(self) -> None:
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
        **named: Never,
    ) -> Any:
        """Return the result of *method*, or raise the daemon's own error.

        If the connection is lost, the call is sent again with the same idempotency key; a
        second loss raises MemoryConnectionError. Raises NotRunningError when no daemon
        listens, ``memd.base.errors.TimeoutError`` when no answer comes in time.
        """
        request = calling.prepare_params(method, params, named, wants_progress=progress is not None)
        with self._turn:
            if self._calls:
                raise errors.InvalidError("a progress function needs a Client of its own")
            self._calls, self._closed = True, False
            try:
                return self._exchange(method, request, progress)
            except calling.LostError:  # no answer of the daemon about a backend of its own
                if self._closed:
                    raise
                return self._exchange(method, request, progress)
            finally:
                self._calls = False

    def _exchange(self, method: str, request: dict[str, Any], progress: Progress | None) -> Any:
        request_id = next(self._ids)
        frame = calling.frame(request_id, method, request)
        if self._sock is None:
            self._send_hello(calling.load_key(self._key))
        return self._request(request_id, method, frame, progress)

    def _send_hello(self, key: str | None) -> None:
        """Connect and, before any other call, present the key."""
        self._connect()
        if key is None:
            return
        try:
            self._request(0, "system.hello", calling.hello(key), None)
        except MemdError:
            self._drop()
            raise

    def _request(
        self, request_id: int, method: str, frame: bytes, progress: Progress | None
    ) -> Any:
        sock = self._sock
        assert sock is not None
        until_us = self._clock.monotonic_us() + int(self._timeout * 1e6)
        try:
            sock.settimeout(self._timeout)
            with suppress(BrokenPipeError):  # the reason may have arrived before it closed
                sock.sendall(frame)
            while True:
                answer = self._next_answer(sock, until_us)
                if answer.get("method") == envelope.PROGRESS:
                    calling.report_progress(progress, answer)
                elif answer.get("id") in (request_id, None) and "method" not in answer:
                    return envelope.outcome(answer)
        except TimeoutError:
            self._drop()
            raise errors.TimeoutError(f"no answer to {method} in {self._timeout:g} s") from None
        except OSError as error:
            self._drop()
            raise calling.LostError(
                f"the connection to memd was lost ({error.strerror})"
            ) from error
        except KeyboardInterrupt:
            with suppress(OSError):
                sock.sendall(calling.cancel(request_id))  # nobody awaits the answer
            self._drop()
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

    def _next_answer(self, sock: sockets.socket, until_us: int) -> dict[str, Any]:
        while not self._frames:
            left_us = until_us - self._clock.monotonic_us()
            if left_us <= 0:
                raise TimeoutError
            sock.settimeout(left_us / 1e6)
            chunk = sock.recv(_READ_BYTES)
            if not chunk:
                raise ConnectionResetError(0, "closed by the daemon")
            self._frames.extend(self._splitter.feed(chunk))
        return calling.parse_answer(self._frames.pop(0))

    # Shortcuts.

    def ingest(self, text: str, **params: Any) -> dict[str, Any]:
        """Store *text* as memories; return the receipt."""
        return cast("dict[str, Any]", self.call("memory.ingest", {"text": text, **params}))

    def add(self, content: str, category: str | None = None, **params: Any) -> str:
        """Store *content* unchanged as one memory, by default as a fact or a preference."""
        request = calling.store_params(content, category, params)
        return cast("str", self.call("memory.store", request))

    def recall(self, query: str, **params: Any) -> dict[str, Any]:
        """Return the memories that answer *query*, with the block for a prompt."""
        return cast("dict[str, Any]", self.call("memory.recall", {"query": query, **params}))

    def search(self, text: str, **params: Any) -> list[dict[str, Any]]:
        """Return memories that match *text*, best first."""
        return cast("list[dict[str, Any]]", self.call("memory.retrieve", {"text": text, **params}))


class AsyncClient(RemoteTexts):
    """One connection, any number of concurrent calls.

    It implements ``MemoryBackend``, ``MemoryCapabilities``, ``SharedKnowledgeStore`` and
    ``OrgMemoryBackend``, sparse retrieval (``retrieve_sparse``) and an ``archival_store``:
    code written for a backend runs against the daemon (SPEC D26).
    """

    backend_name = "memd"

    def __init__(
        self,
        socket: str | os.PathLike[str] | None = None,
        profile: str | None = None,
        timeout: float = TIMEOUT_S,
        key: Key | None = None,
    ) -> None:
        self.path = calling.socket_path(socket, profile)
        self._timeout = timeout
        self._key = key
        self._ids = count(1)
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._progress: dict[int, Progress] = {}
        self._event_queues: list[EventQueue] = []
        self._writer: asyncio.StreamWriter | None = None
        self._reader_task: asyncio.Task[None] | None = None
        self._connecting: asyncio.Lock | None = None

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.disconnect()

    @property
    def is_connected(self) -> bool:
        return self._writer is not None

    async def connect(self) -> None:
        """Connect, unless connected, and present the key, if there is one.

        Raises NotRunningError when no daemon listens, DeniedError for an unknown key.
        """
        import asyncio

        self._connecting = self._connecting or asyncio.Lock()
        async with self._connecting:
            if self._writer is not None:
                return
            key = calling.load_key(self._key)
            try:
                reader, self._writer = await asyncio.open_unix_connection(self.path)
            except OSError as error:
                raise calling.not_running(self.path) from error
            self._reader_task = asyncio.create_task(self._read(reader, self._writer))
            try:
                await self._send_hello(key)
            except MemdError:
                await self.disconnect()
                raise

    async def _send_hello(self, key: str | None) -> None:
        """Present the key and read the daemon's capabilities; without a key errors are ignored."""
        try:
            who = await self._request(0, "system.hello", calling.hello(key), None)
        except MemdError:
            if key is not None:
                raise
            return
        self._capabilities = who.get("capabilities", {}).get("memory", {})

    async def disconnect(self) -> None:
        """Close the connection; pending calls fail. May be repeated."""
        writer, reader_task = self._writer, self._reader_task
        self._writer = self._reader_task = None
        if reader_task is not None:
            reader_task.cancel()
        if writer is not None:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        self._fail_pending(calling.LostError("the connection to memd was closed"))

    async def call(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        progress: Progress | None = None,
        **named: Never,
    ) -> Any:
        """Return the result of *method*, like ``Client.call``.

        Cancelling the call cancels it in the daemon too.
        """
        request = calling.prepare_params(method, params, named, wants_progress=progress is not None)
        try:
            return await self._exchange(method, request, progress)
        except calling.LostError:
            return await self._exchange(method, request, progress)

    def events(self, *names: str, **params: Any) -> AsyncGenerator[dict[str, Any], None]:
        """Yield events of these *names*, without any of all, as they happen (``rpc.calling``)."""
        from memd.rpc.calling import events

        return events(self.call, self._event_queues, names, params)

    async def _exchange(
        self, method: str, request: dict[str, Any], progress: Progress | None
    ) -> Any:
        request_id = next(self._ids)
        request = {**request, calling.TOKEN: request_id} if progress is not None else request
        frame = calling.frame(request_id, method, request)
        await self.connect()
        return await self._request(request_id, method, frame, progress)

    async def _request(
        self, request_id: int, method: str, frame: bytes, progress: Progress | None
    ) -> Any:
        import asyncio

        if self._writer is None:
            raise calling.LostError("the connection to memd was lost")
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[request_id] = answer
        if progress is not None:
            self._progress[request_id] = progress
        try:
            async with asyncio.timeout(self._timeout):
                self._writer.write(frame)
                with suppress(ConnectionError):  # the reason may have arrived before it closed
                    await self._writer.drain()
                return await answer
        except TimeoutError:
            self._cancel(request_id)
            raise errors.TimeoutError(f"no answer to {method} in {self._timeout:g} s") from None
        except asyncio.CancelledError:
            self._cancel(request_id)
            raise
        finally:
            self._pending.pop(request_id, None)
            self._progress.pop(request_id, None)

    def _cancel(self, request_id: int) -> None:
        if self._writer is not None:
            self._writer.write(calling.cancel(request_id))

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        splitter = framing.Splitter(OUT_QUEUE_BYTES_MAX)
        lost: MemdError = calling.LostError("the connection to memd was lost")
        try:
            while chunk := await reader.read(_READ_BYTES):
                for frame in splitter.feed(chunk):
                    lost = self._dispatch(calling.parse_answer(frame)) or lost
        except OSError as error:
            lost = calling.LostError(f"the connection to memd was lost ({error.strerror})")
        except MemdError as error:
            lost = error
        finally:
            writer.close()
            if self._writer is writer:
                self._writer = None
            self._fail_pending(lost)

    def _dispatch(self, answer: dict[str, Any]) -> MemdError | None:
        """Complete the call that *answer* is for; return an error that concerns all calls."""
        if "method" in answer:
            delivered = calling.deliver(answer, self._progress, self._event_queues)
            if not delivered and self._completions is not None:
                self._completions.handle(answer, self._writer)
            return None
        pending = self._pending.get(cast("int", answer.get("id")))
        try:
            result = envelope.outcome(answer)
        except MemdError as error:
            if pending is None:
                return error
            if not pending.done():
                pending.set_exception(error)
            return None
        if pending is not None and not pending.done():
            pending.set_result(result)
        return None

    def _fail_pending(self, error: MemdError) -> None:
        for pending in self._pending.values():
            if not pending.done():
                pending.set_exception(error)  # each call removes itself from _pending
        for queue in self._event_queues:
            queue.end(error)
