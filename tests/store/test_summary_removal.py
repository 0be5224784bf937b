"""What happens to a summary and its other sources when one of its sources is removed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.clocks import HeldClock
from support.entries import NOW
from support.words_embedder import a_house

from memd.backends.rooms import Rooms
from memd.base.clock import to_us
from memd.domain.caller import Caller
from memd.domain.enums import ArchiveReason, MemoryCategory
from memd.domain.memory import MemoryFilter, MemoryMetadata, MemoryStoreRequest, MemoryUpdate
from memd.domain.recall import RecallRequest
from memd.domain.settings.settings import Settings
from memd.sleep.sleep import build_sleep
from memd.store.file.connect import Reading, Writing
from memd.store.memory import removal

NOW_US = to_us(NOW) + 3 * 86_400_000_000
ADA = Caller(agent_id="ada", method="test")
TURNS = [
    "the ferry to Gotland leaves at nine",
    "Ulla keeps bees behind the old mill",
    "the rent is due on the third of each month",
    "Bertil prefers rye bread with caraway",
    "the spare key hangs under the blue lantern",
]


@pytest.fixture
async def night_house(tmp_path: Path) -> AsyncIterator[Rooms]:
    """One session of five turns, consolidated in a night: four stand behind a summary."""
    clock = HeldClock()
    async with a_house(tmp_path, clock=clock) as house:
        for text in TURNS:
            await house.ingest.store(
                ADA,
                MemoryStoreRequest(
                    category=MemoryCategory.EPISODIC, content=text, session_id="one"
                ),
            )
        await house.queue.drain()
        clock.advance(days=2)
        await build_sleep(house, Settings()).night.run(ADA)
        await house.queue.drain()
        assert await states(house) == {**dict.fromkeys(TURNS[1:], "compressed"), TURNS[0]: "active"}
        yield house


async def states(house: Rooms) -> dict[str, str]:
    """Return the state of every memory that is no summary."""
    rows = await house.db.read(
        lambda conn: conn.execute(
            "SELECT content, state FROM memory WHERE NOT is_summary"
        ).fetchall()
    )
    return {str(content): str(state) for content, state in rows}


async def summaries(house: Rooms) -> list[str]:
    """Return the states of all summaries."""
    rows = await house.db.read(
        lambda conn: conn.execute("SELECT state FROM memory WHERE is_summary").fetchall()
    )
    return [str(state) for (state,) in rows]


async def id_of(house: Rooms, text: str) -> str:
    def work(conn: Reading) -> str:
        return str(
            conn.execute("SELECT memory_id FROM memory WHERE content = ?", (text,)).fetchall()[0][0]
        )

    return await house.db.read(work)


async def test_deleting_a_source_takes_the_summary_along_and_brings_the_others_back(
    night_house: Rooms,
) -> None:
    assert await night_house.trash.delete(ADA, await id_of(night_house, TURNS[1]))
    assert await states(night_house) == {**dict.fromkeys(TURNS, "active"), TURNS[1]: "trashed"}
    assert await summaries(night_house) == ["trashed"]
    assert (await night_house.upkeep.check(ADA)).ok


async def test_a_deleted_source_comes_back_from_the_trash_visible(night_house: Rooms) -> None:
    memory_id = await id_of(night_house, TURNS[1])
    await night_house.trash.delete(ADA, memory_id)
    assert await night_house.trash.restore(ADA, memory_id)
    assert await states(night_house) == dict.fromkeys(TURNS, "active")
    assert (await night_house.upkeep.check(ADA)).ok


@pytest.mark.parametrize("deleted_before", [False, True])
async def test_forgetting_a_source_leaves_none_of_its_words_in_the_file(
    night_house: Rooms, *, deleted_before: bool
) -> None:
    memory_id = await id_of(night_house, TURNS[1])
    if deleted_before:
        await night_house.trash.delete(ADA, memory_id)
    await night_house.trash.forget(ADA, [memory_id])
    assert await states(night_house) == dict.fromkeys([TURNS[0], *TURNS[2:]], "active")
    assert await summaries(night_house) == []
    for file in night_house.db.path.parent.glob("memd.db*"):
        assert b"keeps bees" not in file.read_bytes()
    assert (await night_house.upkeep.check(ADA)).ok


async def test_forgetting_a_whole_session_erases_its_summary_too(night_house: Rooms) -> None:
    await night_house.trash.forget(ADA, condition=MemoryFilter(session_id="one"))
    assert await states(night_house) == {}
    assert await summaries(night_house) == []
    assert (await night_house.upkeep.check(ADA)).ok


async def test_a_changed_source_is_not_answered_by_what_it_said_before(night_house: Rooms) -> None:
    memory_id = await id_of(night_house, TURNS[0])
    await night_house.ingest.update(ADA, memory_id, MemoryUpdate(content="the ferry leaves at ten"))
    assert await summaries(night_house) == []
    assert set((await states(night_house)).values()) <= {"active", "pending"}
    assert (await night_house.upkeep.check(ADA)).ok


async def test_an_update_with_the_same_text_leaves_the_summary(night_house: Rooms) -> None:
    memory_id = await id_of(night_house, TURNS[0])
    before = await states(night_house), await summaries(night_house)
    update = MemoryUpdate(content=TURNS[0], metadata=MemoryMetadata(tags=("isle",)))

    await night_house.ingest.update(ADA, memory_id, update)

    assert (await states(night_house), await summaries(night_house)) == before


async def test_what_was_put_away_by_itself_stays_away_when_its_summary_goes(
    night_house: Rooms,
) -> None:
    def move_to_archive(conn: Writing) -> None:
        key = conn.execute("SELECT memory_key FROM memory WHERE content = ?", (TURNS[0],)).get
        assert isinstance(key, int)
        removal.archive(conn, [key], ArchiveReason.CAP, NOW_US, new_id=lambda: "away")

    await night_house.db.write(ADA, move_to_archive)
    await night_house.trash.forget(ADA, [await id_of(night_house, TURNS[2])])
    rest = dict.fromkeys([TURNS[1], *TURNS[3:]], "active")
    assert await states(night_house) == {**rest, TURNS[0]: "archived"}
    assert (await night_house.upkeep.check(ADA)).ok


async def test_an_original_that_was_brought_back_is_where_a_search_looks_for_it(
    night_house: Rooms,
) -> None:
    entry_id = await id_of(night_house, TURNS[3])
    await night_house.archive.restore_to_hot(ADA, entry_id)
    assert (await states(night_house))[TURNS[3]] == "active"
    assert (await night_house.upkeep.check(ADA)).ok


# What was put away after its summary went into the trash is not behind that summary.


async def purged(house: Rooms) -> None:
    """Let the trash be emptied, days later."""
    clock = house.trash.clock
    assert isinstance(clock, HeldClock)
    clock.advance(days=8)
    assert await house.trash.purge() > 0


async def move_to_archive(house: Rooms, text: str) -> None:
    """Put a memory away as an archival store does, a moment later than what was before."""
    clock = house.trash.clock
    assert isinstance(clock, HeldClock)
    clock.advance(seconds=1)
    memory_id = await id_of(house, text)
    assert await house.archive.move_to_archive(ADA, memory_id)


async def test_what_an_archive_took_since_stays_there_when_its_old_summary_is_purged(
    night_house: Rooms,
) -> None:
    await night_house.trash.delete(ADA, await id_of(night_house, TURNS[1]))
    await move_to_archive(night_house, TURNS[2])
    assert (await night_house.upkeep.check(ADA)).ok
    answer = await night_house.recall.recall(ADA, RecallRequest(query=TURNS[2]))
    assert all(TURNS[2] not in memory.content for memory in answer.memories)
    await purged(night_house)
    rest = dict.fromkeys([TURNS[0], *TURNS[3:]], "active")
    assert await states(night_house) == {**rest, TURNS[2]: "archived"}
    assert (await night_house.upkeep.check(ADA)).ok


async def test_what_was_compressed_since_stays_behind_its_new_summary(night_house: Rooms) -> None:
    clock = night_house.trash.clock
    assert isinstance(clock, HeldClock)
    await night_house.trash.delete(ADA, await id_of(night_house, TURNS[1]))
    clock.advance(days=2)
    await build_sleep(night_house, Settings()).night.compress(ADA, force=True)
    later = await states(night_house)
    assert list(later.values()).count("compressed") == 4
    await purged(night_house)
    del later[TURNS[1]]
    assert await states(night_house) == later
    assert await summaries(night_house) == ["pending"]
    assert (await night_house.upkeep.check(ADA)).ok


async def test_what_a_person_put_away_stays_there_when_its_summary_comes_and_goes(
    night_house: Rooms,
) -> None:
    await night_house.trash.delete(ADA, await id_of(night_house, TURNS[1]))
    await move_to_archive(night_house, TURNS[2])
    summary_id = await night_house.db.read(
        lambda conn: str(conn.execute("SELECT memory_id FROM memory WHERE is_summary").get)
    )
    assert await night_house.trash.restore(ADA, summary_id)
    assert (await states(night_house))[TURNS[2]] == "archived"
    assert (await night_house.upkeep.check(ADA)).ok
    await night_house.trash.delete(ADA, summary_id)
    assert (await states(night_house))[TURNS[2]] == "archived"
    assert (await night_house.upkeep.check(ADA)).ok
