"""Recall after a night returns summaries in place of their sources (D9)."""

from __future__ import annotations

import asyncio
import random
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.gate import drawn
from support.nights import ADA, BOB, Bed, a_bed, fill, move_to_archive, settled, some_settings

from memd.domain.caller import Caller
from memd.domain.enums import ArchiveReason, MemoryCategory, Origin, SearchMode, Trust
from memd.domain.ingest import IngestRequest
from memd.domain.inject import PrepareRequest
from memd.domain.memory import MemoryEntry, MemoryFilter, MemoryMetadata, MemoryQuery
from memd.domain.recall import RecallRequest
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.inject.own_memories import MemoryRooms, recall_for_prompt
from memd.store.file.connect import Reading
from memd.store.memory import memories
from memd.store.memory.filters import bind, bind_search

TURNS = (
    "the ferry to Gotland leaves at nine",
    "Ulla keeps bees behind the old mill",
    "the rent is due on the third",
    "Bertil prefers rye bread with caraway",
    "the spare key hangs under the blue lantern",
    "nobody has seen the cat since Tuesday",
)


async def slept(bed: Bed, **fields: Any) -> list[str]:
    """Have five of six turns consolidated behind a summary."""
    ids = await bed.tell(*TURNS, **fields)
    bed.clock.advance(days=2)
    await bed.night.run(ADA, steps=frozenset({"consolidation"}))
    await bed.house.queue.drain()
    assert len(await bed.summaries()) == 1
    return ids


async def recalled(bed: Bed, query: str, caller: Caller = ADA, **fields: Any) -> list[Any]:
    given = {"query": query, "search_mode": SearchMode.WORDS, "token_budget": 8000} | fields
    answer = await bed.house.recall.recall(caller, RecallRequest.model_validate(given))
    return list(answer.memories)


async def retrieved(bed: Bed, caller: Caller = ADA, **fields: Any) -> tuple[MemoryEntry, ...]:
    query = MemoryQuery.model_validate({"limit": 100} | fields)
    return await bed.house.recall.retrieve(caller, query)


@pytest.mark.parametrize("mode", list(SearchMode))
async def test_what_a_hidden_memory_answers_is_answered_once_by_its_summary(
    bed: Bed, mode: SearchMode
) -> None:
    ids = await slept(bed)
    question = "who keeps bees behind the old mill"
    summary, *others = await recalled(bed, question, search_mode=mode)
    assert "Ulla keeps bees" in summary.content
    assert summary.id not in ids
    assert {other.id for other in others} <= {ids[-1]}
    original, *_ = await recalled(bed, question, search_mode=mode, include_compressed=True)
    assert original.id == ids[1]
    assert summary.relevance_score == pytest.approx(original.relevance_score)


async def test_a_prompt_shows_what_answers_and_not_the_summary_that_hides_it(bed: Bed) -> None:
    ids = await slept(bed)
    house = bed.house
    rooms = MemoryRooms(house.recall, house.ingest, house.trash)
    request = PrepareRequest(query="who keeps bees behind the old mill, and who eats rye bread?")
    prompt = await recall_for_prompt(rooms, ADA, request, MemoryRetrievalConfig(), SearchMode.WORDS)
    assert {ids[1], ids[3]} <= {memory.id for memory in prompt.memories} <= {*ids}


async def test_a_search_for_what_answers_shows_it_with_its_own_date_and_once(bed: Bed) -> None:
    then = bed.clock.now - timedelta(days=90)
    ids = [
        (await bed.tell(turn, occurred_at=then + timedelta(days=day)))[0]
        for day, turn in enumerate(TURNS)
    ]
    bed.clock.advance(days=2)
    await bed.night.run(ADA, steps=frozenset({"consolidation"}))
    await bed.house.queue.drain()
    filters: tuple[dict[str, Any], ...] = ({}, {"categories": {"episodic"}})
    for more in filters:
        answer = await recalled(bed, "rye bread caraway", show_sources=True, **more)
        assert (answer[0].id, answer[0].occurred_at) == (ids[3], then + timedelta(days=3))
        assert {memory.id for memory in answer} <= {*ids}
    (summary,) = await recalled(bed, "rye bread", show_sources=True, tags=("consolidated",))
    assert summary.id not in ids


