"""Open connections: pools of them, and how a read, a write or a checkpoint runs in one.

A connection is used by one caller at a time. The functions below :class:`Closer` run in the
connection's own thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar, cast

import apsw

from memd.base.errors import BusyError
from memd.base.limits import BUSY_MS_MAX
from memd.domain.caller import Caller
from memd.store.access import changes
from memd.store.file.connect import Reading, Writing
from memd.store.file.faults import is_fatal

T = TypeVar("T")


class Pool:
    """Open connections, each with a thread of its own; the last released is acquired first."""

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


def checkpoint(conn: Writing, mode: int, wait_ms: int) -> None:
    """Move the log into the file, waiting at most *wait_ms* for readers."""
    conn.set_busy_timeout(wait_ms)  # short: every write waits meanwhile
    try:
        conn.wal_checkpoint(mode=mode)
    except apsw.Error as error:
        conn.broken = conn.broken or is_fatal(error)
        raise
    finally:
        conn.set_busy_timeout(BUSY_MS_MAX)


def run_read(conn: Reading, work: Callable[[], T]) -> T:
    """Run *work* in one read transaction, so that all its statements see one snapshot."""
    try:
        conn.execute("BEGIN")  # inside try: a read cancelled here must not keep the transaction
        return work()
    finally:
        if conn.in_transaction:
            conn.execute("ROLLBACK")


def run_outside(conn: Reading, work: Callable[[Reading], T]) -> T:
    """Run *work* outside any transaction, for statements that must not be in one."""
    conn.pragma("query_only", False)  # else even VACUUM INTO another file is refused
    try:
        return work(conn)
    finally:
        conn.pragma("query_only", True)


def run_write(
    conn: Writing, work: Callable[[], T], caller: Caller, batch: str | None, now_us: int
) -> T:
    """Run *work* in one write transaction with its audit row; it is durable once this returns."""
    if conn.broken:  # queued behind the write that broke it; the next one gets a new connection
        raise BusyError("the store is being reopened after an error of the disk")
    conn.touched.clear()
    try:
        conn.execute("BEGIN IMMEDIATE")
        result = work()
        changes.record(conn, caller, now_us, batch)
        conn.execute("COMMIT")
    except BaseException as error:
        conn.broken = is_fatal(error)
        rollback(conn)
        raise
    return result


def rollback(conn: Writing) -> None:
    """Roll back what is open; mark the connection as broken when that fails."""
    try:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
    except apsw.Error:
        conn.broken = True  # closing it rolls back
