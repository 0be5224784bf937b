"""A pool of connections, each used by one caller at a time, the last released first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import apsw

from memd.store.file.connect import Reading


class Pool:
    """Open connections, each with a thread of its own."""

    def __init__(self) -> None:
        self._all: list[Reading] = []
        self._free: asyncio.LifoQueue[Reading] = asyncio.LifoQueue()
        self._stopping: set[asyncio.Task[None]] = set()
        self._holding = asyncio.Lock()

    def add(self, conn: Reading) -> None:
        """Add an open connection."""
        self._all.append(conn)
        self._free.put_nowait(conn)

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Reading]:
        """Acquire a free connection, waiting until there is one.

        After a cancellation its thread may still be at work; it is released only when that has
        ended, so no caller waits for work that was cancelled.
        """
        conn = await self._free.get()
        try:
            yield conn
        except asyncio.CancelledError:
            task = asyncio.create_task(self._release_when_idle(conn))
            self._stopping.add(task)
            task.add_done_callback(self._stopping.discard)
            raise
        except BaseException:
            self._free.put_nowait(conn)
            raise
        self._free.put_nowait(conn)

    @asynccontextmanager
    async def acquire_all(self) -> AsyncIterator[None]:
        """Acquire all connections, so that none is in use meanwhile."""
        free = self._free
        acquired: list[Reading] = []
        async with self._holding:
            try:
                while len(acquired) < len(self._all):
                    acquired.append(await free.get())
                yield
            finally:
                for conn in acquired:
                    free.put_nowait(conn)

    async def _release_when_idle(self, conn: Reading) -> None:
        with suppress(apsw.Error):
            await cast("Any", conn).async_run(_do_nothing)  # runs after the work before it
        self._free.put_nowait(conn)

    def take_all(self) -> list[Reading]:
        """Remove and return every connection, to be closed."""
        conns, self._all = self._all, []
        self._free = asyncio.LifoQueue()
        return conns


class Closer:
    """Closes connections in tasks of its own, which the cancellation of a caller does not stop.

    A caller may be cancelled again while it cleans up; a connection that was still closing when
    the loop ends would report to a loop that is gone.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    async def close(self, conn: Reading | Awaitable[Reading]) -> None:
        """Close *conn*, which may still be opening."""
        task = asyncio.ensure_future(
            close(conn) if isinstance(conn, Reading) else _close_opening(conn)
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await asyncio.shield(task)

    async def wait(self) -> None:
        """Wait until every connection is closed."""
        while self._tasks:
            await asyncio.wait(self._tasks)


async def _close_opening(opening: Awaitable[Reading]) -> None:
    with suppress(apsw.Error):
        await close(await opening)


async def close(conn: Reading) -> None:
    """Close *conn* after the work it is running."""
    with suppress(apsw.Error):  # a connection that failed may fail again; it is closed anyway
        await cast("Any", conn).aclose(True)


def _do_nothing() -> None:
    """Do nothing: a marker that runs when everything handed to the connection before is done."""
