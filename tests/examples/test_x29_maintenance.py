"""X21, X29, X30: how long a memory is kept, its maintenance in dual mode, what that answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.clocks import HeldClock
from support.fakes import HashEmbedder

from memd.api import (
    ArchivalConfig,
    ArchivalIndexEntry,
    ArchivalMode,
    ArchivalModeAssignment,
    ArchivalStore,
    CompanyMemoryConfig,
    CompositeBackendConfig,
    ConsolidationConfig,
    ConsolidationResult,
    DualModeConfig,
    DualModeConsolidationStrategy,
    MemoryBackend,
    MemoryCategory,
    MemoryConfig,
    MemoryConsolidationService,
    MemoryQuery,
    MemoryStoreRequest,
    RetentionConfig,
    RetentionRule,
    create_memory_backend,
)
from memd.backends.inmemory import InMemoryArchive
from memd.domain.sleep.consolidation import SupportsArchive
from memd.sleep.night.retention import cutoffs

NOW = datetime(2026, 3, 17, tzinfo=UTC)
EPISODIC = MemoryCategory.EPISODIC


def _rule(days: int | None) -> tuple[RetentionRule, ...]:
    return () if days is None else (RetentionRule(category=EPISODIC, retention_days=days),)


@pytest.mark.parametrize(
    ("agent_rule", "company_rule", "agent_default", "company_default", "kept"),
    [
        (7, 30, 90, 365, 7),
        (None, 30, 90, 365, 30),
        (None, None, 90, 365, 90),
        (None, None, None, 365, 365),
        (None, None, None, None, None),
    ],
)
def test_x21_the_narrowest_word_counts_and_the_agent_before_the_company(
    agent_rule: int | None,
    company_rule: int | None,
    agent_default: int | None,
    company_default: int | None,
    kept: int | None,
) -> None:
    company = RetentionConfig(rules=_rule(company_rule), default_retention_days=company_default)
    agent = MemoryConfig(retention_days=agent_default, retention_overrides=_rule(agent_rule))

    cutoff = cutoffs(company, agent, NOW).get(EPISODIC)

    assert cutoff == (None if kept is None else NOW - timedelta(days=kept))


AGENT = "ada"
TALK = [
    "We talked about the holidays for a while and everybody was in a good mood.",
    "Later on the team went out for lunch and came back \u2014 tired, but happy \U0001f60a.",
    "In the evening there was a short walk through the park, and it was getting cold.",
    "The next morning nobody wanted to start, so we had coffee first.",
]
CONFIG = ConsolidationConfig(
    archival=ArchivalConfig(enabled=True, dual_mode=DualModeConfig(enabled=True))
)


@pytest.fixture(params=["inmemory", "sqlite", "composite"])
async def backend(
    request: pytest.FixtureRequest,
    clock: HeldClock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[MemoryBackend]:
    monkeypatch.setenv("MEMD_HOME", str(tmp_path))
    plan = CompositeBackendConfig(default="sqlite") if request.param == "composite" else None
    config = CompanyMemoryConfig(backend=request.param, composite=plan)
    backend = create_memory_backend(config, clock=clock, embedder=HashEmbedder())
    await backend.connect()
    yield backend
    await backend.disconnect()


async def tell(backend: MemoryBackend, clock: HeldClock) -> dict[str, str]:
    """Store the talk, a day and an hour ago."""
    ids = {}
    for text in TALK:
        clock.advance(minutes=1)
        request = MemoryStoreRequest(category=MemoryCategory.EPISODIC, content=text)
        ids[await backend.store(AGENT, request)] = text
    clock.advance(hours=25)
    return ids


def a_service(
    backend: MemoryBackend,
    clock: HeldClock,
    *,
    config: ConsolidationConfig = CONFIG,
    store: ArchivalStore | None = None,
) -> MemoryConsolidationService:
    return MemoryConsolidationService(
        backend=backend,
        config=config,
        strategy=DualModeConsolidationStrategy(backend=backend, clock=clock),
        archival_store=store,
        clock=clock,
    )


@pytest.mark.parametrize("given", ["its own archive", "another archive"])
async def test_x29_the_originals_come_back_byte_for_byte_by_the_archival_index(
    backend: MemoryBackend, clock: HeldClock, given: str
) -> None:
    ids = await tell(backend, clock)
    another = InMemoryArchive(clock=clock) if given == "another archive" else None
    assert isinstance(backend, SupportsArchive)
    store: ArchivalStore = another or backend.archival_store

    result = await a_service(backend, clock, store=another).run_maintenance(AGENT)

    assert len(result.removed_ids) == 3
    assert set(result.removed_ids) < set(ids)
    assert result.archived_count == 3
    assert {each.mode for each in result.archival_index} == {ArchivalMode.ABSTRACTIVE}
    for each in result.archival_index:
        archived = await store.restore(AGENT, each.archival_id)
        assert archived is not None
        assert archived.content.encode() == ids[each.original_id].encode()
        assert archived.original_id in result.removed_ids
        assert await store.restore("bob", each.archival_id) is None
    assert await store.count(AGENT) == 3
    assert await backend.count(AGENT) == 2  # the one that was kept, and the summary
    assert result.summary_id is not None
    summary = await backend.get(AGENT, result.summary_id)
    assert summary is not None
    assert {"consolidated", "mode:abstractive"} <= set(summary.metadata.tags)


async def test_x29_the_kill_switch_leaves_everything_as_it_is(
    backend: MemoryBackend, clock: HeldClock
) -> None:
    ids = await tell(backend, clock)
    before = await backend.retrieve(AGENT, MemoryQuery())
    off = CONFIG.model_copy(update={"enabled": False, "max_memories_per_agent": 1})
    service = a_service(backend, clock, config=off)

    assert await service.run_maintenance(AGENT) == ConsolidationResult()
    assert await service.run_consolidation(AGENT) == ConsolidationResult()

    assert await backend.retrieve(AGENT, MemoryQuery()) == before
    assert await backend.count(AGENT) == len(ids)


async def test_x29_what_is_younger_than_a_day_is_not_consolidated(
    backend: MemoryBackend, clock: HeldClock
) -> None:
    ids = await tell(backend, clock)
    clock.advance(hours=-24)

    assert await a_service(backend, clock).run_maintenance(AGENT) == ConsolidationResult()
    assert await backend.count(AGENT) == len(ids)


RESULT = ConsolidationResult(
    removed_ids=("m1", "m2", "m3"),
    summary_ids=("s1", "s2"),
    archived_count=2,
    mode_assignments=(
        ArchivalModeAssignment(original_id="m1", mode=ArchivalMode.ABSTRACTIVE),
        ArchivalModeAssignment(original_id="m2", mode=ArchivalMode.EXTRACTIVE),
    ),
    archival_index=(
        ArchivalIndexEntry(original_id="m1", archival_id="a1", mode=ArchivalMode.ABSTRACTIVE),
    ),
)


@pytest.mark.parametrize("result", [RESULT, ConsolidationResult()])
def test_a_dump_is_read_back_as_the_same_result(result: ConsolidationResult) -> None:
    assert ConsolidationResult.model_validate(result.model_dump()) == result
    assert ConsolidationResult.model_validate_json(result.model_dump_json()) == result


def test_the_summary_s_id_is_the_last_one_made() -> None:
    assert RESULT.summary_id == "s2"
    assert ConsolidationResult().summary_id is None


def test_what_was_consolidated_is_what_was_removed() -> None:
    assert RESULT.consolidated_count == 3
    assert ConsolidationResult().consolidated_count == 0


def test_what_is_derived_is_in_no_dump() -> None:
    assert not {"summary_id", "consolidated_count"} & set(RESULT.model_dump())
    assert '"summary_id"' not in RESULT.model_dump_json()
