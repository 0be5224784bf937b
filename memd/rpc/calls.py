"""Building calls and reading answers and events: the code shared by both clients.

Standard library only. ``KEYED`` therefore repeats which methods take an idempotency key; a test
compares it with the routes. Events are queued in order until they are read; when the queue is
full, the oldest are dropped.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from memd.base import errors
from memd.base.errors import (
    InvalidError,
    MemdError,
    MemoryConnectionError,
    NotRunningError,
    ParseError,
    TooLargeError,
)
from memd.base.limits import EVENTS_WAITING_MAX, FRAME_BYTES_MAX
from memd.base.paths import Paths
from memd.rpc import envelope

TIMEOUT_S: Final = 30.0
READ_BYTES: Final = 262_144
"""The maximum size of one read from the socket."""

Key = str | os.PathLike[str]
"""A client's key, or the path of its key file."""

Progress = Callable[[int, int], None]
"""Called with the number of finished steps and the number of all steps."""

TOKEN: Final = "progress_token"  # noqa: S105  # the name of a parameter

# The methods that take an idempotency key, besides those of operational records.
KEYED: Final = frozenset((
    "agent.set",
    "archive.add", "archive.restore_to_hot", "archive.restore_turned_away",
    "client.add", "client.revoke",
    "graph.add",
    "inject.call", "inject.file",
    "learn.distil", "learn.failure", "learn.outcome", "learn.prune", "learn.success",
    "memory.delete", "memory.forget", "memory.ingest", "memory.ingest_many", "memory.quarantine",
    "memory.release", "memory.replace_source", "memory.store", "memory.update",
    "org.approve", "org.propose", "org.reject", "org.retract", "org.write",
    "owner.set",
    "preference.confirm", "preference.delete", "preference.set",
    "session.add_messages", "session.end", "session.import", "session.move_project",
    "session.start",
    "shared.publish", "shared.retract",
    "skill.export",
    "sleep.compress", "sleep.consolidate", "sleep.run", "sleep.undo",
    "store.backup", "store.import", "store.load", "store.rebuild",
    "trash.restore",
    "wiki.export",
    "tune.activate", "tune.rollback", "tune.start",
    "usage.report",
))  # fmt: skip


def prepare_params(
    method: object, params: object, misplaced: Mapping[str, Any], *, wants_progress: bool
) -> dict[str, Any]:
    """Return a copy of *params*; a write gets an idempotency key, so that it can be sent twice.

    *misplaced* are keyword arguments of the caller, which are a mistake. Raises InvalidError for
    them, for a *method* that is not a string, and for *params* that are not a mapping.
    """
    if not isinstance(method, str):
        raise InvalidError("the method's name must be a string", field="method")
    if misplaced or not (params is None or isinstance(params, Mapping)):
        name = next(iter(misplaced), "name")
        raise InvalidError(
            f"the params of {method} must be one mapping",
            field="params",
            hint=f'call("{method}", {{"{name}": ...}})',
        )
    payload = dict(params or {})
    if _is_keyed(method) and payload.get("idempotency_key") is None:
        payload["idempotency_key"] = os.urandom(16).hex()
    if wants_progress:
        payload[TOKEN] = 0
    return payload


def _is_keyed(method: str) -> bool:
    return method in KEYED or (
        method.startswith("records.") and method.endswith((".save", ".set", ".delete", ".purge"))
    )


def frame(request_id: int, method: str, params: dict[str, Any]) -> bytes:
    """Return a request as a frame. Raises InvalidError or TooLargeError if it cannot be sent."""
    try:
        encoded = envelope.write(envelope.request(request_id, method, params))
    except TypeError as error:  # its message has the type, not the value
        raise InvalidError(
            f"the params of {method} cannot be sent: {error}",
            field="params",
            hint="send a time as text (moment.isoformat()), and bytes decoded",
        ) from None
    except ValueError as error:
        envelope.check_texts(params)
        raise InvalidError(
            f"the params of {method} cannot be sent as JSON: {error}", field="params"
        ) from error
    if len(encoded) > FRAME_BYTES_MAX:
        raise TooLargeError(
            f"a request may have {FRAME_BYTES_MAX} bytes at most",
            hint="send a long history in pieces: memory.ingest_many, or the newest messages",
        )
    return encoded


class LostError(MemoryConnectionError):
    """The connection was lost before the answer; the call may or may not have taken effect."""


def not_running(path: str) -> NotRunningError:
    """Return the error for a socket on which no daemon listens.

    >>> not_running("/run/user/1000/memd/memd-work.sock").hint
    'start it: memd serve --profile work'
    """
    _, _, profile = os.path.basename(path).removesuffix(".sock").partition("memd-")  # noqa: PTH119
    which = f" --profile {profile}" if profile else ""
    return NotRunningError(f"no daemon listens on {path}", hint=f"start it: memd serve{which}")


