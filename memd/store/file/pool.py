"""Connections that are lent to one caller at a time, the last one given back first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import apsw

from memd.store.file.connect import Reading


class Pool:
    """Some open connections, each with a thread of its own."""

    def __init__(self) -> None:
        self._all: list[Reading] = []
        self._free: asyncio.LifoQueue[Reading] = asyncio.LifoQueue()
        self._stopping: set[asyncio.Task[None]] = set()
        self._holding = asyncio.Lock()

    def add(self, conn: Reading) -> None:
        self._all.append(conn)
        self._free.put_nowait(conn)

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[Reading]:
        """Lend a free connection, once there is one.

        After a cancellation its thread may still be at work; it is lent again only
        once that has ended, so nobody waits behind work that nobody wants.
        """
        conn = await self._free.get()
        try:
            yield conn
        except asyncio.CancelledError:
            task = asyncio.create_task(self._back_when_done(conn))
            self._stopping.add(task)
            task.add_done_callback(self._stopping.discard)
            raise
        except BaseException:
            self._free.put_nowait(conn)
            raise
        self._free.put_nowait(conn)

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Wait until no connection is lent, and lend none meanwhile."""
        free = self._free
        held: list[Reading] = []
        async with self._holding:
            try:
                while len(held) < len(self._all):
                    held.append(await free.get())
                yield
            finally:
                for conn in held:
                    free.put_nowait(conn)

    async def _back_when_done(self, conn: Reading) -> None:
        with suppress(apsw.Error):
            await cast("Any", conn).async_run(_nothing)  # its turn comes after the work before it
        self._free.put_nowait(conn)

    def take_all(self) -> list[Reading]:
        """Return every connection, to be closed; none is lent any more."""
        conns, self._all = self._all, []
        self._free = asyncio.LifoQueue()
        return conns


async def closed(conn: Reading) -> None:
    """Close *conn*, after the work it is at."""
    with suppress(apsw.Error):  # a connection that failed may fail once more; it is closed anyway
        await cast("Any", conn).aclose(True)


def _nothing() -> None:
    """Run after everything that was handed to a connection before."""
