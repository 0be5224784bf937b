"""SPEC D26: code written for a backend runs against the daemon, as X17 and X18 do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import pytest
from support.clocks import HeldClock
from support.daemon import running
from support.entries import a_request

from memd.api import (
    ArchivalStore,
    ConsolidationConfig,
    ContextInjectionStrategy,
    FusionStrategy,
    MemoryBackend,
    MemoryCapabilities,
    MemoryCategory,
    MemoryConsolidationService,
    MemoryMetadata,
    MemoryQuery,
    MemoryRetrievalConfig,
    MemoryStoreError,
    MemoryType,
    SharedKnowledgeStore,
    SimpleConsolidationStrategy,
    ingest,
    recall,
)
from memd.base import limits
from memd.base.errors import (
    InvalidError,
    MemoryConnectionError,
    MemoryRetrievalError,
    NotRunningError,
    ParseError,
)
from memd.client import AsyncClient
from memd.domain.enums import Origin
from memd.domain.settings.settings import Settings
from memd.domain.sleep.consolidation import SupportsArchive


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[AsyncClient]:
    async with running(tmp_path) as paths, AsyncClient(socket=paths.socket) as client:
        yield client


def test_it_is_a_backend() -> None:
    client = AsyncClient(socket="/nowhere/memd.sock")

    assert isinstance(client, MemoryBackend)
    assert client.backend_name.strip()
    assert not client.is_connected


async def test_where_nobody_listens_it_says_so() -> None:
    client = AsyncClient(socket="/nowhere/memd.sock")

    with pytest.raises(NotRunningError):
        await client.connect()
    with pytest.raises(MemoryConnectionError):
        await client.store("ada", a_request())
    assert not client.is_connected
    assert not await client.health_check()
    await client.disconnect()


async def test_connecting_and_leaving_may_be_repeated(client: AsyncClient) -> None:
    seen: list[bool] = []
    for step in (client.connect, client.disconnect, client.disconnect, client.connect):
        await step()
        seen.append(client.is_connected)

    assert seen == [True, False, False, True]
    assert await client.health_check()
    assert await client.count("ada") == 0


async def test_a_progress_function_that_fails_ends_its_own_call_alone(client: AsyncClient) -> None:
    """The other calls of the connection go on, and the daemon is told to stop."""

    def fail(_done: int, _total: int) -> None:
        raise ZeroDivisionError

    items = [{"text": f"The hive {number} is empty."} for number in range(40)]
    failing = client.call("memory.ingest_many", {"items": items}, progress=fail)
    outcomes = await asyncio.gather(failing, client.call("memory.count"), return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [ZeroDivisionError, int]
    assert client.is_connected


async def test_every_field_of_a_request_comes_back(client: AsyncClient) -> None:
    request = a_request(
        "JWT over sessions",
        namespace="auth",
        metadata=MemoryMetadata(source="sprint 12", confidence=0.5, tags=("adr", "auth")),
        expires_at=datetime.fromisoformat("2999-01-01T00:00:00+02:00"),
        session_id="s",
        project_id="p",
        speaker="Ada",
        occurred_at=datetime.fromisoformat("2026-03-01T09:00:00+01:00"),
        origin=Origin.ASSISTANT,
    )

    memory_id = await client.store("ada", request)

    entry = await client.get("ada", memory_id)
    assert entry is not None
    for name in type(request).model_fields:
        if name != "level":
            assert getattr(entry, name) == getattr(request, name), name
    assert entry.agent_id == "ada"
    assert entry.relevance_score is None


async def test_a_search_has_scores_and_a_listing_none(client: AsyncClient) -> None:
    await client.store("ada", a_request())

    (entry,) = await client.retrieve("ada", MemoryQuery(text="JWT"))
    (listed,) = await client.retrieve("ada", MemoryQuery())

    assert entry.relevance_score is not None
    assert listed.relevance_score is None
    assert entry.id == listed.id


async def test_calls_run_side_by_side_on_one_connection(client: AsyncClient) -> None:
    ids = await asyncio.gather(*(client.store("ada", a_request(f"fact {n}")) for n in range(20)))

    assert len(set(ids)) == 20
    assert await client.count("ada") == await client.count("ada", category=MemoryCategory.EPISODIC)
    assert await client.count("ada") == 20


@pytest.mark.parametrize("value", ["deep", 10**30], ids=["deep", "digits"])
async def test_a_frame_that_is_refused_fails_its_own_call_alone(
    client: AsyncClient, value: object
) -> None:
    for _ in range(0 if isinstance(value, int) else limits.FRAME_DEPTH_MAX):
        value = [value]
    call = {"type": "tool_use", "name": "Edit", "input": {"value": value}}
    messages = [{"role": "assistant", "content": [call]}]
    report = {"source": "own", "session_id": "s", "used_tokens": 10, "messages": messages}
    good = asyncio.create_task(client.call("memory.ingest", {"text": "The lamp is green."}))
    with pytest.raises(ParseError):
        await client.call("usage.report", report)
    assert await good


async def test_what_the_daemon_refuses_is_raised_by_its_class(client: AsyncClient) -> None:
    past = datetime.fromisoformat("2001-01-01T00:00:00+00:00")
    with pytest.raises(MemoryStoreError) as caught:
        await client.store("ada", a_request(expires_at=past))
    assert caught.value.field == "expires_at"
    with pytest.raises(MemoryRetrievalError) as refused:
        await client.get(" ", "m")
    assert refused.value.field == "agent_id"
    with pytest.raises(InvalidError):
        await client.call("memory.get", {"agent_id": " ", "id": "m"})
    assert await client.get("ada", "unknown") is None
    assert await client.delete("ada", "unknown") is False


def test_it_satisfies_the_documented_protocols() -> None:
    client = AsyncClient(socket="/nowhere/memd.sock")

    assert isinstance(client, MemoryCapabilities)
    assert isinstance(client, SharedKnowledgeStore)
    assert isinstance(client, SupportsArchive)
    assert isinstance(client.archival_store, ArchivalStore)
    assert client.archival_store is client.archival_store


async def test_it_is_capable_of_what_the_daemon_says(tmp_path: Path) -> None:
    options = {"shared_knowledge_base": False, "max_memories_per_agent": 70}
    settings = Settings.model_validate({"memory": {"options": options}})
    async with (
        running(tmp_path, settings=settings) as paths,
        AsyncClient(socket=paths.socket) as client,
    ):
        assert client.supported_categories == frozenset(MemoryCategory)
        assert client.supports_graph
        assert client.supports_temporal
        assert not client.supports_vector_search  # no model is installed there
        assert not client.supports_shared_access
        assert client.max_memories_per_agent == 70


async def test_words_alone_find_what_holds_them(client: AsyncClient) -> None:
    for text in ("the boat lies at pier seven", "the dentist is called Amrit"):
        await client.store("ada", a_request(content=text))

    entries = await client.retrieve_sparse("ada", MemoryQuery(text="boat"))

    assert [entry.content for entry in entries] == ["the boat lies at pier seven"]
    assert await client.retrieve_sparse("ada", MemoryQuery()) == ()


async def test_fusion_by_ranks_over_the_daemon_is_fusion_by_ranks(client: AsyncClient) -> None:
    config = MemoryRetrievalConfig(fusion_strategy=FusionStrategy.RRF, min_relevance=0.0)
    for text in ("the boat lies at pier seven", "the dentist is called Amrit"):
        await client.store("ada", a_request(content=text))

    strategy = ContextInjectionStrategy(backend=client, config=config)
    chosen = await strategy.select_memories("ada", "where is the boat")

    assert chosen
    assert {scored.scoring_strategy for scored in chosen} == {FusionStrategy.RRF}


async def test_what_is_archived_is_searched_shown_and_counted(client: AsyncClient) -> None:
    memory_id = await client.store("ada", a_request(content="the boat lies at pier seven"))
    store = client.archival_store

    archival_id = await client.move_to_archive("ada", memory_id)
    assert archival_id is not None
    assert await client.move_to_archive("ada", memory_id) == archival_id
    assert await client.move_to_archive("ada", "0190b2c0-0000-7000-8000-000000000000") is None
    assert await client.count("ada") == 0

    [archived] = await store.search("ada", MemoryQuery(text="boat"))
    assert archived.original_id == memory_id
    assert await store.restore("ada", archival_id) == archived
    assert await store.restore("bob", archival_id) is None
    assert (await store.count("ada"), await store.count("bob")) == (1, 0)
    assert await store.archive(archived) == archival_id
    with pytest.raises(MemoryStoreError, match="only a memory that the daemon has"):
        await store.archive(archived.model_copy(update={"agent_id": "bob"}))
    back = await store.restore_to_hot("ada", archival_id)
    assert back is not None
    assert back.id == memory_id


async def test_the_documented_service_runs_over_the_daemon(tmp_path: Path) -> None:
    clock = HeldClock()
    async with running(tmp_path, clock=clock) as paths, AsyncClient(socket=paths.socket) as client:
        for text in ("the deploy went well", "the deploy was slow", "the deploy ran again"):
            await client.store("ada", a_request(content=text))
        clock.advance(days=2)
        service = MemoryConsolidationService(
            backend=client,
            config=ConsolidationConfig(),
            strategy=SimpleConsolidationStrategy(backend=client, group_threshold=3),
            clock=clock,
        )

        result = await service.run_maintenance("ada")

        assert result.archived_count == len(result.removed_ids) > 0
        for indexed in result.archival_index:
            kept = await client.archival_store.restore("ada", indexed.archival_id)
            assert kept is not None
            assert kept.original_id == indexed.original_id
        assert await client.get("ada", result.summary_ids[0]) is not None


async def test_the_documents_entry_points_are_calls_of_a_client(client: AsyncClient) -> None:
    chunks = await client.ingest("the boat lies at pier seven", "ada", "s1", MemoryType.SOCIAL)

    [chunk] = chunks
    assert (chunk.user_id, chunk.session_id) == ("ada", "s1")
    assert chunk.memory_type is MemoryType.SOCIAL
    assert chunk.content == "the boat lies at pier seven"
    assert await client.ingest(" \n ", "ada", "s1") == []
    for user_id, session_id in ((" ", "s"), ("u", "")):
        with pytest.raises(ValueError, match="is blank"):
            await client.ingest("x", user_id, session_id)

    result = await client.recall("where is the boat", "ada", memory_types=[MemoryType.SOCIAL])
    assert [memory.id for memory in result.memories] == [chunk.id]
    assert result.budget_used == result.total_tokens / 2000
    nothing = await client.recall("boat", "ada", 5, 2000, [MemoryType.EPISODIC])
    assert nothing.memories == ()


async def test_the_documents_entry_points_need_no_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMD_HOME", str(tmp_path))
    async with running(tmp_path):
        [chunk] = await ingest(text="the boat lies at pier 7", user_id="ada", session_id="s")
        result = await recall(query="boat pier", user_id="ada", top_k=1, token_budget=500)

    assert [memory.id for memory in result.memories] == [chunk.id]
