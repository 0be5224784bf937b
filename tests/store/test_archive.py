"""SPEC 16.13: the archive lists archived memories, and restores them for their owner only."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.clocks import HeldClock
from support.nights import ADA as CALLER
from support.nights import Bed
from support.store import ADA, BOB, a_house, stored, visible

from memd.backends.rooms import Rooms
from memd.backends.sqlite import SqliteArchive, to_archival_entry
from memd.base.errors import MemoryNotFoundError, MemoryStoreError
from memd.domain.enums import ArchiveReason, MemoryState, Origin
from memd.domain.ingest import IngestRequest
from memd.domain.memory import MemoryEntry, MemoryQuery
from memd.domain.sleep.consolidation import ArchivalEntry, ArchivalMode, ArchivalStore
from memd.store.access import names
from memd.store.file.connect import Reading
from memd.store.memory import memories


async def move_to_archive(house: Rooms, memory_id: str) -> str:
    archival_id = await house.archive.move_to_archive(ADA, memory_id)
    assert archival_id is not None
    return archival_id


async def read(house: Rooms, memory_id: str) -> MemoryEntry:
    entry = await house.recall.get(ADA, memory_id)
    assert entry is not None
    return entry


@pytest.mark.parametrize("by", ["its own id", "the archival id"])
async def test_restore_shows_what_was_put_away_and_changes_nothing(house: Rooms, by: str) -> None:
    (memory_id,) = await stored(house, "Ann keeps bees.", metadata={"tags": ["a"]})
    before = await read(house, memory_id)
    archival_id = await move_to_archive(house, memory_id)

    for _ in range(2):
        archived = await house.archive.restore(
            ADA, memory_id if by == "its own id" else archival_id
        )
        assert archived.archival_id == archival_id
        assert archived.reason is ArchiveReason.MANUAL
        assert archived.entry.content == before.content
        assert archived.entry.metadata == before.metadata
        assert archived.entry.created_at == before.created_at
    assert await house.archive.count(ADA) == 1
    assert await visible(house) == set()


@pytest.mark.parametrize("by", ["its own id", "the archival id"])
async def test_restore_to_hot_brings_it_back_under_its_own_id(house: Rooms, by: str) -> None:
    (memory_id,) = await stored(house, "Ann keeps bees.")
    archival_id = await move_to_archive(house, memory_id)

    entry = await house.archive.restore_to_hot(
        ADA, memory_id if by == "its own id" else archival_id
    )

    assert (entry.id, entry.state) == (memory_id, MemoryState.ACTIVE)
    assert await visible(house) == {memory_id}
    assert await house.archive.count(ADA) == 0
    assert (await house.upkeep.check(ADA)).ok


@pytest.mark.parametrize("how", ["unknown", "foreign", "foreign archival", "never away", "trash"])
async def test_what_is_not_in_the_agents_archive_is_a_clear_error(house: Rooms, how: str) -> None:
    away, hot = await stored(house, "Ann keeps bees.", "Bob sails.")
    archival_id = await move_to_archive(house, away)
    caller = BOB if how.startswith("foreign") else ADA
    if how == "trash":
        await house.trash.delete(ADA, hot)
    named = {"unknown": "x", "foreign": away, "foreign archival": archival_id}.get(how, hot)

    for back in (house.archive.restore, house.archive.restore_to_hot):
        with pytest.raises(MemoryNotFoundError, match="no such memory in the archive"):
            await back(caller, named)
    assert await house.archive.count(ADA) == 1


async def test_a_search_names_each_with_its_archival_id_reason_and_time(tmp_path: Path) -> None:
    clock = HeldClock()
    async with a_house(tmp_path / "memd.db", clock) as house:
        ids = await stored(house, "Ann keeps bees.", "Bob sails.")
        then = clock.advance(days=3)
        archival_ids = [await move_to_archive(house, memory_id) for memory_id in ids]

        (hit,) = await house.archive.search(ADA, MemoryQuery(text="bees"))
        every = await house.archive.search(ADA, MemoryQuery())

        assert hit.archival_id == archival_ids[0]
        assert hit.archived_at == then
        assert {each.entry.id for each in every} == set(ids)
        assert await house.archive.search(BOB, MemoryQuery()) == ()


async def test_putting_away_takes_what_was_deleted_out_of_the_trash(house: Rooms) -> None:
    (memory_id,) = await stored(house, "Ann keeps bees.")
    before = await read(house, memory_id)
    await house.trash.delete(ADA, memory_id)

    archival_id = await move_to_archive(house, memory_id)

    assert await house.trash.list(ADA, None, 10) == ((), None)
    assert (await house.archive.restore(ADA, archival_id)).entry.content == before.content
    assert await move_to_archive(house, memory_id) == archival_id
    assert (await house.upkeep.check(ADA)).ok


async def test_what_stands_behind_a_summary_stays_as_it_is_when_it_is_put_away_again(
    bed: Bed,
) -> None:
    ids = await bed.tell("Ann keeps bees.", "Ulla rows.", "It rained.")
    bed.clock.advance(days=2)
    await bed.night.run(CALLER, steps=frozenset({"consolidation"}))
    before = await bed.tables()
    bed.clock.advance(days=1)

    archival_id = await bed.house.archive.move_to_archive(CALLER, ids[0])

    archived = await bed.house.archive.restore(CALLER, ids[0])
    assert (archived.archival_id, archived.reason) == (archival_id, ArchiveReason.CONSOLIDATED)
    assert await bed.tables() == before


async def test_putting_away_what_is_not_there_or_another_agents_is_nothing(house: Rooms) -> None:
    (memory_id,) = await stored(house, "Ann keeps bees.")

    assert await house.archive.move_to_archive(BOB, memory_id) is None
    assert await house.archive.move_to_archive(ADA, "x") is None
    assert await visible(house) == {memory_id}


# The documents' store over the same archive.


def documented(entry: MemoryEntry) -> ArchivalEntry:
    return ArchivalEntry(
        original_id=entry.id,
        agent_id=entry.agent_id,
        content=entry.content,
        category=entry.category,
        metadata=entry.metadata,
        created_at=entry.created_at,
        archived_at=entry.created_at + timedelta(days=1),
        archival_mode=ArchivalMode.EXTRACTIVE,
    )


async def test_the_own_archive_is_a_store_of_the_documents(house: Rooms) -> None:
    store = SqliteArchive(lambda: house.archive)
    (memory_id,) = await stored(house, "Ann keeps bees.")
    original = documented(await read(house, memory_id))

    archival_id = await store.archive(original)

    assert isinstance(store, ArchivalStore)
    assert archival_id != memory_id
    kept = await store.restore("ada", archival_id)
    assert kept is not None
    assert kept.model_copy(update={"archived_at": original.archived_at}) == original
    assert await store.search("ada", MemoryQuery(text="bees")) == (kept,)
    assert await store.count("ada") == 1
    assert await store.restore("bob", archival_id) is None
    assert await store.restore("ada", "x") is None
    assert await store.restore_to_hot("bob", archival_id) is None
    back = await store.restore_to_hot("ada", archival_id)
    assert back is not None
    assert back.id == memory_id


async def test_the_own_archive_takes_only_what_its_file_holds(house: Rooms) -> None:
    (memory_id,) = await stored(house, "Ann keeps bees.")
    foreign = documented(await read(house, memory_id)).model_copy(update={"agent_id": "bob"})

    with pytest.raises(MemoryStoreError, match="only what this store holds"):
        await SqliteArchive(lambda: house.archive).archive(foreign)


async def test_a_clock_that_ran_backwards_archives_nothing_before_it_was_made(
    tmp_path: Path,
) -> None:
    clock = HeldClock()
    async with a_house(tmp_path / "memd.db", clock) as house:
        (memory_id,) = await stored(house, "Ann keeps bees.")
        clock.advance(days=-2)
        archived = await house.archive.restore(ADA, await move_to_archive(house, memory_id))

        assert to_archival_entry(archived).archived_at == archived.entry.created_at


def row_of(conn: Reading, memory_id: str) -> dict[str, object]:
    agent_key = names.find_agent(conn, "ada")
    assert agent_key is not None
    row = memories.by_id(conn, agent_key, memory_id)
    assert row is not None
    kept = row._asdict()
    del kept["updated_at_us"]
    hashes = conn.execute(
        "SELECT row_hash, content_hash, salt FROM memory WHERE memory_id = ?", (memory_id,)
    ).fetchone()
    return {**kept, "hashes": hashes}


TEXT = st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=80
).filter(str.strip)


@given(content=TEXT, tags=st.lists(st.text("abc ", min_size=1).filter(str.strip), max_size=3))
@settings(max_examples=25)
async def test_what_comes_back_is_byte_for_byte_what_went(
    tmp_path_factory: pytest.TempPathFactory, content: str, tags: list[str]
) -> None:
    async with a_house(tmp_path_factory.mktemp("own") / "memd.db") as house:
        (memory_id,) = await stored(house, content, metadata={"tags": tags})
        before = await house.db.read(row_of, memory_id)
        archival_id = await move_to_archive(house, memory_id)
        shown = await house.archive.restore(ADA, archival_id)

        entry = await house.archive.restore_to_hot(ADA, archival_id)

        assert await house.db.read(row_of, memory_id) == before
        assert shown.entry.content.encode() == entry.content.encode()


async def test_what_somebody_put_away_comes_back_when_it_is_told_on_purpose(house: Rooms) -> None:
    request = IngestRequest(text="Ann keeps bees.", origin=Origin.PERSON)
    receipt = await house.ingest.ingest(ADA, request)
    (item,) = (*receipt.stored, *receipt.pending)
    await move_to_archive(house, item.id)
    (again,) = (await house.ingest.ingest(ADA, request)).merged
    assert again.id == item.id
    assert await visible(house) == {item.id}


async def test_an_export_of_before_says_who_put_it_away_once_it_is_imported(
    house: Rooms, tmp_path: Path
) -> None:
    (memory_id,) = await stored(house, "Ann keeps bees.")
    await move_to_archive(house, memory_id)
    items = [dict(item) for item in (await house.moving.dump(None, 100)).items]
    for item in items:
        if item["kind"] == "memory":
            item["archive_reason"] = "consolidated"
    async with a_house(tmp_path / "other.db") as other:
        await other.moving.load(ADA, items)
        assert (await other.archive.restore(ADA, memory_id)).reason is ArchiveReason.MANUAL
