"""The asynchronous client of the daemon (``memd.client``)."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, Never, Self, cast

from memd.base.errors import MemdError, MemoryConnectionError
from memd.base.limits import OUT_QUEUE_BYTES_MAX
from memd.rpc import calls, envelope
from memd.rpc.backend_texts import RemoteTexts
from memd.rpc.calls import READ_BYTES, TIMEOUT_S, EventQueue, Key, Progress

if TYPE_CHECKING:
    import asyncio


class AsyncClient(RemoteTexts):
    """A client with one connection and any number of concurrent calls.

    It implements ``MemoryBackend``, ``MemoryCapabilities``, ``SharedKnowledgeStore``,
    ``OrgMemoryBackend``, sparse retrieval (``retrieve_sparse``) and an ``archival_store``, so
    that code written for a backend runs against the daemon (SPEC D26).
    """

    backend_name = "memd"

    def __init__(
        self,
        socket: str | os.PathLike[str] | None = None,
        profile: str | None = None,
        timeout: float | None = TIMEOUT_S,
        key: Key | None = None,
    ) -> None:
        self.path = calls.socket_path(socket, profile)
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
        """Connect and present the key, if there is one; do nothing if connected.

        Raises NotRunningError if no daemon listens, DeniedError for an unknown key.
        """
        import asyncio

        self._connecting = self._connecting or asyncio.Lock()
        async with self._connecting:
            if self._writer is not None:
                return
            key = calls.load_key(self._key)
            try:
                reader, self._writer = await asyncio.open_unix_connection(self.path)
            except OSError as error:
                raise calls.not_running(self.path) from error
            self._reader_task = asyncio.create_task(self._read(reader, self._writer))
            try:
                await self._send_hello(key)
            except BaseException:  # also if cancelled: the next call would be sent without the key
                await self.disconnect()
                raise

    async def _send_hello(self, key: str | None) -> None:
        """Present the key and store the daemon's capabilities; without a key ignore errors."""
        try:
            answer = await self._request(0, "system.hello", calls.hello(key), None)
        except MemdError:
            if key is not None:
                raise
            return
        self._capabilities = answer.get("capabilities", {}).get("memory", {})

    async def disconnect(self) -> None:
        """Close the connection; pending calls fail. Safe to call twice."""
        writer, reader_task = self._writer, self._reader_task
        self._writer = self._reader_task = None
        # First of all: when the reader ends, it fails them with LostError, and they are repeated.
        self._fail_pending(MemoryConnectionError("the connection to memd was closed"))
        if reader_task is not None:
            reader_task.cancel()
        if writer is not None:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

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
        request = calls.prepare_params(method, params, named, wants_progress=progress is not None)
        try:
            return await self._exchange(method, request, progress)
        except calls.LostError:
            return await self._exchange(method, request, progress)

    def events(self, *names: str, **params: Any) -> AsyncGenerator[dict[str, Any], None]:
        """Subscribe to events of these *names*, by default all, and yield them."""
        from memd.rpc.calls import events

        return events(self.call, self._event_queues, names, params)

    async def _exchange(
        self, method: str, request: dict[str, Any], progress: Progress | None
    ) -> Any:
        request_id = next(self._ids)
        request = {**request, calls.TOKEN: request_id} if progress is not None else request
        frame = calls.frame(request_id, method, request)
        await self.connect()
        return await self._request(request_id, method, frame, progress)

    async def _request(
        self, request_id: int, method: str, frame: bytes, progress: Progress | None
    ) -> Any:
        import asyncio

        if self._writer is None:
            raise calls.LostError("the connection to memd was lost")
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[request_id] = answer
        if progress is not None:
            self._progress[request_id] = self._guard_progress(request_id, progress, answer)
        try:
            async with asyncio.timeout(self._timeout):
                self._writer.write(frame)
                with suppress(ConnectionError):  # the daemon may have sent its reason and closed
                    await self._writer.drain()
                return await answer
        except TimeoutError:
            self._cancel(request_id)
            raise calls.no_answer(method, self._timeout or 0) from None
        except asyncio.CancelledError:
            self._cancel(request_id)
            raise
        finally:
            self._pending.pop(request_id, None)
            self._progress.pop(request_id, None)

    def _guard_progress(
        self, request_id: int, progress: Progress, answer: asyncio.Future[Any]
    ) -> Progress:
        """Return *progress* such that its exceptions fail and cancel this call, and no other."""

        def report(done: int, total: int) -> None:
            try:
                progress(done, total)
            except Exception as error:  # noqa: BLE001  # the caller's function may raise anything
                if not answer.done():
                    answer.set_exception(error)
                    self._cancel(request_id)

        return report

    def _cancel(self, request_id: int) -> None:
        if self._writer is not None:
            self._writer.write(calls.cancel(request_id))

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Dispatch messages until the connection ends; then fail the pending calls."""
        splitter = envelope.Splitter(OUT_QUEUE_BYTES_MAX)
        reason: MemdError = calls.LostError("the connection to memd was lost")
        try:
            while chunk := await reader.read(READ_BYTES):
                for frame in splitter.feed(chunk):
                    reason = self._dispatch(calls.parse_answer(frame)) or reason
        except OSError as error:
            reason = calls.LostError(f"the connection to memd was lost ({error.strerror})")
        except MemdError as error:
            reason = error
        finally:
            writer.close()
            if self._writer is writer:
                self._writer = None
            self._fail_pending(reason)

    def _dispatch(self, answer: dict[str, Any]) -> MemdError | None:
        """Complete the call that *answer* is for; return an error that concerns all calls."""
        if "method" in answer:
            delivered = calls.deliver(answer, self._progress, self._event_queues)
            if not delivered and self._completions is not None:
                self._completions.handle(answer, self._writer)
            return None
        pending = self._pending.get(cast("int", answer.get("id")))
        try:
            result = envelope.outcome(answer)
        except MemdError as error:
            if pending is not None and not pending.done():
                pending.set_exception(error)
            # With an id it is the answer to one call, which may have been cancelled meanwhile.
            return error if answer.get("id") is None else None
        if pending is not None and not pending.done():
            pending.set_result(result)
        return None

    def _fail_pending(self, error: MemdError) -> None:
        for pending in self._pending.values():
            if not pending.done():
                pending.set_exception(error)  # each call removes itself from _pending
        for queue in self._event_queues:
            queue.end(error)
