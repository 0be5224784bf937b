"""One client's connection: frames in, answers out, within limits that protect other clients.

At most ``IN_FLIGHT_REQUESTS_MAX`` requests run at a time. Further ones are not read from the
socket, so the client has to wait and none is lost. A frame must arrive completely within
``FRAME_ARRIVAL_MS_MAX``, and an idle connection is closed after ``CONNECTION_IDLE_MS_MAX``. A
client that does not read its answers is dropped after ``OUT_DRAIN_MS_MAX``, or when
``OUT_QUEUE_BYTES_MAX`` of them are unsent.

When the client disconnects, its reads are cancelled; a write that has begun is finished,
because the client may ask for its outcome under the same key.
"""

from __future__ import annotations

import asyncio
import select
from collections import deque
from typing import Any, Protocol, cast

from memd.base import errors, limits
from memd.base.errors import InvalidRequestError, MemdError, StoppingError, TooLargeError
from memd.rpc import envelope
from memd.serve.authority import Credentials
from memd.serve.dispatch import ActiveRequest, Dispatch, error_frame
from memd.serve.events import Link, Listener

_PAUSE_BYTES = 262_144  # a client with more unsent bytes counts as slow to read
LINGER_S = 1.0  # how long a refused client may take to read the reason
_POLL_S = 0.02  # how often a closing connection checks for finished requests


class Hub(Protocol):
    """The part of the server that connections use."""

    dispatch: Dispatch
    tasks: set[asyncio.Task[None]]
    """The tasks of requests, which may outlive their connections."""

    def on_open(self, connection: Connection) -> None: ...
    def on_close(self, connection: Connection) -> None: ...
    def count_drop(self, reason: str) -> None: ...