async def test_what_no_summary_that_may_be_shown_hides_is_in_no_prompt(bed: Bed) -> None:
    await bed.tell(*TURNS)
    bed.clock.advance(hours=7)
    await bed.night.compress(ADA, force=True)
    rooms = MemoryRooms(bed.house.recall, bed.house.ingest, bed.house.trash)
    config = MemoryRetrievalConfig()
    texts = []
    for categories in (None, frozenset({MemoryCategory.EPISODIC})):
        request = PrepareRequest(query="who keeps bees?", categories=categories)
        prompt = await recall_for_prompt(rooms, ADA, request, config, SearchMode.WORDS)
        texts.append([memory.content for memory in prompt.memories])
    assert (texts[0][0], texts[1]) == ("Ulla keeps bees behind the old mill", [])


async def test_with_include_compressed_the_originals_are_shown_and_no_summary(bed: Bed) -> None:
    ids = await slept(bed)
    words = "ferry bees rent bread key cat"
    memories = await recalled(bed, words, include_compressed=True, top_k=50)
    assert {memory.id for memory in memories} == set(ids)
    every = await retrieved(bed, text=words, include_compressed=True)
    assert {entry.id for entry in every} == set(ids)


async def test_a_search_is_filled_to_its_limit_though_many_stand_behind_few_summaries(
    bed: Bed,
) -> None:
    await bed.tell(*(f"bees bees bees hive {number}" for number in range(90)))
    bed.clock.advance(days=2)
    await bed.night.run(ADA, steps=frozenset({"consolidation"}))
    await bed.house.queue.drain()
    await bed.tell(*(f"a ferry at {number}" for number in range(60)), session_id=None)
    await bed.house.queue.drain()
    shown = await bed.house.recall.count(ADA, None)
    assert 60 < shown < 90
    assert len(await retrieved(bed, text="bees hive", limit=50)) == 50
    assert len(await retrieved(bed, text="bees hive", limit=100)) == shown


async def test_a_summary_of_an_old_session_is_found_among_what_is_semantic(bed: Bed) -> None:
    await bed.tell(*TURNS)
    bed.clock.advance(hours=7)
    await bed.night.compress(ADA, force=True)
    for categories in (None, {MemoryCategory.SEMANTIC}):
        (memory,) = await recalled(bed, "who keeps bees", categories=categories)
        assert memory.content.startswith("the ferry")
    assert await recalled(bed, "bees", categories={MemoryCategory.EPISODIC}) == []


@pytest.mark.parametrize(
    "conditions",
    [
        {"tags": ("consolidated",)},
        {"session_id": "s"},
        {"namespaces": frozenset({"default"})},
        {"since": "new"},
    ],
    ids=str,
)
async def test_a_summary_is_found_by_what_is_true_of_itself(
    bed: Bed, conditions: dict[str, Any]
) -> None:
    ids = await slept(bed)
    if "since" in conditions:
        conditions = {"since": bed.clock.now - timedelta(hours=1)}
    memories = await recalled(bed, "who keeps bees", **conditions)
    assert memories[0].id not in ids


@pytest.mark.parametrize("conditions", ["until", "categories"])
async def test_a_summary_is_not_found_by_what_is_true_of_its_sources_alone(
    bed: Bed, conditions: str
) -> None:
    await bed.tell(*TURNS)
    told_by = bed.clock.now + timedelta(hours=1)
    bed.clock.advance(days=2)
    await bed.night.compress(ADA, force=True)  # semantic, of what is episodic
    (summary,) = await bed.summaries()
    true: dict[str, Any] = {"until": told_by, "categories": frozenset({MemoryCategory.EPISODIC})}
    before = {conditions: true[conditions]}
    assert [m.content for m in await recalled(bed, "who keeps bees")] == [summary]
    assert await recalled(bed, "who keeps bees", **before) == []
    assert await retrieved(bed, **before) == ()
    kept = await recalled(bed, "who keeps bees", include_compressed=True, **before)
    assert kept[0].content == TURNS[1]


