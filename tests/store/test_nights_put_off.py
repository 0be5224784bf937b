"""A run that a disk error ended stays unfinished, waits, and is continued (docs/decisions/0059)."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.nights import ADA, BOB, TURNS, Bed, a_bed, differing

from memd.base.errors import (
    BusyError,
    DamagedError,
    DiskFullError,
    MemdError,
    ProviderRefusedError,
    ReadOnlyError,
    StorageError,
)
from memd.base.limits import NIGHT_TRIES_MAX
from memd.domain.enums import RunKind, RunState
from memd.domain.settings.settings import Settings
from memd.domain.sleep.sleep import RunReport
from memd.sleep.night import backoff
from memd.sleep.night.backoff import is_disk_error
from memd.sleep.night.night import Night
from memd.sleep.night.scheduler import NightScheduler
from memd.sleep.sleep import build_sleep
from memd.store.run import runs


class Disk:
    """Refuses the steps of a night while it is told to; *tries* counts them."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.error: BaseException | None = None
        self.notes = True
        self.tries = 0
        self._step, self._put_off = runs.step, runs.postpone
        patch.setattr(runs, "step", self.step)
        patch.setattr(runs, "postpone", self.postponed)

    def step(self, *given: Any) -> None:
        self.tries += 1
        if self.error is not None:
            raise self.error
        self._step(*given)

    def postponed(self, *given: Any, **more: Any) -> None:
        if not self.notes:
            raise DiskFullError("full")
        self._put_off(*given, **more)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


async def ended(bed: Bed, disk: Disk, error: BaseException | None = None) -> RunReport:
    """Let the disk end a night after its first step, and return what is told of it."""

    def refuse(_done: int, _total: int) -> None:
        disk.error = error or DiskFullError("full")

    with pytest.raises(MemdError):
        await bed.night.run(ADA, progress=refuse)
    return await last(bed.night)


async def last(night: Night) -> RunReport:
    run = await night.last(RunKind.NIGHT)
    assert run is not None
    return run


def rhythm_of(bed: Bed) -> NightScheduler:
    scheduler = build_sleep(bed.house, Settings())
    scheduler.night = bed.night
    scheduler.watch_idle(lambda: 1_000.0)
    scheduler.on_battery, scheduler.load = (lambda: False), (lambda: 0.0)
    return scheduler


async def hours(bed: Bed, scheduler: NightScheduler, number: int) -> None:
    """Let the scheduler tick six times an hour."""
    for _ in range(6 * number):
        bed.clock.advance(minutes=10)
        with suppress(DiskFullError, DamagedError):  # a night that begins anew, as :meth:`run` does
            await scheduler.tick()


async def test_a_night_that_the_disk_ended_goes_on_as_the_same_run(bed: Bed, disk: Disk) -> None:
    await bed.tell_sessions()
    before = await bed.tables()
    run = await ended(bed, disk)
    assert (run.state, run.detail) == (RunState.RUNNING, {"errors": ["disk_full"], "tries": 1})
    assert run.again_at == bed.clock.now + timedelta(hours=1)
    assert len(await bed.summaries()) == 1
    disk.error = None
    scheduler = rhythm_of(bed)
    await hours(bed, scheduler, 1)
    done = await last(bed.night)
    assert (done.run_id, done.state) == (run.run_id, RunState.DONE)
    assert (done.again_at, "errors" in done.detail) == (None, False)
    assert len(await bed.summaries()) == 2
    assert (await scheduler.status()).waits_for is None
    await bed.night.undo(ADA, run.run_id)
    assert differing(before, await bed.tables()) == []


async def test_a_disk_that_stays_full_is_tried_ever_more_rarely_and_not_for_ever(
    bed: Bed, disk: Disk
) -> None:
    await bed.tell_sessions()
    run = await ended(bed, disk)
    scheduler, began = rhythm_of(bed), disk.tries
    for span, tries in ((1, 1), (1, 1), (1, 2), (3, 2), (1, 3), (24, 5)):
        await hours(bed, scheduler, span)
        assert disk.tries - began == tries
    status = await scheduler.status()
    assert status.next_at is not None
    assert status.next_at > bed.clock.now
    assert "disk_full" in (status.waits_for or "")
    assert status.last is not None
    assert (status.last.state, status.last.again_at) == (RunState.RUNNING, status.next_at)
    await hours(bed, scheduler, 24)
    assert disk.tries - began == NIGHT_TRIES_MAX  # the last of them is the next night's first
    failed = await bed.night.report(run.run_id, ADA)
    assert (failed.state, failed.detail["errors"]) == (RunState.FAILED, ["disk_full"])


async def test_what_the_disk_cannot_be_told_is_told_all_the_same(
    tmp_path: Path, disk: Disk
) -> None:
    """Nothing can be noted on a full disk: then the process knows it, and the next start tries."""
    disk.notes = False
    async with a_bed(tmp_path) as bed:
        await bed.tell_sessions()
        run = await ended(bed, disk)
        assert run.detail == {"errors": ["disk_full"], "tries": 1}
        assert run in await bed.night.reports(None, 5)
        report = await bed.night.report(run.run_id, ADA)
        assert (report.state, report.detail, report.again_at) == (
            run.state,
            run.detail,
            run.again_at,
        )
        assert await bed.rows("SELECT report FROM run WHERE state = 'running'") == [("{}",)]
        await bed.night.resume_unfinished()
        assert len(await bed.summaries()) == 1  # not yet
        clock = bed.clock
    disk.error = None
    async with a_bed(tmp_path, clock) as bed:
        await bed.night.resume_unfinished()
        assert (await last(bed.night)).state is RunState.DONE


