"""When a night begins (SPEC 16.2)."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from support.clocks import HeldClock
from support.entries import NOW

from memd.base.clock import Clock, from_us, to_us
from memd.base.errors import BusyError, MemoryConfigError
from memd.domain.caller import Caller
from memd.domain.enums import ConsolidationInterval, RunKind, RunState
from memd.domain.sleep.sleep import RunReport, StepReport
from memd.sleep.night import scheduler
from memd.sleep.night.backoff import PostponedRun
from memd.sleep.night.scheduler import (
    MachineState,
    NightScheduler,
    is_overdue,
    next_due,
    waiting_reason,
)

Progress = Callable[[int, int], None]


@dataclass
class FakeNight:
    """Satisfies what the scheduler needs of a night.

    A run that finds *gate* closed waits there; *fail* is raised by a run, *stuck*
    by going on, *late* by a run behind the gate. *asked* holds how each run was asked for.
    """

    clock: Clock
    runs: list[RunReport] = field(default_factory=list)
    asked: list[dict[str, object]] = field(default_factory=list)
    went_on: int = 0
    begun: int = 0
    held: bool = False
    gate: asyncio.Event | None = None
    fail: BaseException | None = None
    stuck: BaseException | None = None
    late: BaseException | None = None
    running: RunReport | None = None
    postponed: PostponedRun | None = None

    async def run(
        self,
        caller: Caller,
        *,
        dry_run: bool = False,
        steps: frozenset[str] | None = None,
        agent_id: str | None = None,
        ahead_us: int = 0,
        progress: Progress | None = None,
    ) -> RunReport:
        self.asked.append({"dry_run": dry_run, "steps": steps, "agent_id": agent_id})
        return await self._ran(caller, RunKind.NIGHT, agent_id, progress, dry_run=dry_run)

    async def is_paused(self) -> bool:
        return self.held

    async def last(self, kind: RunKind) -> RunReport | None:
        return next((run for run in reversed(self.runs) if run.kind is kind), None)

    async def resume_unfinished(self) -> None:
        self.went_on += 1
        if self.stuck is not None:
            raise self.stuck

    async def _ran(
        self,
        caller: Caller,
        kind: RunKind,
        agent_id: str | None,
        progress: Progress | None,
        *,
        dry_run: bool = False,
    ) -> RunReport:
        del caller
        self.begun += 1
        if self.fail is not None:
            raise self.fail
        now = from_us(self.clock.now_us())
        run = RunReport(
            run_id=f"run-{len(self.runs):04}",
            kind=kind,
            state=RunState.RUNNING,
            agent_id=agent_id,
            dry_run=dry_run,
            started_at=now,
        )
        self.running = run
        try:
            if self.gate is not None:
                await self.gate.wait()
            if self.late is not None:
                raise self.late
        finally:
            self.running = None
        if progress is not None:
            progress(1, 1)
        steps = (StepReport(name="consolidation", rows=3, steps=1),)
        done = run.model_copy(update={"state": RunState.DONE, "finished_at": now, "steps": steps})
        self.runs.append(done)
        return done


HOURLY, DAILY, WEEKLY, NEVER = ConsolidationInterval
QUIET = MachineState(quiet_s=120.0, load=0.0, on_battery=False)
DAY = timedelta(days=1)
CALLER = Caller()


# The rules.


@pytest.mark.parametrize(
    ("interval", "seconds"), [(HOURLY, 3_600), (DAILY, 86_400), (WEEKLY, 604_800)]
)
def test_a_night_is_due_one_interval_after_the_last_one_began(
    interval: ConsolidationInterval, seconds: int
) -> None:
    assert next_due(interval, NOW, NOW) == NOW + timedelta(seconds=seconds)


def test_never_is_nothing_due() -> None:
    assert next_due(NEVER, NOW - 1_000 * DAY, NOW) is None


def test_a_store_without_a_beginning_has_nothing_due() -> None:
    assert next_due(DAILY, None, NOW) is None


def test_a_clock_that_went_back_by_less_than_an_interval_makes_no_second_night() -> None:
    began = NOW + timedelta(hours=5)
    assert next_due(DAILY, began, NOW) == began + DAY


def test_a_night_of_a_far_future_is_the_work_of_a_wrong_clock_and_stops_no_night() -> None:
    assert next_due(DAILY, NOW + 3_650 * DAY, NOW) == NOW


@pytest.mark.parametrize(("hours", "late"), [(0, False), (23.9, False), (24, True), (99, True)])
def test_a_night_is_overdue_after_a_whole_further_interval(hours: float, late: bool) -> None:
    assert is_overdue(DAILY, NOW, NOW + timedelta(hours=hours)) is late


def test_a_night_that_is_due_begins_at_a_quiet_moment_on_mains_power() -> None:
    assert waiting_reason(NOW, NOW, QUIET, is_late=False) is None


@pytest.mark.parametrize(
    ("moment", "late", "why"),
    [
        (QUIET._replace(quiet_s=119.9), False, "in use 119 s ago"),
        (QUIET._replace(load=1.0), False, "busy"),
        (QUIET._replace(on_battery=True), False, "battery"),
        (QUIET._replace(on_battery=True), True, "battery"),
    ],
)
def test_a_night_that_waits_says_why(moment: MachineState, late: bool, why: str) -> None:
    assert why in (waiting_reason(NOW, NOW, moment, is_late=late) or "")


@pytest.mark.parametrize("moment", [QUIET._replace(quiet_s=0.0), QUIET._replace(load=9.0)])
def test_an_overdue_night_waits_for_mains_power_alone(moment: MachineState) -> None:
    assert waiting_reason(NOW, NOW, moment, is_late=True) is None


def test_nothing_begins_before_its_time_or_without_one() -> None:
    assert waiting_reason(NOW + DAY, NOW, QUIET, is_late=False) == "it is not time yet"
    assert waiting_reason(None, NOW, QUIET, is_late=False) == "no night is due"


# The task.


class House:
    """A scheduler with its hands tied: the clock, the power, the switch are the test's."""

    def __init__(self, interval: ConsolidationInterval = DAILY) -> None:
        self.clock = HeldClock()
        self.night = FakeNight(self.clock)
        self.made: datetime | None = self.clock.now
        self.moment = QUIET
        self.switch: Callable[[], bool] = lambda: True
        self.slept = 0
        self.scheduler = NightScheduler(
            night=cast("Any", self.night),
            clock=self.clock,
            interval=interval,
            enabled=self.enabled,
            since=self.since,
            quiet_s=lambda: self.moment.quiet_s,
            on_battery=lambda: self.moment.on_battery,
            load=lambda: self.moment.load,
            sleep=self.sleep,
        )

    def enabled(self) -> bool:
        return self.switch()

    async def since(self) -> datetime | None:
        return self.made

    async def sleep(self, seconds: float) -> None:
        """Pass the time at once, until the test has seen enough minutes."""
        self.slept -= 1
        if self.slept < 0:
            raise asyncio.CancelledError
        self.clock.advance(seconds=seconds)

    async def minutes(self, number: int) -> int:
        """Let the task run for *number* minutes; return how many nights began."""
        self.slept, before = number, self.night.begun
        with pytest.raises(asyncio.CancelledError):
            await self.scheduler.run()
        return self.night.begun - before