async def test_a_summary_is_found_by_the_tags_of_what_stands_behind_it(bed: Bed) -> None:
    await bed.tell(TURNS[0], TURNS[2])
    (bees,) = await bed.tell(TURNS[1], metadata=MemoryMetadata(tags=("red", "hive")))
    await bed.tell(*TURNS[3:])
    bed.clock.advance(days=2)
    await bed.night.run(ADA, steps=frozenset({"consolidation"}))
    await bed.house.queue.drain()
    (summary,) = await bed.summaries()
    for tags in (("red",), ("hive", "red"), ("consolidated",)):
        memories = await recalled(bed, "who keeps bees", tags=tags)
        assert [memory.content for memory in memories] == [summary]
        assert [entry.content for entry in await retrieved(bed, tags=tags)] == [summary]
    for tags in (("blue",), ("red", "consolidated")):
        assert await recalled(bed, "who keeps bees", tags=tags) == []
        assert await retrieved(bed, tags=tags) == ()
    (original,) = await retrieved(bed, tags=("red",), include_compressed=True)
    assert original.id == bees
    await bed.house.trash.forget(ADA, condition=MemoryFilter(tags=("red",)))
    assert set((await bed.states()).values()) == {"active"}
    assert bees not in {entry.id for entry in await retrieved(bed)}


@pytest.mark.parametrize(
    "more", [{}, {"since": 1}, {"categories": frozenset({"semantic"})}], ids=str
)
async def test_a_search_by_tags_finds_each_summary_that_a_listing_by_tags_shows(
    bed: Bed, more: dict[str, Any]
) -> None:
    await bed.tell(*TURNS[:5])
    (red,) = await bed.tell(TURNS[5], metadata=MemoryMetadata(tags=("red",)))
    bed.clock.advance(days=2)
    await bed.night.run(ADA, steps=frozenset({"consolidation"}))  # the red one stays beside
    await bed.night.compress(ADA, force=True)
    await bed.house.queue.drain()
    if "since" in more:
        more = {"since": bed.clock.now - timedelta(hours=1)}
    listed = {entry.id for entry in await retrieved(bed, tags=("red",), **more)}
    assert listed
    assert red not in listed
    entries = await retrieved(bed, text="nobody has seen the cat", tags=("red",), **more)
    assert {entry.id for entry in entries} == listed


async def test_what_was_turned_away_is_not_found_by_default(bed: Bed) -> None:
    (away,) = await bed.tell("hm, so it is", session_id=None)
    await move_to_archive(bed, ADA, away, ArchiveReason.LOW_IMPORTANCE)
    await slept(bed)
    assert await recalled(bed, "hm so") == []
    entries = await retrieved(bed, text="hm, so it is")
    assert away not in {entry.id for entry in entries}
    (shown,) = await recalled(bed, "hm so", include_compressed=True)
    assert shown.id == away


async def test_what_the_cap_put_away_is_not_found_by_default(tmp_path: Path) -> None:
    async with a_bed(tmp_path, settings=settled(max_memories_per_agent=1)) as bed:
        await bed.tell(*TURNS[:3], session_id=None)
        await bed.night.run(ADA, steps=frozenset({"cap"}))
        assert await recalled(bed, "who keeps bees") == []
        assert len(await recalled(bed, "rent")) == 1


async def test_a_summary_stands_for_what_is_hidden_behind_it_and_not_for_what_stood_beside_it(
    bed: Bed,
) -> None:
    ids = await slept(bed)
    await move_to_archive(bed, ADA, ids[-1], ArchiveReason.CAP)

    def searched(conn: Reading) -> set[str]:
        reach = bind_search(bind(1, MemoryFilter(), bed.clock.now_us()), hidden=False)
        rows = memories.by_keys(conn, memories.find_keys(conn, reach, 100))
        return {row.memory_id for row in rows.values()}

    assert await bed.house.db.read(searched) == set(ids[:-1])
    await bed.house.trash.delete(ADA, ids[0])
    states = await bed.states()
    assert [states[turn] for turn in TURNS] == ["trashed", *["active"] * 4, "archived"]


