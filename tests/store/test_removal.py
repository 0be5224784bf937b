"""Trashed, archived, restored byte for byte, erased everywhere (SPEC D21, P8)."""

from __future__ import annotations

import hashlib
import zlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from support.clocks import HeldClock
from support.entries import NOW
from support.fakes import HashEmbedder
from support.store import ADA, BOB, EVERYTHING, a_house, bytes_of, stored, tell, visible

from memd.archive import erasure
from memd.backends.rooms import Rooms
from memd.base.errors import BusyError, MemoryNotFoundError
from memd.domain.caller import Caller
from memd.domain.enums import ArchiveReason, MemoryState
from memd.domain.memory import MemoryFilter, MemoryMetadata, MemoryQuery, MemoryUpdate
from memd.domain.recall import RecallRequest
from memd.domain.settings.settings import DaemonSettings, Settings
from memd.store.access import names
from memd.store.file.connect import Reading, Writing
from memd.store.memory import memories, removal

WORD = "Xylophanes"  # occurs nowhere else; also searched as its stem
TRACES = (b"xylophan", b"Xylophan")


async def row_of(house: Rooms, memory_id: str) -> dict[str, Any]:
    """Return every column of a memory's row but when it was last updated, its tags and vectors."""

    def work(conn: Reading) -> dict[str, Any]:
        cursor = conn.execute("SELECT * FROM memory WHERE memory_id = ?", (memory_id,))
        names_of = [column[0] for column in cursor.description]
        row: dict[str, Any] = dict(zip(names_of, cursor.fetchone() or (), strict=True))
        key = row["memory_key"]
        for table in ("memory_tag", "embedding", "memory_context"):
            row[table] = conn.execute(
                f"SELECT * FROM {table} WHERE memory_key = ? ORDER BY 1, 2", (key,)
            ).fetchall()
        del row["updated_at_us"]
        return row

    return await house.db.read(work)


async def move_to_archive(
    house: Rooms, memory_id: str, state: MemoryState = MemoryState.ARCHIVED
) -> None:
    def work(conn: Writing) -> None:
        agent_key = names.find_agent(conn, "ada")
        assert agent_key is not None
        row = memories.by_id(conn, agent_key, memory_id)
        assert row is not None
        now_us = house.trash.clock.now_us()
        removal.archive(
            conn,
            [row.memory_key],
            ArchiveReason.CAP,
            now_us,
            new_id=house.ingest.ids.new,
            state=state,
        )

    await house.db.write(ADA, work)


async def three(house: Rooms, **fields: Any) -> list[str]:
    return await stored(
        house,
        "Ann keeps bees.",
        f"The safe opens with {WORD}.",
        "Bob sails.",
        session_id="s",
        **fields,
    )


@pytest.fixture
async def ids(house: Rooms) -> list[str]:
    return await three(house)


async def test_what_is_deleted_is_invisible_everywhere_and_can_be_brought_back(
    house: Rooms,
) -> None:
    ids = await three(house, metadata={"tags": ["a", "b"]})
    before = [await row_of(house, memory_id) for memory_id in ids]
    assert await house.trash.delete(ADA, ids[1])
    assert await visible(house) == {ids[0], ids[2]}
    assert await house.recall.get(ADA, ids[1]) is None
    for hidden in (False, True):
        query = MemoryQuery(text=f"safe {WORD}", include_compressed=hidden)
        assert ids[1] not in {entry.id for entry in await house.recall.retrieve(ADA, query)}
    assert await house.archive.count(ADA) == 0
    assert not await house.trash.delete(ADA, ids[1])
    (binned,), rest = await house.trash.list(ADA, None, 10)
    assert (binned.id, rest) == (ids[1], None)
    assert binned.erase_at - binned.trashed_at == timedelta(days=7)
    assert WORD not in str([await row_of(house, ids[0]), await row_of(house, ids[2])])
    assert await house.trash.restore(ADA, ids[1])
    assert [await row_of(house, memory_id) for memory_id in ids] == before
    assert (await house.upkeep.check(ADA)).ok


async def test_what_is_put_away_is_brought_back_byte_for_byte(house: Rooms) -> None:
    ids = await three(house, metadata={"tags": ["a", "b"]})
    before = [await row_of(house, memory_id) for memory_id in ids]
    await move_to_archive(house, ids[1])
    assert await visible(house) == {ids[0], ids[2]}
    assert await house.archive.count(ADA) == 1
    assert await house.archive.count(BOB) == 0
    (hit,) = await house.archive.search(ADA, MemoryQuery(text=WORD))
    assert (hit.entry.id, hit.entry.state) == (ids[1], MemoryState.ARCHIVED)
    (listed,) = await house.archive.search(ADA, MemoryQuery())
    assert listed == hit
    entry = await house.archive.restore_to_hot(ADA, ids[1])
    assert entry.content == f"The safe opens with {WORD}."
    assert [await row_of(house, memory_id) for memory_id in ids] == before
    with pytest.raises(MemoryNotFoundError):
        await house.archive.restore_to_hot(ADA, ids[1])
    assert (await house.upkeep.check(ADA)).ok


