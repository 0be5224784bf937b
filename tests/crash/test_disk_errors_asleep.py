"""The disk fails at any operation of a night: an error, then the old state or the new (P3, P5)."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.clocks import HeldClock
from support.failing_disk import HEALTHY, FailingVFS
from support.nights import ADA, Bed, a_bed, settled
from support.sleep_atomicity import halves
from support.store import a_writer

from memd.base.errors import MemdError
from memd.domain.enums import RunState

SETTINGS = settled(compression_threshold=2, archival={"age_threshold_days": 90})
EVERY = 11  # operation of a night is one at which the disk fails
EVERY_LONG = 3
OPERATIONS = 400  # of the night, at most
Rows = list[tuple[Any, ...]]


async def filled(folder: Path) -> HeldClock:
    folder.mkdir()
    async with a_bed(folder, settings=SETTINGS) as bed:
        for session in ("s0", "s1", "s2"):
            lamps = [f"In {session} lamp {number} went out." for number in range(5)]
            await bed.tell(*lamps, session_id=session)
        await bed.house.queue.drain()
        bed.clock.advance(days=120)
        return bed.clock


async def outcome(bed: Bed) -> Rows:
    return await bed.rows("SELECT content, state, is_summary FROM memory ORDER BY 1, 2, 3")


async def until_it_is_done(bed: Bed) -> Rows:
    """Go on with what was interrupted, or have a failed night again; returns what it left."""
    await bed.night.resume_unfinished()
    if not await bed.rows("SELECT 1 FROM run WHERE state = ?", RunState.DONE):
        await bed.night.run(ADA)
    assert await bed.is_sound()
    return await outcome(bed)


@pytest.mark.parametrize(
    ("times", "every"),
    [
        (1, EVERY),
        (30, EVERY),
        pytest.param(1, EVERY_LONG, marks=pytest.mark.long),
        pytest.param(30, EVERY_LONG, marks=pytest.mark.long),
    ],
)
async def test_a_disk_error_within_a_night_leaves_whole_groups(
    tmp_path: Path, disk: FailingVFS, times: int, every: int
) -> None:
    """Once, or at thirty operations in turn; mended, the night comes to the same end."""
    clock = await filled(tmp_path / "full")
    whole: Rows = []
    met = True
    for number in (0, *range(1, OPERATIONS, every)):
        folder = tmp_path / "night"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "full", folder)
        async with a_bed(folder, clock, settings=SETTINGS) as bed:
            disk.fail(number, times if number else 0)
            with suppress(MemdError):
                await bed.night.run(ADA)
            met, disk.left = disk.left <= 0, HEALTHY
            assert await bed.house.db.recover()
            with a_writer(folder / "memd.db") as conn:
                assert halves(conn) == [], number
            left = await until_it_is_done(bed)
        whole = whole or left
        assert left == whole, number
        if number and not met:
            break
    assert met is False  # the last one came after the end: there was no later operation
    assert any(state == "archived" for _, state, _ in whole)