async def test_a_summary_is_no_more_trusted_than_the_least_trusted_of_its_sources(bed: Bed) -> None:
    for turn in TURNS:
        origin = Origin.WEB if turn == TURNS[2] else Origin.PERSON
        request = IngestRequest(text=turn, session_id="s", origin=origin, category="episodic")
        await bed.house.ingest.ingest(ADA, request)
    bed.clock.advance(days=2)
    await bed.night.run(ADA)
    ((trust, origin, category),) = await bed.rows(
        "SELECT trust, origin, category FROM memory WHERE is_summary"
    )
    least = await bed.rows("SELECT min(trust) FROM memory WHERE NOT is_summary")
    assert (trust, origin, category) == (least[0][0], "web", "episodic")
    assert Trust(trust) < Trust.OWNER


async def test_an_agent_is_not_shown_anothers_summary(bed: Bed) -> None:
    await bed.tell("the old mill burnt down", caller=BOB)
    await slept(bed)
    memories = await recalled(bed, "who keeps bees behind the old mill", BOB)
    assert [memory.content for memory in memories] == ["the old mill burnt down"]
    assert len(await retrieved(bed, BOB, text="bees")) == 1


async def every_filter_finds_its_rows(bed: Bed, chance: random.Random) -> None:
    rows = await bed.rows("SELECT content FROM memory ORDER BY memory_key")
    for _ in range(12):
        words = " ".join(chance.choice(rows)[0].split()[:6]) if rows else "word"
        now = bed.clock.now
        conditions: dict[str, Any] = {
            "namespaces": chance.choice([None, None, frozenset({"work"})]),
            "categories": chance.choice(
                [None, None, frozenset(chance.sample(list(MemoryCategory), 2))]
            ),
            "tags": chance.choice([(), (), ("consolidated",), ("compressed",), ("red",)]),
            "session_id": chance.choice([None, None, "s0", "s1"]),
            "since": chance.choice([None, None, now - timedelta(days=chance.choice([1, 20, 200]))]),
        }
        caller = Caller(agent_id=chance.choice(["ada", "bob"]), method="test")
        may = {entry.id for entry in await retrieved(bed, caller, limit=1000, **conditions)}
        ids = [
            entry.id for entry in await retrieved(bed, caller, text=words, limit=1000, **conditions)
        ]
        assert len(ids) == len(set(ids))
        assert set(ids) == may
        answer = await recalled(bed, words, caller, top_k=50, **conditions)
        mine = [memory.id for memory in answer if not memory.preference]  # told whatever is asked
        assert len(mine) == len(set(mine))
        assert set(mine) <= may


@drawn(gate=2, long=6)
@given(st.integers(0, 2**32))
@example(9007)  # a tagged memory that stood beside one summary and then behind another
@example(108)
def test_after_nights_a_search_still_finds_exactly_the_visible_rows_of_its_filter(
    seed: int,
) -> None:
    async def run(folder: Path) -> None:
        chance = random.Random(seed)
        async with a_bed(folder, settings=some_settings(chance)) as bed:
            for _ in range(2):
                await fill(bed, chance)
                bed.clock.advance(hours=30)
                await bed.night.run(ADA)
                await bed.house.queue.drain()
            await every_filter_finds_its_rows(bed, chance)

    with tempfile.TemporaryDirectory() as made:
        asyncio.run(run(Path(made)))


async def test_of_two_summaries_the_one_is_shown_that_holds_the_words(bed: Bed) -> None:
    """What a night left visible beside its summary stands, once compressed, behind another."""
    await slept(bed)
    ((kept,),) = await bed.rows(
        "SELECT content FROM memory WHERE state = 'active' AND NOT is_summary"
    )
    bed.clock.advance(hours=7)
    await bed.night.compress(ADA, force=True)
    assert len(await bed.summaries()) == 2
    (memory,) = await recalled(bed, kept, top_k=1)
    assert kept in memory.content
