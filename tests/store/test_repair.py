"""A damaged file is repaired as far as it can be read (PROMISES 2); memd rebuild renews caches."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
import pytest_asyncio
from support.damage import a_full_file, chance, has_sums, readable, repaired, texts
from support.forget_workload import Churn
from support.sample_records import a_record
from support.store import ADA, EVERYTHING, StoredFile, a_house, source_hash, tampering, tell

from memd.base.errors import DamagedError
from memd.domain.recall import RecallRequest
from memd.records.entities import ENTITIES
from memd.records.records import Records
from memd.store.check import renewal
from memd.store.file.connect import PAGE_BYTES, Reading
from memd.store.search import caches

TEXTS = ("Ann keeps seven hives of bees.", "Bob sails to Faro on Sunday.", "Cid repairs clocks.")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def full(tmp_path_factory: pytest.TempPathFactory) -> StoredFile:
    """Return a store with something in every table that holds texts."""
    path = tmp_path_factory.mktemp("full") / "memd.db"
    stored_texts = await a_full_file(path)
    return StoredFile.of(path, texts=stored_texts)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def small(tmp_path_factory: pytest.TempPathFactory) -> StoredFile:
    """Return a store with three turns of a session."""
    path = tmp_path_factory.mktemp("small") / "memd.db"
    async with a_house(path) as house:
        await tell(house, *TEXTS, session_id="s")
        await house.queue.drain()
    return StoredFile.of(path)


async def test_a_sound_file_is_the_same_after_a_repair(path: Path, full: StoredFile) -> None:
    full.copy_to(path)
    done = repaired(path)
    assert texts(path) == full.texts
    assert (done.lost, done.remaining) == ((), ())
    assert texts(Path(done.damaged)) == full.texts
    assert has_sums(path)
    async with a_house(path) as house:
        assert (await house.upkeep.check(ADA)).problems == ()
        answer = await house.recall.recall(ADA, RecallRequest(query="Who sails to Faro?", top_k=3))
        assert "Bob sails to Faro on Sunday." in {item.content for item in answer.memories}


async def test_operational_records_come_along(path: Path, full: StoredFile) -> None:
    full.copy_to(path)
    async with a_house(path) as house:
        records = Records(house.db, house.ids)
        kept = {
            name: [record for record in [a_record(name)] if await records.save(ADA, entity, record)]
            for name, entity in ENTITIES.items()
        }
    whole = path.read_bytes()
    at = whole.index(b"Bob sails") // PAGE_BYTES * PAGE_BYTES
    path.write_bytes(whole[:at] + bytes(PAGE_BYTES) + whole[at + PAGE_BYTES :])
    done = repaired(path)
    assert done.remaining == ()
    async with a_house(path) as house:
        records = Records(house.db, house.ids)
        for name, entity in ENTITIES.items():
            assert list(await records.list(ADA, entity, {})) == kept[name], name


@pytest.mark.parametrize("seed", range(5))
async def test_every_readable_text_of_a_truncated_file_is_back(
    path: Path, full: StoredFile, seed: int
) -> None:
    full.copy_to(path)
    whole = path.read_bytes()
    cut = chance(seed).randrange(len(whole) // 2, len(whole))
    path.write_bytes(whole[:cut])
    whole_texts = readable(whole, cut, full.texts)
    done = repaired(path)
    assert whole_texts <= set(texts(path))
    assert done.remaining == ()
    assert Path(done.damaged).read_bytes() == whole[:cut]
    async with a_house(path) as house:  # and it is a store like any other
        assert (await house.upkeep.check(ADA)).problems == ()
        await tell(house, "Dora paints boats.")
        await house.queue.drain()
        assert (await house.upkeep.check(ADA)).problems == ()


async def test_what_a_damaged_page_held_is_listed_and_the_rest_is_back(
    path: Path, full: StoredFile
) -> None:
    full.copy_to(path)
    whole = path.read_bytes()
    (bob,) = (one for one, text in full.texts.items() if text.startswith("Bob sails"))
    at = whole.index(b"Bob sails") // PAGE_BYTES * PAGE_BYTES
    path.write_bytes(whole[:at] + bytes(PAGE_BYTES) + whole[at + PAGE_BYTES :])
    done = repaired(path)
    assert bob not in texts(path)
    assert any("memory" in one for one in done.lost)
    assert set(texts(path).items()) <= set(full.texts.items())


async def test_a_flipped_text_is_named_and_not_brought_over(path: Path, full: StoredFile) -> None:
    full.copy_to(path)
    (bob,) = (one for one, text in full.texts.items() if text.startswith("Bob sails"))
    path.write_bytes(path.read_bytes().replace(b"Bob sails to", b"Bob sails by"))
    done = repaired(path)
    assert any(bob in one for one in done.lost)
    assert set(texts(path)) == set(full.texts) - {bob}


async def test_what_a_log_holds_comes_along_and_what_was_forgotten_does_not(
    path: Path, full: StoredFile, tmp_path: Path
) -> None:
    full.copy_to(path)
    gone = next(iter(full.texts))
    kept = tmp_path / "copy"
    async with a_house(path) as house:
        await house.trash.forget(ADA, [gone])
        await tell(house, "Eve rides to Riga.")
        kept.mkdir()
        for ending in ("", "-wal"):  # as a kill leaves it
            (kept / f"memd.db{ending}").write_bytes((tmp_path / f"memd.db{ending}").read_bytes())
    repaired(kept / "memd.db")
    assert "Eve rides to Riga." in texts(kept / "memd.db").values()
    assert gone not in texts(kept / "memd.db")


async def test_vectors_that_are_lost_are_made_anew(path: Path, full: StoredFile) -> None:
    full.copy_to(path)
    whole = path.read_bytes()
    async with a_house(path) as house:
        vector = await house.db.read(
            lambda conn: conn.execute("SELECT vector FROM embedding WHERE embedding_key = 9").get
        )
    assert isinstance(vector, bytes)
    path.write_bytes(whole.replace(vector[:64], bytes(64)))
    repaired(path)
    async with a_house(path) as house:
        await house.queue.drain()
        assert (await house.upkeep.check(ADA)).problems == ()
        items, _ = await house.recall.list(ADA, EVERYTHING, None, 200)
        assert {item.state.value for item in items} == {"active"}


async def test_a_file_without_a_header_is_salvaged_by_the_shape_of_its_pages(
    path: Path, full: StoredFile
) -> None:
    full.copy_to(path)
    whole = path.read_bytes()
    path.write_bytes(bytes(PAGE_BYTES) + whole[PAGE_BYTES:])
    repaired(path)
    assert readable(whole, len(whole), full.texts) <= set(texts(path))


async def test_a_file_of_nothing_is_left_as_it_is(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b"\x07" * 5 * PAGE_BYTES)
    with pytest.raises(DamagedError):
        repaired(path)
    assert path.read_bytes() == b"\x07" * 5 * PAGE_BYTES
    assert [one.name for one in tmp_path.iterdir()] == ["memd.db"]


DAMAGED = "UPDATE embedding SET vector = zeroblob(length(vector)) WHERE memory_key = 2"


FAULTS = {
    "a vector": DAMAGED,
    "a context": "UPDATE memory_context SET context = 'Bob sails to Hove.' WHERE memory_key = 1",
    "a context that is no text": "UPDATE memory_context SET context = CAST(x'ff' AS TEXT) "
    "WHERE memory_key = 1",
    "a context that is missing": "DELETE FROM memory_context WHERE memory_key = 1",
}


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
async def test_what_follows_from_rows_is_made_anew(
    path: Path, small: StoredFile, fault: str, cached: bool
) -> None:
    small.copy_to(path)
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


async def test_an_index_that_lies_is_made_anew(path: Path, small: StoredFile) -> None:
    small.copy_to(path)
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