async def test_who_asks_for_a_night_meanwhile_is_told_what_the_disk_says(
    bed: Bed, disk: Disk
) -> None:
    """And as soon as there is room, the night that was left is finished before the new one."""
    await bed.tell_sessions()
    left = await ended(bed, disk)
    with pytest.raises(DiskFullError):
        await bed.night.run(ADA)
    disk.error = None
    new = await bed.night.run(ADA)
    assert (await bed.night.report(left.run_id, ADA)).state is RunState.DONE
    assert new.run_id != left.run_id
    assert bed.night.postponed is None


async def test_an_undoing_that_the_disk_ended_waits_as_well(
    bed: Bed, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bed.tell_sessions()
    before = await bed.tables()
    run = await bed.night.run(ADA)

    def refused(*_given: object) -> None:
        raise DiskFullError("full")

    monkeypatch.setattr(runs, "delete_changes", refused)
    with pytest.raises(DiskFullError):
        await bed.night.undo(ADA, run.run_id)
    waiting = await bed.night.report(run.run_id, ADA)
    assert (waiting.state, waiting.detail["errors"]) == (RunState.UNDOING, ["disk_full"])
    await bed.night.resume_unfinished()
    monkeypatch.undo()
    await bed.night.resume_unfinished()  # its time has not come
    assert (await bed.night.report(run.run_id, ADA)).state is RunState.UNDOING
    bed.clock.advance(hours=1)
    await bed.night.resume_unfinished()
    assert (await bed.night.report(run.run_id, ADA)).state is RunState.UNDONE
    assert differing(before, await bed.tables()) == []


async def test_a_file_that_stays_damaged_for_one_agent_leaves_the_others_their_night(
    tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    del disk
    async with a_bed(tmp_path) as bed:
        await bed.tell_sessions()
        await bed.tell(*(f"Bob: {turn}" for turn in TURNS), caller=BOB)
        bed.clock.advance(days=2)
        of_agent = Night._run_agent  # the agent's own part of a night

        async def damaged(self: Night, run: Any, scope: Any) -> bool:
            if scope.agent_id == "ada":
                raise DamagedError("the file is damaged")
            return await of_agent(self, run, scope)

        monkeypatch.setattr(Night, "_run_agent", damaged)
        with pytest.raises(DamagedError):
            await bed.night.run(ADA)
        await hours(bed, rhythm_of(bed), 80)
        assert {state for text, state in (await bed.states()).items() if text[0] == "B"} == {
            "compressed", "active"
        }  # fmt: skip


@pytest.mark.parametrize("error", [ProviderRefusedError("no key"), ZeroDivisionError()])
async def test_a_night_that_fails_of_itself_is_not_gone_on_with(
    bed: Bed, disk: Disk, error: Exception
) -> None:
    await bed.tell_sessions()
    disk.error = error
    run = await bed.night.run(ADA)
    assert run.state is RunState.FAILED
    disk.error = None
    await hours(bed, rhythm_of(bed), 2)
    assert await last(bed.night) == run


@pytest.mark.parametrize(
    ("error", "whose"),
    [
        (DiskFullError(""), True), (ReadOnlyError(""), True), (DamagedError(""), True),
        (BusyError(""), True), (StorageError(""), True), (ProviderRefusedError(""), False),
        (ZeroDivisionError(), False),
    ],
)  # fmt: skip
def test_what_a_provider_refuses_is_not_of_the_disk(error: Exception, whose: bool) -> None:
    assert is_disk_error(error) is whose


@pytest.mark.parametrize("part", [{"steps": frozenset({"retention"})}, {"agent_id": "ada"}])
async def test_a_night_of_some_steps_or_of_one_agent_puts_no_whole_night_off(
    bed: Bed, part: dict[str, Any]
) -> None:
    await bed.tell_sessions()
    whole = await bed.night.run(ADA)
    bed.clock.advance(hours=20)
    await bed.night.run(ADA, **part)
    status = await rhythm_of(bed).status()
    assert status.last is not None
    assert status.last.run_id == whole.run_id
    assert status.next_at == whole.started_at + timedelta(days=1)


# What these tests must find.


async def test_a_night_that_forgot_that_it_waits_would_be_found_out(
    bed: Bed, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backoff, "retry_delay_s", lambda _tries: 0)
    with pytest.raises(AssertionError):
        await test_a_disk_that_stays_full_is_tried_ever_more_rarely_and_not_for_ever(bed, disk)


async def test_a_night_that_failed_of_the_disk_would_be_found_out(
    bed: Bed, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backoff, "NIGHT_TRIES_MAX", 0)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        await test_a_night_that_the_disk_ended_goes_on_as_the_same_run(bed, disk)
