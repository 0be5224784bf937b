"""SPEC 15.4: the documented backend of organisational memory, in process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.clocks import HeldClock
from support.fakes import HashEmbedder
from support.org import HUMAN, JUNIOR, SENIOR, a_request

from memd.backends.org import HybridOrgMemoryBackend, create_org_memory_backend
from memd.backends.sqlite import SqliteBackend
from memd.backends.sqlite import create as create_sqlite
from memd.base.errors import (
    MemoryConnectionError,
    OrgMemoryAccessDeniedError,
    OrgMemoryConfigError,
    OrgMemoryConnectionError,
    OrgMemoryQueryError,
    OrgMemoryWriteError,
)
from memd.domain.enums import OrgFactCategory
from memd.domain.memory import MemoryStoreRequest
from memd.domain.org.org import OrgMemoryBackend, OrgMemoryQuery
from memd.domain.settings.settings import CompanyMemoryConfig, MemoryStorageConfig

POLICIES = ("No commits to main", "All PRs need 2 approvals")


@pytest.fixture
async def org(tmp_path: Path) -> AsyncIterator[HybridOrgMemoryBackend]:
    backend = create_org_memory_backend(
        {"core_policies": POLICIES}, data_dir=str(tmp_path), clock=HeldClock()
    )
    await backend.connect()
    yield backend
    await backend.disconnect()


async def test_the_policies_of_the_settings_come_first_then_stored_ones_newest_first(
    tmp_path: Path,
) -> None:
    """SPEC 15.4.1."""
    clock = HeldClock()
    org = create_org_memory_backend(
        {"core_policies": POLICIES}, data_dir=str(tmp_path), clock=clock
    )
    await org.connect()
    for content in ("older", "newer"):
        clock.advance(seconds=1)
        await org.write(a_request(content, "core_policy"), author=HUMAN)
    every = await org.list_policies()
    assert [fact.content for fact in every] == [*POLICIES, "newer", "older"]
    assert [fact.id for fact in every[:2]] == ["core-policy-0", "core-policy-1"]
    assert all(fact.author.is_human for fact in every)
    assert every[0].created_at == clock.now
    assert await org.count_policies() == 4
    for offset in range(-1, 6):
        for limit in range(-1, 6):
            page = await org.list_policies(limit=limit, offset=offset)
            assert page == every[max(0, offset) : max(0, offset) + max(0, limit)], (offset, limit)
        assert await org.list_policies(offset=offset) == every[max(0, offset) :]
    await org.disconnect()


async def test_a_query_never_returns_the_policies_of_the_settings(
    org: HybridOrgMemoryBackend,
) -> None:
    """SPEC 15.4.2."""
    assert await org.query(OrgMemoryQuery(context="commits to main")) == ()
    assert await org.query(OrgMemoryQuery()) == ()
    await org.write(a_request("Commits to main are reverted", "core_policy"), author=HUMAN)
    assert len(await org.query(OrgMemoryQuery(context="commits to main"))) == 1


async def test_not_connected_beats_denied_beats_everything_else(
    org: HybridOrgMemoryBackend,
) -> None:
    """SPEC 15.4.3."""
    closed = create_org_memory_backend()
    with pytest.raises(OrgMemoryConnectionError):
        await closed.write(a_request(), author=JUNIOR)
    with pytest.raises(OrgMemoryAccessDeniedError):
        await org.write(a_request(), author=JUNIOR)
    with pytest.raises(OrgMemoryWriteError):
        await org.write(a_request(fact_id="none"), author=HUMAN)
    ids = {await org.write(a_request(), author=SENIOR) for _ in range(3)}
    assert len(ids) == 3


async def test_nothing_is_answered_before_connect_or_after_disconnect(
    org: HybridOrgMemoryBackend,
) -> None:
    """SPEC 15.4.4."""
    assert isinstance(org, OrgMemoryBackend)
    assert await org.health_check()
    await org.connect()  # again: nothing
    await org.disconnect()
    await org.disconnect()
    assert not org.is_connected
    assert not await org.health_check()
    for ask in (
        org.query(OrgMemoryQuery()),
        org.list_policies(),
        org.count_policies(),
        org.get("x"),
        org.history("x"),
        org.retract("x", author=HUMAN),
        org.snapshot_at(datetime(2026, 1, 1, tzinfo=UTC)),
    ):
        with pytest.raises(OrgMemoryConnectionError):
            await ask


async def test_a_query_is_capped_by_the_settings(tmp_path: Path) -> None:
    """SPEC 15.4.5."""
    org = create_org_memory_backend(
        {"extended_store": {"max_retrieved_per_query": 2}}, data_dir=str(tmp_path)
    )
    await org.connect()
    for number in range(4):
        await org.write(a_request(f"rule {number}"), author=HUMAN)
    assert len(await org.query(OrgMemoryQuery(limit=100))) == 2
    assert len(await org.query(OrgMemoryQuery(context="rule", limit=1))) == 1
    await org.disconnect()


@pytest.mark.parametrize("name", ["hybrid_prompt_retrieval", "temporal_kg", "graph_rag"])
async def test_each_documented_backend_is_made_from_its_configuration(name: str) -> None:
    """SPEC 15.4.6, D13."""
    assert create_org_memory_backend({"backend": name}).backend_name == name


def test_an_unknown_backend_is_a_wrong_configuration() -> None:
    """SPEC 15.4.6."""
    with pytest.raises(OrgMemoryConfigError, match=r"org_memory\.backend.*hybrid_prompt"):
        create_org_memory_backend({"backend": "mem0"})


async def test_what_was_written_is_there_after_a_restart(tmp_path: Path) -> None:
    for number in range(2):
        org = create_org_memory_backend(data_dir=str(tmp_path))
        await org.connect()
        assert len(await org.query(OrgMemoryQuery())) == number
        fact_id = await org.write(a_request(f"rule {number}"), author=HUMAN)
        assert [entry.fact_id for entry in await org.history(fact_id)] == [fact_id]
        await org.disconnect()


async def test_a_file_belongs_to_one_process_at_a_time(
    org: HybridOrgMemoryBackend, tmp_path: Path
) -> None:
    with pytest.raises(OrgMemoryConnectionError):
        await create_org_memory_backend(data_dir=str(tmp_path)).connect()


async def test_a_store_is_locked_without_its_lock_file_too(
    org: HybridOrgMemoryBackend, tmp_path: Path
) -> None:
    (tmp_path / "memd.lock").unlink()

    with pytest.raises(OrgMemoryConnectionError, match="another memd"):
        await create_org_memory_backend(data_dir=str(tmp_path)).connect()


async def test_a_folder_may_be_named_from_home() -> None:
    org = create_org_memory_backend(data_dir="~/elsewhere")
    await org.connect()
    await org.disconnect()

    assert Path("~/elsewhere/memd.db").expanduser().exists()


async def test_a_folder_that_cannot_be_made_is_an_error_of_the_family(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = str(tmp_path / "file" / "x")
    config = CompanyMemoryConfig(storage=MemoryStorageConfig(data_dir=folder))
    with pytest.raises(OrgMemoryConnectionError):
        await create_org_memory_backend(data_dir=folder).connect()
    with pytest.raises(MemoryConnectionError):
        await create_sqlite(config, embedder=HashEmbedder()).connect()


async def test_beside_a_memory_backend_it_uses_its_file(tmp_path: Path) -> None:
    config = CompanyMemoryConfig(storage=MemoryStorageConfig(data_dir=str(tmp_path)))
    memories: SqliteBackend = create_sqlite(config, embedder=HashEmbedder())
    org = create_org_memory_backend({"core_policies": POLICIES}, beside=memories)
    with pytest.raises(OrgMemoryConnectionError):
        await org.connect()
    await memories.connect()
    await org.connect()
    fact_id = await org.write(a_request("Use Litestar"), author=SENIOR)
    await memories.store("ada", MemoryStoreRequest.model_validate(
        {"content": "Ada keeps bees", "category": "semantic"}
    ))  # fmt: skip
    assert (await org.list_policies())[0].content == POLICIES[0]
    await org.disconnect()
    assert await memories.count("ada") == 1
    await memories.disconnect()

    alone = create_org_memory_backend(data_dir=str(tmp_path))
    await alone.connect()
    assert (await alone.get(fact_id)) is not None
    assert await alone.retract(fact_id, author=SENIOR)
    (stood,) = await alone.snapshot_at(datetime(2100, 1, 1, tzinfo=UTC))
    assert (stood.category, stood.version) == (OrgFactCategory.CONVENTION, 2)
    await alone.disconnect()


async def test_what_the_store_refuses_is_an_error_of_the_family(
    org: HybridOrgMemoryBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SPEC 15.6."""
    from memd.store.file import database

    monkeypatch.setattr(database, "WRITE_QUEUE_MAX", 0)
    with pytest.raises(OrgMemoryWriteError):
        await org.write(a_request(), author=HUMAN)
    with pytest.raises(OrgMemoryWriteError):
        await org.retract("x", author=HUMAN)
    assert not issubclass(OrgMemoryWriteError, OrgMemoryQueryError)
