"""The messages of a nap's memory: recorded in order, deleted with either (SPEC 6, D21)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from support.clocks import HeldClock
from support.nights import nap_over
from support.store import ADA, a_house, a_writer

from memd.backends.rooms import Rooms
from memd.domain.enums import ArchiveReason
from memd.domain.ingest import IngestManyRequest, IngestRequest
from memd.domain.memory import MemoryFilter
from memd.store.file.connect import Reading, Writing
from memd.store.memory import removal
from memd.store.search import caches
from memd.store.session import turns
from memd.store.session.turns import TurnRow

MESSAGES: list[dict[str, Any]] = [
    {"role": "assistant", "content": "Shall the kiln be fired with gas or with wood?"},
    {"role": "user", "content": "decided: the kiln is fired with wood"},
    *({"role": "assistant", "content": f"This is turn {n} of the rest."} for n in range(4)),
]


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Rooms]:
    async with a_house(tmp_path / "memd.db", HeldClock()) as opened:
        await nap_over(opened, MESSAGES)
        yield opened


async def the_fact(house: Rooms) -> str:
    items, _ = await house.recall.list(ADA, MemoryFilter(), None, 10)
    (fact,) = [item for item in items if "with wood" in item.content]
    return fact.id


def sources_in_order(conn: Reading) -> list[int]:
    rows = conn.execute("SELECT source_key FROM session_message ORDER BY ordinal")
    return [key for (key,) in rows]


async def turns_told(house: Rooms, memory_id: str) -> list[TurnRow]:
    def work(conn: Reading) -> list[TurnRow]:
        memory_key = conn.execute(
            "SELECT memory_key FROM memory WHERE memory_id = ?", (memory_id,)
        ).get
        assert isinstance(memory_key, int)
        return turns.turns_of(conn, memory_key)

    return await house.db.read(work)


async def note(house: Rooms, memory_id: str, places: list[int]) -> None:
    def work(conn: Writing) -> None:
        keys = sources_in_order(conn)
        turns.set_turns(conn, memory_id, [keys[place] for place in places])

    await house.db.write(ADA, work)


def texts(rows: list[TurnRow]) -> list[str | None]:
    return [row.text for row in rows]


async def test_the_messages_of_a_memory_are_told_in_the_order_in_which_they_were_noted(
    house: Rooms,
) -> None:
    fact = await the_fact(house)
    await note(house, fact, [1, 0, 1])
    rows = await turns_told(house, fact)
    assert [(row.place, row.role) for row in rows] == [(1, "user"), (0, "assistant")]
    assert texts(rows) == [MESSAGES[1]["content"], MESSAGES[0]["content"]]
    await note(house, fact, [0])
    assert texts(await turns_told(house, fact)) == [MESSAGES[0]["content"]]


async def test_a_message_that_is_no_longer_kept_leaves_its_place_without_words(
    house: Rooms,
) -> None:
    fact = await the_fact(house)
    await note(house, fact, [0, 1])

    def work(conn: Writing) -> None:
        conn.execute("DELETE FROM source WHERE source_key = ?", (sources_in_order(conn)[0],))

    await house.db.write(ADA, work)
    first, second = await turns_told(house, fact)
    assert first == TurnRow(None, None, None, None)
    assert second.text is not None


async def test_forgetting_a_memory_forgets_every_message_that_it_was_made_of(house: Rooms) -> None:
    fact = await the_fact(house)
    await note(house, fact, [0, 1])
    await house.trash.forget(ADA, ids=[fact])
    assert len(await house.db.read(sources_in_order)) == len(MESSAGES) - 2
    assert (
        await house.db.read(lambda conn: conn.execute("SELECT count(*) FROM memory_turn").get) == 0
    )
    assert (await house.upkeep.check(ADA)).ok


async def a_session(path: Path, turns: int, hidden: range) -> list[int]:
    """Fill one session and put its turns *hidden* away; returns the keys in order."""
    async with a_house(path) as house:
        items = tuple(IngestRequest(text=f"Lamp {n} hangs.", session_id="s") for n in range(turns))
        await house.ingest.ingest_many(ADA, IngestManyRequest(items=items))
        keys = await house.db.read(
            lambda conn: sorted(key for (key,) in conn.execute("SELECT memory_key FROM memory"))
        )
        away = [keys[place] for place in hidden]

        def move_to_archive(conn: Writing) -> None:
            removal.archive(conn, away, ArchiveReason.CAP, 1, new_id=house.ingest.ids.new)

        await house.db.write(ADA, move_to_archive)
    return keys


def steps(conn: Writing, work: Callable[[], object]) -> int:
    """Return how many instructions of SQLite's machine *work* takes."""
    ticks = 0

    def tick() -> bool:
        nonlocal ticks
        ticks += 1
        return False

    conn.set_progress_handler(tick, 1)
    try:
        work()
    finally:
        conn.set_progress_handler(None)
    return ticks


@pytest.mark.parametrize("turns", [12, 240])
async def test_who_quotes_a_turn_is_found_without_walking_its_session(
    tmp_path: Path, turns: int
) -> None:
    keys = await a_session(tmp_path / "memd.db", turns, range(0))
    with a_writer(tmp_path / "memd.db") as conn:
        assert caches.find_quoting(conn, keys[5:7]) == [keys[4], keys[7]]
        assert steps(conn, lambda: caches.find_quoting(conn, keys[5:7])) < 200


@pytest.mark.parametrize("hidden", [10, 238])
async def test_a_neighbour_is_found_past_any_number_of_hidden_turns(
    tmp_path: Path, hidden: int
) -> None:
    keys = await a_session(tmp_path / "memd.db", 240, range(1, 1 + hidden))
    with a_writer(tmp_path / "memd.db") as conn:
        assert caches.adjacent(conn, keys[0]) == (None, keys[1 + hidden])
        assert caches.adjacent(conn, keys[1 + hidden])[0] == keys[0]
        assert steps(conn, lambda: caches.adjacent(conn, keys[0])) < 200
