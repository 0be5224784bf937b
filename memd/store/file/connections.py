"""Open connections: pools of them, and how a read, a write or a checkpoint runs in one.

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

_AWAITS = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR  # flags of a frame's code


class Pool:
    """Open connections, each with a thread of its own; the last released is acquired first.

    Who waits first acquires first: a queue's ``get`` would let whoever asks at the moment of a
    release pass those that wait.
    """

    def __init__(self) -> None:
        self._all: list[Reading] = []
        self._free: list[Reading] = []
        self._turns = asyncio.Semaphore(0)  # of the free connections; in the order of asking
        self._stopping: set[asyncio.Task[None]] = set()
        self._holding = asyncio.Lock()

    def add(self, conn: Reading) -> None:
        self._all.append(conn)
        self._release(conn)

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Reading]:
        """Acquire a free connection, waiting until there is one.

        After a cancellation its thread may still be at work; it is released only when that has
        ended, so no caller waits for work that was cancelled.
        """
        await self._turns.acquire()
        conn = self._free.pop()
        try:
            yield conn
        except asyncio.CancelledError:
            task = asyncio.create_task(self._release_when_idle(conn))
            self._stopping.add(task)
            task.add_done_callback(self._stopping.discard)
            raise
        except BaseException:
            self._release(conn)
            raise
        self._release(conn)

    @asynccontextmanager
    async def acquire_all(self) -> AsyncIterator[None]:
        """Acquire all connections, so that none is in use meanwhile."""
        acquired: list[Reading] = []
        async with self._holding:
            try:
                while len(acquired) < len(self._all):
                    await self._turns.acquire()
                    acquired.append(self._free.pop())
                yield
            finally:
                for conn in acquired:
                    self._release(conn)

    async def _release_when_idle(self, conn: Reading) -> None:
        with suppress(apsw.Error):
            await cast("Any", conn).async_run(_do_nothing)  # runs after the work before it
        self._release(conn)

    def _release(self, conn: Reading) -> None:
        self._free.append(conn)
        self._turns.release()


class Connections:
    """Opens connections to one file, and closes each that is still open at the end.

    Both happen in tasks of their own, which the cancellation of a caller does not stop: a
    connection that was opening or closing when the loop ends would keep the process alive, or
    report to a loop that is gone.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._open: set[Reading] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False
        self.immutable = False
        """Whether neither the file nor a file beside it can be written, so that none changes."""

    def require_open(self) -> None:
        """Raise StoppingError after :meth:`close_all`."""
        if self._closed:
            raise StoppingError("the store is closed")

    @asynccontextmanager
    async def opening(self, kind: type[ConnT], flags: int, vfs: str | None) -> AsyncIterator[ConnT]:
        """Open a connection to be prepared, which is closed again when that fails."""
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
        """Close *conn* after the work it is running."""
        await asyncio.shield(self._start(self._close_one(conn)))

    async def close_all(self) -> None:
        """Close every connection after the work it is running, the writer last; open no more."""
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
    except BaseException as error:
        _end_statements(error)
        raise
    finally:
        if conn.in_transaction:
            conn.execute("ROLLBACK")


def _end_statements(error: BaseException) -> None:
    """End the statements of the work that raised *error* and read only a part of their rows.

    Such a statement keeps its snapshot also after ROLLBACK, and every later transaction of the
    connection would read that one. It lives as long as a frame of the error's traceback does,
    which is until the error is answered or, where it is in a cycle, until that is collected.
    """
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links:
        for frame, _ in traceback.walk_tb(link.__traceback__):
            # An error that is raised again has frames of before; a coroutine among them may wait
            # for this very work, and to clear its frame would close it.
            if not frame.f_code.co_flags & _AWAITS:
                with suppress(RuntimeError):  # it runs
                    frame.clear()
        links.append(link)
        link = link.__context__


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
        _end_statements(error)
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
