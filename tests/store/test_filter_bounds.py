"""A filter's bounds, to the microsecond and last digit, include or exclude what lies on them."""

from __future__ import annotations

from datetime import datetime, timedelta

from support.entries import NOW
from support.store import ADA, stored

from memd.backends.rooms import Rooms
from memd.domain.ingest import IngestManyRequest, IngestRequest
from memd.domain.memory import MemoryQuery
from memd.domain.recall import RecallRequest

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
    (told,) = await stored(house, "Ann keeps bees.")
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
    assert told


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
