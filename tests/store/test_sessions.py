"""Sessions: started, ended, idle, listed; their messages stored and erased (SPEC 1.8, D2, D21)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.clocks import HeldClock
from support.nights import nap_over
from support.store import ADA, BOB, tell

from memd.backends.rooms import Rooms
from memd.base.clock import from_us
from memd.base.errors import DamagedError, InvalidError, NotFoundError
from memd.domain.caller import Caller
from memd.domain.enums import MemoryCategory, MemoryLevel, Origin, Trust
from memd.domain.memory import MemoryEntry, MemoryFilter, MemoryQuery, MemoryStoreRequest
from memd.domain.recall import RecallRequest
from memd.domain.settings.settings import MemoryConfig, Settings, UsageSettings
from memd.domain.sleep.sleep import NapResult
from memd.ingest.sessions import STEP_ROWS
from memd.sleep.nap.naps import Naps
from memd.sleep.nap.source import NapRequest
from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.memory import sources
from memd.store.session import sessions, windows
from memd.store.session.sessions import IDLE_US

RIGHT_NOW = "Right now in this session we are looking at the parser."
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Check the nginx config"},
    {"role": "tool", "name": "sh", "content": "Exit code 0. Deployed 47 files"},
    {"role": "assistant", "content": "Well, here it is.\ndecided: use blue-green deployment"},
    {"role": "user", "content": "ok"},
    {"role": "user", "content": "ok"},
    *({"role": "assistant", "content": f"This is turn {n} of the rest."} for n in range(4)),
]


LATER: list[dict[str, Any]] = [
    {"role": "user", "content": "What is the weather on the Schlossberg?"},
    {"role": "assistant", "content": "That I do not know."},
]
MESSAGES_BEGAN = from_us(0)


async def nap(house: Rooms, session_id: str | None = "s", **more: Any) -> NapResult:
    return await nap_over(house, **{"messages": MESSAGES, "session_id": session_id, **more})


async def get(house: Rooms, memory_id: str) -> MemoryEntry | None:
    return await house.recall.get(ADA, memory_id)


async def contents(house: Rooms, **conditions: Any) -> dict[str, MemoryEntry]:
    items, _ = await house.recall.list(ADA, MemoryFilter(**conditions), None, 100)
    return {item.content: item for item in items}


async def test_a_session_is_begun_once(house: Rooms) -> None:
    first = await house.sessions.start(ADA, "s")
    again = await house.sessions.start(ADA, "s")
    assert first == again
    assert (first.session_id, first.agent_id, first.ended_at) == ("s", "ada", None)
    assert (await house.sessions.start(ADA)).session_id != "s"


async def test_a_message_has_its_own_times_also_where_its_text_was_said_before(
    house: Rooms, clock: HeldClock
) -> None:
    first = {"role": "user", "content": "Check the nginx config"}
    said_at = from_us(clock.now_us())
    await nap(house, "first", messages=[first, *MESSAGES[1:]])
    clock.advance(days=3)
    began_at = from_us(clock.now_us())
    await nap(
        house, "second", messages=[{**first, "timestamp": began_at.isoformat()}, *MESSAGES[1:]]
    )
    times = {}
    for session_id in ("first", "second"):
        items, _ = await house.sessions.messages(ADA, session_id, None, 1)
        times[session_id] = (items[0].said_at, items[0].kept_at)
    assert times == {"first": (None, said_at), "second": (began_at, began_at)}


async def test_sessions_are_listed_newest_first_page_by_page(house: Rooms) -> None:
    for number in range(5):
        await house.sessions.start(ADA, f"s{number}")
    await house.sessions.start(BOB, "s9")
    seen: list[str] = []
    after = None
    while True:
        items, after = await house.sessions.list(ADA, after, 2)
        seen += [item.session_id for item in items]
        if after is None:
            break
    assert seen == ["s4", "s3", "s2", "s1", "s0"]


async def test_what_is_no_place_in_the_list_of_sessions_is_refused(house: Rooms) -> None:
    """A program that pages would begin again, and never end."""
    await house.sessions.start(ADA, "hers")
    await house.sessions.start(BOB, "his")
    for cursor in ("unknown", "his"):
        with pytest.raises(InvalidError) as refusal:
            await house.sessions.list(ADA, cursor, 2)
        assert refusal.value.field == "after"


async def test_working_text_that_arrived_becomes_episodic_when_its_session_ends(
    house: Rooms,
) -> None:
    (arrived,) = await tell(house, RIGHT_NOW, session_id="s")
    (elsewhere,) = await tell(house, RIGHT_NOW, session_id="other")
    before = await get(house, arrived)

    session = await house.sessions.end(ADA, "s")

    after, untouched = await get(house, arrived), await get(house, elsewhere)
    assert session.ended_at is not None
    assert before is not None
    assert after is not None
    assert untouched is not None
    assert before.category is untouched.category is MemoryCategory.WORKING
    assert after.category is MemoryCategory.EPISODIC
    assert after.content == before.content
    versions = (
        "SELECT count(*) FROM memory_version JOIN memory USING (memory_key) WHERE memory_id = ?"
    )
    assert await house.db.read(lambda conn: conn.execute(versions, (arrived,)).get) == 1
    assert (await house.upkeep.check(ADA)).ok


async def test_a_damaged_memory_is_withheld_after_its_session_too(house: Rooms) -> None:
    """Another hash would hide the damage."""
    texts = [f"Right now in this session the pump number {n} is checked." for n in range(STEP_ROWS)]
    damaged = [*await tell(house, *texts, session_id="s"), *await tell(house, RIGHT_NOW)]
    await damage(house)
    (whole,) = await tell(house, RIGHT_NOW, session_id="other")

    assert (await house.sessions.end(ADA, "s")).ended_at is not None
    await house.sessions.end(ADA, "other")
    assert isinstance(house.clock, HeldClock)
    house.clock.advance(hours=7)
    await house.trash.purge()

    for memory_id in damaged:
        with pytest.raises(DamagedError):
            await get(house, memory_id)
    entry = await get(house, whole)
    assert entry is not None
    assert entry.category is MemoryCategory.EPISODIC
    assert await house.trash.list(ADA, None, 10) == ((), None)


async def damage(house: Rooms) -> None:
    """Change the text of every memory as a failing disk would."""

    def work(conn: Writing) -> None:
        conn.execute("UPDATE memory SET content = content || 'x'")

    await house.db.write(ADA, work)


async def test_what_was_stored_as_working_goes_to_the_trash_and_can_come_back(house: Rooms) -> None:
    stored = await house.ingest.store(
        ADA, MemoryStoreRequest(category=MemoryCategory.WORKING, content="the plan", session_id="s")
    )
    await house.sessions.end(ADA, "s")

    assert await get(house, stored) is None
    (item,), _ = await house.trash.list(ADA, None, 10)
    assert (item.id, item.reason) == (stored, "session_end")
    assert await house.trash.restore(ADA, stored)
    assert await get(house, stored) is not None


async def test_memories_of_level_session_go_with_their_session(house: Rooms) -> None:
    await house.agents.set(ADA, MemoryConfig(type=MemoryLevel.SESSION))
    ids = await tell(house, "The kettle is on.", RIGHT_NOW, session_id="s")
    await house.agents.set(ADA, MemoryConfig(type=MemoryLevel.PERSISTENT))
    (stays,) = await tell(house, "The roof is green.", session_id="s")

    await house.sessions.end(ADA, "s")

    assert [await get(house, memory_id) for memory_id in ids] == [None, None]
    assert await get(house, stays) is not None


async def test_a_session_of_many_memories_ends_in_steps(house: Rooms) -> None:
    texts = [f"Right now in this session the pump number {n} is checked." for n in range(150)]
    ids = await tell(house, *texts, session_id="s")
    before = await house.db.read(lambda conn: conn.execute("SELECT max(seq) FROM change").get)
    await house.sessions.end(ADA, "s")
    after = await house.db.read(lambda conn: conn.execute("SELECT max(seq) FROM change").get)

    entries = [await get(house, memory_id) for memory_id in ids]
    assert {entry.category for entry in entries if entry} == {MemoryCategory.EPISODIC}
    assert after - before == 3


async def test_an_end_counts_once_unless_the_session_goes_on(house: Rooms) -> None:
    clock = house.clock
    assert isinstance(clock, HeldClock)
    await house.sessions.start(ADA, "s")
    first = await house.sessions.end(ADA, "s")
    clock.advance(seconds=1)
    assert (await house.sessions.end(ADA, "s")).ended_at == first.ended_at

    await tell(house, RIGHT_NOW, session_id="s")
    assert (await house.sessions.end(ADA, "s")).ended_at != first.ended_at
    assert (await contents(house))[RIGHT_NOW].category is MemoryCategory.EPISODIC


async def test_an_unknown_session_cannot_end(house: Rooms) -> None:
    await house.sessions.start(BOB, "s")
    with pytest.raises(NotFoundError):
        await house.sessions.end(ADA, "s")
    with pytest.raises(NotFoundError):
        await house.sessions.messages(ADA, "s", None, 10)


async def test_a_session_that_says_nothing_for_six_hours_has_ended(house: Rooms) -> None:
    clock = house.clock
    assert isinstance(clock, HeldClock)
    (early,) = await tell(house, RIGHT_NOW, session_id="s")
    clock.advance(microseconds=IDLE_US - 1)
    await tell(house, RIGHT_NOW, session_id="other")
    assert await house.sessions.end_idle() == 0
    clock.advance(microseconds=1)
    assert await house.sessions.end_idle() == 1
    assert await house.sessions.end_idle() == 0

    entry = await get(house, early)
    assert entry is not None
    assert entry.category is MemoryCategory.EPISODIC
    ended = {s.session_id: s.ended_at for s in (await house.sessions.list(ADA, None, 10))[0]}
    assert ended["s"] is not None
    assert ended["other"] is None


async def test_a_session_that_continues_while_idle_ones_end_is_not_ended(
    house: Rooms, clock: HeldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    (early,) = await tell(house, RIGHT_NOW, session_id="s")
    clock.advance(microseconds=IDLE_US)
    idle = await house.db.read(sessions.list_idle, clock.now_us(), 10)
    assert len(idle) == 1
    monkeypatch.setattr(sessions, "list_idle", lambda *_: idle)
    await tell(house, "and on it goes", session_id="s")
    await house.sessions.end_idle()

    entry = await get(house, early)
    assert entry is not None
    assert entry.category is MemoryCategory.WORKING
    ((session,), _) = await house.sessions.list(ADA, None, 10)
    assert session.ended_at is None


# Naps, as the store sees them.


async def test_a_nap_keeps_every_message_once_and_in_order(house: Rooms) -> None:
    await nap(house)
    more = [*MESSAGES, {"role": "user", "content": "ok"}, {"role": "user", "content": "And go."}]
    await nap(house, messages=more)

    items, after = await house.sessions.messages(ADA, "s", None, 100)
    assert after is None
    assert [item.text for item in items] == [m["content"] for m in more]
    assert [item.ordinal for item in items] == list(range(len(more)))
    assert [item.role for item in items][:3] == ["user", "tool", "assistant"]
    first, after = await house.sessions.messages(ADA, "s", None, 4)
    rest, _ = await house.sessions.messages(ADA, "s", after, 100)
    assert (*first, *rest) == items


async def test_a_fact_says_who_said_it_and_is_trusted_accordingly(house: Rooms) -> None:
    await nap(house)
    by_text = await contents(house, session_id="s")
    assert {text: (e.origin, e.trust) for text, e in by_text.items()} == {
        "Check the nginx config": (Origin.PERSON, Trust.OWNER),
        "[sh] Exit code 0. Deployed 47 files": (Origin.TOOL, Trust.UNTRUSTED),
        "decided: use blue-green deployment": (Origin.ASSISTANT, Trust.ASSISTED),
        "ok": (Origin.PERSON, Trust.OWNER),
    }
    assert {e.metadata.tags for e in by_text.values()} == {("nap",)}


async def test_what_the_session_told_already_is_not_stored_twice(house: Rooms) -> None:
    (known,) = await tell(house, "Check the nginx config", session_id="s", source="chat/1")
    result = await nap(house)
    assert (result.stored, result.merged) == (3, 1)
    entry = await get(house, known)
    assert entry is not None
    assert entry.updated_at is None  # it was not told again: it is the same message


async def test_what_was_thrown_away_does_not_come_back_with_the_next_nap(house: Rooms) -> None:
    await nap(house)
    by_text = await contents(house)
    await house.trash.delete(ADA, by_text["decided: use blue-green deployment"].id)
    assert (await nap(house)).stored == 0
    assert "decided: use blue-green deployment" not in await contents(house)


async def test_the_audit_and_the_run_name_a_nap(house: Rooms) -> None:
    result = await nap(house)
    row = await house.db.read(
        lambda conn: conn.execute(
            "SELECT method, batch, rows FROM change ORDER BY seq DESC LIMIT 1"
        ).fetchone()
    )
    assert row == ("memory.consolidate", result.run_id, 5)  # four facts and the run's report
    assert result.detail.messages_removed == 5
    assert result.detail.summary_chars == len(result.summary_text)


async def test_a_nap_without_a_session_keeps_only_what_its_facts_are_from(house: Rooms) -> None:
    assert (await nap(house, None)).stored == 4
    assert (await nap(house, None)).stored == 0
    count = await house.db.read(lambda conn: conn.execute("SELECT count(*) FROM source").get)
    assert count == 4
    assert await house.db.read(lambda c: c.execute("SELECT count(*) FROM session").get) == 0


async def test_what_a_session_told_is_a_source_of_its_facts(house: Rooms) -> None:
    text = "A long story first.\ndecided: use blue-green deployment\nAnd so on."
    (source,) = await tell(house, text, session_id="s", speaker="assistant")
    await tell(house, *(f"Turn {n} of the rest." for n in range(4)), session_id="s")
    result = await nap(house, messages=None)
    assert result.stored == 1

    await house.trash.forget(ADA, ids=[source])

    assert "decided: use blue-green deployment" not in await contents(house)


# Forgetting reaches messages.


async def messages(house: Rooms) -> list[str]:
    items, _ = await house.sessions.messages(ADA, "s", None, 100)
    return [item.text for item in items]


async def test_forgetting_a_fact_forgets_the_message_it_is_from(house: Rooms) -> None:
    await nap(house)
    by_text = await contents(house)
    await house.trash.forget(ADA, ids=[by_text["decided: use blue-green deployment"].id])
    assert len(await messages(house)) == len(MESSAGES) - 1
    assert not any("blue-green" in text for text in await messages(house))


async def test_the_last_messages_are_those_that_are_left(house: Rooms) -> None:
    await nap(house)

    def forget_newest(conn: Writing) -> None:
        newest = "SELECT source_key FROM session_message ORDER BY ordinal DESC LIMIT 3"
        sources.erase(conn, conn.list_ints(newest))

    await house.db.write(ADA, forget_newest)

    recent = await house.sessions.recent(ADA, "s", 2)
    assert [message.text for message in recent] == ["ok", "This is turn 0 of the rest."]


async def test_forgetting_a_memory_forgets_the_messages_that_say_the_same(house: Rooms) -> None:
    (known,) = await tell(house, "Well, here it is.", session_id="s")
    await nap(house)
    await house.trash.forget(ADA, ids=[known])
    assert not any("here it is" in text for text in await messages(house))
    assert "Check the nginx config" in await messages(house)


async def test_forgetting_a_session_forgets_all_its_messages(house: Rooms) -> None:
    await nap(house)
    condition = MemoryFilter(session_id="s")
    dry = await house.trash.forget(ADA, condition=condition, dry_run=True)
    assert (dry.count, dry.messages) == (4, len(MESSAGES))
    assert await messages(house)

    gone = await house.trash.forget(ADA, condition=condition)

    assert (gone.count, gone.messages) == (4, len(MESSAGES))
    assert await messages(house) == []
    assert await house.db.read(lambda conn: conn.execute("SELECT count(*) FROM source").get) == 0
    raw = Path(house.db.path).read_bytes()
    assert b"blue-green" not in raw
    assert (await house.upkeep.check(ADA)).ok


async def test_what_was_forgotten_is_not_learned_again_from_the_transcript(
    house: Rooms, tmp_path: Path
) -> None:
    transcript = tmp_path / "t.jsonl"

    async def again(*more: dict[str, Any]) -> NapResult:
        lines = "".join(f"{json.dumps(m)}\n" for m in [*MESSAGES, *more])
        transcript.write_text(lines, "utf-8")
        settings = Settings(usage=UsageSettings(transcript_roots=(str(tmp_path),)))
        naps = Naps(house, settings, tmp_path / "nowhere", environ={})
        request = NapRequest(transcript_path=str(transcript), session_id="s", last=True)
        return await naps.nap.nap(ADA, request)

    await again()
    fact = (await contents(house))["decided: use blue-green deployment"]
    await house.trash.forget(ADA, ids=[fact.id])
    result = await again({"role": "user", "content": "and go"})

    assert result.stored == 1
    assert "blue-green" not in result.summary_text
    assert set(await contents(house)) >= {"Check the nginx config", "and go"}
    assert not any(
        "blue-green" in text for text in [*await contents(house), *await messages(house)]
    )

    await house.trash.forget(ADA, condition=MemoryFilter(session_id="s"))
    result = await again({"role": "user", "content": "and go"}, {"role": "user", "content": "far"})
    assert list(await contents(house)) == ["far"]
    assert await messages(house) == ["far"]


async def test_a_narrower_filter_leaves_the_other_messages(house: Rooms) -> None:
    await nap(house)
    only = MemoryFilter(session_id="s", tags=("nap",))
    gone = await house.trash.forget(ADA, condition=only)
    assert (gone.count, gone.messages) == (4, 0)
    assert await messages(house) == [f"This is turn {n} of the rest." for n in range(4)]


async def test_a_time_that_is_forgotten_takes_the_messages_of_that_time(
    house: Rooms, clock: HeldClock
) -> None:
    await nap(house)
    since = clock.advance(days=1)
    await nap_over(house, messages=LATER, session_id="later")

    def where(**more: Any) -> MemoryFilter:
        return MemoryFilter(since=since, **more)

    for left in (where(session_id="s"), where(tags=("none",)), MemoryFilter(until=MESSAGES_BEGAN)):
        gone = await house.trash.forget(ADA, condition=left)
        assert (gone.count, gone.messages) == (0, 0)
    planned = await house.trash.forget(ADA, condition=where(), dry_run=True)
    gone = await house.trash.forget(ADA, condition=where())
    assert gone.messages == planned.messages == len(LATER)
    assert (await house.sessions.messages(ADA, "later", None, 100))[0] == ()
    assert len(await messages(house)) == len(MESSAGES)
    assert (await house.trash.forget(ADA, condition=MemoryFilter(since=MESSAGES_BEGAN))).messages
    assert await messages(house) == []


async def listed(house: Rooms, caller: Caller = ADA) -> tuple[list[str], list[str], list[str]]:
    """Return the agent's sessions, projects and windows."""
    sessions, _ = await house.sessions.list(caller, None, 100)
    projects, _ = await house.sessions.projects(caller, None, 100)
    rows = await house.db.read(windows.list_windows, caller.agent_id)
    return [one.session_id for one in sessions], list(projects), [row.session_id for row in rows]


