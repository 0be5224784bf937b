"""Rooms over one recorded connection, so that the operations on the file can be replayed.

``OneConnection`` has the interface of ``Database`` and uses one connection: exclusive mode allows
no second one, and a replay must know what was acknowledged when. After each COMMIT it marks the
trace and notes the content of the file: an image must have the content at one of the two marks
around it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import apsw
import pytest
from support.clocks import HeldClock
from support.fakes import HashEmbedder
from support.nights import Bed
from support.powercut import RecordingVFS, small_pages
from support.store import SOURCE_TABLES, a_house, hash_tables

from memd.backends import rooms as file_rooms
from memd.domain.caller import Caller
from memd.domain.settings.settings import Settings
from memd.sleep.sleep import build_sleep
from memd.store.access import replies
from memd.store.file import connections
from memd.store.file.connect import Reading, Writing, prepare_writer
from memd.store.file.database import Database
from memd.store.search import caches

P = ParamSpec("P")
T = TypeVar("T")

LEDGER_TABLES = (
    "meta", "run", "run_step", "run_change", "session_message", "usage_window", "memory_turn",
    "nap_slot", "session_window", "injection",
)  # fmt: skip
CHECKPOINT_WRITES = 9  # between two checkpoints, so that a trace has a few in odd places


class OneConnection(Database):
    """The doors, all on *conn*. *held* is what the file held after each COMMIT, first to last."""

    def __init__(self, conn: Writing, clock: HeldClock, vfs: RecordingVFS) -> None:
        super().__init__(Path(conn.filename), clock)
        self.held = [held(conn)]
        self._conn = conn
        self._disk = vfs

    async def read(
        self, work: Callable[Concatenate[Reading, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return connections.run_read(self._conn, lambda: work(self._conn, *args, **kwargs))

    async def scan(
        self, work: Callable[Concatenate[Reading, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self.read(work, *args, **kwargs)

    async def read_dedicated(self, work: Callable[[Reading], T], *, transaction: bool = True) -> T:
        assert transaction
        return await self.read(work)

    async def write(
        self,
        caller: Caller,
        work: Callable[[Writing], T],
        *,
        reply: type[T] | None = None,
        batch: str | None = None,
    ) -> T:
        conn, now_us = self._conn, self.clock.now_us()
        result = connections.run_write(
            conn, lambda: replies.run_once(conn, caller, now_us, reply, work), caller, batch, now_us
        )
        self.held.append(held(conn))
        self._disk.mark(str(len(self.held) - 1))
        if len(self.held) % CHECKPOINT_WRITES == 0:
            conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        return result


def held(conn: apsw.Connection) -> str:
    """Return a hash over every row that memd was told or has noted about its sleep."""
    return hash_tables(conn, (*SOURCE_TABLES, *LEDGER_TABLES))


@asynccontextmanager
async def a_recorded_bed(
    folder: Path, settings: Settings, embedder: Any = None
) -> AsyncIterator[tuple[RecordingVFS, OneConnection, Bed]]:
    """Open the rooms over a new file in *folder*, on a disk that remembers."""
    clock, vfs = HeldClock(), RecordingVFS()
    embedder = embedder or HashEmbedder()
    conn = Writing(str(folder / "memd.db"), vfs="recording")
    try:
        conn.pragma("locking_mode", "exclusive")
        with small_pages():
            prepare_writer(conn)
        caches.ensure(conn)
        db = OneConnection(conn, clock, vfs)

        @asynccontextmanager
        async def open_database(*_args: object, **_more: object) -> AsyncIterator[Database]:
            yield db

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(file_rooms, "open_database", open_database)
            async with a_house(folder / "memd.db", clock, embedder, settings) as house:
                yield vfs, db, Bed(house, clock, embedder, build_sleep(house, settings).night)
    finally:
        conn.close(True)
        vfs.unregister()
