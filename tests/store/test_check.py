"""A flipped bit is found, wherever it is, and the caches are rebuilt from the rows (P6)."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import struct
from pathlib import Path

import pytest
import pytest_asyncio
from support.store import ADA, StoredFile, a_house, source_hash, stored, tampering, tell, visible

from memd.backends.rooms import Rooms
from memd.domain.ingest import IngestManyRequest, IngestRequest
from memd.domain.memory import MemoryQuery, MemoryUpdate
from memd.store.search import fulltext, vectors

MANY = IngestManyRequest(items=(IngestRequest(text="Dora paints boats in Hove."),))
LONG = "The lighthouse of Skagen was lit in 1747. " * 60


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def furnished(tmp_path_factory: pytest.TempPathFactory) -> StoredFile:
    """Return a file with something in every source table that carries a hash."""
    path = tmp_path_factory.mktemp("furnished") / "memd.db"
    async with a_house(path) as house:
        ids = await stored(
            house,
            "Ann keeps seven hives of bees.",
            "Bob sails to Faro on Sunday.",
            "Cid repairs clocks.",
            session_id="s",
            speaker="Eve",
            metadata={"tags": ["hobby", "weekend"], "source": "diary"},
        )
        await tell(house, LONG + "\r\n\r\n\r\n" + LONG)
        await house.ingest.ingest_many(ADA, MANY)
        await house.ingest.update(ADA, ids[2], MemoryUpdate(content="Cid repairs watches."))
        await house.queue.drain()
        assert (await house.upkeep.check(ADA)).problems == ()
    return StoredFile.of(path, ids)


async def problems_of(path: Path) -> str:
    async with a_house(path) as house:
        report = await house.upkeep.check(ADA)
        assert report.ok is not bool(report.problems)
        return "\n".join(report.problems)


def flipped(value: object, chance: random.Random) -> object:
    """Return *value* with one bit of its stored form turned round."""
    if isinstance(value, bytes):
        bit = chance.randrange(len(value) * 8)
        raw = bytearray(value)
        raw[bit // 8] ^= 1 << bit % 8
        return bytes(raw)
    if isinstance(value, str):
        at = chance.randrange(len(value))
        return value[:at] + chr(ord(value[at]) ^ 1) + value[at + 1 :]
    if isinstance(value, float):
        (bits,) = struct.unpack("<q", struct.pack("<d", value))
        (other,) = struct.unpack("<d", struct.pack("<q", bits ^ 1 << chance.randrange(52)))
        return other
    assert isinstance(value, int)
    return value ^ 1 << chance.randrange(20)


MEMORY_COLUMNS = (
    "memory_id", "agent_key", "client_key", "session_key", "namespace", "category", "level",
    "origin", "trust", "speaker", "content", "reference", "ordinal", "part", "token_count",
    "importance", "confidence", "content_hash", "created_at_us", "row_hash",
)  # fmt: skip
PLACES = [
    *(("memory", column) for column in MEMORY_COLUMNS),
    ("memory_tag", "tag"),
    ("memory_version", "snapshot"),
    ("embedding", "vector"),
    ("embedding", "checksum"),
    ("source", "zlib"),
    ("change", "digest"),
    ("change", "at_us"),
    ("change", "hash"),
    ("change", "rows"),
    ("change", "batch"),
]


@pytest.mark.parametrize(("table", "column"), PLACES)
async def test_a_flipped_bit_is_found(
    path: Path, furnished: StoredFile, table: str, column: str
) -> None:
    furnished.copy_to(path)
    chance = random.Random(f"{table}.{column}")
    with tampering(path) as conn:
        conn.pragma("ignore_check_constraints", True)
        key = "rowid" if table != "memory_tag" else "memory_key"
        rows = conn.execute(
            f"SELECT {key}, {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY 1 LIMIT 1"
        ).fetchall()
        for row_key, value in rows:
            conn.execute(
                f"UPDATE {table} SET {column} = ? WHERE {key} = ? AND {column} = ?",
                (flipped(value, chance), row_key, value),
            )
        assert rows
        assert conn.changes() == 1
    problems = await problems_of(path)
    assert problems
    assert "lighthouse" not in problems  # it names the row, never its text


async def test_a_bit_flipped_in_the_file_itself_is_found(path: Path, furnished: StoredFile) -> None:
    """Past SQLite: in the bytes of a text and of a vector, as a failing disk would."""
    furnished.copy_to(path)
    whole = path.read_bytes()
    for word in (b"hives of bees", b"sails to Faro"):
        at = whole.index(word)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x80]) + whole[at + 1 :])
        assert "damaged" in await problems_of(path)
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x01]) + whole[at + 1 :])
        assert "does not match its hash" in await problems_of(path)


CACHE_FAULTS = {
    "a word too many": "INSERT INTO fts_1 (rowid, own, context, owner) "
    "VALUES (99, 'ghost', '', 'a1')",
    "a word missing": "INSERT INTO fts_1 (fts_1, rowid, own, context, owner) "
    "SELECT 'delete', memory_key, own, context, owner FROM memory_words WHERE memory_key = 1",
    "a vector missing": "DELETE FROM vec_1_1 WHERE rowid = 1",
    "a vector too many": "INSERT INTO vec_1_1 (rowid, owner, vector) "
    "SELECT 99, owner, vector FROM vec_1_1 WHERE rowid = 1",
    "a vector of somebody else": "UPDATE vec_1_1 SET vector = "
    "(SELECT vector FROM embedding WHERE memory_key = 2) WHERE rowid = 1",
}


@pytest.mark.parametrize("fault", CACHE_FAULTS)
async def test_a_cache_that_lies_is_found_and_rebuilt_without_touching_a_row(
    path: Path, furnished: StoredFile, fault: str
) -> None:
    furnished.copy_to(path)
    with tampering(path) as conn:
        conn.execute(CACHE_FAULTS[fault])
        before = source_hash(conn)
    async with a_house(path) as house:
        report = await house.upkeep.check(ADA)
        assert any("index" in problem or "cache" in problem for problem in report.problems), report
        told_of: list[tuple[int, int]] = []
        await house.upkeep.rebuild(ADA, lambda done, total: told_of.append((done, total)))
        assert await house.db.read(source_hash) == before
        assert (await house.upkeep.check(ADA)).problems == ()
        assert told_of[-1][0] == told_of[-1][1]
        (bees,) = await house.recall.retrieve(ADA, MemoryQuery(text="hives of bees", limit=1))
        assert bees.id == furnished.ids[0]


async def test_a_rebuild_that_is_killed_half_way_is_begun_afresh(
    path: Path, furnished: StoredFile
) -> None:
    furnished.copy_to(path)
    async with a_house(path) as house:
        await house.db.write(ADA, fulltext.start_build)
        await house.db.write(ADA, lambda conn: fulltext.step_build(conn, 1))
        await house.db.write(ADA, vectors.start_build)
        await house.db.write(ADA, lambda conn: vectors.step_build(conn, 1))
    async with a_house(path) as house:
        assert (await house.upkeep.check(ADA)).ok
        await house.upkeep.rebuild(ADA)
        assert (await house.upkeep.check(ADA)).ok
        tables = await house.db.read(
            lambda conn: [
                name
                for (name,) in conn.execute(
                    "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%'"
                )
            ]
        )
    assert len(tables) == 6, tables  # words of memories, facts, sessions; terms; vectors: all whole


async def disturb(house: Rooms, chance: random.Random, ids: list[str], binned: list[str]) -> None:
    """Do one thing to a memory: tell, delete, forget, bring back, change, embed."""
    match chance.randrange(6):
        case 0:
            ids.extend(await stored(house, f"New {chance.random()}", session_id="s"))
        case 1:
            binned.append(ids.pop(chance.randrange(len(ids))))
            await house.trash.delete(ADA, binned[-1])
        case 2:
            await house.trash.forget(ADA, ids=[ids.pop(chance.randrange(len(ids)))])
        case 3 if binned:
            ids.append(binned.pop())
            assert await house.trash.restore(ADA, ids[-1])
        case 4:
            update = MemoryUpdate(content=f"Changed {chance.random()}")
            await house.ingest.update(ADA, chance.choice(ids), update)
        case _:
            await house.queue.drain()


@pytest.mark.parametrize("seed", range(6))
async def test_a_rebuild_under_writes_ends_sound(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its steps memories come, change, are hidden, brought back and erased."""
    monkeypatch.setattr("memd.store.check.upkeep.REBUILD_ROWS", 3)
    chance = random.Random(seed)
    async with a_house(tmp_path / "memd.db") as house:
        crates = (f"Crate {n} holds {n * 7} lamps." for n in range(30))
        ids = await stored(house, *crates, session_id="s")
        binned: list[str] = []
        rebuilding = asyncio.create_task(house.upkeep.rebuild(ADA))
        while not rebuilding.done():
            await disturb(house, chance, ids, binned)
        await rebuilding
        await house.queue.drain()
        assert (await house.upkeep.check(ADA)).problems == ()
        assert await visible(house) == set(ids)


async def test_another_sqlite_finds_the_file_sound(path: Path, furnished: StoredFile) -> None:
    furnished.copy_to(path)
    other = sqlite3.connect(path)
    assert other.execute("SELECT count(*) FROM memory").fetchone()[0] >= 3
    assert other.execute("PRAGMA quick_check(1)").fetchone() is not None
    other.close()


async def test_a_sound_file_is_called_sound_however_it_came_about(house: Rooms) -> None:
    """A reader that searched before remembers parts of the full-text index that are gone by now."""
    for number in range(40):
        ids = await stored(house, f"Crate {number} holds lamps.", f"Ann {number}")
        assert (await house.upkeep.check(ADA)).problems == ()
        await house.trash.forget(ADA, ids=ids[:1])
        assert (await house.upkeep.check(ADA)).problems == ()
