"""A walk sees only statements that hold, from texts that the caller may read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.clocks import HeldClock
from support.graph_rows import Drawn, draw
from support.org import CALLER, JUNIOR, SENIOR, a_request
from support.store import ADA, BOB, a_house, bytes_of, stored, tell

from memd.backends.rooms import Rooms
from memd.base.errors import OrgMemoryQueryError
from memd.base.limits import WALK_EDGES_MAX
from memd.domain.caller import Caller
from memd.domain.enums import MemoryState, OrgFactCategory, SeniorityLevel, Trust
from memd.domain.memory import MemoryUpdate
from memd.domain.org.graph import Moment
from memd.domain.settings.org import OrgMemoryConfig
from memd.domain.settings.settings import Settings
from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.memory import memories


async def edges(
    house: Rooms, name: str, caller: Caller = ADA, at: Moment | None = None
) -> set[str]:
    """Return what is said of a thing as text, nothing for a thing nobody knows."""
    try:
        neighbours = await house.graph.neighbours(caller, name, at=at or Moment())
    except OrgMemoryQueryError:
        return set()
    return {f"{s.subject} {s.relation} {s.object}" for s in neighbours.items}


async def learnt(house: Rooms, *texts: str, caller: Caller = ADA, **fields: object) -> list[str]:
    ids = await stored(house, *texts, caller=caller, **fields)
    await house.relation_extractor.drain()
    return ids


async def test_what_another_agent_was_told_is_not_there_not_even_as_a_name(house: Rooms) -> None:
    await learnt(house, "Ann leads the Falcon team.", caller=BOB)
    assert await edges(house, "Ann", BOB)
    answer = await house.graph.query(ADA, "Who leads the Falcon team?")
    assert (answer.about, answer.items) == ((), ())
    for name in ("Ann", "the Falcon team", "nobody at all"):
        with pytest.raises(OrgMemoryQueryError) as refused:
            await house.graph.neighbours(ADA, name)
        assert refused.value.message == "nothing is known of a thing with this name"
    with pytest.raises(OrgMemoryQueryError):
        await house.graph.path(ADA, "Ann", "the Falcon team")


async def test_a_way_never_leads_through_another_agents_memory(house: Rooms) -> None:
    await learnt(house, "Ann leads the Falcon team.", "Kafka is hosted in Oslo.")
    await learnt(house, "The Falcon team uses Kafka.", caller=BOB)
    assert not (await house.graph.path(ADA, "Ann", "Oslo", hops=6)).items
    await learnt(house, "The Falcon team uses Kafka.")
    (path,) = (await house.graph.path(ADA, "Ann", "Oslo")).items
    assert len(path.steps) == 3


async def test_deleted_is_out_of_sight_and_restored_is_back(house: Rooms) -> None:
    (memory_id,) = await learnt(house, "Ann leads the Falcon team.")
    await house.trash.delete(ADA, memory_id)
    assert not await edges(house, "Ann")
    await house.trash.restore(ADA, memory_id)
    assert await edges(house, "Ann")


@pytest.mark.parametrize("state", ["quarantined", "stale", "trashed", "archived"])
async def test_what_recall_would_not_find_a_walk_does_not_see(house: Rooms, state: str) -> None:
    (memory_id,) = await learnt(house, "Ann leads the Falcon team.")

    def move(conn: Writing) -> None:
        agent_key = names.find_agent(conn, "ada")
        assert agent_key is not None
        row = memories.by_id(conn, agent_key, memory_id)
        assert row is not None
        memories.set_state(conn, [row.memory_key], MemoryState(state), 1)

    await house.db.write(ADA, move)
    assert not await edges(house, "Ann")


async def test_expired_is_out_of_sight(house: Rooms, clock: HeldClock) -> None:
    soon = (clock.now + timedelta(hours=1)).isoformat()
    await learnt(house, "Ann leads the Falcon team.", expires_at=soon)
    assert await edges(house, "Ann")
    clock.advance(hours=2)
    assert not await edges(house, "Ann")


async def test_a_projects_memory_is_seen_in_its_project_only(house: Rooms) -> None:
    await learnt(house, "Ann leads the Falcon team.", level="project", project_id="falcon")
    here = Caller(agent_id="ada", project_id="falcon", method="test")
    elsewhere = Caller(agent_id="ada", project_id="other", method="test")
    assert await edges(house, "Ann", here)
    assert not await edges(house, "Ann", elsewhere)


async def test_what_was_rewritten_says_what_it_says_now(house: Rooms) -> None:
    (memory_id,) = await learnt(house, "Ann leads the Falcon team.")
    await house.ingest.update(ADA, memory_id, MemoryUpdate(content="Bob leads the Falcon team."))
    assert not await edges(house, "Ann")
    await house.relation_extractor.drain()
    assert await edges(house, "the Falcon team") == {"Bob leads the Falcon team"}
    neighbours = await house.graph.neighbours(ADA, "Bob")
    assert neighbours.items[0].evidence.quote == "Bob leads the Falcon team"


async def test_forgetting_erases_the_edges_and_the_names_that_no_other_text_has(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    async with a_house(folder / "memd.db") as house:
        kept, gone = await learnt(
            house, "Ann leads the Falcon team.", "Xanthippe Quux leads the Falcon team."
        )
        assert len(await edges(house, "the Falcon team")) == 2
        await house.trash.forget(ADA, ids=[gone])
        assert await edges(house, "the Falcon team") == {"Ann leads the Falcon team"}
        assert kept
    held = bytes_of(folder)
    assert b"Xanthippe" not in held
    assert b"xanthippe" not in held
    assert b"Falcon" in held


async def test_what_waits_to_be_read_again_and_is_forgotten_leaves_nothing(house: Rooms) -> None:
    (memory_id,) = await learnt(house, "Ann leads the Falcon team.")
    await house.ingest.update(ADA, memory_id, MemoryUpdate(content="Bob leads the Falcon team."))
    await house.trash.forget(ADA, ids=[memory_id])
    assert await house.relation_extractor.drain() == 0
    await learnt(house, "Ann keeps bees.")
    waiting = await house.db.read(
        lambda conn: conn.execute("SELECT count(*) FROM meta WHERE key LIKE '%again%'").get
    )
    assert waiting == 0


async def test_untrusted_texts_are_marked_and_lower_the_whole_way(house: Rooms) -> None:
    await tell(house, "Ann leads the Falcon team.", speaker="user")
    await tell(house, "The Falcon team uses Kafka.", origin="web")
    await house.relation_extractor.drain()
    result = await house.graph.query(ADA, "What does the team that Ann leads use?")
    (answer,) = result.items
    assert answer.path.trust is Trust.UNTRUSTED
    assert answer.score == 0.5
    assert [step.evidence.trust for step in answer.path.steps] == [Trust.OWNER, Trust.UNTRUSTED]
    (line,) = await house.graph.render_lines(ADA, "What does the team that Ann leads use?")
    assert line.endswith("(rests on an untrusted source)")


async def test_a_trusted_way_is_shown_before_an_untrusted_one_of_the_same_length(
    path: Path,
) -> None:
    async with a_house(path):
        pass
    draw(path, [Drawn("a", "x"), Drawn("x", "b")], origin="web")
    draw(path, [Drawn("a", "y"), Drawn("y", "b")], origin="person")
    async with a_house(path) as house:
        trusted, untrusted = (await house.graph.path(ADA, "a", "b")).items
        assert (trusted.things[1], trusted.trust) == ("y", Trust.OWNER)
        assert (untrusted.things[1], untrusted.trust) == ("x", Trust.UNTRUSTED)


async def test_a_retracted_fact_is_out_of_sight_now_and_in_sight_of_the_time_before(
    tmp_path: Path,
) -> None:
    clock = HeldClock(datetime(2026, 1, 1, tzinfo=UTC))
    async with a_house(tmp_path / "memd.db", clock) as house:
        fact_id = await house.org.write(
            CALLER, a_request("The Falcon team uses Kafka."), author=SENIOR
        )
        before = clock.advance(hours=1)
        clock.advance(hours=1)
        assert await edges(house, "Kafka")
        await house.org.retract(CALLER, fact_id, author=SENIOR)
        clock.advance(hours=1)
        assert not await edges(house, "Kafka")
        then = Moment(valid=before, known=before)
        assert await edges(house, "Kafka", at=then) == {"the Falcon team uses Kafka"}
        answer = await house.graph.query(ADA, "What does the Falcon team use?", at=then)
        assert [item.name for item in answer.items] == ["Kafka"]


async def test_a_question_about_a_time_is_answered_from_what_held_then(tmp_path: Path) -> None:
    clock = HeldClock(datetime(2026, 6, 1, tzinfo=UTC))
    async with a_house(tmp_path / "memd.db", clock) as house:
        text = "The Falcon team used Flask until March 2026, then switched to Litestar."
        await house.org.write(CALLER, a_request(text), author=SENIOR)
        asked = "What does the Falcon team use?"
        now = await house.graph.query(ADA, asked)
        assert [item.name for item in now.items if item.follows] == ["Litestar"]
        then = Moment(valid=datetime(2026, 2, 1, tzinfo=UTC))
        answer = await house.graph.query(ADA, asked, at=then)
        assert [item.name for item in answer.items if item.follows] == ["Flask"]


async def test_facts_that_a_reader_may_not_read_make_no_edges_for_it(tmp_path: Path) -> None:
    access = {OrgFactCategory.ADR: SeniorityLevel.SENIOR}
    settings = Settings().model_copy(update={"org_memory": OrgMemoryConfig(read_access=access)})
    junior = Caller(agent_id="bob", seniority=SeniorityLevel.JUNIOR, method="org.query")
    senior = Caller(agent_id="ada", seniority=SeniorityLevel.SENIOR, method="org.query")
    async with a_house(tmp_path / "memd.db", settings=settings) as house:
        await house.org.write(
            CALLER, a_request("The Falcon team uses Kafka.", "adr"), author=SENIOR
        )
        assert JUNIOR.agent_id == "bob"
        assert await edges(house, "Kafka", senior)
        assert not await edges(house, "Kafka", junior)


async def test_a_triple_is_kept_as_a_memory_of_its_teller_with_its_own_text_as_evidence(
    house: Rooms,
) -> None:
    added = await house.graph.add(ADA, "Ann", "leads", "the Falcon team")
    (step,) = (await house.graph.neighbours(ADA, "Ann")).items
    assert step.id == added.statement_id
    assert step.evidence.memory_id == added.memory_id
    assert step.evidence.quote == "Ann | leads | the Falcon team"
    assert not await edges(house, "Ann", BOB)


@pytest.mark.parametrize(
    ("subject", "relation", "other", "field"),
    [
        ("Ann", "leads\nBob | owns | Atlas", "Falcon", "relation"),
        ("Ann | owns | Atlas", "leads", "Falcon", "subject"),
        ("Ann", "leads", "Falcon\nBob -> owns -> Atlas", "object"),
        ("Ann", "->", "Falcon", "relation"),
        ("Ann", "leads", "[[Falcon]]", "object"),
        ("Ann", "leads", "ann", "object"),
        ("Ann", "1; DROP TABLE statement", "Falcon", "relation"),
        ("x" * 200, "leads", "Falcon", "subject"),
    ],
)
async def test_a_triple_says_one_thing_only(
    house: Rooms, subject: str, relation: str, other: str, field: str
) -> None:
    with pytest.raises(OrgMemoryQueryError) as refused:
        await house.graph.add(ADA, subject, relation, other)
    assert refused.value.field == field
    assert await house.recall.count(ADA, None) == 0


async def test_a_hub_and_a_complete_graph_are_walked_up_to_the_bound(path: Path) -> None:
    async with a_house(path):
        pass
    draw(path, (Drawn("hub", f"leaf{n}") for n in range(WALK_EDGES_MAX + 10)))
    draw(path, (Drawn(f"node{a}", f"node{b}") for a in range(150) for b in range(a)))
    async with a_house(path) as house:
        far = await house.graph.path(ADA, "leaf1", f"leaf{WALK_EDGES_MAX + 5}", hops=6)
        assert [item.things[1] for item in far.items] == ["hub"]
        none = await house.graph.path(ADA, "leaf1", "node1", hops=6)
        assert (none.items, none.truncated) == ((), True)
        thick = await house.graph.path(ADA, "node1", "node149", hops=6)
        assert [len(item.steps) for item in thick.items] == [1]
        everything = await house.graph.neighbours(ADA, "hub", 50)
        assert (len(everything.items), everything.truncated) == (50, True)
        asked = await house.graph.query(ADA, "What does hub use, and node1, and leaf7?")
        assert len(asked.items) == 10


async def test_cycles_end_and_no_thing_is_met_twice(path: Path) -> None:
    async with a_house(path):
        pass
    draw(path, [Drawn("a", "b"), Drawn("b", "c"), Drawn("c", "a"), Drawn("a", "a")])
    async with a_house(path) as house:
        for one in (await house.graph.path(ADA, "a", "c", hops=6)).items:
            assert len(set(one.things)) == len(one.things)
        assert not (await house.graph.path(ADA, "a", "a", hops=6)).items