async def test_the_trash_of_what_was_put_away_leads_back_to_the_archive(
    ids: list[str], house: Rooms
) -> None:
    await move_to_archive(house, ids[0])
    assert await house.trash.delete(ADA, ids[0])
    with pytest.raises(MemoryNotFoundError):  # it would be erased by the purge, though visible
        await house.archive.restore_to_hot(ADA, ids[0])
    assert await house.trash.restore(ADA, ids[0])
    assert await house.archive.count(ADA) == 1
    await house.archive.restore_to_hot(ADA, ids[0])
    assert await visible(house) == set(ids)


async def test_what_lies_in_the_trash_is_not_put_away(ids: list[str], house: Rooms) -> None:
    await house.trash.delete(ADA, ids[0])
    await move_to_archive(house, ids[0])
    assert await house.archive.count(ADA) == 0
    assert await house.trash.restore(ADA, ids[0])
    assert await visible(house) == set(ids)


async def test_nobody_removes_or_brings_back_what_is_anothers(ids: list[str], house: Rooms) -> None:
    await stored(house, "mine", caller=BOB)
    assert not await house.trash.delete(BOB, ids[0])
    assert (await house.trash.forget(BOB, ids=ids)).count == 0
    await house.trash.delete(ADA, ids[0])
    assert not await house.trash.restore(BOB, ids[0])
    assert (await house.trash.list(BOB, None, 10))[0] == ()
    assert (await house.trash.forget(BOB, condition=EVERYTHING)).count == 1
    assert await visible(house) == set(ids[1:])


async def test_the_trash_is_erased_when_its_time_is_up(
    ids: list[str], house: Rooms, clock: HeldClock, tmp_path: Path
) -> None:
    await house.trash.delete(ADA, ids[1])
    clock.advance(days=7, microseconds=-1)
    assert await house.trash.purge() == 0
    assert (await house.trash.list(ADA, None, 10))[0]
    clock.advance(microseconds=1)
    assert await house.trash.purge() == 1
    assert not await house.trash.restore(ADA, ids[1])
    await house.upkeep.tidy()
    assert not [trace for trace in TRACES if trace in bytes_of(tmp_path)]
    assert await visible(house) == {ids[0], ids[2]}


