"""X17, X18, X19: the backend protocol as the documents use it, on the backend without a file."""

from __future__ import annotations

import pytest
from support.clocks import HeldClock

from memd.api import (
    CompanyMemoryConfig,
    MemoryBackend,
    MemoryCategory,
    MemoryConnectionError,
    MemoryMetadata,
    MemoryQuery,
    MemoryStoreError,
    MemoryStoreRequest,
    SharedKnowledgeStore,
    create_memory_backend,
)

SENTENCES = {
    MemoryCategory.WORKING: "I'm implementing the auth endpoint",
    MemoryCategory.EPISODIC: "Last sprint the team chose JWT over sessions",
    MemoryCategory.SEMANTIC: "This project uses Litestar with aiosqlite",
    MemoryCategory.PROCEDURAL: "Code reviews require 2 approvals here",
    MemoryCategory.SOCIAL: "The QA lead prefers detailed test plans",
}


def _request(category: MemoryCategory, *tags: str) -> MemoryStoreRequest:
    return MemoryStoreRequest(
        category=category, content=SENTENCES[category], metadata=MemoryMetadata(tags=tags)
    )


@pytest.fixture
def clock() -> HeldClock:
    return HeldClock()


@pytest.fixture
async def backend(clock: HeldClock) -> MemoryBackend:
    backend = create_memory_backend(CompanyMemoryConfig(backend="inmemory"), clock=clock)
    await backend.connect()
    return backend


async def test_x17_the_life_of_a_backend_and_of_a_memory() -> None:
    backend = create_memory_backend(CompanyMemoryConfig(backend="inmemory"))
    request = _request(MemoryCategory.SOCIAL)
    assert isinstance(backend, MemoryBackend)
    with pytest.raises(MemoryConnectionError):
        await backend.store("qa", request)

    await backend.connect()
    memory_id = await backend.store("qa", request)

    (found,) = await backend.retrieve("qa", MemoryQuery(text="test plans"))
    assert found == await backend.get("qa", memory_id)
    assert await backend.count("qa", category=MemoryCategory.SOCIAL) == 1
    assert await backend.count("qa", category=MemoryCategory.WORKING) == 0
    assert await backend.delete("qa", memory_id)
    assert not await backend.delete("qa", memory_id)
    assert await backend.get("qa", "unknown") is None


async def test_x18_a_category_finds_its_own_sentence_only(backend: MemoryBackend) -> None:
    for category in SENTENCES:
        await backend.store("dev", _request(category))

    found = await backend.retrieve(
        "dev", MemoryQuery(categories=frozenset({MemoryCategory.SOCIAL}))
    )

    assert [entry.content for entry in found] == [SENTENCES[MemoryCategory.SOCIAL]]


async def test_x18_since_includes_and_until_excludes(
    backend: MemoryBackend, clock: HeldClock
) -> None:
    start = clock.now
    await backend.store("dev", _request(MemoryCategory.EPISODIC))
    later = clock.advance(hours=1)

    assert len(await backend.retrieve("dev", MemoryQuery(since=start))) == 1
    assert await backend.retrieve("dev", MemoryQuery(since=later)) == ()
    assert await backend.retrieve("dev", MemoryQuery(until=start)) == ()
    assert len(await backend.retrieve("dev", MemoryQuery(until=later))) == 1


async def test_x18_all_tags_must_be_there(backend: MemoryBackend) -> None:
    await backend.store("dev", _request(MemoryCategory.EPISODIC, "auth", "adr"))
    await backend.store("dev", _request(MemoryCategory.SEMANTIC, "auth"))

    assert len(await backend.retrieve("dev", MemoryQuery(tags=("auth",)))) == 2
    assert len(await backend.retrieve("dev", MemoryQuery(tags=("auth", "adr")))) == 1


async def test_x19_what_one_publishes_only_one_retracts(backend: MemoryBackend) -> None:
    assert isinstance(backend, SharedKnowledgeStore)
    shared = await backend.publish("A", _request(MemoryCategory.SEMANTIC))

    assert await backend.search_shared(MemoryQuery(), exclude_agent="A") == ()
    assert len(await backend.search_shared(MemoryQuery(text="litestar"), exclude_agent="B")) == 1
    with pytest.raises(MemoryStoreError):
        await backend.retract("B", shared)
    assert await backend.retract("A", shared)
    assert not await backend.retract("A", shared)
