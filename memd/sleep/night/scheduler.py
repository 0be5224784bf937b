"""Start nights (SPEC 16.2).

A night is due one interval after the last one began. It then waits until the computer is idle and
on mains power; after another whole interval, it waits only for mains power. ``sleep.status`` and
the scheduler use the same function, so the status says what the scheduler will do.

A night that cannot begin is tried again an hour later. One that began and failed counts as a night.
One that the disk interrupted is resumed first (``backoff.py``). Runs of some steps or of one agent
do not count as nights. No error ends the scheduler.
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
"""Time from the start of a night until the next one is due; ``never`` has none."""

_CALLER = Caller(client="memd", method="sleep.run")


class MachineState(NamedTuple):
    """The state of the computer: seconds since memd's last request, load per core, power."""

    quiet_s: float
    load: float
    on_battery: bool


# Rules.


def next_due(
    interval: ConsolidationInterval, last_started: datetime | None, now: datetime
) -> datetime | None:
    """Return when the next night is due; None for never, and for a store without memories.

    *last_started* is the start of the last night, or the time of the first memory if there was no
    night. If it is more than an interval in the future, the clock was wrong; then a night is due
    now.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 3, 17, 12, tzinfo=UTC)
    >>> next_due(ConsolidationInterval.DAILY, noon, noon).isoformat()
    '2026-03-18T12:00:00+00:00'
    """
    span = INTERVALS.get(interval)
    if span is None or last_started is None:
        return None
    return now if last_started - now > span else last_started + span


def is_overdue(interval: ConsolidationInterval, due_at: datetime, now: datetime) -> bool:
    """Return whether a night has been due for a whole interval."""
    return now - due_at >= INTERVALS[interval]


def waiting_reason(
    due_at: datetime | None, now: datetime, machine: MachineState, *, is_late: bool
) -> str | None:
    """Return why a night does not begin now, None if it does.

    On battery none begins. On mains power it begins if it is late, or after NIGHT_QUIET_S_MIN
    without a request while the computer is not busy.
    """
    if due_at is None:
        return "no night is due"
    if now < due_at:
        return "it is not time yet"
    if machine.on_battery:
        return "the computer runs on battery"
    if is_late:
        return None
    if machine.quiet_s < NIGHT_QUIET_S_MIN:
        return f"memd was in use {int(machine.quiet_s)} s ago"
    return "the computer is busy" if machine.load >= 1.0 else None


# Probes.


def is_discharging() -> bool:
    """Return whether a battery is being discharged; False without a battery or if unknown."""
    import psutil

    try:
        battery = psutil.sensors_battery()
    except (AttributeError, NotImplementedError, OSError):  # not on this system
        return False
    return battery is not None and battery.power_plugged is False


def load_per_core() -> float:
    """Return the load average of the last minute per core; from 1.0 on processes queue."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except OSError:
        return 0.0


# The task that ticks.


@dataclass
class NightScheduler:
    """Starts nights; the daemon runs :meth:`run` and calls :meth:`watch_idle`."""

    night: Night
    clock: Clock
    interval: ConsolidationInterval
    enabled: Callable[[], bool]
    """Returns the kill switch of the settings; called at every tick."""
    since: Callable[[], Awaitable[datetime | None]]
    """Returns the time of the first memory; the first night is due an interval later."""
    quiet_s: Callable[[], float] = field(default=float)
    """Returns the seconds since the last request of any client."""
    on_battery: Callable[[], bool] = is_discharging
    load: Callable[[], float] = load_per_core
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _not_before_us: int = 0
    _tasks: set[asyncio.Task[RunReport]] = field(default_factory=set)

    def watch_idle(self, quiet_s: Callable[[], float]) -> None:
        """Set the function that returns the idle time; without it the daemon counts as in use."""
        self.quiet_s = quiet_s

    async def run(self) -> None:
        """Resume unfinished runs, then tick for ever; shielded runs end with this task."""
        try:
            await self._run_guarded(self.night.resume_unfinished)
            while True:
                await self.sleep(TICK_S)
                await self._run_guarded(self.tick)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def tick(self) -> None:
        """Resume an interrupted run, and start a night if one is due and nothing prevents it.

        Does nothing for an hour after an error.
        """
        if self.clock.monotonic_us() < self._not_before_us:
            return
        await self.night.resume_unfinished()
        status = await self.status()
        if status.running or status.waits_for or status.next_at is None:
            return
        if status.next_at <= self._now():
            await self.night.run(_CALLER)

    async def run_shielded(self, run: Coroutine[Any, Any, RunReport]) -> RunReport:
        """Await *run*, which a caller requested, and return its report.

        The run continues if the caller stops waiting. If the daemon stops, the run is interrupted
        and resumed at the next start.
        """
        task = asyncio.ensure_future(run)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_log_failure)
            raise

    async def status(self) -> SleepStatus:
        """Return the run in progress, the last night, the time of the next, and why it waits."""
        now = self._now()
        last = await self.night.last(RunKind.NIGHT)
        enabled, paused = self._is_enabled(), await self._is_paused()
        next_at = None
        if enabled and not paused:
            start = last.started_at if last else await self.since()
            next_at = next_due(self.interval, start, now)
        waits_for = None
        if next_at is not None and next_at <= now:
            machine = MachineState(self.quiet_s(), self.load(), self.on_battery())
            is_late = is_overdue(self.interval, next_at, now)
            waits_for = waiting_reason(next_at, now, machine, is_late=is_late)
        postponed = self.night.postponed
        if postponed is not None and enabled and not paused:
            next_at = from_us(postponed.again_at_us)
            waits_for = f"the disk interrupted a run ({postponed.kind}), which is resumed first"
        return SleepStatus(
            enabled=enabled,
            paused=paused,
            interval=self.interval.value,
            running=self.night.running,
            last=last,
            next_at=next_at,
            waits_for=waits_for,
        )

    def _is_enabled(self) -> bool:
        """Return the kill switch; nights are enabled if it cannot be read (SPEC 16.2)."""
        try:
            return self.enabled()
        except MemdError:
            return True

    async def _is_paused(self) -> bool:
        try:
            return await self.night.is_paused()
        except MemdError:
            return False

    def _now(self) -> datetime:
        return from_us(self.clock.now_us())

    async def _run_guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except MemdError as error:
            log.error("night failed", kind=error.kind)
        except Exception as error:  # noqa: BLE001  # a bug in a night must not end the daemon
            log.error("bug", method="night", trace=log.trace_of(error))
        else:
            return
        self._not_before_us = self.clock.monotonic_us() + NIGHT_RETRY_S * 1_000_000


def _log_failure(task: asyncio.Task[RunReport]) -> None:
    """Log the error of a run whose caller has gone."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("run failed", kind=error.kind if isinstance(error, MemdError) else "internal")
