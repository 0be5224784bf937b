"""A night is undone exactly, whatever was in the store and whatever it did to it (P8, D9)."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.clocks import HeldClock
from support.gate import drawn
from support.nights import ADA, Bed, Tables, a_bed, differing, fill, some_settings

from memd.base.errors import ConflictError, InvalidStateError, MemoryNotFoundError
from memd.domain.enums import RunState
from memd.domain.memory import MemoryUpdate
from memd.domain.sleep.sleep import RunReport
from memd.sleep.night.night import STEPS

SEEDS = st.integers(0, 2**32)
SOME = drawn(gate=3, long=12)
FEW = drawn(gate=2, long=6)
MANY = settings(max_examples=400)

Then = Callable[[Bed, random.Random], Awaitable[None]]


def in_a_store(seed: int, then: Then) -> None:
    """Fill a store by *seed*, let a few days pass, and look what *then* finds."""
    chance = random.Random(seed)
    settings = some_settings(chance)

    async def run(folder: Path) -> None:
        async with a_bed(folder, settings=settings) as bed:
            await lived(bed, chance)
            await then(bed, chance)

    with tempfile.TemporaryDirectory() as made:
        asyncio.run(run(Path(made)))


async def lived(bed: Bed, chance: random.Random) -> None:
    await fill(bed, chance)
    for _ in range(chance.choice([0, 0, 1, 2])):  # nights that were before
        bed.clock.advance(hours=chance.choice([30, 300]))
        await bed.other_night(some_settings(chance)).run(ADA)
        await fill(bed, chance)
    bed.clock.advance(hours=chance.choice([1, 30, 300, 3000]))


async def a_night(bed: Bed, chance: random.Random) -> RunReport:
    steps = frozenset(chance.sample(STEPS, chance.randint(1, 5)))
    run = await bed.night.run(ADA, steps=chance.choice([None, None, steps]))
    assert run.state is RunState.DONE
    return run


async def waiting(bed: Bed) -> bool:
    """Return whether some memory, hidden or not, has no vector: its coming is a difference."""
    return bool(
        await bed.rows(
            "SELECT 1 FROM memory AS m WHERE m.state = 'pending' OR NOT EXISTS"
            " (SELECT 1 FROM embedding AS e WHERE e.memory_key = m.memory_key AND e.kind = 'own')"
        )
    )


async def a_night_and_back(bed: Bed, chance: random.Random) -> None:
    may_drain = not await waiting(bed)
    before = await bed.tables()
    assert await bed.is_sound()
    run = await a_night(bed, chance)
    assert await bed.is_sound()
    if may_drain and chance.random() < 0.5:
        bed.embedder.present = True
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
@example(62428)  # a memory that was put away before it had its vector
def test_undoing_a_night_brings_every_table_back_as_it_was(seed: int) -> None:
    in_a_store(seed, a_night_and_back)


@pytest.mark.long
@MANY
@given(SEEDS)
def test_undoing_one_of_very_many_nights_brings_everything_back(seed: int) -> None:
    in_a_store(seed, a_night_and_back)


# What a night leaves alone.


async def the_untouched_keep_their_rows(bed: Bed, chance: random.Random) -> None:
    before = {row[0]: row for row in (await bed.tables())["memory"]}
    hashes = dict(await bed.rows("SELECT memory_key, row_hash FROM memory"))
    await a_night(bed, chance)
    touched = {key for (key,) in await bed.rows("SELECT memory_key FROM run_change")}
    after = {row[0]: row for row in (await bed.tables())["memory"]}
    for key, row in before.items():
        assert key in touched or after[key] == row
    now = dict(await bed.rows("SELECT memory_key, row_hash FROM memory"))
    assert hashes == {key: now[key] for key in hashes}


@FEW
@given(SEEDS)
def test_no_row_hash_changes_in_a_night_and_the_untouched_rows_stay_whole(seed: int) -> None:
    in_a_store(seed, the_untouched_keep_their_rows)


async def a_second_night_finds_nothing(bed: Bed, chance: random.Random) -> None:
    del chance
    await bed.night.run(ADA)
    while (await bed.night.compress(ADA)).steps:  # a night compresses only the oldest sessions
        pass
    await bed.night.run(ADA)
    before = await bed.tables()
    again = await bed.night.run(ADA)
    assert [step.name for step in again.steps] == []
    assert differing(before, await bed.tables()) == []


@FEW
@given(SEEDS)
def test_a_night_right_after_a_night_changes_nothing(seed: int) -> None:
    in_a_store(seed, a_second_night_finds_nothing)


@FEW
@given(SEEDS)
def test_a_night_over_a_store_younger_than_a_day_changes_no_row(seed: int) -> None:
    async def young(bed: Bed, chance: random.Random) -> None:
        await bed.tell(*(f"{number} {chance.random()}" for number in range(20)))
        await bed.tell(*(f"{number} {chance.random()}" for number in range(9)), session_id="t")
        bed.clock.advance(hours=chance.choice([1, 12, 23]))
        every = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%STRICT%'"
        tables = {str(name) for (name,) in await bed.rows(every)} - {"run", "run_step", "change"}
        assert len(tables) > 20

        async def all_rows() -> dict[str, list[tuple[Any, ...]]]:
            return {name: await bed.rows(f"SELECT * FROM {name}") for name in tables}

        before = await all_rows()
        run = await bed.night.run(ADA)
        assert run.steps == ()
        assert await all_rows() == before

    async def run(folder: Path) -> None:
        async with a_bed(folder) as bed:
            await young(bed, random.Random(seed))

    with tempfile.TemporaryDirectory() as made:
        asyncio.run(run(Path(made)))


# What happens between a night and its undoing.


async def tell(bed: Bed, chance: random.Random) -> None:
    """Tell more into the sessions that are there, into new ones, and into none."""
    rows = await bed.rows("SELECT session_id, agent_id FROM session JOIN agent USING (agent_key)")
    sessions = [session for session, agent_id in rows if agent_id == ADA.agent_id]
    for number in range(chance.randint(1, 12)):
        session = chance.choice([None, "new", *sessions])
        await bed.tell(f"since then {number}", session_id=session, speaker="Eve")


def of_old(tables: Tables, old: frozenset[int]) -> dict[str, Any]:
    """Return what the tables say of the memories *old*; of the visible ones the context's words.

    What is hidden quotes neighbours as they are when it is hidden anew (``differing``).
    """
    seen = {row[0] for row in tables["memory"] if {"active", "pending"}.intersection(row)} & old
    by_memory = ("memory", "memory_use", "memory_version", "archive", "trash")
    return {
        **{name: [row for row in tables[name] if row[0] in old] for name in by_memory},
        "context": [(row[0], row[3]) for row in tables["memory_context"] if row[0] in seen],
        "tags": [row for row in tables["memory_tag"] if row[1] in old],
        "vectors": [row[1:] for row in tables["embedding"] if row[1] in old],
        **{name: tables[name] for name in ("derived", "session", "speaker", "centroid", "source")},
    }


async def once_more(folder: Path, seed: int, then: Then) -> dict[str, Any]:
    """Open the store in *folder* later, let *then* happen; return what became of the old rows."""
    chance = random.Random(seed)
    settings, clock = some_settings(chance), HeldClock()
    clock.advance(days=2000)
    async with a_bed(folder, clock, settings=settings) as bed:
        old = frozenset(row[0] for row in (await bed.tables())["memory"])
        await then(bed, chance)
        assert await bed.is_sound()
        return of_old(await bed.tables(), old)


async def no_night(bed: Bed, chance: random.Random) -> None:
    await tell(bed, random.Random(chance.random()))


async def a_night_between(bed: Bed, chance: random.Random) -> None:
    telling = random.Random(chance.random())
    run = await a_night(bed, chance)
    await tell(bed, telling)
    assert (await bed.night.undo(ADA, run.run_id)).state is RunState.UNDONE


@FEW
@given(SEEDS)
def test_what_is_told_between_a_night_and_its_undoing_is_as_if_there_had_been_no_night(
    seed: int,
) -> None:
    async def run(folder: Path) -> None:
        (folder / "one").mkdir()
        async with a_bed(folder / "one") as bed:
            await lived(bed, random.Random(seed))
        shutil.copytree(folder / "one", folder / "other")
        undone = await once_more(folder / "one", seed, a_night_between)
        never = await once_more(folder / "other", seed, no_night)
        assert [name for name in undone if undone[name] != never[name]] == []

    with tempfile.TemporaryDirectory() as made:
        asyncio.run(run(Path(made)))


async def two_nights_and_back(bed: Bed, chance: random.Random) -> None:
    before = await bed.tables()
    first = await a_night(bed, chance)
    between = await bed.tables()
    bed.clock.advance(days=chance.choice([2, 200]))
    second = await bed.other_night(some_settings(chance)).run(ADA)
    touched = "SELECT memory_key FROM run_change JOIN run USING (run_key) WHERE run_id = ?"
    both = set(await bed.rows(touched, first.run_id)) & set(await bed.rows(touched, second.run_id))
    if both:
        after = await bed.tables()
        with pytest.raises(ConflictError) as refused:
            await bed.night.undo(ADA, first.run_id)
        assert second.run_id in str(refused.value.hint)
        assert differing(after, await bed.tables()) == []
    await bed.night.undo(ADA, second.run_id)
    assert differing(between, await bed.tables()) == []
    await bed.night.undo(ADA, first.run_id)
    assert differing(before, await bed.tables()) == []
    assert await bed.is_sound()


@FEW
@given(SEEDS)
def test_two_nights_are_undone_the_later_one_first(seed: int) -> None:
    in_a_store(seed, two_nights_and_back)


async def deleted(bed: Bed, memory_id: str) -> None:
    await bed.house.trash.delete(ADA, memory_id)


async def forgotten(bed: Bed, memory_id: str) -> None:
    await bed.house.trash.forget(ADA, ids=[memory_id])


async def restored(bed: Bed, memory_id: str) -> None:
    await bed.house.archive.restore_to_hot(ADA, memory_id)


async def rewritten(bed: Bed, memory_id: str) -> None:
    await bed.house.ingest.update(ADA, memory_id, MemoryUpdate(content="other words"))


SOURCE, KEPT, SUMMARY = 1, 5, 6  # of six turns the last stays visible


@pytest.mark.parametrize("which", [SOURCE, KEPT, SUMMARY], ids=["source", "kept", "summary"])
@pytest.mark.parametrize("touch", [deleted, forgotten, restored, rewritten])
async def test_a_night_whose_memories_were_touched_since_is_not_undone_and_nothing_changes(
    tmp_path: Path, which: int, touch: Callable[[Bed, str], Awaitable[None]]
) -> None:
    async with a_bed(tmp_path) as bed:
        ids = await bed.tell(*(f"Lamp {number} hangs in the hall." for number in range(6)))
        bed.clock.advance(days=2)
        run = await bed.night.run(ADA)
        ((summary,),) = await bed.rows("SELECT memory_id FROM memory WHERE is_summary")
        try:
            await touch(bed, [*ids, summary][which])
        except MemoryNotFoundError:  # what is hidden cannot be updated, nor what is not restored
            assert (touch, which) in {(restored, KEPT), (restored, SUMMARY), (rewritten, SOURCE)}
            return
        before = await bed.tables()
        with pytest.raises(ConflictError):
            await bed.night.undo(ADA, run.run_id)
        assert differing(before, await bed.tables()) == []
        assert (await bed.night.report(run.run_id, ADA)).state is RunState.DONE
