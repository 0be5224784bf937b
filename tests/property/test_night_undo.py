"""A night is undone exactly, whatever was in the store and whatever it did to it (P8, D9)."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.nights import ADA, Bed, Tables, a_bed, differing, fill, some_settings

from memd.base.errors import InvalidStateError
from memd.model.enums import RunState
from memd.model.settings import Settings
from memd.sleep.night import STEPS

SEEDS = st.integers(0, 2**32)
SOME = settings(max_examples=12, deadline=None)
MANY = settings(max_examples=400, deadline=None)


def in_a_store(
    seed: int, then: Callable[[Bed, random.Random], Awaitable[None]], wanted: Settings | None = None
) -> None:
    """Fill a store by *seed*, let a few days pass, and look what *then* finds."""
    chance = random.Random(seed)
    wanted = wanted or some_settings(chance)

    async def run(folder: Path) -> None:
        async with a_bed(folder, settings=wanted) as bed:
            await fill(bed, chance)
            for _ in range(chance.choice([0, 0, 1, 2])):  # nights that were before
                bed.clock.advance(hours=chance.choice([30, 300]))
                await bed.other_night(some_settings(chance)).run(ADA)
                await fill(bed, chance)
            bed.clock.advance(hours=chance.choice([1, 30, 300, 3000]))
            await then(bed, chance)

    with tempfile.TemporaryDirectory() as made:
        asyncio.run(run(Path(made)))


def hashes(tables: Tables) -> dict[Any, Any]:
    return {row[0]: row for row in tables["memory"]}


async def a_night_and_back(bed: Bed, chance: random.Random) -> None:
    before = await bed.tables()
    waiting = any("pending" in row for row in before["memory"])
    assert await bed.is_sound()
    steps = frozenset(chance.sample(STEPS, chance.randint(1, 5)))
    run = await bed.night.run(ADA, steps=chance.choice([None, None, steps]))
    assert run.state is RunState.DONE
    assert await bed.is_sound()
    if not waiting and chance.random() < 0.5:
        await bed.house.queue.drain()  # the summaries get their vectors
    bed.clock.advance(hours=1)
    undone = await bed.night.undo(ADA, run.run_id)
    assert undone.state is RunState.UNDONE
    assert differing(before, await bed.tables()) == []
    assert await bed.is_sound()
    with pytest.raises(InvalidStateError):
        await bed.night.undo(ADA, run.run_id)


@SOME
@given(SEEDS)
def test_undoing_a_night_brings_every_table_back_as_it_was(seed: int) -> None:
    in_a_store(seed, a_night_and_back)


@pytest.mark.long
@MANY
@given(SEEDS)
def test_undoing_one_of_very_many_nights_brings_everything_back(seed: int) -> None:
    in_a_store(seed, a_night_and_back)
