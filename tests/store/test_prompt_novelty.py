"""A prompt of a session contains only what is new to it; what it contained is recorded once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from support.clocks import HeldClock
from support.store import ADA, BOB, OWNER, a_house, bytes_of, locked, stored

from memd.backends.rooms import Rooms
from memd.base import limits
from memd.base.errors import MemoryRetrievalError
from memd.domain.caller import Caller
from memd.domain.enums import MemoryLevel
from memd.domain.inject import BriefRequest, PreparedPrompt, PrepareRequest
from memd.domain.memory import MemoryUpdate
from memd.domain.settings.retrieval import MemoryRetrievalConfig, ScoredMemory
from memd.inject.brief.brief import Briefs
from memd.inject.inject import Inject
from memd.inject.knowledge import RelevantKnowledge
from memd.inject.multi.hierarchical import retriever_for
from memd.inject.own_memories import MemoryRooms
from memd.inject.session_windows import REPEATED_US, PromptRequest, PromptWindow, SessionWindows
from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.session import injections, sessions
from memd.store.session.injections import WindowContent, WindowKey

QUESTION = "Which port does nginx use?"
OTHERWISE = "On which port does nginx listen?"
PORT = "The nginx port is 8080."


@dataclass
class Bed:
    house: Rooms
    room: Inject
    windows: SessionWindows
    clock: HeldClock

    async def asked(
        self, query: str = QUESTION, session: str | None = "s", by: Caller = ADA, **more: Any
    ) -> PreparedPrompt:
        request = PrepareRequest(query=query, session_id=session, **more)
        prompt = await self.room.prepare(by, request)
        await self.windows.settle()
        return prompt


@pytest.fixture
async def bed(tmp_path: Path) -> AsyncIterator[Bed]:
    clock = HeldClock()
    async with a_house(tmp_path / "memd.db", clock) as house:
        windows = SessionWindows(house.db, clock)
        rooms = MemoryRooms(house.recall, house.ingest, house.trash)
        room = Inject(rooms=rooms, config=MemoryRetrievalConfig(), clock=clock, windows=windows)
        yield Bed(house, room, windows, clock)


def ids(prompt: PreparedPrompt) -> list[str]:
    return [memory.id for memory in prompt.memories]


@pytest.fixture
async def port(bed: Bed) -> str:
    """Store what most questions here are answered by, and return its id."""
    [port] = await stored(bed.house, PORT)
    return port


async def test_what_a_prompt_gave_is_not_given_again(port: str, bed: Bed) -> None:
    assert ids(await bed.asked()) == [port]
    again = await bed.asked(OTHERWISE)
    assert ids(again) == []
    assert (again.in_window, again.left_out.in_window) == ((port,), 1)
    assert again.gate is not None


async def test_what_answers_far_less_than_what_the_window_has_is_not_told_beside_it(
    port: str, bed: Bed
) -> None:
    assert ids(await bed.asked()) == [port]
    [near, far] = await stored(bed.house, "The nginx port of staging is 8081.", "A boat is red.")

    async def new_ids(session: str) -> list[str]:
        scored = [
            ScoredMemory(
                entry=entry, relevance_score=score, recency_score=0.0, combined_score=score
            )
            for memory_id, score in ((port, 0.9), (near, 0.3), (far, 0.1))
            if (entry := await bed.house.recall.get(ADA, memory_id))
        ]
        window = PromptWindow(bed.windows, ADA, PrepareRequest(query="x", session_id=session))
        memories, _ = await window.drop_seen(scored, RelevantKnowledge())
        return [memory.entry.id for memory in memories]

    assert await new_ids("s") == [near]
    assert await new_ids("t") == [port, near, far]


async def test_another_session_and_none_are_not_told_less(port: str, bed: Bed) -> None:
    assert ids(await bed.asked()) == [port]
    assert ids(await bed.asked(session="t")) == [port]
    assert ids(await bed.asked(by=replace(ADA, client="editor"))) == [port]
    for _ in range(2):
        prompt = await bed.asked(session=None)
        assert (ids(prompt), prompt.in_window) == ([port], ())


async def test_the_same_question_sent_again_is_answered_as_before(port: str, bed: Bed) -> None:
    """A hook that got no answer asks again; to say nothing then would lose the memory."""
    assert ids(await bed.asked()) == [port]
    bed.clock.advance(microseconds=REPEATED_US - 1)
    assert ids(await bed.asked()) == [port]
    bed.clock.advance(microseconds=2)
    assert ids(await bed.asked()) == []


async def test_a_third_answer_has_also_what_only_the_second_gave(port: str, bed: Bed) -> None:
    assert ids(await bed.asked()) == [port]
    [other] = await stored(bed.house, "The nginx port of staging is 8081.")
    assert set(ids(await bed.asked())) == {port, other}
    assert set(ids(await bed.asked())) == {port, other}


async def test_the_same_question_of_hours_later_is_a_new_one_and_may_be_sent_again(
    port: str, bed: Bed
) -> None:
    assert ids(await bed.asked()) == [port]
    bed.clock.advance(hours=2)
    await bed.house.sessions.start(ADA, "s")
    bed.clock.advance(minutes=1)
    assert ids(await bed.asked()) == [port] == ids(await bed.asked())


async def test_what_is_not_noted_yet_is_known(port: str, bed: Bed) -> None:
    first = PrepareRequest(query=QUESTION, session_id="s")
    second = PrepareRequest(query=OTHERWISE, session_id="s")
    assert ids(await bed.room.prepare(ADA, first)) == [port]
    assert ids(await bed.room.prepare(ADA, second)) == []


async def test_what_was_given_is_written_when_the_answer_has_left(port: str, bed: Bed) -> None:
    """The write would compete with the answer, for which somebody waits.

    And before the next request is read: what it writes comes after.
    """
    request = PrepareRequest(query=QUESTION, session_id="s")
    work = asyncio.create_task(bed.room.prepare(ADA, request))
    assert ids(await asyncio.shield(work)) == [port]  # as a connection waits for its requests
    assert bed.house.db.waiting_writes == 0
    await asyncio.sleep(0)
    assert bed.house.db.waiting_writes == 1
    await bed.windows.settle()
    assert await given(bed, port) == {port}


async def test_a_crash_before_it_is_written_costs_one_repetition(port: str, bed: Bed) -> None:
    request = PrepareRequest(query=QUESTION, session_id="s")
    assert ids(await bed.room.prepare(ADA, request)) == [port]
    lost, bed.windows = bed.windows, SessionWindows(bed.house.db, bed.clock)
    bed.room = replace(bed.room, windows=bed.windows)
    for note in list(lost._notes):
        note.cancel()
    assert ids(await bed.asked(OTHERWISE)) == [port]
    assert ids(await bed.asked("What about nginx?")) == []


async def test_what_was_given_before_a_window_was_emptied_is_not_noted_after_it(
    port: str, bed: Bed
) -> None:
    await bed.house.sessions.start(ADA, "s")
    bed.clock.advance(microseconds=1)
    request = PrepareRequest(query=QUESTION, session_id="s")
    assert ids(await bed.room.prepare(ADA, request)) == [port]
    bed.clock.advance(minutes=1)
    await bed.house.sessions.start(ADA, "s")
    await bed.windows.settle()
    assert ids(await bed.asked(OTHERWISE)) == [port]


async def test_a_start_that_comes_after_the_first_prompt_empties_no_window(
    port: str, bed: Bed
) -> None:
    """An assistant runs its hooks of the start and of the first prompt at once."""
    assert ids(await bed.asked()) == [port]
    bed.clock.advance(seconds=1)
    await bed.house.sessions.start(ADA, "s")
    bed.clock.advance(seconds=sessions.BEGINNING_US / 1e6)
    assert ids(await bed.asked(OTHERWISE)) == []


async def given(bed: Bed, *memory_ids: str) -> frozenset[str]:
    """Return which of *memory_ids* the file says were given to session s."""
    place = WindowKey(ADA.agent_id, ADA.client, "s")
    return (await bed.house.db.read(injections.find_in_window, place, memory_ids)).injected


async def test_a_question_in_between_ends_the_first(port: str, bed: Bed) -> None:
    assert ids(await bed.asked()) == [port]
    assert ids(await bed.asked(OTHERWISE)) == []
    assert ids(await bed.asked()) == []


async def test_a_repetition_gives_no_more_than_the_first(port: str, bed: Bed) -> None:
    await bed.asked()
    await bed.asked(OTHERWISE)
    assert ids(await bed.asked(OTHERWISE)) == []
    assert port in (await bed.asked("What about nginx?")).in_window


async def test_what_the_session_said_takes_no_place(bed: Bed) -> None:
    [own] = await stored(bed.house, PORT, session_id="s")
    prompt = await bed.asked()
    assert (ids(prompt), prompt.in_window) == ([], (own,))
    assert ids(await bed.asked(session="t")) == [own]
    bed.clock.advance(minutes=1)
    await bed.house.sessions.start(ADA, "s")
    assert ids(await bed.asked(OTHERWISE)) == [own]


@pytest.mark.parametrize("config", [{"retriever": "hierarchical"}, {"fusion_strategy": "rrf"}])
async def test_every_way_to_rank_leaves_out_the_same(
    port: str, bed: Bed, config: dict[str, Any]
) -> None:
    settings = MemoryRetrievalConfig.model_validate({**config, "min_relevance": 0.0})
    bed.room = replace(bed.room, config=settings, retriever=retriever_for)
    [own] = await stored(bed.house, "The port of nginx was 80 before.", session_id="s")
    assert ids(await bed.asked()) == [port]
    prompt = await bed.asked(OTHERWISE)
    assert (ids(prompt), set(prompt.in_window)) == ([], {port, own})


async def test_preferences_are_in_every_prompt(bed: Bed) -> None:
    await bed.house.preferences.set(OWNER, "style", "I prefer short answers.")
    for query in (QUESTION, OTHERWISE):
        [message] = (await bed.asked(query)).messages
        assert "short answers" in message.content


async def test_who_asks_by_a_tool_gets_an_answer(port: str, bed: Bed) -> None:
    assert ids(await bed.asked()) == [port]
    by = replace(ADA, session_id="s")
    for _ in range(2):
        answer = await bed.room.call(by, "search_memory", {"query": QUESTION})
        assert port in answer.content


class SlowWindows(SessionWindows):
    """Lets whoever asks at the same time look before the first one notes."""

    async def look(
        self, place: WindowKey, asked: PromptRequest, ids: Sequence[str]
    ) -> WindowContent:
        content = await super().look(place, asked, ids)
        await asyncio.sleep(0.02)
        return content


def slow(bed: Bed) -> SessionWindows:
    bed.windows = SlowWindows(bed.house.db, bed.clock)
    bed.room = replace(bed.room, windows=bed.windows)
    return bed.windows


async def test_of_two_prompts_at_once_one_is_told(port: str, bed: Bed) -> None:
    slow(bed)
    both = await asyncio.gather(bed.asked(), bed.asked(OTHERWISE))
    assert [each for prompt in both for each in ids(prompt)] == [port]
    assert ids(await bed.asked("What about nginx?")) == []


async def test_of_a_brief_and_a_prompt_at_once_one_is_told(port: str, bed: Bed) -> None:
    house, level = bed.house, MemoryLevel.PERSISTENT
    briefs = Briefs(house.db, bed.clock, house.recall, house.org, slow(bed), level)
    brief, prompt = await asyncio.gather(
        briefs.brief(ADA, BriefRequest(session_id="s", project_id=None)), bed.asked()
    )
    assert [*(item.id for item in brief.items), *ids(prompt)] == [port]


@pytest.mark.usefixtures("impatient")
async def test_a_note_that_fails_refuses_no_prompt(port: str, bed: Bed, tmp_path: Path) -> None:
    with locked(tmp_path / "memd.db"):
        assert ids(await bed.asked()) == [port]
    assert ids(await bed.asked(OTHERWISE)) == [port]
    assert ids(await bed.asked("What about nginx?")) == []


async def test_a_window_that_cannot_be_looked_at_refuses_no_prompt(bed: Bed) -> None:
    class Failing(SessionWindows):
        async def look(
            self, place: WindowKey, asked: PromptRequest, ids: Sequence[str]
        ) -> WindowContent:
            raise MemoryRetrievalError("gone")

    [port] = await stored(bed.house, PORT)
    bed.room = replace(bed.room, windows=Failing(bed.house.db, bed.clock))
    assert ids(await bed.asked()) == [port]


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
    await house.sessions.start(ADA, "s")
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
