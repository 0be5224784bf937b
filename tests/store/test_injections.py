"""Injections are recorded once, for one client, until the window is emptied or the session ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.clocks import HeldClock
from support.store import ADA, BOB, bytes_of, stored

from memd.backends.rooms import Rooms
from memd.base import limits
from memd.domain.caller import Caller
from memd.domain.memory import MemoryUpdate
from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.session import injections, sessions
from memd.store.session.injections import WindowContent, WindowKey

PLACE = WindowKey("ada", ADA.client, "s")
MINUTE = 60_000_000


async def note(house: Rooms, *ids: str, place: WindowKey = PLACE, by: Caller = ADA) -> None:
    now = house.clock.now_us()
    await house.db.write(by, lambda conn: injections.record(conn, place, None, ids, now))


async def in_window(house: Rooms, *ids: str, place: WindowKey = PLACE) -> WindowContent:
    return await house.db.read(injections.find_in_window, place, ids)


async def rows(house: Rooms) -> int:
    count = await house.db.read(lambda conn: conn.execute("SELECT count(*) FROM injection").get)
    assert isinstance(count, int)
    return count


@pytest.fixture
async def bees(house: Rooms) -> str:
    [bees] = await stored(house, "Ann keeps bees.")
    return bees


async def test_what_a_session_was_given_is_in_its_window_and_in_no_other(house: Rooms) -> None:
    [bees, sails] = await stored(house, "Ann keeps bees.", "Bob sails.")
    await note(house, bees)
    assert await in_window(house, bees, sails) == WindowContent(injected=frozenset({bees}))
    other_session = PLACE._replace(session_id="t")
    other_client = PLACE._replace(client_id="editor")
    other_agent = PLACE._replace(agent_id="bob")
    for place in (other_session, other_client, other_agent):
        assert await in_window(house, bees, place=place) == WindowContent()
    await stored(house, "He has a boat.", caller=BOB, session_id="s")
    assert await in_window(house, bees, place=other_agent) == WindowContent()


async def test_what_a_session_said_is_its_own_and_another_client_s_is_not(house: Rooms) -> None:
    [own] = await stored(house, "Ann keeps bees.", session_id="s")
    [before] = await stored(house, "Bob sails.", session_id="r")
    assert await in_window(house, own, before) == WindowContent(own=frozenset({own}))
    assert await in_window(house, own, place=PLACE._replace(client_id="editor")) == WindowContent()


async def test_the_same_text_of_another_session_is_in_the_window_as_well(house: Rooms) -> None:
    [other_copy] = await stored(house, "Ann keeps bees.", session_id="r")
    [injected_id] = await stored(house, "Bob sails.", session_id="q")
    [own] = await stored(house, "Ann keeps bees.", session_id="s")
    [twin] = await stored(house, "Bob sails.", session_id="t")
    [other] = await stored(house, "Bob rows.", session_id="t")
    assert len({other_copy, injected_id, own, twin}) == 4
    await note(house, injected_id)
    content = await in_window(house, other_copy, injected_id, own, twin, other)
    assert content == WindowContent(
        own=frozenset({other_copy, own}), injected=frozenset({injected_id, twin})
    )


async def test_what_was_edited_since_is_news(bees: str, house: Rooms, clock: HeldClock) -> None:
    await note(house, bees)
    clock.advance(microseconds=MINUTE)
    await house.ingest.update(ADA, bees, MemoryUpdate(content="Ann keeps bees and hens."))
    assert await in_window(house, bees) == WindowContent()
    await note(house, bees)
    assert (await in_window(house, bees)).injected == {bees}


async def test_an_emptied_window_holds_nothing_of_before(
    bees: str, house: Rooms, clock: HeldClock
) -> None:
    [own] = await stored(house, "Bob sails.", session_id="s")
    await note(house, bees)
    clock.advance(microseconds=MINUTE)
    await house.sessions.start(ADA, "s")
    clock.advance(microseconds=MINUTE)
    [later] = await stored(house, "Cy paints.", session_id="s")
    assert await in_window(house, bees, own, later) == WindowContent(own=frozenset({later}))


async def test_a_note_of_before_the_emptying_comes_too_late(
    bees: str, house: Rooms, clock: HeldClock
) -> None:
    before = clock.now_us()
    clock.advance(microseconds=MINUTE)
    await house.sessions.start(ADA, "s")
    await house.db.write(ADA, lambda conn: injections.record(conn, PLACE, None, [bees], before))
    assert await in_window(house, bees) == WindowContent()


async def test_the_fall_that_was_announced_is_no_second_emptying(
    bees: str, house: Rooms, clock: HeldClock
) -> None:
    await note(house, bees)

    def announced(conn: Writing) -> None:
        injections.mark_emptied(conn, 1, clock.now_us(), announced=True)

    def fell(conn: Writing) -> None:
        injections.mark_shrunk(conn, 1, clock.now_us())

    await house.db.write(ADA, announced)
    assert await in_window(house, bees) == WindowContent()
    await note(house, bees)
    clock.advance(microseconds=MINUTE)
    await house.db.write(ADA, fell)
    assert (await in_window(house, bees)).injected == {bees}
    await house.db.write(ADA, fell)
    assert await in_window(house, bees) == WindowContent()


async def test_with_its_session_the_note_ends(bees: str, house: Rooms) -> None:
    await note(house, bees)
    assert await rows(house) == 1
    await house.sessions.end(ADA, "s")
    assert await rows(house) == 0


async def test_a_session_that_only_asks_ends_by_itself(
    bees: str, house: Rooms, clock: HeldClock
) -> None:
    await note(house, bees)
    await house.sessions.end(ADA, "s")
    clock.advance(microseconds=MINUTE)
    await note(house, bees)
    clock.advance(microseconds=sessions.IDLE_US)
    assert await house.sessions.end_idle() == 1
    assert await rows(house) == 0


async def test_what_is_forgotten_leaves_no_note(house: Rooms, tmp_path: Path) -> None:
    [bees, sails] = await stored(house, "Ann keeps bees.", "Bob sails.")
    await note(house, bees, sails)
    await house.trash.forget(ADA, ids=[bees])
    assert await rows(house) == 1
    await note(house, bees, sails)  # a note that was under way meanwhile
    assert await rows(house) == 1
    assert await in_window(house, bees, sails) == WindowContent(injected=frozenset({sails}))
    assert b"Ann keeps bees" not in bytes_of(tmp_path)
    assert (await house.upkeep.check(ADA)).ok


async def test_what_lies_in_the_trash_is_known_when_it_comes_back(bees: str, house: Rooms) -> None:
    await note(house, bees)
    await house.trash.delete(ADA, bees)
    await house.trash.restore(ADA, bees)
    assert (await in_window(house, bees)).injected == {bees}


async def test_of_more_than_a_session_holds_the_oldest_go(
    house: Rooms, clock: HeldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(injections, "SESSION_INJECTIONS_MAX", 3)
    assert limits.SESSION_INJECTIONS_MAX > 3
    for name in ("a", "b", "c", "d", "e"):
        await note(house, name)
        clock.advance(microseconds=MINUTE)
    assert (await in_window(house, *"abcde")).injected == set("cde")


async def test_a_note_under_another_id_is_a_finding(bees: str, house: Rooms) -> None:
    await note(house, bees)

    def plant(conn: Writing) -> None:
        conn.execute("UPDATE injection SET item_id = 'x'")

    await house.db.write(ADA, plant)
    report = await house.upkeep.check(ADA)
    assert report.problems == (f"memory {bees}: a session was given it under the id of another",)


async def test_a_session_that_ingest_made_learns_its_project_at_its_start(house: Rooms) -> None:
    await stored(house, "Ann keeps bees.", session_id="s")
    here = Caller(agent_id="ada", project_id="/home/ada/hives", method="test")
    assert (await house.sessions.start(here, "s")).project_id == "/home/ada/hives"
    assert (await house.sessions.start(ADA, "s")).project_id == "/home/ada/hives"
    agent_key = await house.db.read(names.find_agent, "ada")
    assert agent_key is not None
