"""When a run that the disk interrupted is tried again: soon, then ever more rarely.

A full disk or a locked file says nothing about a run: what it did is in the
ledger, and the rest is done when there is room again. So the run stays
unfinished and is retried after one hour, two, four, up to a day. When the
disk has refused often enough, its error counts as the run's own: other agents get
their night, and the run has failed. A run that failed by itself (a bug, a
language model that refuses) is never retried.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

from memd.base import log
from memd.base.clock import Clock
from memd.base.errors import (
    BusyError,
    DamagedError,
    DiskFullError,
    MemdError,
    ReadOnlyError,
    StorageError,
)
from memd.base.limits import NIGHT_RETRY_S, NIGHT_RETRY_S_MAX, NIGHT_TRIES_MAX
from memd.domain.caller import Caller
from memd.domain.enums import RunState
from memd.store.file.database import Database
from memd.store.run import runs
from memd.store.run.runs import RunRow

_DISK_ERRORS = (BusyError, DamagedError, DiskFullError, ReadOnlyError)


def is_disk_error(error: BaseException) -> bool:
    """Return whether the disk or the file refused, not the run or a service that it called.

    A file that another program locks, and a writer that is being reopened after a
    disk error, are busy.
    """
    return isinstance(error, _DISK_ERRORS) or type(error) is StorageError


def retry_delay_s(tries: int) -> int:
    """Return how long a run waits after *tries* that the disk interrupted.

    >>> [retry_delay_s(tries) // 3_600 for tries in range(1, 8)]
    [1, 2, 4, 8, 16, 24, 24]
    """
    return int(min(NIGHT_RETRY_S << (tries - 1), NIGHT_RETRY_S_MAX))


class PostponedRun(NamedTuple):
    """A run that waits for the disk: the error, the number of tries, and when it is retried."""

    run_id: str
    kind: str
    tries: int
    again_at_us: int
    not_before_us: int
    """The same moment on the monotonic clock."""

    @property
    def report(self) -> dict[str, Any]:
        """The report for the ledger, where that can be written."""
        detail = {"errors": [self.kind], "tries": self.tries}
        return {"detail": detail, "again_at_us": self.again_at_us}


class DiskRetries:
    """Remembers the run that waits for the disk, also when the ledger could not be written."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._last: PostponedRun | None = None

    @property
    def current(self) -> PostponedRun | None:
        """The run that waits; None when none does or its time has come."""
        last = self._last
        over = last is None or self._clock.monotonic_us() >= last.not_before_us
        return None if over else last

    @asynccontextmanager
    async def postpone_on_error(self, caller: Caller, row: RunRow) -> AsyncIterator[None]:
        """Postpone *row* when the disk interrupts the block; the error is raised all the same."""
        try:
            yield
        except MemdError as error:
            if is_disk_error(error):
                await self._postpone(caller, row, error.kind)
            raise
        if self._last is not None and self._last.run_id == row.run_id:
            self._last = None

    async def _postpone(self, caller: Caller, row: RunRow, kind: str) -> None:
        tries = self._tries(row) + 1
        wait_us = retry_delay_s(tries) * 1_000_000
        at_us, not_before_us = self._clock.now_us(), self._clock.monotonic_us()
        self._last = PostponedRun(row.run_id, kind, tries, at_us + wait_us, not_before_us + wait_us)
        log.error("a run waits for the disk", kind=kind, tries=tries)
        work = partial(runs.postpone, run_key=row.run_key, report=self._last.report)
        with suppress(MemdError):  # a full disk cannot record it either
            await self._db.write(caller, work)

    def is_exhausted(self, row: RunRow) -> bool:
        """Return whether the disk refused *row* so often that one more error is the run's own."""
        return self._tries(row) + 1 >= NIGHT_TRIES_MAX

    def _tries(self, row: RunRow) -> int:
        return int(self.with_retry(row).report.get("detail", {}).get("tries", 0))

    def with_retry(self, row: RunRow) -> RunRow:
        """Return *row* with the report that could not be written to the ledger."""
        last = self._last
        finished = row.state not in {RunState.RUNNING, RunState.UNDOING}
        if last is None or last.run_id != row.run_id or finished:
            return row
        return row._replace(report=last.report)
