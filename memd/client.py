"""Synchronous and asynchronous clients of the daemon.

Both raise the daemon's errors as the same classes. Every write gets an idempotency key, so that
a call whose answer was lost with the connection can be sent again and still takes effect once
(SPEC D7). Importing this module takes milliseconds: it loads the standard library only, and
pydantic when a protocol method of ``AsyncClient`` has a model to return.
"""

from __future__ import annotations

import os
import socket as sockets
import threading  # noqa: TID251  # a lock, and no thread
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, Never, Self, cast

from memd.base import errors
from memd.base.clock import SystemClock
from memd.base.errors import MemdError
from memd.base.limits import OUT_QUEUE_BYTES_MAX
from memd.rpc import calls, envelope
from memd.rpc.async_client import AsyncClient
from memd.rpc.calls import READ_BYTES, TIMEOUT_S, Key, Progress

__all__ = ["AsyncClient", "Client"]

_NO_TIMEOUT_S = 1_000_000.0  # eleven days; a socket counts its milliseconds in 31 bits


class Client:
    """A client with one connection, for one call at a time; threads may share it.

    It connects with the first call. With a *key* it acts as that client, without one as
    ``local``. With a *timeout* of None it waits for ever.

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
        self.path = calls.socket_path(socket, profile)
        self._timeout = _NO_TIMEOUT_S if timeout is None else timeout
        self._key = key
        self.daemon_version: str | None = None
        """The version of the daemon; None before the first call, and without a key."""
        self._clock = SystemClock()
        self._ids = count(1)
        self._sock: sockets.socket | None = None
        self._splitter = envelope.Splitter(OUT_QUEUE_BYTES_MAX)
        self._frames: list[bytes] = []
        self._turn = threading.RLock()
        self._is_calling = self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next call opens a new one.

        A call in progress in another thread raises MemoryConnectionError.
        """
        self._closed = True
        sock, is_free = self._sock, self._turn.acquire(blocking=False)
        if is_free and not self._is_calling:
            self._drop()
        elif sock is not None:
            with suppress(OSError):
                sock.shutdown(sockets.SHUT_RDWR)  # wakes the call that reads it, which drops it
        if is_free:
            self._turn.release()

    def _drop(self) -> None:
        if self._sock is not None:
            self._sock.close()
        self._sock = None
        self._splitter = envelope.Splitter(OUT_QUEUE_BYTES_MAX)
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
        request = calls.prepare_params(method, params, named, wants_progress=progress is not None)
        with self._turn:
            if self._is_calling:
                raise errors.InvalidError("a progress function needs a Client of its own")
            self._is_calling, self._closed = True, False
            try:
                return self._exchange(method, request, progress)
            except calls.LostError:  # not its base class, which the daemon's answer may have
                if self._closed:
                    raise
                return self._exchange(method, request, progress)
            finally:
                self._is_calling = False

    def _exchange(self, method: str, request: dict[str, Any], progress: Progress | None) -> Any:
        request_id = next(self._ids)
        frame = calls.frame(request_id, method, request)
        if self._sock is None:
            self._send_hello(calls.load_key(self._key))
        if self._closed:  # by another thread, while this one connected
            self._drop()
            raise calls.LostError("the connection to memd was closed")
        return self._request(request_id, method, frame, progress)

    def _send_hello(self, key: str | None) -> None:
        """Connect and, before any other call, present the key."""
        self._connect()
        if key is None:
            return
        try:
            hello = self._request(0, "system.hello", calls.hello(key), None)
            self.daemon_version = hello.get("version")
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
            with self._drop_if_lost(method):
                sock.settimeout(self._timeout)
                with suppress(BrokenPipeError):  # the daemon may have sent its reason and closed
                    sock.sendall(frame)
        except BaseException:  # such as KeyboardInterrupt: half of the frame may have been sent
            self._drop()
            raise
        try:
            while True:
                with self._drop_if_lost(method):
                    answer = self._next_answer(sock, until_us)
                if answer.get("method") == envelope.PROGRESS:
                    calls.report_progress(progress, answer)
                elif answer.get("id") in (request_id, None) and "method" not in answer:
                    break
        except BaseException:  # of *progress*, or an interrupt: nobody awaits the answer
            with suppress(OSError):
                sock.sendall(calls.cancel(request_id))
            self._drop()
            raise
        return envelope.outcome(answer)

    @contextmanager
    def _drop_if_lost(self, method: str) -> Iterator[None]:
        """Drop the connection and raise the client's error if it breaks or times out."""
        try:
            yield
        except TimeoutError:
            self._drop()
            raise calls.no_answer(method, self._timeout) from None
        except OSError as error:
            self._drop()
            raise calls.LostError(f"the connection to memd was lost ({error.strerror})") from error

    def _connect(self) -> None:
        sock = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
        sock.settimeout(min(TIMEOUT_S, self._timeout))
        try:
            sock.connect(self.path)
        except OSError as error:
            sock.close()
            if isinstance(error, TimeoutError):
                raise errors.TimeoutError("memd takes no connections now") from None
            raise calls.not_running(self.path) from error
        self._sock = sock

    def _next_answer(self, sock: sockets.socket, until_us: int) -> dict[str, Any]:
        while not self._frames:
            left_us = until_us - self._clock.monotonic_us()
            if left_us <= 0:
                raise TimeoutError
            sock.settimeout(left_us / 1e6)
            chunk = sock.recv(READ_BYTES)
            if not chunk:
                raise ConnectionResetError(0, "closed by the daemon")
            self._frames.extend(self._splitter.feed(chunk))
        return calls.parse_answer(self._frames.pop(0))

    # Shortcuts.

    def ingest(self, text: str, **params: Any) -> dict[str, Any]:
        """Store *text* as memories; return the receipt."""
        return cast("dict[str, Any]", self.call("memory.ingest", {"text": text, **params}))

    def add(self, content: str, category: str | None = None, **params: Any) -> str:
        """Store *content* unchanged as one memory, by default as a fact or a preference."""
        request = calls.store_params(content, category, params)
        return cast("str", self.call("memory.store", request))

    def recall(self, query: str, **params: Any) -> dict[str, Any]:
        """Return the preferences and what answers *query*, with the block for a prompt.

        With ``preferences="matching"`` only what matches, which may be nothing.
        """
        return cast("dict[str, Any]", self.call("memory.recall", {"query": query, **params}))

    def search(self, text: str, **params: Any) -> list[dict[str, Any]]:
        """Return memories that match *text*, best first."""
        return cast("list[dict[str, Any]]", self.call("memory.retrieve", {"text": text, **params}))