async def test_a_file_that_is_mostly_free_shrinks(
    house: Rooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memd.store.check.upkeep.FREE_PAGES_MIN", 20)
    long = "The lighthouse of Skagen was lit in 1747 by {}. " * 400
    ids = await stored(house, *(long.format(*[number] * 400) for number in range(60)))
    kept = await stored(house, "The hive is green.")
    await house.upkeep.tidy()
    full = house.db.path.stat().st_size
    await house.trash.forget(ADA, ids=ids)
    assert house.db.path.stat().st_size == full
    await house.upkeep.tidy()
    assert house.db.path.stat().st_size < 0.8 * full
    assert (await house.upkeep.check(ADA)).ok
    assert set(kept) <= await visible(house)


async def test_the_trash_is_listed_in_pages_each_memory_once(ids: list[str], house: Rooms) -> None:
    for memory_id in ids:
        await house.trash.delete(ADA, memory_id)
    pages, after = [], None
    for _ in ids:
        page, after = await house.trash.list(ADA, after, 1)
        pages += [entry.id for entry in page]
    assert pages == sorted(ids)
    assert after is None


async def test_what_expired_lies_in_the_trash_from_that_moment_and_comes_back_to_stay(
    house: Rooms, clock: HeldClock
) -> None:
    (one,) = await stored(house, "Ann keeps bees.", expires_at=NOW + timedelta(hours=1))
    clock.advance(hours=1, microseconds=-1)
    await house.trash.purge()
    assert (await house.trash.list(ADA, None, 10))[0] == ()
    clock.advance(microseconds=1)
    await house.trash.purge()
    ((binned,), _) = await house.trash.list(ADA, None, 10)
    assert (binned.id, binned.reason) == (one, "expired")
    assert await house.trash.restore(ADA, one)  # for good: its expiry is lifted
    assert await visible(house) == {one}
    clock.advance(days=400)
    await house.trash.purge()
    assert await visible(house) == {one}


async def test_with_no_days_to_undo_a_deletion_is_final(tmp_path: Path) -> None:
    settings = Settings(daemon=DaemonSettings(undo_days=0))
    async with a_house(tmp_path / "memd.db", settings=settings) as house:
        ids = await three(house)
        assert await house.trash.delete(ADA, ids[1])
        assert not await house.trash.restore(ADA, ids[1])
        assert (await house.trash.list(ADA, None, 10))[0] == ()
        assert not [trace for trace in TRACES if trace in bytes_of(tmp_path)]


async def test_what_expires_is_invisible_everywhere_at_that_very_moment(
    house: Rooms, clock: HeldClock
) -> None:
    end = NOW + timedelta(hours=1)
    (kept,) = await stored(house, "Ann keeps bees.")
    (gone,) = await stored(house, f"The safe opens with {WORD}.", expires_at=end)
    (away,) = await stored(house, "Cid repairs clocks.", expires_at=end)
    await move_to_archive(house, away)
    (liked,) = await tell(house, "I prefer tea over coffee.", expires_at=end)
    clock.advance(hours=1, microseconds=-1)
    assert await visible(house) == {kept, gone, liked}
    assert await house.recall.preferences(ADA)
    clock.advance(microseconds=1)
    assert await visible(house) == {kept}
    assert await house.recall.count(ADA, None) == 1
    assert await house.recall.preferences(ADA) == ()
    assert not (await house.recall.recall(ADA, RecallRequest(query="tea or coffee"))).memories
    assert await house.archive.count(ADA) == 0
    assert await house.archive.search(ADA, MemoryQuery()) == ()
    assert await house.archive.search(ADA, MemoryQuery(text="clocks")) == ()
    for text in (None, f"safe {WORD}", "tea"):
        query = MemoryQuery(text=text, include_compressed=True)
        assert {entry.id for entry in await house.recall.retrieve(ADA, query)} == {kept}
    for memory_id in (gone, away, liked):
        assert await house.recall.get(ADA, memory_id) is None
        assert not await house.trash.delete(ADA, memory_id)
        with pytest.raises(MemoryNotFoundError):
            await house.ingest.update(ADA, memory_id, MemoryUpdate(content="still here"))
        with pytest.raises(MemoryNotFoundError):
            await house.archive.restore_to_hot(ADA, memory_id)


async def test_the_same_text_again_does_not_vanish_with_the_one_that_expires(
    house: Rooms, clock: HeldClock
) -> None:
    end = NOW + timedelta(hours=1)
    first = await tell(house, "Ann keeps bees in Lisbon.", expires_at=end)
    assert await tell(house, "Ann keeps bees in Lisbon.") == first  # merged, and for good now
    clock.advance(hours=2)
    assert await visible(house) == set(first)
    other = await tell(house, "Bob sails to Faro.", expires_at=clock.now + timedelta(hours=1))
    clock.advance(hours=2)
    assert await tell(house, "Bob sails to Faro.") != other  # what expired is not merged into


# Forgetting.


async def everywhere(house: Rooms) -> str:
    """Put the word wherever a memory's words can come to lie; return the memory's id."""
    (first,) = await stored(house, "Ann keeps bees.", session_id="s")
    (secret,) = await stored(
        house,
        f"Safe: {WORD}.",
        session_id="s",
        speaker=f"{WORD}-speaker",
        metadata={"tags": [f"{WORD}-tag"], "source": f"{WORD}-source"},
    )
    (last, hidden) = await stored(house, "Bob sails.", "Cid repairs clocks.", session_id="s")
    await move_to_archive(house, last)
    await move_to_archive(house, hidden, MemoryState.COMPRESSED)
    await house.trash.delete(ADA, first)
    metadata = MemoryMetadata(tags=(f"{WORD}-new",), source=f"{WORD}-source")
    update = MemoryUpdate(content=f"The old safe opened with {WORD}.", metadata=metadata)
    await house.ingest.update(ADA, secret, update)
    await house.queue.drain()
    return secret


async def test_what_is_forgotten_leaves_no_trace_in_any_file(path: Path, tmp_path: Path) -> None:
    async with a_house(path, embedder=HashEmbedder(with_tokens=True)) as house:
        secret = await everywhere(house)
        vector, tokens = (await row_of(house, secret))["embedding"][0][-2:]
        await house.db.checkpoint()
        raw = bytes_of(tmp_path)
        assert all(trace in raw for trace in TRACES)
        assert vector in raw
        assert tokens in raw
        forgotten = await house.trash.forget(ADA, ids=[secret])
        assert forgotten.count == 1
        assert forgotten.ids == (secret,)
        assert len(forgotten.proof) == 64
        raw = bytes_of(tmp_path)
        assert not [trace for trace in TRACES if trace in raw]
        assert vector not in raw
        assert tokens not in raw
        assert await house.recall.retrieve(ADA, MemoryQuery(text=WORD)) == ()
        assert (await house.upkeep.check(ADA)).ok
    assert not [trace for trace in TRACES if trace in bytes_of(tmp_path)]


async def test_what_is_forgotten_leaves_no_source_and_no_preference(
    house: Rooms, tmp_path: Path
) -> None:
    caller = Caller(agent_id="ada", method="test", idempotency_key="k", request_hash=b"1")
    text = f"I prefer {WORD} over coffee.\r\n\r\n\r\n" + "Ann keeps bees in Lisbon. " * 40
    ids = await tell(house, text, caller=caller)
    (preference,) = await house.recall.preferences(ADA)
    assert WORD.lower() in preference.name
    kept = await house.db.read(lambda conn: conn.execute("SELECT zlib FROM source").get)
    assert isinstance(kept, bytes)
    assert WORD in zlib.decompress(kept).decode()
    assert preference.memory_id in ids
    await house.trash.forget(ADA, ids=[preference.memory_id])
    raw = bytes_of(tmp_path)
    assert not [trace for trace in TRACES if trace in raw]  # not even in the kept reply
    assert kept not in raw
    assert await house.recall.preferences(ADA) == ()
    assert await tell(house, text, caller=caller) == ids  # a retry brings nothing back
    assert preference.memory_id not in await visible(house)


async def test_forgetting_by_filter_reaches_what_is_hidden_trashed_and_expired(
    house: Rooms, clock: HeldClock, tmp_path: Path
) -> None:
    end = NOW + timedelta(hours=1)
    ids = await stored(house, *(f"{WORD} {n}" for n in range(3)), namespace="work")
    ids += await stored(house, f"{WORD} 4", namespace="work", expires_at=end)
    (other,) = await stored(house, "Ann keeps bees.")
    await move_to_archive(house, ids[1])
    await house.trash.delete(ADA, ids[2])
    clock.advance(hours=2)
    condition = MemoryFilter(namespaces=frozenset({"work"}))
    planned = await house.trash.forget(ADA, condition=condition, dry_run=True)
    assert (planned.count, planned.proof, planned.dry_run) == (4, "", True)
    assert len(await visible(house)) == 2
    done = await house.trash.forget(ADA, condition=condition)
    assert set(done.ids) == set(planned.ids) == set(ids)
    assert not [trace for trace in TRACES if trace in bytes_of(tmp_path)]
    assert await visible(house) == {other}


async def test_forgetting_much_names_some_and_proves_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure, "FORGOTTEN_IDS_MAX", 2)
    async with a_house(tmp_path / "memd.db") as house:
        ids = await stored(house, *(f"{WORD} {n}" for n in range(5)))
        digest = hashlib.sha256()
        for memory_id in ids:
            digest.update(memory_id.encode() + (await row_of(house, memory_id))["row_hash"])
        done = await house.trash.forget(ADA, condition=EVERYTHING)
        assert (done.count, done.ids, done.proof) == (5, tuple(ids[:2]), digest.hexdigest())
        assert await visible(house) == set()