async def test_a_fresh_store_sleeps_one_interval_after_it_was_made_and_not_at_once() -> None:
    house = House()
    assert await house.minutes(24 * 60 - 1) == 0
    assert await house.minutes(1) == 1


async def test_an_empty_store_never_sleeps() -> None:
    house = House(HOURLY)
    house.made = None
    assert await house.minutes(180) == 0


async def test_three_days_have_three_nights() -> None:
    house = House()
    assert await house.minutes(3 * 24 * 60 + 5) == 3


async def test_with_never_no_night_comes_but_what_was_interrupted_goes_on() -> None:
    house = House(NEVER)
    assert await house.minutes(10 * 24 * 60) == 0
    assert house.night.went_on > 0


async def test_an_interrupted_night_goes_on_before_the_first_tick() -> None:
    house = House()
    await house.minutes(0)
    assert house.night.went_on == 1


async def test_a_night_that_was_stopped_goes_on_at_the_next_tick() -> None:
    house = House()
    await house.minutes(3)
    assert house.night.went_on == 4


@pytest.mark.parametrize(("minutes", "tries"), [(59, 1), (60, 2), (119, 2), (120, 3)])
async def test_a_night_that_cannot_go_on_is_tried_again_an_hour_later(
    minutes: int, tries: int
) -> None:
    house = House(HOURLY)
    house.night.stuck = BusyError("the store is busy")
    assert await house.minutes(minutes) == 0
    assert house.night.went_on == tries


