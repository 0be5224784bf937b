"""A night on a locked, read-only or full disk is refused, and nothing is lost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from support.limited_disks import fill, read_only
from support.nights import ADA, Bed, a_bed, differing, settled
from support.store import locked

from memd.base.errors import BusyError, ReadOnlyError, StorageError
from memd.domain.enums import RunKind, RunState


@pytest.mark.usefixtures("impatient")
async def test_a_night_over_a_file_that_another_program_holds_is_refused(bed: Bed) -> None:
    await bed.tell_sessions()
    done = await bed.night.run(ADA)
    after = await bed.tables()
    with locked(bed.house.db.path):
        asks: dict[str, Callable[[], Awaitable[Any]]] = {
            "run": lambda: bed.night.run(ADA),
            "compress": lambda: bed.night.compress(ADA, force=True),
            "undo": lambda: bed.night.undo(ADA, done.run_id),
            "pause": lambda: bed.night.pause(ADA),
            "resume": lambda: bed.night.resume(ADA),
        }
        for ask in asks.values():
            with pytest.raises(BusyError):
                await ask()
        assert not (await bed.night.run(ADA, dry_run=True)).steps
    assert differing(after, await bed.tables()) == []
    assert (await bed.night.undo(ADA, done.run_id)).state is RunState.UNDONE


@pytest.mark.usefixtures("impatient")
async def test_a_night_whose_file_is_held_half_way_goes_on_later_as_the_same_run(bed: Bed) -> None:
    await bed.tell_sessions()
    before = await bed.tables()
    other = apsw.Connection(str(bed.house.db.path))

    def hold(done: int, total: int) -> None:
        del done, total
        if not other.in_transaction:
            other.execute("BEGIN IMMEDIATE")

    with pytest.raises(BusyError):
        await bed.night.run(ADA, progress=hold)
    other.execute("ROLLBACK")
    other.close()
    assert len(await bed.summaries()) == 1
    bed.clock.advance(hours=1)
    await bed.night.resume_unfinished()
    run = await bed.night.last(RunKind.NIGHT)
    assert run is not None
    assert run.state is RunState.DONE
    assert len(await bed.summaries()) == 2
    await bed.night.undo(ADA, run.run_id)
    assert differing(before, await bed.tables()) == []


async def test_a_read_only_store_has_rehearsals_and_no_nights(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    async with a_bed(folder) as bed:
        await bed.tell_sessions()
        clock = bed.clock
    with read_only(folder):
        async with a_bed(folder, clock) as bed:
            with pytest.raises(ReadOnlyError):
                await bed.night.run(ADA)
            rehearsed = await bed.night.run(ADA, dry_run=True)
            assert [(step.name, step.rows) for step in rehearsed.steps] == [("consolidation", 10)]


async def nights_until_it_is_full(bed: Bed) -> None:
    for _ in range(2_000):  # what is still free of the log is soon used up
        run = await bed.night.run(ADA)
        await bed.night.undo(ADA, run.run_id)


@pytest.mark.usefixtures("whole_ballast")
async def test_a_night_on_a_full_disk_loses_nothing_and_goes_on_when_there_is_room(
    own_disk: Path,
) -> None:
    async with a_bed(own_disk, settings=settled(strategy="dual_mode")) as bed:
        await bed.tell_sessions(" So it is." * 200)  # which the default strategy leaves alone
        before = await bed.tables()
        make_room = fill(own_disk)
        with pytest.raises(StorageError):
            await nights_until_it_is_full(bed)
        make_room()
        assert await bed.house.db.recover()
        await bed.night.resume_unfinished()
        await bed.night.run(ADA)
        assert len(await bed.summaries()) == 2
        for run in await bed.night.reports(None, 1_000):
            if run.steps and run.state is RunState.DONE:
                await bed.night.undo(ADA, run.run_id)
        assert differing(before, await bed.tables()) == []
        assert await bed.is_sound()
