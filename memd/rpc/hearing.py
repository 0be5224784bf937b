"""Events as a client takes them: kept in order until they are asked for, the oldest lost first.

Standard library only, as everything that a client loads.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from memd.base.errors import MemdError
from memd.base.limits import EVENTS_WAITING_MAX


class Hearing:
    """One listener's events. ``lost`` in an event says how many before it were not kept."""

    def __init__(self) -> None:
        self._heard: deque[dict[str, Any]] = deque()
        self._lost = 0
        self._end: MemdError | None = None
        self._news = asyncio.Event()

    def hear(self, told: dict[str, Any]) -> None:
        """Take a notification that is an event."""
        if len(self._heard) == EVENTS_WAITING_MAX:
            self._lost += 1 + self._heard.popleft().get("lost", 0)
        self._heard.append({"name": told.get("method"), **told.get("params", {})})
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
