"""What runs inside a connection's own thread: a read, a write, a checkpoint, each whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import apsw

from memd.base.errors import BusyError
from memd.base.limits import BUSY_MS_MAX
from memd.domain.caller import Caller
from memd.store.access import changes
from memd.store.file.connect import Reading, Writing
from memd.store.file.faults import is_fatal

T = TypeVar("T")


def checkpointing(conn: Writing, mode: int, wait_ms: int) -> None:
    """Move the log into the file, waiting at most *wait_ms* for readers."""
    conn.set_busy_timeout(wait_ms)  # for a reader: meanwhile every write would wait too
    try:
        conn.wal_checkpoint(mode=mode)
    except apsw.Error as error:
        conn.broken = conn.broken or is_fatal(error)
        raise
    finally:
        conn.set_busy_timeout(BUSY_MS_MAX)


def reading(conn: Reading, work: Callable[[], T]) -> T:
    """Run *work* in one read transaction, so that all its statements see the same moment."""
    try:
        conn.execute("BEGIN")  # here: a read cancelled in it must not keep the transaction
        return work()
    finally:
        if conn.in_transaction:
            conn.execute("ROLLBACK")


def outside(conn: Reading, work: Callable[[Reading], T]) -> T:
    """Run *work* outside any transaction, for what must not be in one."""
    conn.pragma("query_only", False)  # or even VACUUM INTO another file is refused
    try:
        return work(conn)
    finally:
        conn.pragma("query_only", True)


def transacted(
    conn: Writing, work: Callable[[], T], caller: Caller, batch: str | None, now_us: int
) -> T:
    """Run *work* in one write transaction with its audit row; it holds once this returns."""
    if conn.broken:  # waited behind the write that broke it; the next one finds a new connection
        raise BusyError("the store is being reopened after an error of the disk")
    conn.touched.clear()
    try:
        conn.execute("BEGIN IMMEDIATE")
        result = work()
        changes.record(conn, caller, now_us, batch)
        conn.execute("COMMIT")
    except BaseException as error:
        conn.broken = is_fatal(error)
        rolled_back(conn)
        raise
    return result


def rolled_back(conn: Writing) -> None:
    try:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
    except apsw.Error:
        conn.broken = True  # closing it rolls back
