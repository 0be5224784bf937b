"""Faults, cancelled callers, concurrent callers and imports break nothing."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.clocks import HeldClock
from support.daemon import WAIT_S
from support.store import ADA, a_house, stored, visible

from memd.backends import rooms as file_rooms
from memd.backends.rooms import Rooms, UpkeepLoop
from memd.base.errors import InvalidError
from memd.base.limits import WRITE_QUEUE_MAX
from memd.domain.memory import MemoryEntry, MemoryFilter, MemoryQuery
from memd.domain.values import unheard
from memd.serve.routes.routes import Context
from memd.serve.routes.store import ImportParams, import_
from memd.store.file.connect import Reading


async def test_the_minute_task_outlives_a_store_that_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_rooms, "RHYTHM_SECONDS", 0.01)
    monkeypatch.setattr(file_rooms, "LOOK_SECONDS", 0.01)
    async with a_house(tmp_path / "memd.db") as house:
        rhythm = asyncio.create_task(UpkeepLoop(house.db, house.upkeep, house.due, unheard).run())
        house.db.waiting_writes = WRITE_QUEUE_MAX
        await asyncio.sleep(0.1)
        assert not rhythm.done()
        house.db.waiting_writes = 0
        rhythm.cancel()
        with pytest.raises(asyncio.CancelledError):
            await rhythm


@pytest.mark.parametrize("condition", [{}, {"categories": [], "namespaces": []}, {"tags": []}])
async def test_a_filter_without_a_condition_forgets_nothing(
    house: Rooms, condition: dict[str, list[str]]
) -> None:
    ids = await stored(house, "one", "two")
    with pytest.raises(InvalidError) as caught:
        await house.trash.forget(ADA, condition=MemoryFilter.model_validate(condition))
    assert caught.value.field == "filter"
    assert await visible(house) == set(ids)


async def test_two_rebuilds_at_once_both_end_and_leave_sound_caches(house: Rooms) -> None:
    await stored(house, *(f"memory {n}" for n in range(5)))
    await asyncio.gather(house.upkeep.rebuild(ADA), house.upkeep.rebuild(ADA))
    assert (await house.upkeep.check(ADA)).problems == ()


async def test_a_check_calls_a_file_sound_that_was_searched_and_written_in_turn(
    house: Rooms,
) -> None:
    for n in range(6):
        await stored(house, *(f"bees {n} {m}" for m in range(8)))
        for _ in range(4):
            await house.recall.retrieve(ADA, MemoryQuery(text="bees"))
    assert (await house.upkeep.check(ADA)).problems == ()


async def test_checks_and_backups_leave_the_readers_to_recall(house: Rooms) -> None:
    await stored(house, "Ann keeps bees.")
    held = threading.Event()
    waiting = [
        asyncio.create_task(house.db.read_dedicated(lambda _conn: held.wait(WAIT_S)))
        for _ in range(3)
    ]
    await asyncio.sleep(0.1)
    async with asyncio.timeout(WAIT_S / 2):
        assert await house.recall.retrieve(ADA, MemoryQuery(text="bees"))
    assert not any(task.done() for task in waiting)
    held.set()
    assert await asyncio.gather(*waiting) == [True] * 3


async def test_emptying_the_log_does_not_make_writes_wait_for_a_reader(house: Rooms) -> None:
    await stored(house, "one")
    held, began = threading.Event(), threading.Event()

    def read(conn: Reading) -> None:
        assert conn.execute("SELECT count(*) FROM memory").get == 1
        began.set()
        held.wait(WAIT_S)

    reading = asyncio.create_task(house.db.read(read))
    while not began.is_set():  # noqa: ASYNC110  # set by another thread
        await asyncio.sleep(0.01)
    await stored(house, "two")
    async with asyncio.timeout(WAIT_S / 2):
        assert not await house.db.checkpoint(truncate=True)
    held.set()
    await reading


def _context(house: Rooms) -> Context:
    rooms: Any = SimpleNamespace(ingest=house.ingest, recall=house.recall, upkeep=house.upkeep)
    nothing: Any = None
    return Context(rooms, nothing, ADA)


async def test_a_file_imported_again_much_later_doubles_nothing(
    house: Rooms, clock: HeldClock
) -> None:
    context = _context(house)

    def entry(agent: str, text: str) -> MemoryEntry:
        params = {"id": "old-1", "agent_id": agent, "category": "semantic", "content": text}
        return MemoryEntry.model_validate({**params, "created_at": made})

    made = clock.now
    for agent, text in (("ada", "first"), ("ada", "second"), ("bob", "first")):
        result = await import_(context, ImportParams(items=(entry(agent, text),)))
        assert (result.stored, result.known, result.skipped) == (1, 0, 0)
    clock.advance(days=8)
    await house.upkeep.tidy()
    result = await import_(context, ImportParams(items=(entry("ada", "first"),)))
    assert (result.stored, result.known, result.skipped) == (0, 1, 0)
    assert len(await visible(house)) == 2


async def test_what_was_forgotten_does_not_come_back_by_an_import(house: Rooms) -> None:
    context = _context(house)
    params = {"agent_id": "ada", "category": "semantic", "content": "gone"}
    made = {**params, "id": "old-2", "created_at": HeldClock().now}
    await import_(context, ImportParams(items=(MemoryEntry.model_validate(made),)))
    (new,) = await visible(house)
    kept = await house.recall.get(ADA, new)
    assert kept is not None
    await house.trash.forget(ADA, ids=[new])
    result = await import_(context, ImportParams(items=(kept,)))
    assert (result.stored, result.skipped) == (0, 1)
    assert await visible(house) == set()
