"""SPEC 7.6-7.9 on the backend without a file, beside what ``examples`` show of every backend."""

from __future__ import annotations

from datetime import timedelta

import pytest
from support.clocks import HeldClock
from support.entries import NOW, a_request

from memd.backends.inmemory import InMemoryBackend
from memd.base.errors import MemoryStoreError
from memd.domain.backend import MemoryBackend, MemoryCapabilities, SharedKnowledgeStore
from memd.domain.enums import MemoryCategory, MemoryLevel
from memd.domain.memory import MemoryMetadata, MemoryQuery
from memd.domain.settings.settings import CompanyMemoryConfig, MemoryOptionsConfig

ANYTHING = MemoryQuery()


@pytest.fixture
async def backend(clock: HeldClock) -> InMemoryBackend:
    backend = InMemoryBackend(clock=clock)
    await backend.connect()
    return backend


def _limited(most: int) -> CompanyMemoryConfig:
    options = MemoryOptionsConfig(max_memories_per_agent=most)
    return CompanyMemoryConfig(backend="inmemory", options=options)


def test_it_satisfies_all_three_protocols() -> None:
    backend = InMemoryBackend()

    assert isinstance(backend, MemoryBackend)
    assert isinstance(backend, MemoryCapabilities)
    assert isinstance(backend, SharedKnowledgeStore)
    assert backend.backend_name == "inmemory"


def test_it_says_what_it_can() -> None:
    backend = InMemoryBackend(_limited(7))

    assert backend.supported_categories == frozenset(MemoryCategory)
    assert not backend.supports_vector_search
    assert not backend.supports_graph
    assert not backend.supports_temporal
    assert backend.supports_shared_access
    assert backend.max_memories_per_agent == 7


async def test_what_is_stored_is_found_by_any_part_of_it_in_any_case(
    backend: InMemoryBackend,
) -> None:
    kept = await backend.store("ada", a_request("The team chose JWT"))
    await backend.store("ada", a_request("The team uses Litestar"))

    (entry,) = await backend.retrieve("ada", MemoryQuery(text="hose jw"))

    assert entry.id == kept
    assert entry.relevance_score is None
    assert entry.agent_id == "ada"
    assert entry.created_at == NOW


async def test_memories_come_newest_first_and_no_more_than_the_limit(
    backend: InMemoryBackend, clock: HeldClock
) -> None:
    stored = []
    for _ in range(4):
        stored.append(await backend.store("ada", a_request()))
        clock.advance(seconds=1)

    entries = await backend.retrieve("ada", MemoryQuery(text="jwt", limit=3))

    assert [entry.id for entry in entries] == stored[:0:-1]


async def test_memories_of_one_moment_come_by_id(backend: InMemoryBackend) -> None:
    stored = [await backend.store("ada", a_request()) for _ in range(5)]

    assert [entry.id for entry in await backend.retrieve("ada", ANYTHING)] == sorted(stored)


async def test_a_minimum_relevance_does_not_exclude_what_has_no_score(
    backend: InMemoryBackend,
) -> None:
    await backend.store("ada", a_request())

    assert len(await backend.retrieve("ada", MemoryQuery(text="jwt", min_relevance=1.0))) == 1


async def test_every_condition_of_a_query_must_hold(
    backend: InMemoryBackend, clock: HeldClock
) -> None:
    early = await backend.store(
        "ada", a_request("early", metadata=MemoryMetadata(tags=("a", "b")), session_id="s1")
    )
    moment = clock.advance(hours=1)
    late = await backend.store(
        "ada", a_request("late", namespace="scratch", metadata=MemoryMetadata(tags=("a",)))
    )

    async def ids(query: MemoryQuery) -> set[str]:
        return {entry.id for entry in await backend.retrieve("ada", query)}

    assert await ids(MemoryQuery(since=moment)) == {late}
    assert await ids(MemoryQuery(until=moment)) == {early}
    assert await ids(MemoryQuery(tags=("a",))) == {early, late}
    assert await ids(MemoryQuery(tags=("a", "b"))) == {early}
    assert await ids(MemoryQuery(namespaces=frozenset({"scratch"}))) == {late}
    assert await ids(MemoryQuery(namespaces=frozenset())) == {early, late}
    assert await ids(MemoryQuery(categories=frozenset())) == {early, late}
    assert await ids(MemoryQuery(categories=frozenset({MemoryCategory.SOCIAL}))) == set()
    assert await ids(MemoryQuery(session_id="s1")) == {early}
    assert await ids(MemoryQuery(levels=frozenset({MemoryLevel.PROJECT}))) == set()


async def test_a_full_agent_is_refused_until_something_expires(clock: HeldClock) -> None:
    backend = InMemoryBackend(_limited(2), clock=clock)
    await backend.connect()
    await backend.store("ada", a_request())
    await backend.store("ada", a_request(expires_at=NOW + timedelta(hours=1)))
    await backend.store("bob", a_request())

    with pytest.raises(MemoryStoreError, match="already has 2 memories"):
        await backend.store("ada", a_request())
    clock.advance(hours=1)
    await backend.store("ada", a_request())

    assert await backend.count("ada") == 2


async def test_what_expires_at_once_is_refused(backend: InMemoryBackend) -> None:
    with pytest.raises(MemoryStoreError, match="expired already"):
        await backend.store("ada", a_request(expires_at=NOW))


async def test_working_memories_are_never_durable_and_level_none_keeps_nothing() -> None:
    backend = InMemoryBackend(CompanyMemoryConfig(backend="inmemory", level=MemoryLevel.PERSISTENT))
    await backend.connect()
    durable = await backend.store("ada", a_request())
    working = await backend.store("ada", a_request(category=MemoryCategory.WORKING))

    levels = {entry.id: entry.level for entry in await backend.retrieve("ada", ANYTHING)}

    assert levels == {durable: MemoryLevel.PERSISTENT, working: MemoryLevel.SESSION}
    with pytest.raises(MemoryStoreError, match="level none"):
        await backend.store("ada", a_request(level=MemoryLevel.NONE))