async def test_the_kill_switch_is_read_again_at_every_tick() -> None:
    house = House(HOURLY)
    house.switch = lambda: False
    assert await house.minutes(90) == 0
    house.switch = lambda: True
    assert await house.minutes(1) == 1


async def test_a_kill_switch_that_cannot_be_read_is_on() -> None:
    def broken() -> bool:
        raise MemoryConfigError("the settings cannot be read")

    house = House(HOURLY)
    house.switch = broken
    assert await house.minutes(61) == 1


async def test_a_pause_lasts_until_it_is_ended() -> None:
    house = House(HOURLY)
    house.night.held = True
    assert await house.minutes(90) == 0
    house.night.held = False
    assert await house.minutes(1) == 1


async def test_a_pause_that_cannot_be_read_is_none() -> None:
    class Unreadable(FakeNight):
        async def paused(self) -> bool:
            raise BusyError("the store is busy")

    house = House(HOURLY)
    house.night = Unreadable(house.clock)
    house.scheduler.night = cast("Any", house.night)
    assert await house.minutes(61) == 1


async def test_a_night_waits_for_a_quiet_moment_but_for_one_interval_only() -> None:
    house = House(HOURLY)
    house.moment = QUIET._replace(quiet_s=3.0)
    assert await house.minutes(119) == 0
    assert await house.minutes(1) == 1


async def test_on_battery_a_night_waits_for_ever() -> None:
    house = House(HOURLY)
    house.moment = QUIET._replace(on_battery=True)
    assert await house.minutes(600) == 0


async def test_a_clock_that_jumps_ahead_makes_one_night_and_not_many() -> None:
    house = House(HOURLY)
    await house.minutes(61)
    house.clock.advance(days=30)
    assert await house.minutes(10) == 1


async def test_a_clock_that_jumps_back_makes_no_night_at_once() -> None:
    house = House(HOURLY)
    assert await house.minutes(61) == 1
    house.clock.advance(minutes=-30)
    assert await house.minutes(60) == 0


async def test_a_clock_that_was_years_ahead_keeps_no_night_away() -> None:
    house = House(HOURLY)
    house.clock.advance(days=3_650)
    assert await house.minutes(1) == 1
    house.clock.advance(days=-3_650)
    assert await house.minutes(60) == 1


async def test_while_a_night_runs_no_second_one_begins() -> None:
    house = House(HOURLY)
    house.clock.advance(hours=5)
    house.night.running = RunReport.model_validate(
        {"run_id": "r", "kind": "night", "state": "running", "agent_id": None, "started_at": NOW}
    )
    assert await house.minutes(5) == 0


@pytest.mark.parametrize("fault", [BusyError("the store is busy"), ZeroDivisionError()])
async def test_a_night_that_cannot_begin_is_tried_again_an_hour_later(fault: Exception) -> None:
    house = House()
    house.clock.advance(days=1)
    house.night.fail = fault
    assert await house.minutes(60) == 1
    house.night.fail = None
    assert await house.minutes(1) == 1


