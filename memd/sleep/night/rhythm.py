"""When a night begins (SPEC 16.2).

A night is due one interval after the last one began. It then waits for a quiet
moment on mains power, so that nobody notices it; after a whole further interval
it waits for mains power alone. What ``sleep.status`` tells is what the tick acts
on: one function answers both. The rules are pure; the hands that read the
battery and the load decide nothing.

A night that cannot begin is tried again an hour later; one that began and failed of
itself is in the ledger and counts; one that the disk ended is gone on with first
(backoff.py says when). A night of some steps, or of one agent, is no night here. A
fault never ends the daemon: what sleeps badly
still has to remember by day.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from memd.base import log
from memd.base.clock import Clock, from_us
from memd.base.errors import MemdError
from memd.base.limits import NIGHT_QUIET_S_MIN, NIGHT_RETRY_S
from memd.domain.caller import Caller
from memd.domain.enums import ConsolidationInterval, RunKind
from memd.domain.sleep.sleep import RunReport, SleepStatus

if TYPE_CHECKING:
    from memd.sleep.night.night import Night

TICK_S = 60.0

INTERVALS: Final = {
    ConsolidationInterval.HOURLY: timedelta(seconds=3_600),
    ConsolidationInterval.DAILY: timedelta(seconds=86_400),
    ConsolidationInterval.WEEKLY: timedelta(seconds=604_800),
}
"""How long after a night's beginning the next one is due; ``never`` is not among them."""

_CALLER = Caller(client="memd", method="sleep.run")


class MachineState(NamedTuple):
    """How it is right now: seconds since the last request, load a core, power."""

    quiet_s: float
    load: float
    on_battery: bool


# Rules.


def due(
    interval: ConsolidationInterval, last_started: datetime | None, now: datetime
) -> datetime | None:
    """Return when the next night is due; None for never, and for a store without a beginning.

    *last_started* is when the last night began, or before the first one when the
    store was made. A moment that lies more than an interval ahead was told by a
    wrong clock: then a night is due now, and the right clock counts from there.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 3, 17, 12, tzinfo=UTC)
    >>> due(ConsolidationInterval.DAILY, noon, noon).isoformat()
    '2026-03-18T12:00:00+00:00'
    """
    span = INTERVALS.get(interval)
    if span is None or last_started is None:
        return None
    return now if last_started - now > span else last_started + span


def overdue(interval: ConsolidationInterval, due_at: datetime, now: datetime) -> bool:
    """Return whether a night has been due for a whole further interval."""
    return now - due_at >= INTERVALS[interval]


def may_begin(
    due_at: datetime | None, now: datetime, moment: MachineState, *, overdue: bool
) -> str | None:
    """Return why a night does not begin now, None when it does.

    On battery none begins. On mains power it begins when nothing was asked for two
    minutes and the machine is not busy, or when it is *overdue*.
    """
    if due_at is None:
        return "no night is due"
    if now < due_at:
        return "it is not time yet"
    if moment.on_battery:
        return "the computer runs on battery"
    if overdue:
        return None
    if moment.quiet_s < NIGHT_QUIET_S_MIN:
        return f"memd was in use {int(moment.quiet_s)} s ago"
    return "the computer is busy" if moment.load >= 1.0 else None


# Hands.


def discharging() -> bool:
    """Return whether a battery is being emptied; without a battery, or unknown, it is not."""
    import psutil

    try:
        battery = psutil.sensors_battery()
    except (AttributeError, NotImplementedError, OSError):  # not on this system
        return False
    return battery is not None and battery.power_plugged is False


def load_per_core() -> float:
    """Return the load of the last minute, for each core: from 1.0 on somebody waits."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except OSError:
        return 0.0


# The task.


@dataclass
class Rhythm:
    """Begins the nights. The daemon runs :meth:`run`, and :meth:`heed` is told who is served."""

    nights: Night
    clock: Clock
    interval: ConsolidationInterval
    enabled: Callable[[], bool]
    """The settings' kill switch, read again at every tick."""
    since: Callable[[], Awaitable[datetime | None]]
    """When the store was made: its first night is due an interval later."""
    quiet_s: Callable[[], float] = field(default=float)
    """Seconds since the last request of anybody."""
    on_battery: Callable[[], bool] = discharging
    load: Callable[[], float] = load_per_core
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _not_before_us: int = 0
    _begun: set[asyncio.Task[RunReport]] = field(default_factory=set)

    def heed(self, quiet_s: Callable[[], float]) -> None:
        """Ask *quiet_s* from now on; until then it is never quiet."""
        self.quiet_s = quiet_s

    async def run(self) -> None:
        """Finish what a kill interrupted, then tick; what was begun ends with this task."""
        try:
            await self._guarded(self.nights.go_on)
            while True:
                await self.sleep(TICK_S)
                await self._guarded(self.tick)
        finally:
            for task in self._begun:
                task.cancel()
            await asyncio.gather(*self._begun, return_exceptions=True)

    async def tick(self) -> None:
        """Go on with a night that was stopped; begin one if the status says that nothing keeps it.

        After a fault an hour passes without either.
        """
        if self.clock.monotonic_us() < self._not_before_us:
            return
        await self.nights.go_on()
        status = await self.status()
        if status.running or status.waits_for or status.next_at is None:
            return
        if status.next_at <= self._now():
            await self.nights.run(_CALLER)

    async def asked(self, run: Coroutine[Any, Any, RunReport]) -> RunReport:
        """Return what *run*, which somebody asked for, came to.

        It goes on when its caller stops waiting, and is interrupted, to go on at the
        next start, when the daemon stops.
        """
        task = asyncio.ensure_future(run)
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_tell_nobody_waits)
            raise

    async def status(self) -> SleepStatus:
        """Return whether memd sleeps, whether it may, and when it will."""
        now = self._now()
        last = await self.nights.last(RunKind.NIGHT)
        enabled, paused = self._may(), await self._paused()
        next_at = None
        if enabled and not paused:
            began = last.started_at if last else await self.since()
            next_at = due(self.interval, began, now)
        waits_for = None
        if next_at is not None and next_at <= now:
            moment = MachineState(self.quiet_s(), self.load(), self.on_battery())
            late = overdue(self.interval, next_at, now)
            waits_for = may_begin(next_at, now, moment, overdue=late)
        waiting = self.nights.put_off
        if waiting is not None and enabled and not paused:
            next_at = from_us(waiting.again_at_us)
            waits_for = f"the disk ended a run ({waiting.kind}), which is gone on with first"
        return SleepStatus(
            enabled=enabled,
            paused=paused,
            interval=self.interval.value,
            running=self.nights.running,
            last=last,
            next_at=next_at,
            waits_for=waits_for,
        )

    def _may(self) -> bool:
        """Read the kill switch; one that cannot be read is on (SPEC 16.2)."""
        try:
            return self.enabled()
        except MemdError:
            return True

    async def _paused(self) -> bool:
        try:
            return await self.nights.paused()
        except MemdError:
            return False

    def _now(self) -> datetime:
        return from_us(self.clock.now_us())

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except MemdError as error:
            log.error("night failed", kind=error.kind)
        except Exception as error:  # noqa: BLE001  # a bug by night must not end the day
            log.error("bug", method="night", trace=log.trace_of(error))
        else:
            return
        self._not_before_us = self.clock.monotonic_us() + NIGHT_RETRY_S * 1_000_000


def _tell_nobody_waits(task: asyncio.Task[RunReport]) -> None:
    """Log what became of a run whose caller has gone, if it failed."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("run failed", kind=error.kind if isinstance(error, MemdError) else "internal")
