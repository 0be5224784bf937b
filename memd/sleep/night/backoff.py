"""When a run that the disk ended is gone on with: soon, then ever more rarely.

A full disk or a held file says nothing about a run: what it had done is in the
ledger, and the rest is done when there is room again. So such a run stays
unfinished and is tried again after one hour, two, four, up to a day. When the
disk has refused often enough, its error counts as the run's own: other agents get
their night, and the run has failed. What a run fails of by itself (a bug, a
language model that refuses) is never tried again.
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

_DISK = (BusyError, DamagedError, DiskFullError, ReadOnlyError)


def of_the_disk(error: BaseException) -> bool:
    """Return whether the disk or the file refused, and not what the run did or whom it asked.

    A file that another program holds, and a writer that is being reopened after an
    error of the disk, are busy.
    """
    return isinstance(error, _DISK) or type(error) is StorageError


def pause_s(tries: int) -> int:
    """Return how long a run waits after *tries* that the disk ended.

    >>> [pause_s(tries) // 3_600 for tries in range(1, 8)]
    [1, 2, 4, 8, 16, 24, 24]
    """
    return int(min(NIGHT_RETRY_S << (tries - 1), NIGHT_RETRY_S_MAX))


class PutOff(NamedTuple):
    """A run that waits for the disk: what the disk said, how often, and until when."""

    run_id: str
    kind: str
    tries: int
    again_at_us: int
    not_before_us: int
    """The same on the clock that nobody sets."""

    @property
    def report(self) -> dict[str, Any]:
        """What the ledger keeps of it, where that can be written."""
        detail = {"errors": [self.kind], "tries": self.tries}
        return {"detail": detail, "again_at_us": self.again_at_us}


class Waits:
    """Knows the run that waits for the disk, even where the disk could not be told."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._last: PutOff | None = None

    @property
    def now(self) -> PutOff | None:
        """The run that waits; None when none does, or its time has come."""
        last = self._last
        over = last is None or self._clock.monotonic_us() >= last.not_before_us
        return None if over else last

    @asynccontextmanager
    async def heeding(self, caller: Caller, row: RunRow) -> AsyncIterator[None]:
        """Put *row* off when the disk ends it within; the error is raised all the same."""
        try:
            yield
        except MemdError as error:
            if of_the_disk(error):
                await self._put_off(caller, row, error.kind)
            raise
        if self._last is not None and self._last.run_id == row.run_id:
            self._last = None

    async def _put_off(self, caller: Caller, row: RunRow, kind: str) -> None:
        tries = self._tries(row) + 1
        wait_us = pause_s(tries) * 1_000_000
        at_us, not_before_us = self._clock.now_us(), self._clock.monotonic_us()
        self._last = PutOff(row.run_id, kind, tries, at_us + wait_us, not_before_us + wait_us)
        log.error("a run waits for the disk", kind=kind, tries=tries)
        work = partial(runs.put_off, run_key=row.run_key, report=self._last.report)
        with suppress(MemdError):  # a disk that is full cannot even be told so
            await self._db.write(caller, work)

    def are_over(self, row: RunRow) -> bool:
        """Return whether the disk has refused *row* so often that one more error is its own."""
        return self._tries(row) + 1 >= NIGHT_TRIES_MAX

    def _tries(self, row: RunRow) -> int:
        return int(self.with_wait(row).report.get("detail", {}).get("tries", 0))

    def with_wait(self, row: RunRow) -> RunRow:
        """Return *row* with what the disk could not be told about it."""
        last = self._last
        finished = row.state not in {RunState.RUNNING, RunState.UNDOING}
        if last is None or last.run_id != row.run_id or finished:
            return row
        return row._replace(report=last.report)