async def test_while_a_run_waits_for_the_disk_nothing_else_begins_and_the_status_says_why() -> None:
    house = House(HOURLY)
    retry_at = house.clock.now + timedelta(hours=4)
    house.night.postponed = PostponedRun("r", "disk_full", 3, to_us(retry_at), 0)
    assert await house.minutes(180) == 0
    status = await house.scheduler.status()
    assert status.next_at == retry_at
    assert "disk_full" in (status.waits_for or "")
    house.night.postponed = None
    assert await house.minutes(1) == 1


@pytest.mark.parametrize("how", ["off", "held"])
async def test_what_may_not_sleep_waits_for_no_disk(how: str) -> None:
    house = House(HOURLY)
    house.night.postponed = PostponedRun("r", "disk_full", 3, to_us(house.clock.now), 0)
    house.switch = lambda: how != "off"
    house.night.held = how == "held"
    assert (await house.scheduler.status()).waits_for is None


async def test_a_fault_is_logged_by_its_kind_and_without_its_message(
    log_output: io.StringIO,
) -> None:
    house = House(HOURLY)
    house.night.stuck = BusyError("the gate code is 4711")
    await house.minutes(0)
    assert "kind=busy" in log_output.getvalue()
    assert "4711" not in log_output.getvalue()


async def test_a_run_that_was_asked_for_goes_on_when_nobody_waits_any_more() -> None:
    house = House()
    house.night.gate = asyncio.Event()
    waiting = asyncio.create_task(house.scheduler.run_shielded(house.night.run(CALLER)))
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert house.night.running is not None
    house.night.gate.set()
    await asyncio.sleep(0.01)
    assert [run.state for run in house.night.runs] == [RunState.DONE]


async def test_a_run_that_was_asked_for_is_interrupted_when_the_daemon_stops() -> None:
    house = House()
    house.night.gate = asyncio.Event()
    house.slept = 1
    waiting = asyncio.create_task(house.scheduler.run_shielded(house.night.run(CALLER)))
    await asyncio.sleep(0.01)
    await house.minutes(1)
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert house.night.runs == []


async def test_what_fails_when_nobody_waits_any_more_is_logged(log_output: io.StringIO) -> None:
    house = House()
    house.night.gate = asyncio.Event()
    waiting = asyncio.create_task(house.scheduler.run_shielded(house.night.run(CALLER)))
    await asyncio.sleep(0.01)
    waiting.cancel()
    house.night.late = BusyError("the gate code is 4711")
    house.night.gate.set()
    await asyncio.sleep(0.01)
    assert "kind=busy" in log_output.getvalue()
    assert "4711" not in log_output.getvalue()


async def test_the_status_tells_when_and_why_not() -> None:
    house = House()
    status = await house.scheduler.status()
    assert (status.enabled, status.paused, status.interval) == (True, False, "daily")
    assert status.next_at == NOW + DAY
    assert status.waits_for is None
    house.clock.advance(days=1)
    house.moment = QUIET._replace(quiet_s=7.0)
    assert (await house.scheduler.status()).waits_for == "memd was in use 7 s ago"
    house.night.held = True
    status = await house.scheduler.status()
    assert (status.next_at, status.waits_for) == (None, None)
    house.night.held, house.switch = False, lambda: False
    status = await house.scheduler.status()
    assert (status.next_at, status.waits_for) == (None, None)


# The hands.


@pytest.mark.parametrize(
    ("battery", "emptied"), [(None, False), (True, False), (False, True), ("unknown", False)]
)
def test_only_a_battery_that_is_being_emptied_counts(
    battery: object, emptied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psutil

    class Battery:
        power_plugged = None if battery == "unknown" else battery

    monkeypatch.setattr(
        psutil, "sensors_battery", lambda: None if battery is None else Battery(), raising=False
    )
    assert scheduler.is_discharging() is emptied


def test_a_system_that_knows_no_batteries_is_on_mains(monkeypatch: pytest.MonkeyPatch) -> None:
    import psutil

    monkeypatch.delattr(psutil, "sensors_battery", raising=False)
    assert scheduler.is_discharging() is False


def test_the_load_is_counted_for_each_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (3.0, 0.0, 0.0))
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    assert scheduler.load_per_core() == 0.75
