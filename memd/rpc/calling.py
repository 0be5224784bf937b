"""A call as a client sends it, and what comes back; what both clients share.

``KEYED`` repeats which methods may be sent twice under one idempotency key, so that a client
loads no models to find out; a test holds it against the table of methods.

Events are kept in order until they are asked for; of too many the oldest are lost. Standard
library only, as everything that a client loads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from memd.base.errors import (
    InvalidError,
    MemdError,
    MemoryConnectionError,
    NotRunningError,
    ParseError,
    TooLargeError,
)
from memd.base.limits import EVENTS_WAITING_MAX, FRAME_BYTES_MAX
from memd.rpc import envelope, framing
from memd.text.preference import filed_as

Progress = Callable[[int, int], None]
"""Told how many steps are done, and of how many."""

TOKEN: Final = "progress_token"  # noqa: S105  # the name of a parameter

KEYED: Final = frozenset(
    {
        "agent.set",
        "archive.add",
        "archive.restore_to_hot",
        "archive.restore_turned_away",
        "client.add",
        "client.revoke",
        "graph.add",
        "inject.call",
        "inject.file",
        "learn.distil",
        "learn.failure",
        "learn.outcome",
        "learn.prune",
        "learn.success",
        "memory.delete",
        "memory.forget",
        "memory.ingest",
        "memory.ingest_many",
        "memory.quarantine",
        "memory.release",
        "memory.replace_source",
        "memory.store",
        "memory.update",
        "org.approve",
        "org.propose",
        "org.reject",
        "org.retract",
        "org.write",
        "owner.set",
        "preference.confirm",
        "preference.delete",
        "preference.set",
        "session.end",
        "session.start",
        "shared.publish",
        "shared.retract",
        "skill.export",
        "sleep.compress",
        "sleep.consolidate",
        "sleep.run",
        "sleep.undo",
        "store.backup",
        "store.import",
        "store.load",
        "store.rebuild",
        "trash.restore",
        "wiki.export",
        "tune.activate",
        "tune.rollback",
        "tune.start",
    }
)


def prepared(
    method: str, params: Mapping[str, Any] | None, *, wants_progress: bool
) -> dict[str, Any]:
    """Return *params* with a key of its own for a write, so that it can be sent twice."""
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
    """Return the request as bytes; raises InvalidError or TooLargeError before it is sent."""
    try:
        made = framing.write(envelope.request(request_id, method, params))
    except (UnicodeEncodeError, ValueError) as error:
        raise InvalidError(f"the params of {method} cannot be sent as JSON") from error
    if len(made) > FRAME_BYTES_MAX:
        raise TooLargeError(
            f"a request may have {FRAME_BYTES_MAX} bytes at most",
            hint="send a long history in pieces, with memory.ingest_many",
        )
    return made


class LostError(MemoryConnectionError):
    """The connection broke before the answer came; whether it happened, nobody knows."""


def not_running(path: str) -> NotRunningError:
    """Return the error of a socket on which nobody listens."""
    return NotRunningError(f"no daemon listens on {path}", hint="start it: memd serve")


def hello(key: str | None) -> bytes:
    """Return the first frame of a client, under the id 0; with a *key* it presents it."""
    return frame(0, "system.hello", {} if key is None else {"client_key": key})


def cancel(request_id: int) -> bytes:
    """Return the frame that tells the daemon to stop working on a request."""
    return framing.write(envelope.notification(envelope.CANCEL, {"id": request_id}))


def answer(frame: bytes) -> dict[str, Any]:
    """Return what the daemon sent; raises ParseError when that is no memd's."""
    heard = framing.parse(frame)
    if not isinstance(heard, dict):
        raise ParseError("what answers on the socket is no memd")
    return heard


def tell(progress: Progress | None, notification: dict[str, Any]) -> None:
    """Pass a ``$/progress`` notification on to who wanted it."""
    value = notification.get("params", {}).get("value", {})
    if progress is not None:
        progress(value.get("done", 0), value.get("total", 0))


def deliver(
    message: dict[str, Any], listeners: Mapping[int, Progress], hearings: Sequence[Hearing]
) -> bool:
    """Hand progress and events to who wants them; return whether *message* was one of these."""
    if message.get("method") == envelope.PROGRESS:
        tell(listeners.get(message.get("params", {}).get("token", -1)), message)
        return True
    if not str(message.get("method")).startswith("event."):
        return False
    for hearing in hearings:
        hearing.hear(message)
    return True


def to_store(content: str, category: str | None, more: dict[str, Any]) -> dict[str, Any]:
    """Return the params of ``memory.store``; without a *category* it is filed by what it says."""
    filed = category or filed_as(content, more.get("speaker"))
    return {"content": content, "category": filed, **more}


class Hearing:
    """One listener's events. ``lost`` in an event says how many before it were not kept."""

    def __init__(self) -> None:
        import asyncio  # who has a listener has it; a client that waits for answers does not

        self._heard: deque[dict[str, Any]] = deque()
        self._lost = 0
        self._end: MemdError | None = None
        self._news = asyncio.Event()

    def hear(self, notification: dict[str, Any]) -> None:
        """Take a notification that is an event."""
        if len(self._heard) == EVENTS_WAITING_MAX:
            self._lost += 1 + self._heard.popleft().get("lost", 0)
        self._heard.append({"name": notification.get("method"), **notification.get("params", {})})
        self._news.set()

    def end(self, error: MemdError) -> None:
        """Say that nothing more will come, and why."""
        self._end = error
        self._news.set()

    async def next(self) -> dict[str, Any]:
        """Return the next event, when it comes; raises why there will be none."""
        while not self._heard:
            if self._end is not None:
                raise self._end
            self._news.clear()
            await self._news.wait()
        event = self._heard.popleft()
        if self._lost:
            event["lost"] = event.get("lost", 0) + self._lost
            self._lost = 0
        return event


async def events(
    call: Callable[[str, Mapping[str, Any]], Awaitable[Any]],
    hearings: list[Hearing],
    names: Sequence[str],
    more: Mapping[str, Any],
) -> AsyncGenerator[dict[str, Any], None]:
    """Subscribe by *call* and yield events, with their ``name``, until the connection is lost.

    Raises then what the connection was lost for. Who stops listening goes on being
    told by the daemon until the connection closes; it is thrown away unread.
    """
    hearing = Hearing()
    hearings.append(hearing)
    try:
        await call("events.subscribe", {**({"names": list(names)} if names else {}), **more})
        while True:
            event = await hearing.next()
            if not names or event["name"] in names:
                yield event
    finally:
        hearings.remove(hearing)
