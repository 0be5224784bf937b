"""The number of reads of one recall: each read is a transaction in another thread."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.store import ADA, tell
from support.words_embedder import a_house

from memd.backends.rooms import Rooms
from memd.domain.enums import SearchMode
from memd.domain.inject import PrepareRequest
from memd.domain.memory import MemoryQuery
from memd.domain.recall import RecallRequest
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.inject.own_memories import MemoryRooms, recall_for_prompt
from memd.recall import recall, scope

CACHE_GONE = "DELETE FROM meta WHERE key = 'vector_cache'"
TEXTS = ("The spare key hangs under the blue lantern.", "I prefer tea.", "Ulla keeps bees in Faro.")


@pytest.mark.parametrize(("how", "most"), [("recall", 3), ("retrieve", 4), ("count", 2)])
async def test_a_recall_takes_at_most_three_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, most: int
) -> None:
    async with a_house(tmp_path) as house:
        await tell(house, *TEXTS)
        while await house.queue.drain():
            pass
        await house.preferences.set(ADA, "editor", "Helix")
        read, reads = house.db.read, []

        async def counted(work: Any, *args: Any, **more: Any) -> Any:
            reads.append(work)
            return await read(work, *args, **more)

        monkeypatch.setattr(house.db, "read", counted)
        match how:
            case "recall":
                answer = await house.recall.recall(ADA, RecallRequest(query="where is the key?"))
                texts = [chunk.content for chunk in answer.memories]
                assert TEXTS[0] in texts
                assert any("Helix" in text for text in texts)
            case "retrieve":
                entries = await house.recall.retrieve(ADA, MemoryQuery(text="spare key", limit=1))
                assert entries[0].content == TEXTS[0]
            case _:
                assert await house.recall.count(ADA, None) == len(TEXTS)
    assert 1 <= len(reads) <= most, reads


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Rooms]:
    async with a_house(tmp_path) as house:
        await tell(house, *TEXTS)
        await tell(house, "We meet at the quay.", speaker="Ulla")
        while await house.queue.drain():
            pass
        yield house


@pytest.fixture
def steps(house: Rooms, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happens, in order: the reads by their functions, and the question's vector."""
    begun: list[str] = []
    read, embed = house.db.read, house.embedder.embed

    async def noted_read(work: Any, *args: Any, **more: Any) -> Any:
        name = getattr(work, "__name__", "another")
        begun.append(name)
        try:
            return await read(work, *args, **more)
        finally:
            begun.append(f"{name} over")

    async def noted_embed(texts: Sequence[str], **more: Any) -> list[bytes]:
        begun.append(f"embed {texts[0]}")
        return await embed(texts, **more)

    monkeypatch.setattr(house.db, "read", noted_read)
    monkeypatch.setattr(house.embedder, "embed", noted_embed)
    return begun


async def asked(house: Rooms, query: str) -> list[tuple[str, float | None]]:
    answer = await house.recall.recall(ADA, RecallRequest(query=query, top_k=4, min_relevance=0.0))
    return [(chunk.content, chunk.relevance_score) for chunk in answer.memories]


async def test_a_question_is_embedded_while_it_is_parsed(house: Rooms, steps: list[str]) -> None:
    await asked(house, "Where is the key?")
    steps.clear()
    await asked(house, "Where does the lantern hang?")
    assert steps.count("embed Where does the lantern hang?") == 1
    assert steps.index("embed Where does the lantern hang?") < steps.index("parse_search over")


async def test_a_question_that_names_who_spoke_is_embedded_without_the_name(
    house: Rooms, steps: list[str]
) -> None:
    """Also where the one before named nobody, and it was begun as it stands."""
    named, plain = "Where did Ulla meet us?", "Where is the key?"
    alone = await asked(house, named)
    await asked(house, plain)
    steps.clear()
    assert await asked(house, named) == alone
    embedded = [step for step in steps if step.startswith("embed")]
    assert embedded[-1] == "embed Where did meet us?"
    steps.clear()
    await asked(house, named)
    assert [step for step in steps if step.startswith("embed")] == [embedded[-1]]


async def test_a_store_without_vectors_has_no_question_embedded(
    tmp_path: Path, house: Rooms, steps: list[str]
) -> None:
    await asked(house, "Where is the key?")
    await house.db.write(ADA, lambda conn: conn.execute(CACHE_GONE).fetchall())
    for _ in range(2):
        steps.clear()
        await asked(house, "Where is the key?")
    assert not [step for step in steps if step.startswith("embed")]


async def test_a_prompt_reads_what_stands_beside_memories_while_the_retrievers_run(
    house: Rooms, steps: list[str]
) -> None:
    rooms = MemoryRooms(house.recall, house.ingest, house.trash)
    beside = []

    def free() -> None:
        beside.extend(steps)

    request = PrepareRequest(query="Where is the key?")
    answer = await recall_for_prompt(
        rooms, ADA, request, MemoryRetrievalConfig(), on_retrieving=free
    )
    assert answer.memories
    assert beside == ["parse_search", "parse_search over"]


async def test_a_filter_that_few_of_the_nearest_pass_finds_what_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt fetches too few, where a filter keeps too many to be listed."""
    monkeypatch.setattr(scope, "LISTED_ROWS_MAX", 0)
    monkeypatch.setattr(recall, "RETRIEVED_ROWS", 2)
    async with a_house(tmp_path) as house:
        await tell(house, *(f"Note {number} tells of the harbour." for number in range(16)))
        mine = [f"Page {number} tells of a lantern." for number in range(3)]
        await tell(house, *mine, namespace="pages")
        while await house.queue.drain():
            pass
        request = RecallRequest(
            query="Note 3 tells of the harbour.",
            search_mode=SearchMode.DENSE,
            namespaces=frozenset({"pages"}),
            min_relevance=0.0,
            top_k=3,
        )
        answer = await house.recall.recall(ADA, request)
    assert sorted(chunk.content for chunk in answer.memories) == mine