async def test_a_summary_of_what_is_forgotten_is_erased_with_it(house: Rooms) -> None:
    secret, other, summary = await stored(house, WORD, "Ann keeps bees.", "a summary of both")

    def derive(conn: Writing) -> None:
        conn.execute("INSERT INTO derived (from_key, to_key) VALUES (1, 3), (2, 3)")

    await house.db.write(ADA, derive)
    await house.trash.forget(ADA, ids=[secret])
    assert await visible(house) == {other}
    assert await house.recall.get(ADA, summary) is None
    left = await house.db.read(lambda conn: conn.execute("SELECT memory_id FROM memory").fetchall())
    assert left == [(other,)]


@pytest.mark.usefixtures("impatient")
async def test_a_log_that_cannot_be_emptied_is_said_and_the_same_request_finishes_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memd.db"
    async with a_house(path) as house:
        (secret,) = await stored(house, WORD)
        reader = apsw.Connection(str(path))
        reader.execute("BEGIN; SELECT count(*) FROM memory").fetchall()
        caller = Caller(agent_id="ada", method="test", idempotency_key="k", request_hash=b"1")
        with pytest.raises(BusyError):
            await house.trash.forget(caller, ids=[secret])
        reader.close()
        assert (await house.trash.forget(caller, ids=[secret])).count == 1
        assert not [trace for trace in TRACES if trace in bytes_of(tmp_path)]
