"""X17, X18, X19: the backend protocol as the documents use it.

On the backend without a file, on SQLite, and through the socket of a running daemon.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from support.clocks import HeldClock
from support.daemon import running

from memd.api import (
    CompanyMemoryConfig,
    CompositeBackendConfig,
    MemoryBackend,
    MemoryCapabilities,
    MemoryCapabilityError,
    MemoryCategory,
    MemoryConnectionError,
    MemoryMetadata,
    MemoryOptionsConfig,
    MemoryQuery,
    MemoryRetrievalError,
    MemoryStoreError,
    MemoryStoreRequest,
    SharedKnowledgeStore,
    create_memory_backend,
)
from memd.base.clock import Clock
from memd.base.paths import Paths
from memd.client import AsyncClient
from memd.domain.settings.settings import Settings
from memd.domain.values import RESERVED_AGENT
from memd.serve.rooms import DaemonRooms
from memd.serve.rooms import rooms as _rooms

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


async def _held(
    held: HeldClock, settings: Settings, paths: Paths, clock: Clock, stack: AsyncExitStack
) -> DaemonRooms:
    del clock
    return await _rooms(settings, paths, held, stack)


@pytest.fixture(params=["inmemory", "sqlite", "socket"])
async def backend(
    request: pytest.FixtureRequest, tmp_path: Path, clock: HeldClock
) -> AsyncIterator[MemoryBackend]:
    """Return a backend that is connected, to a file or a daemon without a model."""
    async with AsyncExitStack() as stack:
        backend: MemoryBackend
        if request.param == "socket":
            build = partial(_held, clock)
            paths = await stack.enter_async_context(running(tmp_path, build=build))
            backend = AsyncClient(socket=paths.socket)
        else:
            config = CompanyMemoryConfig(backend=request.param)
            backend = create_memory_backend(config, clock=clock)
        await backend.connect()
        stack.push_async_callback(backend.disconnect)
        yield backend


@pytest.mark.parametrize("kind", ["inmemory", "sqlite"])
async def test_x17_nothing_works_before_connect(kind: str) -> None:
    backend = create_memory_backend(CompanyMemoryConfig(backend=kind))
    request = _request(MemoryCategory.SOCIAL)
    calls = (
        lambda: backend.store("qa", request),
        lambda: backend.retrieve("qa", MemoryQuery()),
        lambda: backend.get("qa", "m"),
        lambda: backend.delete("qa", "m"),
        lambda: backend.count("qa"),
    )

    assert isinstance(backend, MemoryBackend)
    assert not backend.is_connected
    assert not await backend.health_check()
    for call in calls:
        with pytest.raises(MemoryConnectionError):
            await call()
    await backend.disconnect()


async def test_x17_the_life_of_a_memory(backend: MemoryBackend) -> None:
    assert isinstance(backend, MemoryBackend)
    assert backend.is_connected
    assert await backend.health_check()

    memory_id = await backend.store("qa", _request(MemoryCategory.SOCIAL))

    (match,) = await backend.retrieve("qa", MemoryQuery(text="test plans"))
    entry = await backend.get("qa", memory_id)
    assert entry is not None
    assert match.model_copy(update={"relevance_score": None}) == entry
    assert entry.content == SENTENCES[MemoryCategory.SOCIAL]
    assert await backend.count("qa", category=MemoryCategory.SOCIAL) == 1
    assert await backend.count("qa", category=MemoryCategory.WORKING) == 0
    assert await backend.get("somebody else", memory_id) is None
    assert await backend.retrieve("somebody else", MemoryQuery()) == ()
    assert await backend.count("somebody else") == 0
    assert not await backend.delete("somebody else", memory_id)
    assert await backend.delete("qa", memory_id)
    assert not await backend.delete("qa", memory_id)
    assert await backend.get("qa", memory_id) is None
    assert await backend.get("qa", "unknown") is None
    assert await backend.count("qa") == 0


async def test_x17_what_expires_is_gone(backend: MemoryBackend, clock: HeldClock) -> None:
    later = clock.now + timedelta(hours=1)
    request = _request(MemoryCategory.EPISODIC).model_copy(update={"expires_at": later})
    memory_id = await backend.store("qa", request)
    clock.advance(minutes=59)
    assert await backend.count("qa") == 1

    clock.advance(minutes=1)

    assert await backend.get("qa", memory_id) is None
    assert not await backend.delete("qa", memory_id)
    assert await backend.retrieve("qa", MemoryQuery()) == ()
    assert await backend.retrieve("qa", MemoryQuery(text="JWT")) == ()
    assert await backend.count("qa") == 0
    clock.advance(seconds=1)
    with pytest.raises(MemoryStoreError, match="expire"):
        await backend.store("qa", request)


async def test_x18_a_category_finds_its_own_sentence_only(backend: MemoryBackend) -> None:
    for category in SENTENCES:
        await backend.store("dev", _request(category))

    entries = await backend.retrieve(
        "dev", MemoryQuery(categories=frozenset({MemoryCategory.SOCIAL}))
    )

    assert [entry.content for entry in entries] == [SENTENCES[MemoryCategory.SOCIAL]]


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
    (match,) = await backend.search_shared(MemoryQuery(text="litestar"), exclude_agent="B")
    assert (match.id, match.agent_id) == (shared, "A")
    with pytest.raises(MemoryStoreError):
        await backend.retract("B", shared)
    assert await backend.retract("A", shared)
    assert not await backend.retract("A", shared)
    assert await backend.search_shared(MemoryQuery()) == ()


async def test_x19_what_one_keeps_is_not_shared_and_a_copy_is_nobodys_own(
    backend: MemoryBackend,
) -> None:
    """SPEC 10.1.3, 10.1.5: the original stays where it is."""
    assert isinstance(backend, SharedKnowledgeStore)
    own = await backend.store("A", _request(MemoryCategory.SEMANTIC))
    shared = await backend.publish("A", _request(MemoryCategory.SEMANTIC))

    assert shared != own
    assert await backend.count("A") == 1
    assert await backend.get("A", shared) is None
    with pytest.raises(MemoryStoreError, match="not shared"):
        await backend.retract("A", own)
    with pytest.raises(MemoryStoreError, match="shared"):
        await backend.delete("A", shared)
    assert not await backend.retract("B", own), "no id tells whether another agent has it"
    assert await backend.get("A", own) is not None


async def test_x19_the_excluded_are_left_out_before_the_limit(backend: MemoryBackend) -> None:
    """SPEC 10.1.2: as many come back as were asked for."""
    assert isinstance(backend, SharedKnowledgeStore)
    theirs = await backend.publish("B", _request(MemoryCategory.SOCIAL))
    for _ in range(5):
        await backend.publish("A", _request(MemoryCategory.SOCIAL))

    for query in (MemoryQuery(limit=1), MemoryQuery(text="test plans", limit=1)):
        entries = await backend.search_shared(query, exclude_agent="A")
        assert [entry.id for entry in entries] == [theirs]


async def test_x19_shared_memories_are_filtered_as_ones_own(backend: MemoryBackend) -> None:
    """SPEC 10.1.2."""
    assert isinstance(backend, SharedKnowledgeStore)
    await backend.publish("A", _request(MemoryCategory.SEMANTIC, "adr"))
    await backend.publish("A", _request(MemoryCategory.SOCIAL))

    semantic = MemoryQuery(categories=frozenset({MemoryCategory.SEMANTIC}))
    assert len(await backend.search_shared(semantic)) == 1
    assert len(await backend.search_shared(MemoryQuery(tags=("adr",)))) == 1
    assert await backend.search_shared(MemoryQuery(namespaces=frozenset({"elsewhere"}))) == ()


@pytest.mark.parametrize("nobody", [RESERVED_AGENT, " "])
async def test_x19_the_reserved_agent_is_nobody(backend: MemoryBackend, nobody: str) -> None:
    """SPEC 10.1.2, 10.1.4."""
    assert isinstance(backend, SharedKnowledgeStore)
    with pytest.raises(MemoryRetrievalError):
        await backend.search_shared(MemoryQuery(), exclude_agent=nobody)
    with pytest.raises(MemoryStoreError):
        await backend.publish(nobody, _request(MemoryCategory.SOCIAL))
    with pytest.raises(MemoryStoreError):
        await backend.retract(nobody, "m")


@pytest.mark.parametrize("kind", ["inmemory", "sqlite"])
async def test_x19_nothing_is_shared_where_it_is_switched_off(kind: str) -> None:
    """SPEC 10.1.5."""
    config = CompanyMemoryConfig(
        backend=kind, options=MemoryOptionsConfig(shared_knowledge_base=False)
    )
    backend = create_memory_backend(config)
    assert isinstance(backend, SharedKnowledgeStore)
    assert isinstance(backend, MemoryCapabilities)
    await backend.connect()
    try:
        assert not backend.supports_shared_access
        with pytest.raises(MemoryCapabilityError, match="switched off"):
            await backend.publish("A", _request(MemoryCategory.SEMANTIC))
        assert await backend.search_shared(MemoryQuery()) == ()
    finally:
        await backend.disconnect()


async def test_x19_a_composite_shares_where_the_namespace_lives() -> None:
    """SPEC 10.2: the file beside what is forgotten with the process."""
    routes = CompositeBackendConfig(routes={"scratch": "inmemory"}, default="sqlite")
    backend = create_memory_backend(CompanyMemoryConfig(backend="composite", composite=routes))
    assert isinstance(backend, SharedKnowledgeStore)
    assert isinstance(backend, MemoryCapabilities)
    await backend.connect()
    try:
        request = _request(MemoryCategory.SEMANTIC)
        kept = await backend.publish("A", request)
        passing = await backend.publish("A", request.model_copy(update={"namespace": "scratch"}))

        assert backend.supports_shared_access
        assert (kept.split(":")[0], passing.split(":")[0]) == ("sqlite", "inmemory")
        entries = await backend.search_shared(MemoryQuery(text="Litestar"), exclude_agent="B")
        assert [entry.id for entry in entries] == [kept, passing], "what has a score comes first"
        assert await backend.search_shared(MemoryQuery(), exclude_agent="A") == ()
        with pytest.raises(MemoryStoreError):
            await backend.retract("B", kept)
        assert await backend.retract("A", kept)
        assert await backend.retract("A", passing)
        assert not await backend.retract("A", passing)
    finally:
        await backend.disconnect()


@pytest.mark.parametrize("kind", ["inmemory", "sqlite"])
async def test_x19_nothing_is_shared_before_connect(kind: str) -> None:
    backend = create_memory_backend(CompanyMemoryConfig(backend=kind))
    assert isinstance(backend, SharedKnowledgeStore)
    calls = (
        lambda: backend.publish("A", _request(MemoryCategory.SEMANTIC)),
        lambda: backend.search_shared(MemoryQuery()),
        lambda: backend.retract("A", "m"),
    )
    for call in calls:
        with pytest.raises(MemoryConnectionError):
            await call()


@pytest.mark.parametrize("kind", ["inmemory", "sqlite"])
@pytest.mark.parametrize("agent_id", [" ", RESERVED_AGENT])
async def test_x17_some_agents_are_nobody(kind: str, agent_id: str) -> None:
    backend = create_memory_backend(CompanyMemoryConfig(backend=kind))
    await backend.connect()
    try:
        with pytest.raises(MemoryStoreError):
            await backend.store(agent_id, _request(MemoryCategory.SOCIAL))
        with pytest.raises(MemoryStoreError):
            await backend.delete(agent_id, "m")
        with pytest.raises(MemoryRetrievalError):
            await backend.retrieve(agent_id, MemoryQuery())
        with pytest.raises(MemoryRetrievalError):
            await backend.get(agent_id, "m")
        with pytest.raises(MemoryRetrievalError):
            await backend.count(agent_id)
    finally:
        await backend.disconnect()


async def test_x17_two_backends_never_share_a_file() -> None:
    first, second = (create_memory_backend(CompanyMemoryConfig()) for _ in range(2))
    await first.connect()
    try:
        with pytest.raises(MemoryConnectionError):
            await second.connect()
        assert not second.is_connected
    finally:
        await first.disconnect()

    await second.connect()
    await second.disconnect()


@pytest.mark.parametrize("kind", ["inmemory", "sqlite"])
async def test_x17_what_was_stored_is_there_after_connecting_again(kind: str) -> None:
    backend = create_memory_backend(CompanyMemoryConfig(backend=kind))
    await backend.connect()
    memory_id = await backend.store("qa", _request(MemoryCategory.SOCIAL))
    await backend.disconnect()
    await backend.disconnect()
    assert not backend.is_connected

    await backend.connect()
    try:
        entry = await backend.get("qa", memory_id)
    finally:
        await backend.disconnect()

    assert entry is not None
    assert entry.content == SENTENCES[MemoryCategory.SOCIAL]
