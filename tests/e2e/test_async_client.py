"""SPEC D26: code written for a backend runs against the daemon, as X17 and X18 do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import pytest
from support.daemon import running
from support.entries import a_request

from memd.api import MemoryBackend, MemoryCategory, MemoryMetadata, MemoryQuery, MemoryStoreError
from memd.base.errors import (
    InvalidError,
    MemoryConnectionError,
    MemoryRetrievalError,
    NotRunningError,
)
from memd.client import AsyncClient
from memd.model.enums import Origin


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

    (found,) = await client.retrieve("ada", MemoryQuery(text="JWT"))
    (listed,) = await client.retrieve("ada", MemoryQuery())

    assert found.relevance_score is not None
    assert listed.relevance_score is None
    assert found.id == listed.id


async def test_calls_run_side_by_side_on_one_connection(client: AsyncClient) -> None:
    ids = await asyncio.gather(*(client.store("ada", a_request(f"fact {n}")) for n in range(20)))

    assert len(set(ids)) == 20
    assert await client.count("ada") == await client.count("ada", category=MemoryCategory.EPISODIC)
    assert await client.count("ada") == 20


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
