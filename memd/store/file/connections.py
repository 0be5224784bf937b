"""Pool connections, and run reads, writes and checkpoints in them.

A connection is used by one caller at a time. The functions below :class:`Connections` run in the
connection's own thread.
"""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import apsw

from memd.base.errors import BusyError, StoppingError
from memd.base.limits import BUSY_MS_MAX
from memd.domain.caller import Caller
from memd.store.access import changes
from memd.store.file.connect import Reading, Writing, immutable_uri
from memd.store.file.faults import is_fatal, translate

T = TypeVar("T")
ConnT = TypeVar("ConnT", bound=Reading)

_ASYNC_FLAGS = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Pool:
    """Open connections, each with its own thread; the last released is acquired first.

    Callers acquire in the order in which they began to wait. (``asyncio.Queue.get`` would let a
    caller that arrives at the moment of a release overtake those that wait.)
    """

    def __init__(self) -> None:
        self._all: list[Reading] = []
        self._free: list[Reading] = []
        self._free_count = asyncio.Semaphore(0)  # wakes its waiters in order
        self._releases: set[asyncio.Task[None]] = set()  # asyncio keeps only weak references
        self._acquire_all_lock = asyncio.Lock()  # two at once could each wait for the other

    def add(self, conn: Reading) -> None:
        self._all.append(conn)
        self._release(conn)

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Reading]:
        """Acquire a free connection, waiting until there is one.

        After a cancellation its thread may still be running; the connection is released when it is
        idle, so that the next caller does not wait for work that was cancelled.
        """
        await self._free_count.acquire()
        conn = self._free.pop()
        try:
            yield conn
        except asyncio.CancelledError:
            task = asyncio.create_task(self._release_when_idle(conn))
            self._releases.add(task)
            task.add_done_callback(self._releases.discard)
            raise
        except BaseException:
            self._release(conn)
            raise
        self._release(conn)

    @asynccontextmanager
    async def acquire_all(self) -> AsyncIterator[None]:
        """Acquire all connections, so that no other caller uses one inside the block."""
        acquired: list[Reading] = []
        async with self._acquire_all_lock:
            try:
                while len(acquired) < len(self._all):
                    await self._free_count.acquire()
                    acquired.append(self._free.pop())
                yield
            finally:
                for conn in acquired:
                    self._release(conn)

    async def _release_when_idle(self, conn: Reading) -> None:
        with suppress(apsw.Error):
            await cast("Any", conn).async_run(_do_nothing)  # returns once earlier work has ended
        self._release(conn)

    def _release(self, conn: Reading) -> None:
        self._free.append(conn)
        self._free_count.release()


class Connections:
    """Opens connections to one file, and closes those that are still open at the end.

    Each is opened and closed in its own task, which survives the cancellation of the caller: a
    connection that is still opening or closing when the loop ends would keep the process alive, or
    report to a closed loop.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: set[Reading] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False
        self.immutable = False
        """Whether neither the file nor its folder can be written; see :func:`immutable_uri`."""

    def require_open(self) -> None:
        """Raise StoppingError after :meth:`close_all`."""
        if self._closed:
            raise StoppingError("the store is closed")

    @asynccontextmanager
    async def opening(self, kind: type[ConnT], flags: int, vfs: str | None) -> AsyncIterator[ConnT]:
        """Open a connection for the block to prepare; close it if the block raises."""
        self.require_open()
        task = self._start(self._open_one(kind, flags, vfs))
        try:
            conn = await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.shield(self._start(self._close_one(task)))
            raise
        except apsw.Error as error:
            raise translate(error) from error
        try:
            yield conn
        except BaseException:
            await self.close(conn)
            raise

    async def close(self, conn: Reading) -> None:
        """Close *conn* once the work that it is running has ended."""
        await asyncio.shield(self._start(self._close_one(conn)))

    async def close_all(self) -> None:
        """Close every connection once it is idle, the writer last, and refuse to open more."""
        self._closed = True
        await self._wait()
        for conn in sorted(self._open, key=lambda conn: isinstance(conn, Writing)):
            await self.close(conn)
        await self._wait()

    async def _open_one(self, kind: type[ConnT], flags: int, vfs: str | None) -> ConnT:
        name = str(self._path)
        if self.immutable:
            flags |= apsw.SQLITE_OPEN_URI
            name = immutable_uri(self._path)
        conn: ConnT = await cast("Any", kind).as_async(name, flags=flags, vfs=vfs)
        self._open.add(conn)
        return conn

    async def _close_one(self, conn: Reading | Awaitable[Reading]) -> None:
        with suppress(apsw.Error):  # a connection that failed may fail again; it is closed anyway
            if not isinstance(conn, Reading):
                conn = await conn
            self._open.discard(conn)
            await cast("Any", conn).aclose(True)

    def _start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _wait(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)


def _do_nothing() -> None:
    """Do nothing: when this has run, all work submitted to the connection before has ended."""


def checkpoint(conn: Writing, mode: int, wait_ms: int) -> None:
    """Move the log into the file, waiting at most *wait_ms* for readers."""
    conn.set_busy_timeout(wait_ms)  # writes wait for a checkpoint
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
        conn.execute("BEGIN")  # inside try: a read that is cancelled here must roll back, too
        return work()
    except BaseException as error:
        _end_statements(error)
        raise
    finally:
        if conn.in_transaction:
            conn.execute("ROLLBACK")


def _end_statements(error: BaseException) -> None:
    """End the statements that were still returning rows when the work raised *error*.

    A statement keeps its snapshot even after ROLLBACK until it is reset or freed, and later
    transactions of the connection would read that snapshot. The frames of the error's traceback
    refer to it until the error has been handled, or until a reference cycle is collected; so their
    local variables are cleared here.
    """
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links:
        for frame, _ in traceback.walk_tb(link.__traceback__):
            # An error that is raised again has earlier frames, too. A coroutine among them may be
            # waiting for this work, and clearing its frame would close it.
            if not frame.f_code.co_flags & _ASYNC_FLAGS:
                with suppress(RuntimeError):  # the frame is running
                    frame.clear()
        links.append(link)
        link = link.__context__


def run_outside(conn: Reading, work: Callable[[Reading], T]) -> T:
    """Run *work* outside any transaction, for statements such as VACUUM INTO."""
    conn.pragma("query_only", False)  # it also forbids VACUUM INTO another file
    try:
        return work(conn)
    finally:
        conn.pragma("query_only", True)


def run_write(
    conn: Writing, work: Callable[[], T], caller: Caller, batch: str | None, now_us: int
) -> T:
    """Run *work* in one write transaction with its audit row; it is durable once this returns."""
    if conn.broken:  # this write was queued behind the one that failed; the next uses a new writer
        raise BusyError("the store is being reopened after an error of the disk")
    conn.touched.clear()
    try:
        conn.execute("BEGIN IMMEDIATE")
        result = work()
        changes.record(conn, caller, now_us, batch)
        conn.execute("COMMIT")
    except BaseException as error:
        conn.broken = is_fatal(error)
        _end_statements(error)
        rollback(conn)
        raise
    return result


def rollback(conn: Writing) -> None:
    """Roll back the open transaction, if any; mark the connection as broken when that fails."""
    try:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
    except apsw.Error:
        conn.broken = True  # it will be closed, which rolls back