class Connection(asyncio.Protocol):
    """The daemon's end of one connection."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._splitter = envelope.Splitter()
        self._backlog: deque[bytes | MemdError] = deque()
        self._request_slots = asyncio.Semaphore(limits.IN_FLIGHT_REQUESTS_MAX)
        self._frame_tasks: set[asyncio.Task[None]] = set()
        self._calls: dict[asyncio.Task[Any], ActiveRequest] = {}
        self._by_id: dict[str | int, asyncio.Task[Any]] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._reading = False  # a large frame is being parsed in the thread
        self._input_closed = False  # nothing more is read: the connection is closing
        self._stopping = False
        self.listener: Listener | None = None
        self.link: Link | None = None
        self.credentials = Credentials()

    @property
    def in_flight(self) -> int:
        return len(self._calls)

    # Callbacks of asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=_PAUSE_BYTES)
        self._hub.on_open(self)
        self._update_reading()

    def data_received(self, data: bytes) -> None:
        if self._input_closed:
            return
        self._disarm("idle")
        frames = self._splitter.feed(data)
        self._backlog.extend(frames)
        if self._splitter.overflow is not None:
            self._backlog.append(self._splitter.overflow)
        if frames:
            self._disarm("arrival")
        self._start_frames()

    def eof_received(self) -> bool:
        """Abort if the client hung up; if it only shut down sending, answer its requests first."""
        if self._is_hung_up():
            return False
        self._close_input()
        self._close_when_done()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        for name in list(self._timers):
            self._disarm(name)
        self._detach()
        self._transport = None
        self._input_closed = True
        self._backlog.clear()
        for task, call in list(self._calls.items()):
            if not call.writing:
                task.cancel()
        self._hub.on_close(self)

    def pause_writing(self) -> None:
        self._arm("drain", limits.OUT_DRAIN_MS_MAX, lambda: self._drop("not reading"))
        self._update_reading()

    def resume_writing(self) -> None:
        self._disarm("drain")
        if self.listener is not None:
            self.listener.flush()
        self._start_frames()

    # Frames in.

    def _start_frames(self) -> None:
        """Start as many frames of the backlog as may run, then resume or pause reading."""
        while self._backlog and self._transport is not None and not self._is_blocked():
            item = self._backlog[0]
            if isinstance(item, MemdError):
                if self._frame_tasks:
                    break  # earlier frames are answered first
                self.refuse(item)
                return
            self._backlog.popleft()
            self._start_frame(item)
        self._update_reading()

    def _is_blocked(self) -> bool:
        """Return whether no further frame may start: too many run, or answers are not read."""
        full = len(self._frame_tasks) >= limits.IN_FLIGHT_REQUESTS_MAX
        return self._reading or (not self._stopping and (full or "drain" in self._timers))

    def _update_reading(self) -> None:
        """Pause reading while frames wait, else resume it and start the timer for silence."""
        if self._transport is None or self._input_closed:
            return
        if self._backlog or self._is_blocked():
            self._disarm("arrival")
            self._transport.pause_reading()
            return
        self._transport.resume_reading()
        if self._splitter.pending:
            self._arm("arrival", limits.FRAME_ARRIVAL_MS_MAX, lambda: self._drop("slow frame"))
        elif not (self._frame_tasks or self.listener or self.link):
            self._arm("idle", limits.CONNECTION_IDLE_MS_MAX, lambda: self._drop("idle"))

    def _start_frame(self, frame: bytes) -> None:
        """Answer *frame* in a task; a large frame is parsed before any later one starts."""
        self._reading |= len(frame) > limits.LARGE_CHARS
        task = self._loop.create_task(self._answer_frame(frame))
        self._frame_tasks.add(task)
        self._hub.tasks.add(task)
        task.add_done_callback(self._on_frame_done)

    def _on_frame_done(self, task: asyncio.Task[None]) -> None:
        self._frame_tasks.discard(task)
        self._hub.tasks.discard(task)
        self._start_frames()

    async def _answer_frame(self, frame: bytes) -> None:
        large = len(frame) > limits.LARGE_CHARS
        try:
            members, batch = (
                await self._hub.dispatch.large_work.run(envelope.read, frame)
                if large
                else envelope.read(frame)
            )
        except MemdError as error:
            self.send(error_frame(envelope.find_id(frame), error))
            return
        finally:
            if large:
                self._reading = False
                # Later frames start after the requests of this one, which start below.
                self._loop.call_soon(self._start_frames)
        if self._transport is None:
            return
        if batch:
            await self._answer_batch(members)
        elif (reply := await self._answer_member(members[0])) is not None:
            self.send(reply)

    async def _answer_batch(self, members: list[envelope.Member]) -> None:
        replies: list[bytes] = []
        size = 0
        for reply in await asyncio.gather(*(self._answer_member(member) for member in members)):
            if reply is not None:
                size += len(reply)
                replies.append(reply[:-1])
        if size > limits.REPLY_BYTES_MAX:
            self.send(error_frame(None, TooLargeError("the answers of the batch are too large")))
        elif replies:
            self.send(b"[" + b",".join(replies) + b"]\n")

    async def _answer_member(self, member: envelope.Member) -> bytes | None:
        """Return the answer to one member of a frame, None if it gets none."""
        if isinstance(member, envelope.InvalidMember):
            return None if member.notification else error_frame(member.id, member.error)
        if isinstance(member, envelope.PeerAnswer):
            if self.link is not None:
                self.link.resolve(member)
            return None
        if member.method == envelope.CANCEL:
            self._cancel(member.params.get("id"))
            error = InvalidRequestError(f"{member.method} takes no id")
            return None if member.notification else error_frame(member.id, error)
        if member.method == envelope.MCP_CANCEL and member.notification:
            self._cancel(member.params.get("requestId"))
            return None
        return await self._answer_request(member)

    async def _answer_request(self, member: envelope.Request) -> bytes | None:
        """Return the answer to one request; the current task runs nothing but this request."""
        if self._stopping:
            return error_frame(member.id, StoppingError("memd is stopping"))
        if member.id is not None and member.id in self._by_id:
            return error_frame(
                member.id, InvalidRequestError("this id is in use by a request in flight")
            )
        call = ActiveRequest(self.credentials, self._notify, peer=self)
        task = asyncio.current_task()
        assert task is not None
        self._calls[task] = call
        if member.id is not None:
            self._by_id[member.id] = task
        try:
            async with self._request_slots:
                return await self._hub.dispatch.answer(member, call)
        except asyncio.CancelledError:  # the request was cancelled: its task runs nothing else
            return None if member.notification else error_frame(member.id, self._cancellation())
        finally:
            del self._calls[task]
            if member.id is not None:
                del self._by_id[member.id]

    def _cancel(self, request_id: Any) -> None:
        if isinstance(request_id, str | int) and not isinstance(request_id, bool):
            task = self._by_id.get(request_id)
            if task is not None:
                task.cancel()

    def _cancellation(self) -> MemdError:
        if self._stopping:
            return StoppingError("memd is stopping")
        return errors.CancelledError("the request was cancelled")

    # Answers out.

    def send(self, frame: bytes) -> None:
        """Send *frame*; drop the client when too many bytes wait for it."""
        if self._transport is None or self._transport.is_closing():
            return
        self._transport.write(frame)
        if self._transport.get_write_buffer_size() > limits.OUT_QUEUE_BYTES_MAX:
            self._drop("not reading")

    def _notify(self, frame: bytes) -> None:
        """Send a notification; drop it if the client is slow to read."""
        if "drain" not in self._timers:
            self.send(frame)

    def may_receive(self, agent_id: str) -> bool:
        """Return whether the client may get events of *agent_id* now."""
        return self._hub.dispatch.is_open(self.credentials.identity, agent_id)

    def offer(self, frame: bytes) -> bool:
        """Send an event unless the client is slow to read; return whether it was sent."""
        if self._transport is None or self._transport.is_closing() or "drain" in self._timers:
            return False
        self.send(frame)
        return True

    # The end.

    def revoke(self) -> None:
        """Revoke the client's rights and end its subscriptions."""
        self.credentials.revoke()
        self._detach()

    def _detach(self) -> None:
        for attached in (self.listener, self.link):
            if attached is not None:
                attached.close()
        self.listener = self.link = None

    def stop(self) -> None:
        """Refuse further requests, and close when those in flight are answered.

        Requests that have arrived and have not started are refused as well.
        """
        self._stopping = True
        backlog, self._backlog = self._backlog, deque()
        for item in backlog:
            if isinstance(item, MemdError):
                self.send(error_frame(None, item))
            else:
                self._start_frame(item)
        if self._transport is not None and not self._input_closed:
            self._transport.resume_reading()
        self._loop.call_later(_POLL_S, self._close_when_done)

    def cancel_all(self) -> None:
        """Cancel the requests in flight; they are answered with ``stopping``."""
        for task in list(self._calls):
            task.cancel()

    def abort(self) -> None:
        """Close at once; unsent answers are lost."""
        if self._transport is not None:
            self._transport.abort()

    def refuse(self, error: MemdError) -> None:
        """Send *error* and close the connection."""
        self.send(error_frame(None, error))
        self._hub.count_drop(error.kind)
        self._close_input()
        self._linger()

    def _close_input(self) -> None:
        self._input_closed = True
        for name in ("arrival", "idle"):
            self._disarm(name)

    def _is_hung_up(self) -> bool:
        """Return whether the client has closed both halves; asyncio reports only end of input."""
        if self._transport is None:
            return True
        watch = select.poll()
        watch.register(self._transport.get_extra_info("socket").fileno(), 0)
        return bool(watch.poll(0))  # with an empty event mask poll reports only hang-ups and errors

    def _close_when_done(self) -> None:
        if self._is_hung_up():
            self.abort()
        elif self._frame_tasks or self._backlog:
            self._loop.call_later(_POLL_S, self._close_when_done)
        elif self._transport is not None:
            self._transport.close()

    def _linger(self) -> None:
        """Close the writing half, and the connection after ``LINGER_S``; discard input meanwhile.

        If it were closed at once, a client in the middle of a long send would get an error and
        not read the reason.
        """
        if self._transport is None:
            return
        self._backlog.clear()
        self._transport.resume_reading()
        if self._transport.can_write_eof() and not self._transport.is_closing():
            self._transport.write_eof()
        self._loop.call_later(LINGER_S, self.abort)

    def _drop(self, reason: str) -> None:
        self._hub.count_drop(reason)
        self.abort()

    # Timers.

    def _arm(self, name: str, after_ms: int, act: Any) -> None:
        if name not in self._timers:
            self._timers[name] = self._loop.call_later(after_ms / 1_000, act)

    def _disarm(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()
