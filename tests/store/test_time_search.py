"""Times in a search: memories of the time it asks for, and bounds to the microsecond."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from support.entries import NOW
from support.store import ADA, stored

from memd.backends.rooms import Rooms
from memd.base.clock import to_us
from memd.domain.caller import Caller
from memd.domain.ingest import IngestManyRequest, IngestRequest
from memd.domain.memory import MemoryFilter, MemoryQuery
from memd.domain.recall import RecallRequest
from memd.recall.ranking.rankings import IN_TIME_ENTRIES
from memd.recall.scope import LISTED_ROWS_MAX, RecallFilter, caller_scopes
from memd.store.file.connect import Reading
from memd.store.memory import memories


def saying(number: int, text: str) -> IngestRequest:
    return IngestRequest(text=text, occurred_at=NOW - timedelta(days=number))


async def test_a_memory_of_yesterday_is_found_among_many_that_say_the_same(house: Rooms) -> None:
    items = [saying(1, "A pumpkin curry was the dinner dish that we cooked.")]
    items += [saying(10 + n, f"dinner cooked dish {n}") for n in range(300)]
    for start in range(0, len(items), 100):
        batch = IngestManyRequest(items=tuple(items[start : start + 100]))
        await house.ingest.ingest_many(ADA, batch)
    await house.queue.drain()

    async def best(question: str) -> list[str]:
        answer = await house.recall.recall(ADA, RecallRequest(query=question, top_k=100))
        return [memory.content for memory in answer.memories]

    assert items[0].text not in await best("Which dinner dish was cooked?")
    assert (await best("Which dinner dish was cooked yesterday?"))[0] == items[0].text


async def test_what_happened_is_found_by_when_it_did_or_else_by_when_it_was_told(
    house: Rooms,
) -> None:
    items = (saying(30, "Ann sold a boat."), IngestRequest(text="Bob bought a boat."))
    await house.ingest.ingest_many(ADA, IngestManyRequest(items=items))
    await house.queue.drain()

    async def happened(days: int) -> int:
        low = to_us(NOW - timedelta(days=days))

        def keys(conn: Reading) -> list[int]:
            where = RecallFilter(MemoryFilter(), to_us(NOW))
            (scope,) = caller_scopes(conn, Caller(agent_id=ADA.agent_id), where, also_shared=False)
            return memories.find_in_period(conn, scope.search_filter, low, low + 1, LISTED_ROWS_MAX)

        return len(await house.db.read(keys))

    assert [await happened(days) for days in (30, 0, 1)] == [1, 1, 0]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What happened yesterday?", ["The roofers came."]),
        ("what's new since last week", ["The roofers came."]),
        ("Was ist gestern passiert?", ["The roofers came."]),
        ("Qu'est-ce qu'on a fait hier ?", ["The roofers came."]),
        ("What did we discuss two weeks ago?", ["Ann wants a boat.", "Bob sold his car."]),
    ],
)
async def test_a_question_that_names_nothing_but_a_time_is_answered_with_what_lies_in_it(
    house: Rooms, question: str, expected: list[str]
) -> None:
    items = [saying(1, "The roofers came."), saying(60, "The cellar was dry.")]
    items += [saying(14, "Bob sold his car."), saying(14, "Ann wants a boat.")]
    await house.ingest.ingest_many(ADA, IngestManyRequest(items=tuple(items)))
    await house.queue.drain()

    answer = await house.recall.recall(ADA, RecallRequest(query=question))

    assert sorted(memory.content for memory in answer.memories) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is planned this week?", ["boiler", "Lisbon"]),
        ("what's coming up this week", ["boiler", "Lisbon"]),
        ("Was ist diese Woche geplant?", ["boiler", "Lisbon"]),
        ("Anything on tomorrow?", ["boiler"]),
        ("What do I have next week?", ["choir"]),
    ],
)
async def test_what_is_planned_is_what_names_that_time_whenever_it_was_said(
    house: Rooms, question: str, expected: list[str]
) -> None:
    """Among many that do not, and the soonest first. NOW is a Tuesday."""
    tomorrow, later = (NOW + timedelta(days=days) for days in (1, 3))
    items = [saying(40, f"On {tomorrow:%Y-%m-%d} the boiler is serviced.")]
    items += [saying(2, f"We fly to Lisbon next {later:%A}.")]
    items += [saying(20, f"The choir sings on {NOW + timedelta(days=9):%d %B}.")]
    items += [saying(0, "I mended the fence today."), saying(1, "The fence broke yesterday.")]
    items += [saying(n % 50, f"This number {n} is on the list of what I have.") for n in range(200)]
    for start in range(0, len(items), 100):
        batch = IngestManyRequest(items=tuple(items[start : start + 100]))
        await house.ingest.ingest_many(ADA, batch)
    await house.queue.drain()
    answer = await house.recall.recall(ADA, RecallRequest(query=question))
    contents = [memory.content for memory in answer.memories]
    assert all(word in text for word, text in zip(expected, contents, strict=False)), contents
    assert len(contents) >= len(expected)
    assert not any("fence" in text for text in contents)


async def test_of_very_much_in_a_time_a_few_are_told(house: Rooms) -> None:
    items = tuple(saying(1, f"Parcel {n} was sent.") for n in range(40))
    await house.ingest.ingest_many(ADA, IngestManyRequest(items=items))
    await house.queue.drain()

    answer = await house.recall.recall(ADA, RecallRequest(query="What happened yesterday?"))

    assert len(answer.memories) == IN_TIME_ENTRIES


async def test_what_happened_is_told_of_the_project_that_asks_and_of_each_session(
    house: Rooms,
) -> None:
    async def store(project: str, session: str, *texts: str) -> None:
        fields = {"session_id": session, "project_id": project}
        items = [saying(1, text).model_copy(update=fields) for text in texts]
        await house.ingest.ingest_many(ADA, IngestManyRequest(items=tuple(items)))

    await store("boats", "b", "Bob sold a boat.")
    await store("hives", "short", "The queen was marked.")
    await store("hives", "long", *(f"Frame {number} was moved." for number in range(20)))
    await house.queue.drain()

    async def happened(project: str) -> list[str]:
        request = RecallRequest(query="What happened yesterday?", project_id=project)
        return [memory.content for memory in (await house.recall.recall(ADA, request)).memories]

    assert await happened("boats") == ["Bob sold a boat."]
    answers = await happened("hives")
    assert "The queen was marked." in answers[:2]
    assert len(answers) == IN_TIME_ENTRIES
    assert "Bob sold a boat." not in answers
    assert len(await happened("a new one")) == IN_TIME_ENTRIES


BAKED = "The bakery order was croissants."
LATER = "The bakery order was pretzels."
RELEASED = "We released version three."


@pytest.mark.parametrize(
    ("question", "expected", "best"),
    [
        ("What was the bakery order before the release?", [RELEASED], BAKED),
        ("What was the bakery order after the release?", [RELEASED], LATER),
        ("What was the bakery order since the release?", [RELEASED], LATER),
        ("What was the bakery order before the harvest?", [RELEASED], LATER),  # nobody told of it
        ("What should the bakery order be before the release?", [RELEASED], LATER),
        ("What was the bakery order before the release?", ["Frozen until the release."], LATER),
    ],
)
async def test_an_event_that_one_memory_tells_of_dates_a_question(
    house: Rooms, question: str, expected: list[str], best: str
) -> None:
    items = (saying(60, BAKED), saying(20, LATER), *(saying(40, text) for text in expected))
    await house.ingest.ingest_many(ADA, IngestManyRequest(items=items))
    await house.queue.drain()

    answer = await house.recall.recall(ADA, RecallRequest(query=question, top_k=3))

    orders = [memory.content for memory in answer.memories if memory.content in {BAKED, LATER}]
    assert orders[0] == best


async def test_of_two_events_of_one_name_none_dates_a_question(house: Rooms) -> None:
    again = saying(10, "Today we released version four.")
    items = (saying(60, BAKED), saying(20, LATER), saying(40, RELEASED), again)
    await house.ingest.ingest_many(ADA, IngestManyRequest(items=items))
    await house.queue.drain()

    asked = RecallRequest(query="What was the bakery order before the release?", top_k=4)
    answer = await house.recall.recall(ADA, asked)

    orders = [memory.content for memory in answer.memories if memory.content in {BAKED, LATER}]
    assert orders[0] == LATER


TICK = timedelta(microseconds=1)


async def test_since_is_in_and_until_is_not(house: Rooms) -> None:
    (one,) = await stored(house, "Ann keeps bees.")

    async def ids(since: datetime | None = None, until: datetime | None = None) -> list[str]:
        listed, by_words = [
            [
                entry.id
                for entry in await house.recall.retrieve(
                    ADA, MemoryQuery(text=text, since=since, until=until)
                )
            ]
            for text in (None, "bees")
        ]
        assert listed == by_words
        return listed

    assert await ids(since=NOW) == [one]
    assert await ids(since=NOW + TICK) == []
    assert await ids(until=NOW) == []
    assert await ids(until=NOW + TICK) == [one]


async def test_a_time_of_the_event_is_when_it_happened_or_else_when_it_was_told(
    house: Rooms,
) -> None:
    (memory_id,) = await stored(house, "Ann keeps bees.")
    then = NOW - timedelta(days=400)
    item = IngestRequest(text="Ann sold her bees to Bob.", occurred_at=then)
    await house.ingest.ingest_many(ADA, IngestManyRequest(items=(item,)))
    await house.queue.drain()

    async def texts(**limits: datetime) -> list[str]:
        query = MemoryQuery(text="bees", **limits)
        return [entry.content for entry in await house.recall.retrieve(ADA, query)]

    assert await texts(occurred_since=then, occurred_until=then + TICK) == [item.text]
    assert await texts(occurred_since=then + TICK) == ["Ann keeps bees."]
    assert await texts(occurred_until=then) == []
    assert len(await texts(since=then + TICK)) == 2
    assert memory_id


async def test_what_is_exactly_as_relevant_as_demanded_is_kept(house: Rooms) -> None:
    await stored(house, "Ann keeps bees.", "Bob sails to Skagen.")
    request = RecallRequest(query="Who keeps bees?")
    (best, *_) = (await house.recall.recall(ADA, request)).memories
    least = best.relevance_score
    assert least is not None
    exact = request.model_copy(update={"min_relevance": least})
    assert [m.id for m in (await house.recall.recall(ADA, exact)).memories] == [best.id]
    query = MemoryQuery(text=request.query, min_relevance=least)
    assert [entry.id for entry in await house.recall.retrieve(ADA, query)] == [best.id]


async def test_a_list_begins_with_what_was_said_last_whenever_it_was_stored(house: Rooms) -> None:
    texts = ["Ann sold a boat.", "Bob bought a sail.", "Cid lost an oar."]
    await house.ingest.ingest(ADA, saying(1, texts[0]))
    await house.ingest.ingest(ADA, IngestRequest(text=texts[2]))
    await house.ingest.ingest(ADA, saying(9, texts[1]))

    async def pages(limit: int) -> list[str]:
        items, after = await house.recall.list(ADA, MemoryFilter(), None, limit)
        contents = [item.content for item in items]
        while after:
            items, after = await house.recall.list(ADA, MemoryFilter(), after, limit)
            contents += [item.content for item in items]
        return contents

    assert await pages(1) == await pages(2) == await pages(9) == [texts[2], texts[0], texts[1]]
    exported, _ = await house.recall.export(ADA, MemoryFilter(), None, 9)
    assert [item.content for item in exported] != await pages(9)
