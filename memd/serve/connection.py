"""One client's connection: frames in, answers out, and what keeps it from hurting the others.

At most ``IN_FLIGHT_REQUESTS_MAX`` requests run at a time; what comes beyond is
not refused but not read either, so the client waits and nothing is lost. A frame
must arrive whole within ``FRAME_ARRIVAL_MS_MAX``, an idle connection is closed
after ``CONNECTION_IDLE_MS_MAX``, and a client that does not read its answers is
dropped when ``OUT_QUEUE_BYTES_MAX`` of them wait or after ``OUT_DRAIN_MS_MAX``.

When the client goes away its reads are cancelled; a write that has begun is
finished, because its sender may ask for the outcome under the same key.
"""

from __future__ import annotations

import asyncio
import select
from collections import deque
from collections.abc import Coroutine
from typing import Any, Protocol, cast

from memd.base import errors, limits
from memd.base.errors import InvalidRequestError, MemdError, StoppingError, TooLargeError
from memd.rpc import envelope, framing
from memd.serve.authority import Credentials
from memd.serve.dispatch import ActiveRequest, Dispatch, failed
from memd.serve.events import Link, Listener

_PAUSE_BYTES, LINGER_S = 262_144, 1.0
_LOOK_AGAIN_S = 0.02


class Hub(Protocol):
    """What all connections share."""

    dispatch: Dispatch

    def opened(self, connection: Connection) -> None: ...
    def closed(self, connection: Connection) -> None: ...
    def dropped(self, reason: str) -> None: ...
    def keep(self, task: asyncio.Task[None]) -> None: ...