async def a_session(house: Rooms, session_id: str, caller: Caller = ADA, **request: Any) -> None:
    """Start a session in a project of its name, nap as *request* asks, and report its window."""
    await house.sessions.start(replace(caller, project_id=f"/w/{session_id}"), session_id)
    if request:
        await nap_over(house, session_id=session_id, caller=caller, **request)
    now_us = house.clock.now_us()
    fill = (7, None, None, None, "m", f"/w/{session_id}", None, None, True, now_us, None)
    window = windows.WindowRow(caller.agent_id, "claude-code", session_id, *fill)

    def keep(conn: Writing) -> None:
        windows.put(conn, names.agent_key(conn, caller.agent_id), window)

    await house.db.write(caller, keep)


async def test_a_session_of_which_nothing_is_left_is_forgotten_too(
    house: Rooms, clock: HeldClock
) -> None:
    await a_session(house, "s", messages=MESSAGES)
    await a_session(house, "silent")
    await a_session(house, "s", BOB, messages=MESSAGES)
    since = clock.advance(days=1)
    await a_session(house, "later", messages=LATER)
    bobs = await listed(house, BOB)

    await house.trash.forget(ADA, condition=MemoryFilter(until=since))
    assert await listed(house) == (["later"], ["/w/later"], ["later"])
    await house.trash.forget(ADA, condition=MemoryFilter(session_id="later", tags=("nap",)))
    assert await listed(house) == (["later"], ["/w/later"], ["later"])
    await house.trash.forget(ADA, condition=MemoryFilter(session_id="later"))
    assert await listed(house) == ([], [], [])

    assert await listed(house, BOB) == bobs == (["s"], ["/w/s"], ["s"])
    assert (await house.upkeep.check(ADA)).ok
    await nap_over(house, messages=LATER, session_id="s")
    assert (await listed(house))[0] == ["s"]