def no_answer(method: str, seconds: float) -> errors.TimeoutError:
    """Return the error for a daemon that accepts a call and does not answer in time."""
    return errors.TimeoutError(
        f"no answer to {method} in {seconds:g} s",
        hint="memd runs, but is very busy or stopped: try again, or restart it",
    )


def socket_path(socket: str | os.PathLike[str] | None = None, profile: str | None = None) -> str:
    """Return *socket*, or the path of the socket of *profile*'s daemon."""
    return os.fspath(socket if socket is not None else Paths.resolve(profile).socket)


def load_key(key: Key | None) -> str | None:
    """Return the key to present: *key*, that of the file MEMD_CLIENT_KEY_FILE, or None."""
    if key is None and not os.environ.get("MEMD_CLIENT_KEY_FILE"):
        return None
    from memd.base import client_key  # late: most clients have no key

    return client_key.load(key)


def hello(key: str | None) -> bytes:
    """Return a client's first frame: ``system.hello`` with the id 0, and its *key* if any."""
    return frame(0, "system.hello", {} if key is None else {"client_key": key})


def cancel(request_id: int) -> bytes:
    """Return the frame that cancels a request."""
    return envelope.write(envelope.notification(envelope.CANCEL, {"id": request_id}))


def parse_answer(frame: bytes) -> dict[str, Any]:
    """Return the message in *frame*. Raises ParseError if it is not a JSON object."""
    message = envelope.parse(frame)
    if not isinstance(message, dict):
        raise ParseError("the program that answers on the socket is not memd")
    return message


def report_progress(progress: Progress | None, notification: dict[str, Any]) -> None:
    """Call *progress*, if given, with a ``$/progress`` notification."""
    value = notification.get("params", {}).get("value", {})
    if progress is not None:
        progress(value.get("done", 0), value.get("total", 0))


def deliver(
    message: dict[str, Any], listeners: Mapping[int, Progress], queues: Sequence[EventQueue]
) -> bool:
    """Pass progress and events to their listeners; return whether *message* was one of these."""
    if message.get("method") == envelope.PROGRESS:
        report_progress(listeners.get(message.get("params", {}).get("token", -1)), message)
        return True
    if not str(message.get("method")).startswith("event."):
        return False
    for queue in queues:
        queue.put(message)
    return True


def store_params(content: str, category: str | None, params: dict[str, Any]) -> dict[str, Any]:
    """Return the params of ``memory.store``; without a *category* it is derived from *content*."""
    if not category:
        # Late: compiling its patterns takes longer than everything else that a client loads.
        from memd.text.preference import default_category

        category = default_category(content, params.get("speaker"))
    return {"content": content, "category": category, **params}


class EventQueue:
    """The events of one subscriber; ``lost`` in an event counts those dropped before it."""

    def __init__(self) -> None:
        import asyncio  # late: a client without subscriptions does not need it

        self._events: deque[dict[str, Any]] = deque()
        self._lost = 0
        self._end: MemdError | None = None
        self._arrived = asyncio.Event()

    def put(self, notification: dict[str, Any]) -> None:
        """Add an event notification."""
        if len(self._events) == EVENTS_WAITING_MAX:
            self._lost += 1 + self._events.popleft().get("lost", 0)
        self._events.append({"name": notification.get("method"), **notification.get("params", {})})
        self._arrived.set()

    def end(self, error: MemdError) -> None:
        """End the queue: *error* is raised after the last event."""
        self._end = error
        self._arrived.set()

    async def next(self) -> dict[str, Any]:
        """Wait for the next event and return it; after the last, raise the error of :meth:`end`."""
        while not self._events:
            if self._end is not None:
                raise self._end
            self._arrived.clear()
            await self._arrived.wait()
        event = self._events.popleft()
        if self._lost:
            event["lost"] = event.get("lost", 0) + self._lost
            self._lost = 0
        return event


async def events(
    call: Callable[[str, Mapping[str, Any]], Awaitable[Any]],
    queues: list[EventQueue],
    names: Sequence[str],
    params: Mapping[str, Any],
) -> AsyncGenerator[dict[str, Any], None]:
    """Subscribe with *call*, then yield events, with their ``name``, as they arrive.

    Raises the reason when the connection is lost. Closing the generator does not unsubscribe:
    the daemon sends further events until the connection closes, and they are discarded.
    """
    queue = EventQueue()
    queues.append(queue)
    try:
        await call("events.subscribe", {**({"names": list(names)} if names else {}), **params})
        while True:
            event = await queue.next()
            if not names or event["name"] in names:
                yield event
    finally:
        queues.remove(queue)