class Connection(asyncio.Protocol):
    """The daemon's end of one connection."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._splitter = framing.Splitter()
        self._backlog: deque[bytes | MemdError] = deque()
        self._slots = asyncio.Semaphore(limits.IN_FLIGHT_REQUESTS_MAX)
        self._frames: set[asyncio.Task[None]] = set()
        self._calls: dict[asyncio.Task[Any], ActiveRequest] = {}
        self._by_id: dict[str | int, asyncio.Task[Any]] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._reading = False  # a large frame, beside the loop
        self._deaf = False  # nothing more is read: we are closing
        self._stopping = False
        self.listener: Listener | None = None
        self.link: Link | None = None
        self.credentials = Credentials()

    @property
    def in_flight(self) -> int:
        return len(self._calls)

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=_PAUSE_BYTES)
        self._hub.opened(self)
        self._rest()

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        self._disarm("idle")
        frames = self._splitter.feed(data)
        self._backlog.extend(frames)
        if self._splitter.overflow is not None:
            self._backlog.append(self._splitter.overflow)
        if frames:
            self._disarm("arrival")
        self._pump()

    def eof_received(self) -> bool:
        """Tell a client that has gone from one that only sends no more and still listens.

        The second one's requests are answered before its connection is closed.
        """
        if self._gone():
            return False
        self._deaf_from_now()
        self._close_when_done()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        for name in list(self._timers):
            self._disarm(name)
        self._detach()
        self._transport = None
        self._deaf = True
        self._backlog.clear()
        for task, call in list(self._calls.items()):
            if not call.writing:
                task.cancel()
        self._hub.closed(self)

    def pause_writing(self) -> None:
        self._arm("drain", limits.OUT_DRAIN_MS_MAX, lambda: self._drop("not reading"))
        self._flow()

    def resume_writing(self) -> None:
        self._disarm("drain")
        if self.listener is not None:
            self.listener.flush()
        self._pump()

    # Frames in.

    def _pump(self) -> None:
        """Start as many of the waiting frames as may run, then read on or not."""
        while self._backlog and self._transport is not None and not self._full():
            item = self._backlog[0]
            if isinstance(item, MemdError):
                if self._frames:
                    break  # the answers before it go first
                self._refuse(item)
                return
            self._backlog.popleft()
            self._start(item)
        self._flow()

    def _full(self) -> bool:
        return self._reading or (not self._stopping and self._is_full())

    def _is_full(self) -> bool:
        return len(self._frames) >= limits.IN_FLIGHT_REQUESTS_MAX or "drain" in self._timers

    def _flow(self) -> None:
        """Read on, unless frames wait already; count the time of a frame that has begun."""
        if self._transport is None or self._deaf:
            return
        if self._backlog or self._full():
            self._disarm("arrival")
            self._transport.pause_reading()
            return
        self._transport.resume_reading()
        if self._splitter.waiting:
            self._arm("arrival", limits.FRAME_ARRIVAL_MS_MAX, lambda: self._drop("slow frame"))
        self._rest()

    def _rest(self) -> None:
        if not (self._frames or self._splitter.waiting or self.listener or self.link):
            self._arm("idle", limits.CONNECTION_IDLE_MS_MAX, lambda: self._drop("idle"))

    def _start(self, frame: bytes) -> None:
        """Begin what *frame* asks for; nothing behind it begins before a large one is read."""
        if len(frame) > limits.LARGE_CHARS:
            self._reading = True
            self._work_on(self._read_beside(frame))
            return
        try:
            members, batch = envelope.read(frame)
        except MemdError as error:
            self.send(failed(None, error))
            return
        self._begin(members, batch=batch)

    async def _read_beside(self, frame: bytes) -> None:
        try:
            members, batch = await self._hub.dispatch.beside.call(frame, envelope.read, frame)
        except MemdError as error:
            self.send(failed(None, error))
            return
        finally:
            self._reading = False
        if self._transport is not None:
            self._begin(members, batch=batch)

    def _begin(self, members: list[envelope.Member], *, batch: bool) -> None:
        if not batch and self._at_once(members[0]):
            return
        self._work_on(self._batch(members) if batch else self._single(members[0]))

    def _work_on(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._frames.add(task)
        self._hub.keep(task)
        task.add_done_callback(self._frame_done)

    def _frame_done(self, task: asyncio.Task[None]) -> None:
        self._frames.discard(task)
        self._pump()

    def _at_once(self, member: envelope.Member) -> bool:
        """Answer what needs no waiting: refusals and cancellations. Return whether it was such."""
        if isinstance(member, envelope.PeerAnswer):
            if self.link is not None:
                self.link.answered(member)
            return True
        if isinstance(member, envelope.InvalidMember):
            if not member.notification:
                self.send(failed(member.id, member.error))
            return True
        if member.method == envelope.CANCEL:
            self._cancel(member.params.get("id"))
            if not member.notification:
                self.send(failed(member.id, InvalidRequestError(f"{member.method} takes no id")))
            return True
        if member.method == envelope.MCP_CANCEL and member.notification:
            self._cancel(member.params.get("requestId"))
            return True
        return False

    async def _single(self, member: envelope.Member) -> None:
        reply = await self._member(member)
        if reply is not None:
            self.send(reply)

    async def _batch(self, members: list[envelope.Member]) -> None:
        replies: list[bytes] = []
        size = 0
        for reply in await asyncio.gather(*(self._member(member) for member in members)):
            if reply is not None:
                size += len(reply)
                replies.append(reply[:-1])
        if size > limits.REPLY_BYTES_MAX:
            self.send(failed(None, TooLargeError("the answers of the batch are too large")))
        elif replies:
            self.send(b"[" + b",".join(replies) + b"]\n")

    async def _member(self, member: envelope.Member) -> bytes | None:
        """Return the answer of one request, which runs in a task of its own, to be cancelled."""
        if isinstance(member, envelope.InvalidMember):
            return None if member.notification else failed(member.id, member.error)
        assert not isinstance(member, envelope.PeerAnswer)  # which none of a batch is
        if self._stopping:
            return failed(member.id, StoppingError("memd is stopping"))
        if member.id is not None and member.id in self._by_id:
            return failed(
                member.id, InvalidRequestError("this id is in use by a request in flight")
            )
        call = ActiveRequest(self.credentials, self._tell, peer=self)
        task = self._loop.create_task(self._run(member, call))
        self._calls[task] = call
        if member.id is not None:
            self._by_id[member.id] = task
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.cancelled():
                raise  # we are cancelled, not the request
            return None if member.notification else failed(member.id, self._why_cancelled())
        finally:
            del self._calls[task]
            if member.id is not None:
                del self._by_id[member.id]

    async def _run(self, request: envelope.Request, call: ActiveRequest) -> bytes | None:
        async with self._slots:
            return await self._hub.dispatch.answer(request, call)

    def _cancel(self, request_id: Any) -> None:
        if isinstance(request_id, str | int) and not isinstance(request_id, bool):
            task = self._by_id.get(request_id)
            if task is not None:
                task.cancel()

    def _why_cancelled(self) -> MemdError:
        if self._stopping:
            return StoppingError("memd is stopping")
        return errors.CancelledError("the request was cancelled")

    # Answers out.

    def send(self, frame: bytes) -> None:
        """Send *frame*; drop the client when too much waits for it already."""
        if self._transport is None or self._transport.is_closing():
            return
        self._transport.write(frame)
        if self._transport.get_write_buffer_size() > limits.OUT_QUEUE_BYTES_MAX:
            self._drop("not reading")

    def _tell(self, frame: bytes) -> None:
        """Send a notification, which may get lost, only to a client that reads."""
        if "drain" not in self._timers:
            self.send(frame)

    def may_hear(self, agent_id: str) -> bool:
        """Return whether the client may be told of *agent_id*, as things are now."""
        return self._hub.dispatch.is_open(self.credentials.identity, agent_id)

    def offer(self, frame: bytes) -> bool:
        """Send an event unless the client is behind with reading; return whether it was sent."""
        if self._transport is None or self._transport.is_closing() or "drain" in self._timers:
            return False
        self.send(frame)
        return True

    # The end.

    def disown(self) -> None:
        """Take all rights from the client, who hears of no more events either."""
        self.credentials.disown()
        self._detach()

    def _detach(self) -> None:
        for attached in (self.listener, self.link):
            if attached is not None:
                attached.close()
        self.listener = self.link = None

    def refuse(self, error: MemdError) -> None:
        """Answer *error* to whatever was asked, and close."""
        self._refuse(error)

    def stop(self) -> None:
        """Take no more requests; those in flight may be answered, the others are refused.

        What the client had sent by now is read first: it gets its refusal, too.
        """
        self._stopping = True
        waiting, self._backlog = self._backlog, deque()
        for item in waiting:
            if isinstance(item, MemdError):
                self.send(failed(None, item))
            else:
                self._start(item)
        if self._transport is not None and not self._deaf:
            self._transport.resume_reading()
        self._loop.call_later(_LOOK_AGAIN_S, self._close_when_done)

    def cancel_all(self) -> None:
        """Cancel what is still in flight; it is answered ``stopping``."""
        for task in list(self._calls):
            task.cancel()

    def abort(self) -> None:
        """Close at once; what was not sent is lost."""
        if self._transport is not None:
            self._transport.abort()

    def _refuse(self, error: MemdError) -> None:
        self.send(failed(None, error))
        self._hub.dropped(error.kind)
        self._deaf_from_now()
        self._linger()

    def _deaf_from_now(self) -> None:
        self._deaf = True
        for name in ("arrival", "idle"):
            self._disarm(name)

    def _gone(self) -> bool:
        """Return whether the client has closed both halves; asyncio sees only that one is."""
        if self._transport is None:
            return True
        watch = select.poll()
        watch.register(self._transport.get_extra_info("socket").fileno(), 0)
        return bool(watch.poll(0))  # only a hang-up or an error is told without being asked for

    def _close_when_done(self) -> None:
        if self._gone():
            self.abort()
        elif self._frames or self._backlog:
            self._loop.call_later(_LOOK_AGAIN_S, self._close_when_done)
        elif self._transport is not None:
            self._transport.close()

    def _linger(self) -> None:
        """Close the writing half and read on a moment without looking.

        Who is in the middle of a long send would not read why otherwise.
        """
        if self._transport is None:
            return
        self._backlog.clear()
        self._transport.resume_reading()
        if self._transport.can_write_eof() and not self._transport.is_closing():
            self._transport.write_eof()
        self._loop.call_later(LINGER_S, self.abort)

    def _drop(self, reason: str) -> None:
        self._hub.dropped(reason)
        self.abort()

    # Timers.

    def _arm(self, name: str, after_ms: int, act: Any) -> None:
        if name not in self._timers:
            self._timers[name] = self._loop.call_later(after_ms / 1_000, act)

    def _disarm(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()
