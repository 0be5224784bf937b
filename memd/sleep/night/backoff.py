"""Retry runs that the disk interrupted, with growing delays.

A full disk or a locked file is no fault of the run. Its completed steps are recorded, so it stays
unfinished and is resumed after one hour, two, four, and so on up to a day. After NIGHT_TRIES_MAX
tries the error counts as that of the agent: the night continues with the other agents, and the run
has failed. A run that failed for another reason, such as a bug, is not retried.
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
    """Return whether *error* comes from the disk or the database file.

    BusyError is raised for a file that another program locks, and while the writer is reopened
    after a disk error.
    """
    return isinstance(error, _DISK_ERRORS) or type(error) is StorageError


def retry_delay_s(tries: int) -> int:
    """Return how long a run waits after *tries* interrupted tries, at least 1.

    >>> [retry_delay_s(tries) // 3_600 for tries in range(1, 8)]
    [1, 2, 4, 8, 16, 24, 24]
    """
    return int(min(NIGHT_RETRY_S << (tries - 1), NIGHT_RETRY_S_MAX))


class PostponedRun(NamedTuple):
    """A run that waits for the disk: the kind of the error, the tries, and when it is resumed."""

    run_id: str
    kind: str
    tries: int
    again_at_us: int
    not_before_us: int
    """The same moment on the monotonic clock."""

    @property
    def report(self) -> dict[str, Any]:
        """The report for the row of the run."""
        detail = {"errors": [self.kind], "tries": self.tries}
        return {"detail": detail, "again_at_us": self.again_at_us}


class DiskRetries:
    """Remembers the run that waits for the disk, even if its row cannot be updated."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._last: PostponedRun | None = None

    @property
    def current(self) -> PostponedRun | None:
        """The run that waits; None if there is none or its wait is over."""
        last = self._last
        is_over = last is None or self._clock.monotonic_us() >= last.not_before_us
        return None if is_over else last

    @asynccontextmanager
    async def postpone_on_error(self, caller: Caller, row: RunRow) -> AsyncIterator[None]:
        """Postpone *row* if the block raises a disk error, and raise the error again."""
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
        """Return whether *row* has no more tries, so that a disk error fails it for the agent."""
        return self._tries(row) + 1 >= NIGHT_TRIES_MAX

    def _tries(self, row: RunRow) -> int:
        return int(self.with_retry(row).report.get("detail", {}).get("tries", 0))

    def with_retry(self, row: RunRow) -> RunRow:
        """Return *row*, if it waits for the disk, with the report that may not be in its row."""
        last = self._last
        is_finished = row.state not in {RunState.RUNNING, RunState.UNDOING}
        if last is None or last.run_id != row.run_id or is_finished:
            return row
        return row._replace(report=last.report)
