"""The messages of a nap's memory: recorded in order, deleted with either (SPEC 6, D21)."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from support.clocks import HeldClock
from support.store import ADA, a_house

from memd.backends.assembly import Assembly
from memd.domain.memory import MemoryFilter
from memd.domain.settings.settings import Settings
from memd.sleep.nap.naps import Naps
from memd.sleep.nap.transaction import NapRequest
from memd.store.file.connect import Reading, Writing
from memd.store.session import turns
from memd.store.session.turns import TurnRow

MESSAGES: list[dict[str, Any]] = [
    {"role": "assistant", "content": "Shall the kiln be fired with gas or with wood?"},
    {"role": "user", "content": "decided: the kiln is fired with wood"},
    *({"role": "assistant", "content": f"This is turn {n} of the rest."} for n in range(4)),
]


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Assembly]:
    async with a_house(tmp_path / "memd.db", HeldClock()) as opened:
        wanted = NapRequest(messages=MESSAGES, session_id="s")
        await Naps(opened, Settings(), Path("nowhere"), environ={}).nap.nap(ADA, wanted)
        yield opened


async def the_fact(house: Assembly) -> str:
    items, _ = await house.recall.list(ADA, MemoryFilter(), None, 10)
    (fact,) = [item for item in items if "with wood" in item.content]
    return fact.id


def sources_in_order(conn: Reading) -> list[int]:
    rows = conn.execute("SELECT source_key FROM session_message ORDER BY ordinal")
    return [key for (key,) in rows]


async def told(house: Assembly, memory_id: str) -> list[TurnRow]:
    def work(conn: Reading) -> list[TurnRow]:
        found = conn.execute("SELECT memory_key FROM memory WHERE memory_id = ?", (memory_id,)).get
        assert isinstance(found, int)
        return turns.turns_of(conn, found)

    return await house.db.read(work)


async def note(house: Assembly, memory_id: str, places: list[int]) -> None:
    def work(conn: Writing) -> None:
        keys = sources_in_order(conn)
        turns.set_turns(conn, memory_id, [keys[place] for place in places])

    await house.db.write(ADA, work)


def texts(rows: list[TurnRow]) -> list[str | None]:
    return [None if row.zlib is None else zlib.decompress(row.zlib).decode() for row in rows]


async def test_the_messages_of_a_memory_are_told_in_the_order_in_which_they_were_noted(
    house: Assembly,
) -> None:
    fact = await the_fact(house)
    await note(house, fact, [1, 0, 1])
    found = await told(house, fact)
    assert [(row.place, row.role) for row in found] == [(1, "user"), (0, "assistant")]
    assert texts(found) == [MESSAGES[1]["content"], MESSAGES[0]["content"]]
    await note(house, fact, [0])
    assert texts(await told(house, fact)) == [MESSAGES[0]["content"]]


async def test_a_message_that_is_no_longer_kept_leaves_its_place_without_words(
    house: Assembly,
) -> None:
    fact = await the_fact(house)
    await note(house, fact, [0, 1])

    def work(conn: Writing) -> None:
        conn.execute("DELETE FROM source WHERE source_key = ?", (sources_in_order(conn)[0],))

    await house.db.write(ADA, work)
    first, second = await told(house, fact)
    assert first == TurnRow(None, None, None, None)
    assert second.zlib is not None


async def test_forgetting_a_memory_forgets_every_message_that_it_was_made_of(
    house: Assembly,
) -> None:
    fact = await the_fact(house)
    await note(house, fact, [0, 1])
    await house.archive.forget(ADA, ids=[fact])
    assert len(await house.db.read(sources_in_order)) == len(MESSAGES) - 2
    assert (
        await house.db.read(lambda conn: conn.execute("SELECT count(*) FROM memory_turn").get) == 0
    )
    assert (await house.upkeep.check(ADA)).ok
