"""The scheduler over real nights and a real file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.clocks import HeldClock
from support.fakes import HashEmbedder
from support.words_embedder import a_house

from memd.backends.rooms import Rooms
from memd.base.errors import InvalidStateError
from memd.domain.caller import Caller
from memd.domain.enums import MemoryCategory, RunKind, RunState
from memd.domain.memory import MemoryStoreRequest
from memd.domain.settings.settings import Settings
from memd.sleep.night.night import Night
from memd.sleep.night.scheduler import NightScheduler
from memd.sleep.sleep import build_sleep

CALLER = Caller(method="test")


@dataclass
class Bed:
    """A house whose nights come when the test's clock says so."""

    house: Rooms
    clock: HeldClock
    night: Night
    scheduler: NightScheduler

    async def fill(self, memories: int = 12) -> None:
        for number in range(memories):
            self.clock.advance(minutes=1)
            request = MemoryStoreRequest(
                category=MemoryCategory.EPISODIC,
                content=f"Lamp number {number} hangs in room {number}.",
                session_id=f"s{number // 6}",
            )
            await self.house.ingest.store(CALLER, request)
        await self.house.queue.drain()

    async def visible(self) -> int:
        return await self.house.recall.count(CALLER, None)


@asynccontextmanager
async def a_bed(folder: Path, clock: HeldClock | None = None) -> AsyncIterator[Bed]:
    clock = clock or HeldClock()
    async with a_house(folder, clock=clock, embedder=HashEmbedder()) as house:
        scheduler = build_sleep(house, Settings())
        scheduler.watch_idle(lambda: 1_000.0)
        scheduler.on_battery = lambda: False
        scheduler.load = lambda: 0.0
        yield Bed(house, clock, scheduler.night, scheduler)


async def test_an_empty_store_has_no_night_due(tmp_path: Path) -> None:
    async with a_bed(tmp_path) as bed:
        assert (await bed.scheduler.status()).next_at is None


async def test_the_first_night_comes_a_day_after_the_first_memory_and_then_one_a_day(
    tmp_path: Path,
) -> None:
    async with a_bed(tmp_path) as bed:
        await bed.fill()
        await bed.scheduler.tick()
        assert await bed.night.last(RunKind.NIGHT) is None
        bed.clock.advance(days=2)
        await bed.scheduler.tick()
        first = await bed.night.last(RunKind.NIGHT)
        assert first is not None
        assert first.state is RunState.DONE
        assert await bed.visible() < 12
        bed.clock.advance(hours=23)
        await bed.scheduler.tick()
        assert await bed.night.last(RunKind.NIGHT) == first
        bed.clock.advance(hours=1)
        await bed.scheduler.tick()
        assert await bed.night.last(RunKind.NIGHT) != first


async def test_a_restart_does_not_begin_the_interval_anew(tmp_path: Path) -> None:
    clock = HeldClock()
    async with a_bed(tmp_path, clock) as bed:
        await bed.fill()
        clock.advance(days=2)
        await bed.scheduler.tick()
    clock.advance(hours=23)
    async with a_bed(tmp_path, clock) as bed:
        status = await bed.scheduler.status()
        assert status.last is not None
        assert status.next_at is not None
        assert (status.next_at - clock.now).total_seconds() == 3_600


async def test_what_a_pause_stopped_goes_on_as_the_same_run_after_the_resume(
    tmp_path: Path,
) -> None:
    async with a_bed(tmp_path) as bed:
        await bed.fill(24)
        bed.clock.advance(days=2)
        await _stopped_after_one_step(bed)
        stopped = await bed.night.last(RunKind.NIGHT)
        assert stopped is not None
        assert stopped.state is RunState.RUNNING
        await bed.scheduler.tick()
        assert await bed.night.last(RunKind.NIGHT) == stopped
        await bed.night.resume(CALLER)
        await bed.scheduler.tick()
        done = await bed.night.last(RunKind.NIGHT)
        assert done is not None
        assert (done.run_id, done.state) == (stopped.run_id, RunState.DONE)


async def test_a_night_that_was_cut_off_goes_on_at_the_next_start(tmp_path: Path) -> None:
    clock = HeldClock()
    async with a_bed(tmp_path, clock) as bed:
        await bed.fill(24)
        clock.advance(days=2)
        task = asyncio.create_task(bed.scheduler.run_shielded(bed.night.run(CALLER)))
        await _under_way(bed)
        ticking = asyncio.create_task(bed.scheduler.run())
        await asyncio.sleep(0)
        ticking.cancel()  # as the end of the daemon does
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.gather(ticking, return_exceptions=True)
    async with a_bed(tmp_path, clock) as bed:
        cut = await bed.night.last(RunKind.NIGHT)
        assert cut is not None
        assert cut.state is RunState.RUNNING
        await bed.night.resume_unfinished()
        done = await bed.night.last(RunKind.NIGHT)
        assert done is not None
        assert (done.run_id, done.state) == (cut.run_id, RunState.DONE)


async def test_while_a_night_is_going_on_a_second_one_is_refused(tmp_path: Path) -> None:
    async with a_bed(tmp_path) as bed:
        await bed.fill()
        bed.clock.advance(days=2)
        first = asyncio.create_task(bed.scheduler.run_shielded(bed.night.run(CALLER)))
        await _under_way(bed)
        with pytest.raises(InvalidStateError):
            await bed.scheduler.run_shielded(bed.night.run(CALLER))
        assert (await first).state is RunState.DONE


async def _under_way(bed: Bed) -> None:
    while bed.night.running is None:  # noqa: ASYNC110  # nobody is told of it, and it is there at once
        await asyncio.sleep(0)


async def _stopped_after_one_step(bed: Bed) -> None:
    def pause(done: int, total: int) -> None:
        del done, total
        pauses.append(asyncio.ensure_future(bed.night.pause(CALLER)))

    pauses: list[asyncio.Future[None]] = []
    await bed.night.run(CALLER, progress=pause)
    await asyncio.gather(*pauses)
