"""Open the database: one writer and a few readers, each connection in its own thread.

A read runs in one transaction, so all its statements see one snapshot. A write is one transaction
at synchronous=FULL and returns after COMMIT. With an idempotency key the reply is stored in the
same transaction, so a retry gets the first reply and changes nothing (SPEC D7). Once a write has
begun, cancelling its caller does not cancel it. After any I/O error the writer is closed and
reopened: a connection that failed inside a statement may have wrong FTS totals (PROMISES 1.4).

The threads belong to apsw's asynchronous connections.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import apsw
import apsw.aio

from memd.base import log
from memd.base.clock import Clock, TrustedTime
from memd.base.errors import BusyError, MemdError, ReadOnlyError
from memd.base.finish import finish
from memd.base.limits import BUSY_MS_MAX, READERS, SCANNERS, WRITE_QUEUE_MAX
from memd.domain.caller import Caller
from memd.store.access import replies
from memd.store.check.integrity import Damage
from memd.store.file import backup, connect, connections, page_sums
from memd.store.file.connect import Reading, Writing, prepare_reader, prepare_writer
from memd.store.file.connections import Connections, Pool
from memd.store.file.faults import translate
from memd.store.file.migrate import STEPS, Step, migrate
from memd.store.file.open_files import (
    LastFailure,
    OpenFiles,
    read_only_error,
    repair_modes,
    reserve_ballast,
)
from memd.store.search import caches

P = ParamSpec("P")
T = TypeVar("T")

CHECKPOINT_PAGES = 1_000  # 16 MB of WAL
LOG_RETRY_S, LOG_WAIT_MS = 0.05, 50
"""While a reader needs the log: the pause between attempts to empty it, and how long an attempt
may keep other callers waiting."""
_PASSIVE, _TRUNCATE = apsw.SQLITE_CHECKPOINT_PASSIVE, apsw.SQLITE_CHECKPOINT_TRUNCATE


class Database:
    """The open file; create it with :func:`open_database`."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        vfs: str | None = None,
        mmap: bool = True,
        steps: Mapping[int, Step] = STEPS,
    ) -> None:
        self.path = path
        self.clock = clock
        self.read_only = False
        self.damage = Damage()
        self.lasting = TrustedTime(clock)
        self.files = OpenFiles(path)
        self._moved: str | None = None
        self._last_failure = LastFailure(path)
        self._vfs = vfs
        self._mmap = mmap
        self._steps = steps
        self._writer: Writing | None = None
        self._readers = Pool()
        self._scanners = Pool()
        self._connections = Connections(path)
        self.waiting_writes = 0
        self._wal_pages = 0
        self._checkpoint: asyncio.Task[bool] | None = None
        self._reopening: asyncio.Task[None] | None = None

    # Reading and writing.

    async def read(
        self, work: Callable[Concatenate[Reading, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run *work* in a read transaction on a free reader; cancelling the caller stops it."""
        async with self._readers.acquire() as conn:
            in_snapshot = partial(work, conn, *args, **kwargs)
            return await self._run(conn, connections.run_read, conn, in_snapshot)

    async def scan(
        self, work: Callable[Concatenate[Reading, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run *work* as :meth:`read` does, on a memory-mapped connection, for scans of vectors."""
        async with self._scanners.acquire() as conn:
            in_snapshot = partial(work, conn, *args, **kwargs)
            return await self._run(conn, connections.run_read, conn, in_snapshot)

    async def write(
        self,
        caller: Caller,
        work: Callable[[Writing], T],
        *,
        reply: type[T] | None = None,
        batch: str | None = None,
    ) -> T:
        """Run *work* in one transaction and return after COMMIT.

        With *reply* (the type that *work* returns) and an idempotency key in *caller*, an earlier
        reply to the same request is returned instead. Raises ConflictError for the same key with
        another request, BusyError when too many writes wait or another program locks the file for
        BUSY_MS_MAX, ReadOnlyError and DiskFullError.
        """
        if self.waiting_writes >= WRITE_QUEUE_MAX:
            raise BusyError(f"{WRITE_QUEUE_MAX} writes are waiting")
        self.waiting_writes += 1
        # Counts from the call, not from the start of the transaction: otherwise eight queued writes
        # would wait for another program's lock one after the other, eight times as long.
        deadline_us = self.clock.monotonic_us() + 1_000 * BUSY_MS_MAX

        def transaction(writer: Writing, now_us: int) -> T:
            writer.set_busy_timeout(max(0, deadline_us - self.clock.monotonic_us()) // 1_000)
            once = partial(replies.run_once, writer, caller, now_us, reply, work)
            return connections.run_write(writer, once, caller, batch, now_us)

        task = asyncio.ensure_future(self._run_write(transaction))
        task.add_done_callback(self._write_done)
        return await asyncio.shield(task)

    async def read_dedicated(self, work: Callable[[Reading], T], *, transaction: bool = True) -> T:
        """Run *work* as :meth:`read` does, on a new connection, for reads that take long.

        No recall has to wait for it, and it has no cached pages. Without *transaction*, which is
        for backups, it runs outside any transaction, and every page that it reads is verified
        against its checksum.
        """
        if not transaction and self._moved is not None and self._writer is not None:
            # The file at the path is another one: only the open writer can still read ours.
            return await self._run(self._writer, work, self._writer)
        conn = await self._open_reader(vfs=None if transaction else page_sums.vfs())
        try:
            if transaction:
                return await self._run(conn, connections.run_read, conn, partial(work, conn))
            return await self._run(conn, connections.run_outside, conn, work)
        finally:
            await self._connections.close(conn)

    # How a write runs.

    def _write_done(self, task: asyncio.Future[Any]) -> None:
        self.waiting_writes -= 1
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not warn after a cancelled caller

    async def _run_write(self, transaction: Callable[[Writing, int], T]) -> T:
        self._connections.require_open()
        if self._reopening is not None:
            await asyncio.shield(self._reopening)
        elif self._writer is None and self._last_failure.is_full:  # there may be space by now
            await self._reopen(None)
        if (writer := self._writer) is None:
            raise read_only_error(self.path)
        self._require_files()
        try:
            result = await self._run(writer, transaction, writer, self.clock.now_us())
        except MemdError as error:
            self._last_failure.record(error)
            if writer.broken:
                await self._reopen(writer)
            raise
        self._require_files()  # again: a write into a deleted file must not be acknowledged
        self._last_failure.clear()
        if self._wal_pages >= CHECKPOINT_PAGES and self._checkpoint is None:
            self._checkpoint = asyncio.create_task(self.checkpoint())
            self._checkpoint.add_done_callback(self._checkpoint_done)
        return result

    def write_refusal(self) -> str | None:
        """Return why writes are refused, None when they are accepted."""
        if self._is_moved():
            return f"{self._moved}; nothing is written until memd is started again"
        if self._writer is None and not self._last_failure.is_full:
            return read_only_error(self.path).message
        return self._last_failure.message

    def _is_moved(self) -> bool:
        if self._moved is None and self._vfs is None and not self._connections.immutable:
            self._moved = self.files.find_moved()
            if self._moved is not None:
                log.error("the store is not where it was", what=self._moved)
        return self._moved is not None

    def _require_files(self) -> None:
        if self._is_moved():
            raise ReadOnlyError(
                f"{self._moved}; memd no longer writes",
                hint="run memd backup to save the data, then stop memd and restore that copy",
            )

    async def _run(self, conn: Reading, call: Callable[..., T], *args: Any) -> T:
        try:
            return cast("T", await cast("Any", conn).async_run(call, *args))
        except MemdError:
            raise
        except (apsw.Error, UnicodeDecodeError, OSError) as error:
            failure = translate(error)
            if failure is error:
                raise
            raise failure from error

    async def checkpoint(self, *, truncate: bool = False) -> bool:
        """Move the WAL into the file, with *truncate* also empty it; False when that failed."""
        try:
            await self._checkpoint_then(_TRUNCATE if truncate else _PASSIVE, 0, lambda _: None)
        except MemdError:
            return False
        return True

    async def empty_log(self, then: Callable[[Writing, str | None], T]) -> T:
        """Truncate the WAL to zero, then run *then* with writer and VFS while no reader runs.

        Raises BusyError when a reader needs the log for BUSY_MS_MAX, DiskFullError, ReadOnlyError.
        """
        vfs = self._vfs or page_sums.vfs()
        # The pools are acquired only after the log was emptied once: until then, a slow reader
        # delays this call but no other reads.
        loop = asyncio.get_running_loop()
        deadline = loop.time() + BUSY_MS_MAX / 1_000
        while True:
            try:
                await self._checkpoint_then(_TRUNCATE, 0, lambda _: None)
                # Keep readers out: they could see half of a page that *then* writes.
                async with self._readers.acquire_all(), self._scanners.acquire_all():
                    return await self._checkpoint_then(
                        _TRUNCATE, LOG_WAIT_MS, lambda conn: then(conn, vfs)
                    )
            except BusyError:
                if loop.time() > deadline:
                    raise
            await asyncio.sleep(LOG_RETRY_S)

    async def _checkpoint_then(self, mode: int, wait_ms: int, then: Callable[[Writing], T]) -> T:
        if (writer := self._writer) is None:
            raise ReadOnlyError("the store is read-only")

        def work() -> T:
            connections.checkpoint(writer, mode, wait_ms)
            return then(writer)

        try:
            return await self._run(writer, work)
        except MemdError:
            if writer.broken:
                await self._reopen(writer)
            raise
        finally:
            self._wal_pages = 0  # after a failure, too: retry after CHECKPOINT_PAGES more pages

    def _checkpoint_done(self, _task: asyncio.Task[bool]) -> None:
        self._checkpoint = None

    # Opening and closing.

    async def open(self) -> None:
        """Open every connection; see :func:`open_database`."""
        connect.check_library()
        apsw.async_controller.set(cast("Any", apsw.aio.AsyncIO))
        with suppress(OSError):  # create the file here: SQLite would use the mode of the umask
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        if self._vfs is None:
            repair_modes(self.path)
        try:
            await self._open_writer()
        except ReadOnlyError:
            self.read_only = True
        if not self.read_only and self._vfs is None:
            reserve_ballast(self.path)
            backup.sweep([self.path.parent])
        try:
            self._readers.add(await self._open_reader())
        except ReadOnlyError:
            if not self.read_only:
                raise
            # Stays so until the next start: SQLite must assume that the file does not change.
            self._connections.immutable = True
            self._readers.add(await self._open_reader())
        for _ in range(READERS - 1):
            self._readers.add(await self._open_reader())
        for _ in range(SCANNERS):
            self._scanners.add(await self._open_reader(mmap=self._mmap))
        self._is_moved()  # records the identities of the files
        self.lasting = TrustedTime(self.clock, await self.read(replies.lasting_us))

    async def _open_writer(self) -> None:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        vfs = self._vfs or page_sums.vfs()
        async with self._connections.opening(Writing, flags, vfs) as writer:
            writer.damage = self.damage.add
            version = await self._run(writer, prepare_writer, writer)
            await self._run(writer, lambda: migrate(writer, self.path, version, self._steps))
            await self._run(writer, page_sums.add_sums, writer)
            await self._run(writer, caches.ensure, writer)
            await self._run(writer, writer.set_wal_hook, self._count_wal)
            self._writer = writer

    async def _open_reader(self, *, mmap: bool = False, vfs: str | None = None) -> Reading:
        flags = apsw.SQLITE_OPEN_READONLY if self.read_only else apsw.SQLITE_OPEN_READWRITE
        async with self._connections.opening(Reading, flags, self._vfs or vfs) as reader:
            reader.damage = self.damage.add
            await self._run(reader, lambda: prepare_reader(reader, mmap=mmap))
            return reader

    def _count_wal(self, _conn: object, _name: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK

    async def _reopen(self, failed: Writing | None) -> None:
        """Replace the *failed* writer, only once if several writes failed on it."""
        if self._reopening is None and self._writer is failed:
            self._reopening = asyncio.create_task(self._replace_writer())
        if self._reopening is not None:
            await asyncio.shield(self._reopening)

    async def _replace_writer(self) -> None:
        failed, self._writer = self._writer, None
        try:
            if failed is not None:
                await self._connections.close(failed)
            await self._open_writer()
            self.read_only = False
        except MemdError:
            self.read_only = True
        finally:
            self._reopening = None

    async def recover(self) -> bool:
        """Try to open a writer again after a disk error; True when writes work."""
        if self._writer is None:
            await self._reopen(None)
        if self._writer is not None and self._vfs is None:
            reserve_ballast(self.path)
        return self._writer is not None

    async def close(self) -> None:
        """Checkpoint, then close every connection; may be called more than once."""
        if self._checkpoint is not None:
            await self._checkpoint
        if self._reopening is not None:
            await self._reopening
        await self.checkpoint(truncate=True)
        self._writer = None
        await self._connections.close_all()


@asynccontextmanager
async def open_database(
    path: Path,
    clock: Clock,
    *,
    vfs: str | None = None,
    mmap: bool = True,
    steps: Mapping[int, Step] = STEPS,
) -> AsyncIterator[Database]:
    """Open the file at *path*, creating it when it does not exist; close it at the end.

    A file of an older schema is backed up, then migrated with *steps*. Raises ForeignFileError,
    NewerSchemaError or DamagedError and leaves the file untouched. A file that cannot be written is
    opened read-only.
    """
    database = Database(path, clock, vfs=vfs, mmap=mmap, steps=steps)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(finish, database.close)
        await database.open()
        yield database
