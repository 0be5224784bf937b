"""``memd rebuild`` renews damaged vectors, contexts and indexes, and changes no row."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from support.forgetting import Churn
from support.store import ADA, a_house, source_hash, tampering, tell

from memd.store.check import renewal
from memd.store.file.connect import Reading
from memd.store.search import caches

TEXTS = ("Ann keeps seven hives of bees.", "Bob sails to Faro on Sunday.", "Cid repairs clocks.")
DAMAGED = "UPDATE embedding SET vector = zeroblob(length(vector)) WHERE memory_key = 2"
FAULTS = {
    "a vector": DAMAGED,
    "a context": "UPDATE memory_context SET context = 'Bob sails to Hove.' WHERE memory_key = 1",
    "a context that is no text": "UPDATE memory_context SET context = CAST(x'ff' AS TEXT) "
    "WHERE memory_key = 1",
    "a context that is missing": "DELETE FROM memory_context WHERE memory_key = 1",
}


async def a_file(path: Path) -> None:
    async with a_house(path) as house:
        await tell(house, *TEXTS, session_id="s")
        await house.queue.drain()


def state(path: Path) -> dict[str, list[tuple[apsw.SQLiteValue, ...]]]:
    with tampering(path) as conn:
        return {
            "vectors": conn.execute(
                "SELECT memory_key, checksum, vector FROM embedding ORDER BY 1"
            ).fetchall(),
            "contexts": conn.execute("SELECT * FROM memory_context ORDER BY 1").fetchall(),
            "sums": conn.execute("SELECT agent_key, vectors FROM centroid ORDER BY 1").fetchall(),
            "states": conn.execute("SELECT memory_key, state FROM memory").fetchall(),
        }


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("fault", FAULTS)
async def test_what_follows_from_rows_is_made_anew(path: Path, fault: str, cached: bool) -> None:
    await a_file(path)
    before = state(path)
    with tampering(path) as conn:
        conn.execute(FAULTS[fault])
        assert conn.changes() == 1
        if not cached:
            conn.execute("DELETE FROM vec_1_1 WHERE rowid = 2")
    async with a_house(path) as house:
        await house.upkeep.rebuild(ADA)
        await house.queue.drain()
        assert (await house.upkeep.check(ADA)).problems == ()
    assert state(path) == before


async def test_an_index_that_lies_is_made_anew(path: Path) -> None:
    await a_file(path)
    with tampering(path) as conn:
        conn.pragma("writable_schema", True)
        sql = conn.execute("SELECT sql FROM sqlite_schema WHERE name = 'memory_by_time'").get
        partial = f"{sql} WHERE memory_key > 1"
        conn.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'memory_by_time'", (partial,))
    with tampering(path) as conn:
        conn.execute("REINDEX memory_by_time")
        conn.pragma("writable_schema", True)
        conn.execute("UPDATE sqlite_schema SET sql = ? WHERE name = 'memory_by_time'", (sql,))
    async with a_house(path) as house:
        assert any("memory_by_time" in one for one in (await house.upkeep.check(ADA)).problems)
        await house.upkeep.rebuild(ADA)
        assert (await house.upkeep.check(ADA)).problems == ()


async def test_a_sound_file_is_as_it_was(path: Path) -> None:
    async with a_house(path) as house:
        churn = Churn(house, 5)
        for number in range(120):
            await churn.write()
            if number % 9 == 0:
                await churn.forget()
        await house.queue.drain()
        assert await house.db.read(_wrong) == []
        assert await house.db.read_dedicated(renewal.find_damaged_vectors) == []
    with tampering(path) as conn:
        before = source_hash(conn)
    async with a_house(path) as house:
        await house.upkeep.rebuild(ADA)
    with tampering(path) as conn:
        assert source_hash(conn) == before


def _wrong(conn: Reading) -> list[int]:
    visible = conn.execute("SELECT memory_key FROM memory WHERE state IN ('active', 'pending')")
    return caches.find_stale_contexts(conn, [int(str(key)) for (key,) in visible.fetchall()])
