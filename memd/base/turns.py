"""A shared/exclusive lock for one asyncio loop: readers never see a half-made change.

An exclusive holder waits until no shared one is left; shared holders that come meanwhile
wait for its end, which is one transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar


class Turns:
    """A shared/exclusive lock."""

    def __init__(self) -> None:
        self._shared_count = 0
        self._no_shared = asyncio.Event()
        self._no_shared.set()
        self._not_exclusive = asyncio.Event()
        self._not_exclusive.set()

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Hold the lock together with other shared holders."""
        while not self._not_exclusive.is_set():
            await self._not_exclusive.wait()
        self._shared_count += 1
        self._no_shared.clear()
        try:
            yield
        finally:
            self._shared_count -= 1
            if not self._shared_count:
                self._no_shared.set()

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Hold the lock alone. Never call this while holding it shared."""
        while self._shared_count or not self._not_exclusive.is_set():
            await self._no_shared.wait()
            await self._not_exclusive.wait()
        self._not_exclusive.clear()
        try:
            yield
        finally:
            self._not_exclusive.set()


class TakesTurns(Protocol):
    """An object with such a lock."""

    @property
    def turns(self) -> Turns: ...


Owner = TypeVar("Owner", bound=TakesTurns)
P = ParamSpec("P")
R = TypeVar("R")


def in_turn(
    method: Callable[Concatenate[Owner, P], Awaitable[R]],
) -> Callable[Concatenate[Owner, P], Awaitable[R]]:
    """Return *method* wrapped to hold its owner's lock shared."""

    @wraps(method)
    async def run_shared(self: Owner, /, *args: P.args, **kwargs: P.kwargs) -> R:
        async with self.turns.shared():
            return await method(self, *args, **kwargs)

    return run_shared