async def test_another_agents_session_of_the_same_name_is_left_alone(house: Rooms) -> None:
    await nap(house)
    gone = await house.trash.forget(BOB, condition=MemoryFilter(session_id="s"))
    assert (gone.count, gone.messages) == (0, 0)
    assert len(await messages(house)) == len(MESSAGES)


async def plan(house: Rooms, text: str = "the plan of the day", **more: Any) -> str:
    request = MemoryStoreRequest(category=MemoryCategory.WORKING, content=text, **more)
    return await house.ingest.store(ADA, request)


async def in_session(house: Rooms, session_id: str | None) -> set[str]:
    """Return what a recall, a search and a listing from a session show; they agree."""
    caller = replace(ADA, session_id=session_id)
    listed, _ = await house.recall.list(caller, MemoryFilter(), None, 100)
    query = MemoryQuery(text="the plan of the day", limit=100)
    retrieved = await house.recall.retrieve(caller, query)
    request = RecallRequest(query="the plan of the day", search_mode="words", top_k=100)
    recalled = (await house.recall.recall(caller, request)).memories
    ids = {entry.id for entry in listed}
    assert ids == {entry.id for entry in retrieved} == {memory.id for memory in recalled}
    return ids


async def test_working_memory_is_seen_in_its_own_session_alone(house: Rooms) -> None:
    mine, other = await plan(house, session_id="s1"), await plan(house, session_id="s2")
    nobodys = await plan(house)
    fact = await house.ingest.store(
        ADA, MemoryStoreRequest(category=MemoryCategory.SEMANTIC, content="the plan of the day")
    )

    assert await in_session(house, "s1") == {mine, nobodys, fact}
    assert await in_session(house, "s2") == {other, nobodys, fact}
    assert await in_session(house, "new") == {nobodys, fact}
    assert await in_session(house, None) == {mine, other, nobodys, fact}


