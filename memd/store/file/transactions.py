"""How a read, a write or a checkpoint runs inside a connection's own thread."""

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
