"""Many at a time, or one alone: who asks never sees a change half made.

One loop, no threads. Who is alone waits for a moment in which nobody is inside; who comes
while somebody is alone waits for the end of that, which is one transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar


class Turns:
    """The door of one thing that changes now and then."""

    def __init__(self) -> None:
        self._inside = 0
        self._nobody = asyncio.Event()
        self._nobody.set()
        self._free = asyncio.Event()
        self._free.set()

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Be inside with others, never while somebody is alone."""
        while not self._free.is_set():
            await self._free.wait()
        self._inside += 1
        self._nobody.clear()
        try:
            yield
        finally:
            self._inside -= 1
            if not self._inside:
                self._nobody.set()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Be inside alone. For one at a time; never from within ``shared``."""
        while self._inside or not self._free.is_set():
            await self._nobody.wait()
            await self._free.wait()
        self._free.clear()
        try:
            yield
        finally:
            self._free.set()


class TakesTurns(Protocol):
    """What has a door."""

    @property
    def turns(self) -> Turns: ...


Owner = TypeVar("Owner", bound=TakesTurns)
P = ParamSpec("P")
R = TypeVar("R")


def in_turn(
    method: Callable[Concatenate[Owner, P], Awaitable[R]],
) -> Callable[Concatenate[Owner, P], Awaitable[R]]:
    """Have *method* run inside its owner's turns, with others."""

    @wraps(method)
    async def inside(self: Owner, /, *args: P.args, **kwargs: P.kwargs) -> R:
        async with self.turns.shared():
            return await method(self, *args, **kwargs)

    return inside
