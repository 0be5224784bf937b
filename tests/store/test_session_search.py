"""Messages of sessions are found by their words, and gone when forgotten (SPEC 6, D21)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.clocks import HeldClock
from support.nights import nap_over
from support.store import ADA, BOB, EVERYTHING, a_house, bytes_of, stored, tampering

from memd.backends.rooms import Rooms
from memd.domain.caller import Caller
from memd.domain.ingest import SessionHit, SessionQuery
from memd.domain.memory import MemoryFilter
from memd.store.file.connect import Reading
from memd.store.file.restore import restore
from memd.store.session import message_index

DAY = datetime(2026, 1, 7, tzinfo=UTC)


def at(day: int) -> str:
    return DAY.replace(day=day).isoformat()


MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Where do the kilns stand?", "timestamp": at(2)},
    {
        "role": "tool",
        "name": "sh",
        "content": "barn/north/kiln.conf: port 4711, obsidian glaze",
        "timestamp": at(3),
    },
    {"role": "assistant", "content": "Both kilns stand in the north barn.", "timestamp": at(4)},
    {"role": "user", "content": "ok", "timestamp": at(5)},
    *({"role": "assistant", "content": f"This is turn {n} of the rest."} for n in range(4)),
]


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Rooms]:
    async with a_house(tmp_path / "memd.db", HeldClock(DAY)) as opened:
        yield opened


async def nap(
    house: Rooms,
    messages: list[dict[str, Any]] = MESSAGES,
    session_id: str = "s",
    caller: Caller = ADA,
) -> None:
    await nap_over(house, messages, session_id, caller, last=True)


async def search(
    house: Rooms, query: str, *, caller: Caller = ADA, **more: Any
) -> tuple[SessionHit, ...]:
    return await house.sessions.search(caller, SessionQuery(query=query, **more))


async def places(house: Rooms, query: str, **more: Any) -> list[int]:
    return [hit.ordinal for hit in await search(house, query, **more)]


async def test_what_was_said_is_found_with_who_said_it_where_and_when(house: Rooms) -> None:
    await nap(house, caller=replace(ADA, project_id="pottery"))
    (hit,) = await search(house, "stand in the north")
    assert (hit.session_id, hit.project_id, hit.ordinal) == ("s", "pottery", 2)
    assert (hit.role, hit.at) == ("assistant", DAY.replace(day=4))
    assert hit.snippet == "Both kilns stand in the north barn."


async def test_messages_with_all_words_come_alone_and_else_those_with_any(house: Rooms) -> None:
    await nap(house)
    assert await places(house, "obsidian port") == [1]
    assert await places(house, "the obsidian zeppelin") == [1]
    assert set(await places(house, "stand obsidian")) == {0, 1, 2}
    assert await places(house, "zeppelin") == []


async def test_a_word_is_found_in_another_form_and_whatever_stands_around_it(house: Rooms) -> None:
    await nap(house)
    assert set(await places(house, "kiln?")) == {0, 1, 2}
    for text in ('"', "AND", "content:", "kiln*) OR (", "owner:a1 NOT", "***", "what of the"):
        await places(house, text)  # words like any other, or none


async def test_a_long_message_is_told_by_the_words_around(house: Rooms) -> None:
    text = "A line about nothing. " * 500 + "The lighthouse of Skagen. " + "And more. " * 500
    await nap(house, [{"role": "tool", "content": text}])
    (hit,) = await search(house, "lighthouse")
    assert "lighthouse of Skagen" in hit.snippet
    assert len(hit.snippet) < 400


async def test_nobody_finds_what_another_agent_said(house: Rooms) -> None:
    await nap(house)
    await nap(house, [{"role": "user", "content": "The barn burnt down."}], caller=BOB)
    assert await places(house, "barn") == [2, 1]
    (hit,) = await search(house, "barn", caller=BOB)
    assert hit.snippet == "The barn burnt down."
    assert await search(house, "barn", caller=Caller(agent_id="eve", method="test")) == ()


async def test_a_search_is_limited_to_a_session_a_project_and_a_time(house: Rooms) -> None:
    await nap(house, caller=replace(ADA, project_id="pottery"))
    await nap(house, [{"role": "user", "content": "A barn of glass."}], "t")
    assert {hit.session_id for hit in await search(house, "barn")} == {"s", "t"}
    assert {hit.session_id for hit in await search(house, "barn", session_id="t")} == {"t"}
    assert {hit.session_id for hit in await search(house, "barn", project_id="pottery")} == {"s"}
    assert await places(house, "barn kiln", since=at(4), until=at(6)) == [2]
    assert await places(house, "barn", limit=1) != []
    assert await search(house, "barn", session_id="nowhere") == ()


async def test_what_was_said_in_two_sessions_is_found_once_at_its_last_place(house: Rooms) -> None:
    params = {"role": "user", "content": "Mind the gap."}
    await nap(house, [params, params])
    await nap(house, [{"role": "user", "content": "First."}, params], "t")
    (hit,) = await search(house, "gap")
    assert (hit.session_id, hit.ordinal) == ("t", 1)
    (hit,) = await search(house, "gap", session_id="s")
    assert hit.session_id == "s"


async def test_the_same_nap_again_adds_nothing_to_the_cache(house: Rooms) -> None:
    await nap(house)
    await nap(house)
    await nap(house, [*MESSAGES, {"role": "user", "content": "Now the barn is locked."}])
    assert set(await places(house, "barn")) == {1, 2, 8}
    assert (await house.upkeep.check(ADA)).ok


async def test_a_text_that_was_ingested_before_is_found_once_it_is_said(house: Rooms) -> None:
    from memd.domain.ingest import IngestRequest

    text = "The pergola was painted. " * 80 + "\r\n\r\n\r\n" + "The pergola is green. " * 80
    await house.ingest.ingest(ADA, IngestRequest(text=text))
    assert await search(house, "pergola") == ()
    await nap(house, [{"role": "user", "content": text}])
    assert await places(house, "pergola") == [0]
    assert (await house.upkeep.check(ADA)).ok


async def test_what_is_forgotten_is_found_no_longer_and_in_no_file(
    house: Rooms, tmp_path: Path
) -> None:
    await nap(house)
    await nap(house, [{"role": "user", "content": "Obsidian is a glass."}], "t")
    await house.trash.forget(ADA, condition=MemoryFilter(session_id="s"))
    assert [hit.session_id for hit in await search(house, "obsidian")] == ["t"]
    assert await places(house, "barn") == []
    for word in (b"4711", b"north", b"kiln"):  # posting lists hold stems
        assert word not in bytes_of(tmp_path).lower()
    assert (await house.upkeep.check(ADA)).ok


async def test_a_message_that_is_erased_with_its_memory_is_found_no_longer(
    house: Rooms, tmp_path: Path
) -> None:
    await nap(house, [{"role": "user", "content": "decided: the vault code is marigold"}])
    (entry,), _ = await house.recall.list(ADA, MemoryFilter(), None, 10)
    assert await places(house, "marigold") == [0]
    await house.trash.forget(ADA, ids=[entry.id])
    assert await places(house, "marigold") == []
    assert b"marigold" not in bytes_of(tmp_path)
    assert (await house.upkeep.check(ADA)).ok


async def test_the_messages_of_a_nap_that_was_undone_are_still_found(house: Rooms) -> None:
    await nap(house, [{"role": "user", "content": "decided: the vault code is marigold"}])
    (entry,), _ = await house.recall.list(ADA, MemoryFilter(), None, 10)
    assert await house.trash.delete(ADA, entry.id)
    assert await places(house, "marigold") == [0]
    assert await house.trash.restore(ADA, entry.id)
    assert (await house.upkeep.check(ADA)).ok


FAULTS = {
    "a word too many": "INSERT INTO fts_session (rowid, content, owner) VALUES (99, 'ghost', 'a1')",
    "a word missing": "INSERT INTO fts_session (fts_session, rowid, content, owner) "
    "SELECT 'delete', source_key, content, owner FROM session_words LIMIT 1",
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_check_sees_a_cache_that_is_wrong_and_a_rebuild_mends_it(
    path: Path, fault: str
) -> None:
    async with a_house(path) as house:
        await nap(house)
    with tampering(path) as conn:
        conn.execute(FAULTS[fault])
    async with a_house(path) as house:
        report = await house.upkeep.check(ADA)
        assert [one for one in report.problems if "full-text index of sessions" in one]
        await house.upkeep.rebuild(ADA)
        assert (await house.upkeep.check(ADA)).ok
        assert set(await places(house, "kiln")) == {0, 1, 2}


async def test_what_is_said_and_forgotten_while_the_cache_is_rebuilt_is_right_after_it(
    house: Rooms,
) -> None:
    await nap(house)
    await house.db.write(ADA, message_index.start_build)
    assert await search(house, "kiln") == ()
    await nap(house, [{"role": "user", "content": "The kiln of the south."}], "t")
    await house.db.write(ADA, lambda conn: message_index.step_build(conn, 2))
    await nap(house, [{"role": "user", "content": "Where do the kilns stand?"}], "u")
    await house.trash.forget(ADA, condition=MemoryFilter(session_id="s"))
    while await house.db.write(ADA, lambda conn: message_index.step_build(conn, 2)):
        pass
    assert [hit.session_id for hit in await search(house, "kiln")] == ["t"]
    assert (await house.upkeep.check(ADA)).ok


async def test_a_rebuild_that_a_kill_broke_off_is_ended_by_the_next_start(path: Path) -> None:
    async with a_house(path) as house:
        await nap(house)
        await house.db.write(ADA, message_index.start_build)
        await house.db.write(ADA, lambda conn: message_index.step_build(conn, 2))
        report = await house.upkeep.check(ADA)
        assert [one for one in report.problems if "full-text index of sessions" in one]
    async with a_house(path) as house:
        assert set(await places(house, "kiln")) == {0, 1, 2}
        assert (await house.upkeep.check(ADA)).ok


async def test_a_damaged_text_is_named_by_a_check_and_can_still_be_forgotten(path: Path) -> None:
    async with a_house(path) as house:
        await nap(house)
    with tampering(path) as conn:
        conn.execute("UPDATE source SET zlib = x'00' WHERE source_key = 2")
    async with a_house(path) as house:
        report = await house.upkeep.check(ADA)
        assert "source 2: the text does not match its hash" in report.problems
        await house.trash.forget(ADA, condition=MemoryFilter(session_id="s"))
        assert (await house.upkeep.check(ADA)).ok


async def test_a_memory_is_forgotten_with_the_damaged_messages_of_its_session(path: Path) -> None:
    """Such a message may repeat the memory; its words leave the index and the file as well."""
    async with a_house(path) as house:
        await nap(house)
        (secret,) = await stored(house, "The port is 4711.", session_id="s")
        listed, _ = await house.recall.list(ADA, EVERYTHING, None, 10)
        ids = [secret, *(entry.id for entry in listed if "obsidian" in entry.content)]
    with tampering(path) as conn:
        conn.execute("UPDATE source SET zlib = x'00' WHERE source_key = 2")
    async with a_house(path) as house:
        forgotten = await house.trash.forget(ADA, ids=[secret])
        assert forgotten.ids == (secret,)
        assert await places(house, "obsidian") == []
        assert set(await places(house, "kiln")) == {0, 2}
        assert (await house.upkeep.check(ADA)).ok
        await house.trash.forget(ADA, ids=ids)
        assert b"obsidian" not in bytes_of(path.parent)


async def test_a_backup_brings_the_words_of_sessions_back(house: Rooms, tmp_path: Path) -> None:
    await nap(house)
    copy, place = tmp_path / "copy.db", tmp_path / "other" / "memd.db"
    place.parent.mkdir()
    await house.upkeep.backup(ADA, str(copy))
    restore(copy, place, place.with_suffix(".audit"), "now")
    async with a_house(place, HeldClock(DAY)) as other:
        assert set(await places(other, "kiln")) == {0, 1, 2}
        assert (await other.upkeep.check(ADA)).ok


async def test_a_move_of_more_of_a_session_leaves_room_for_what_is_said_next(
    house: Rooms, tmp_path: Path
) -> None:
    await nap_over(house, MESSAGES)
    exported = await house.moving.dump(None, 100)
    longer = [*MESSAGES, {"role": "user", "content": "The third kiln stands in the yard."}]
    place = tmp_path / "other" / "memd.db"
    place.parent.mkdir()
    async with a_house(place, HeldClock(DAY)) as other:
        await nap_over(other, MESSAGES[:1])
        assert (await other.moving.load(ADA, exported.items)).problems == ()
        await nap_over(other, longer)
        page, _ = await other.sessions.messages(ADA, "s", None, 100)
        assert [message.ordinal for message in page] == [*range(len(longer))]
        assert (await other.upkeep.check(ADA)).ok


async def test_a_move_brings_the_words_of_sessions_and_when_they_were_said(
    house: Rooms, tmp_path: Path
) -> None:
    await nap(house)
    place = tmp_path / "other" / "memd.db"
    place.parent.mkdir()
    async with a_house(place, HeldClock(DAY)) as other:
        page = await house.moving.dump(None, 100)
        await other.moving.load(ADA, page.items)
        assert await search(other, "kiln barn") == await search(house, "kiln barn")
        assert (await other.upkeep.check(ADA)).ok


async def test_no_search_reads_the_whole_of_the_messages(house: Rooms) -> None:
    await nap(house)

    def plan(conn: Reading) -> list[str]:
        rows = conn.execute(
            "EXPLAIN QUERY PLAN SELECT source_key FROM session_words WHERE source_key = 1"
        )
        return [str(row[3]) for row in rows]

    assert not [line for line in await house.db.read(plan) if line.startswith("SCAN")]
