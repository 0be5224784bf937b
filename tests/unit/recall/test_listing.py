"""SPEC 7.5-7.8 in process: one memory, pages, preferences, and who sees what."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.clocks import HeldClock
from support.words_embedder import WordsEmbedder, a_house

from memd.backends.rooms import Rooms
from memd.base.errors import InvalidError, MemoryRetrievalError
from memd.base.limits import QUERY_CHARS_MAX
from memd.domain.caller import Caller
from memd.domain.enums import MemoryCategory, MemoryLevel, SearchMode
from memd.domain.ingest import IngestRequest
from memd.domain.memory import MemoryFilter, MemoryQuery, MemoryStoreRequest
from memd.domain.recall import RecallRequest
from memd.domain.settings.settings import MemoryConfig
from memd.domain.values import RESERVED_AGENT

ADA = Caller(agent_id="ada")


@pytest.fixture
def embedder() -> WordsEmbedder:
    return WordsEmbedder()


@pytest.fixture
async def house(tmp_path: Path, clock: HeldClock, embedder: WordsEmbedder) -> AsyncIterator[Rooms]:
    async with a_house(tmp_path, clock=clock, embedder=embedder) as house:
        yield house


async def store(house: Rooms, content: str, caller: Caller = ADA, **more: Any) -> str:
    request = MemoryStoreRequest(
        **({"category": MemoryCategory.SEMANTIC, "content": content} | more)
    )
    return await house.ingest.store(caller, request)


async def pages(house: Rooms, limit: int, **conditions: Any) -> list[list[str]]:
    contents: list[list[str]] = []
    after: str | None = None
    while True:
        items, after = await house.recall.list(ADA, MemoryFilter(**conditions), after, limit)
        contents.append([entry.content for entry in items])
        if after is None:
            return contents


async def test_pages_are_newest_first_and_miss_and_repeat_nothing(
    house: Rooms, clock: HeldClock
) -> None:
    for number in range(7):
        await store(house, f"fact {number}")
        if number % 3 == 2:  # some share a moment
            clock.advance(seconds=1)

    listed = await pages(house, 2)

    assert [len(page) for page in listed] == [2, 2, 2, 1]
    flat = [content for page in listed for content in page]
    assert sorted(flat) == [f"fact {number}" for number in range(7)]
    assert flat[0] == "fact 6"
    assert flat == [content for page in await pages(house, 100) for content in page]


async def test_what_arrives_between_two_pages_moves_nothing(house: Rooms, clock: HeldClock) -> None:
    for number in range(4):
        clock.advance(seconds=1)
        await store(house, f"fact {number}")
    first, after = await house.recall.list(ADA, MemoryFilter(), None, 2)
    clock.advance(seconds=1)
    await store(house, "late")

    second, end = await house.recall.list(ADA, MemoryFilter(), after, 2)

    assert [entry.content for entry in (*first, *second)] == [f"fact {n}" for n in (3, 2, 1, 0)]
    assert end is None


@pytest.mark.parametrize(
    "after", ["", "x", "/", "5/", "--5/m", "+5/m", "5", "٣/m", "9" * 19 + "/m", "1/2/3", " 1/m"]
)
async def test_what_is_no_place_in_a_list_is_refused(house: Rooms, after: str) -> None:
    await store(house, "fact")

    with pytest.raises(InvalidError) as caught:
        await house.recall.list(ADA, MemoryFilter(), after, 2)

    assert caught.value.field == "after"


async def test_an_expired_memory_is_invisible_everywhere(house: Rooms, clock: HeldClock) -> None:
    later = clock.now + timedelta(hours=1)
    memory_id = await store(house, "the milk is fresh", expires_at=later)
    await store(house, "the bread is fresh")
    assert len(await house.recall.retrieve(ADA, MemoryQuery(text="fresh"))) == 2

    clock.advance(hours=1)

    assert await house.recall.get(ADA, memory_id) is None
    assert await house.recall.count(ADA, None) == 1
    assert await pages(house, 10) == [["the bread is fresh"]]
    for text in (None, "milk fresh"):
        entries = await house.recall.retrieve(ADA, MemoryQuery(text=text, include_compressed=True))
        assert [entry.content for entry in entries] == ["the bread is fresh"]
    for mode in SearchMode:
        answer = await house.recall.recall(
            ADA, RecallRequest(query="milk", search_mode=mode, include_compressed=True)
        )
        assert "the milk is fresh" not in [memory.content for memory in answer.memories]


async def test_the_reserved_agent_reads_nothing(house: Rooms) -> None:
    shared = Caller(agent_id=RESERVED_AGENT)

    with pytest.raises(MemoryRetrievalError):
        await house.recall.retrieve(shared, MemoryQuery())
    with pytest.raises(MemoryRetrievalError):
        await house.recall.recall(shared, RecallRequest(query="x"))
    with pytest.raises(MemoryRetrievalError):
        await house.recall.count(shared, None)


async def test_project_memories_are_seen_in_their_project_only(house: Rooms) -> None:
    await store(house, "the port is 8080", project_id="p1", level=MemoryLevel.PROJECT)
    await store(house, "the port is 9090", project_id="p1")

    def seen_from(project: str | None) -> Caller:
        return Caller(agent_id="ada", project_id=project)

    for project, number in (("p1", 2), ("p2", 1), (None, 2)):
        caller = seen_from(project)
        assert await house.recall.count(caller, None) == number
        assert len(await house.recall.retrieve(caller, MemoryQuery(text="port"))) == number
        answer = await house.recall.recall(
            caller, RecallRequest(query="port", search_mode=SearchMode.WORDS)
        )
        assert len(answer.memories) == number


async def test_a_question_of_any_length_is_cut_before_it_is_understood(
    house: Rooms, embedder: WordsEmbedder
) -> None:
    await store(house, "the lamp is red")
    query = "lamp " + "x" * QUERY_CHARS_MAX * 20

    answer = await house.recall.recall(
        ADA, RecallRequest(query=query, search_mode=SearchMode.DENSE)
    )

    assert [memory.content for memory in answer.memories] == ["the lamp is red"]
    assert max(map(len, embedder.asked)) <= QUERY_CHARS_MAX


LOG = "INFO the worker took the next job from the queue"


@pytest.mark.parametrize("between", ["\n\n", "\n", ". "])
async def test_what_is_asked_at_the_end_of_a_long_prompt_is_found(
    house: Rooms, embedder: WordsEmbedder, between: str
) -> None:
    await store(house, "the lamp is red")
    query = between.join([*[LOG] * 200, "which colour has the lamp?"])

    for mode in (SearchMode.HYBRID, SearchMode.WORDS):
        answer = await house.recall.recall(ADA, RecallRequest(query=query, search_mode=mode))
        assert [memory.content for memory in answer.memories] == ["the lamp is red"]
    assert "lamp" in embedder.asked[-1]


async def test_dense_asks_no_words_and_words_asks_no_model(
    house: Rooms, embedder: WordsEmbedder
) -> None:
    await store(house, "the lamp is red")
    asked = len(embedder.asked)

    words = await house.recall.recall(
        ADA, RecallRequest(query="lamp", search_mode=SearchMode.WORDS)
    )
    assert len(words.memories) == 1
    assert len(embedder.asked) == asked

    embedder.installed = False
    dense = await house.recall.recall(
        ADA, RecallRequest(query="lamp", search_mode=SearchMode.DENSE)
    )
    assert dense.memories == ()
    assert dense.degraded


async def test_a_model_that_fails_leaves_the_words(house: Rooms, embedder: WordsEmbedder) -> None:
    await store(house, "the lamp is red")
    embedder.fails = True

    entries = await house.recall.retrieve(ADA, MemoryQuery(text="lamp"))
    answer = await house.recall.recall(ADA, RecallRequest(query="lamp"))

    assert [entry.content for entry in entries] == ["the lamp is red"]
    assert answer.degraded is not None
    assert "embedding" in answer.degraded


async def test_what_waits_for_its_vector_is_found_by_words(
    house: Rooms, embedder: WordsEmbedder
) -> None:
    embedder.installed = False
    await store(house, "the lamp is red")

    answer = await house.recall.recall(
        ADA, RecallRequest(query="lamp", search_mode=SearchMode.WORDS)
    )

    assert [memory.content for memory in answer.memories] == ["the lamp is red"]


async def test_a_search_reaches_every_row_of_the_filter(house: Rooms) -> None:
    for number in range(30):
        await store(house, f"unrelated {number}")

    entries = await house.recall.retrieve(ADA, MemoryQuery(text="zebra", limit=25))

    assert len(entries) == 25
    assert len({entry.id for entry in entries}) == 25


async def test_an_agent_of_level_none_is_told_nothing(house: Rooms) -> None:
    await store(house, "the lamp is red")
    await house.preferences.set(ADA, "tone", "brief")
    await house.agents.set(ADA, MemoryConfig(type=MemoryLevel.NONE))

    for mode in SearchMode:
        request = RecallRequest(query="lamp", search_mode=mode)
        assert (await house.recall.recall(ADA, request)).memories == ()
    for text in (None, "lamp"):
        assert await house.recall.retrieve(ADA, MemoryQuery(text=text)) == ()
    # What is there can still be looked through, and deleted.
    assert await pages(house, 10) == [["the lamp is red"]]

    await house.agents.set(ADA, MemoryConfig(type=MemoryLevel.PERSISTENT))
    assert len(await house.recall.retrieve(ADA, MemoryQuery(text="lamp"))) == 1


async def test_a_preference_of_a_project_stays_in_its_project(house: Rooms) -> None:
    request = IngestRequest(
        text="I prefer tabs over spaces.", project_id="p1", level=MemoryLevel.PROJECT
    )
    await house.ingest.ingest(ADA, request)
    await house.preferences.set(ADA, "tone", "brief")

    async def told_in(project: str) -> list[str]:
        caller = Caller(agent_id="ada", project_id=project)
        answer = await house.recall.recall(
            caller, RecallRequest(query="x", namespaces=frozenset({"other"}))
        )
        return sorted(memory.content for memory in answer.memories)

    assert await told_in("p1") == ["I prefer tabs over spaces.", "brief"]
    assert await told_in("p2") == ["brief"]