async def test_working_memory_says_that_it_is_its_session_s(house: Rooms) -> None:
    memory_id = await plan(house, session_id="s")
    await tell(house, "The roof is green.", session_id="s")

    entry = await get(house, memory_id)
    condition = MemoryFilter(levels=frozenset({MemoryLevel.SESSION}))
    (listed,), _ = await house.recall.list(ADA, condition, None, 10)

    assert entry is not None
    assert entry.level is MemoryLevel.SESSION
    assert listed.id == memory_id


async def test_working_memory_of_no_session_ends_six_hours_after_it_was_made(house: Rooms) -> None:
    clock = house.clock
    assert isinstance(clock, HeldClock)
    stored = await plan(house)
    (arrived,) = await tell(house, RIGHT_NOW)
    clock.advance(hours=5, minutes=59)
    await house.trash.purge()
    assert await get(house, stored) is not None

    clock.advance(minutes=1)
    await house.trash.purge()

    assert await get(house, stored) is None
    (item,), _ = await house.trash.list(ADA, None, 10)
    assert (item.id, item.reason) == (stored, "expired")
    after = await get(house, arrived)
    assert after is not None
    assert (after.category, after.expires_at) == (MemoryCategory.EPISODIC, None)
    assert (await house.upkeep.check(ADA)).ok
    clock.advance(days=40)
    await house.trash.purge()
    assert await get(house, arrived) is not None
