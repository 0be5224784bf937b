"""SPEC 16.3: the maintenance service, with the originals' faults mended."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.clocks import HeldClock
from support.entries import a_request

from memd.backends.inmemory import InMemoryArchive, InMemoryBackend
from memd.base.errors import MemoryCapabilityError, MemoryRetrievalError
from memd.domain.enums import MemoryCategory
from memd.domain.memory import MemoryEntry, MemoryMetadata, MemoryQuery
from memd.domain.settings.consolidation import ConsolidationConfig, RetentionConfig, RetentionRule
from memd.domain.sleep.consolidation import (
    ArchivalEntry,
    ArchivalMode,
    ArchivalModeAssignment,
    ConsolidationResult,
)
from memd.sleep.strategies.service import MemoryConsolidationService, cleanup_retention
from memd.sleep.strategies.strategies import SimpleConsolidationStrategy

ADA = "ada"


class NoArchive(InMemoryBackend):
    """A backend without an archive of its own."""

    archival_store = None  # type: ignore[assignment]  # what a foreign backend is like
    move_to_archive = None  # type: ignore[assignment]  # likewise


class FullArchive(InMemoryArchive):
    """An archive that takes only what *takes* says."""

    def __init__(self, clock: HeldClock, takes: Callable[[ArchivalEntry], bool]) -> None:
        super().__init__(clock=clock)
        self._takes = takes

    async def archive(self, entry: ArchivalEntry) -> str:
        if not self._takes(entry):
            raise RuntimeError("the tape is full")
        return await super().archive(entry)


class Sweeping:
    """A strategy of somebody else's, which deletes by itself all it is given but one."""

    def __init__(self, backend: InMemoryBackend, mode: ArchivalMode | None = None) -> None:
        self._backend = backend
        self._mode = mode

    async def consolidate(
        self, entries: tuple[MemoryEntry, ...], agent_id: str
    ) -> ConsolidationResult:
        removed_ids = tuple(entry.id for entry in entries[1:])
        for memory_id in removed_ids:
            await self._backend.delete(agent_id, memory_id)
        modes = () if self._mode is None else (self._mode,) * len(removed_ids)
        return ConsolidationResult(
            removed_ids=(*removed_ids, "unheard-of"),
            mode_assignments=tuple(
                ArchivalModeAssignment(original_id=each, mode=mode)
                for each, mode in zip(removed_ids, modes, strict=False)
            ),
        )


class Resolver:
    """Answers the kill switch, or breaks."""

    def __init__(self, *answers: bool | Exception) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str]] = []

    async def get_bool(self, namespace: str, key: str) -> bool:
        self.asked.append((namespace, key))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
async def backend(clock: HeldClock) -> InMemoryBackend:
    backend = InMemoryBackend(clock=clock)
    await backend.connect()
    return backend


async def store_memories(
    backend: InMemoryBackend, clock: HeldClock, number: int = 4, *tags: str
) -> list[str]:
    """Store memories a minute apart, the last one two days ago; the oldest first."""
    ids = []
    for n in range(number):
        clock.advance(minutes=1)
        metadata = MemoryMetadata(tags=tags)
        ids.append(await backend.store(ADA, a_request(f"Memory number {n}.", metadata=metadata)))
    clock.advance(days=2)
    return ids


def a_config(most: int = 10_000) -> ConsolidationConfig:
    return ConsolidationConfig(max_memories_per_agent=most)


async def seen(backend: InMemoryBackend) -> set[str]:
    return {entry.id for entry in await backend.retrieve(ADA, MemoryQuery(limit=1000))}


# Consolidation.


async def test_an_original_that_the_archive_does_not_take_stays(
    backend: InMemoryBackend, clock: HeldClock
) -> None:
    ids = await store_memories(backend, clock)
    store = FullArchive(clock, lambda entry: entry.original_id == ids[0])
    strategy = SimpleConsolidationStrategy(backend=backend, clock=clock)
    service = MemoryConsolidationService(
        backend=backend, config=a_config(), strategy=strategy, archival_store=store, clock=clock
    )

    result = await service.run_consolidation(ADA)

    assert result.removed_ids == (ids[0],)
    assert [each.original_id for each in result.archival_index] == [ids[0]]
    assert set(ids[1:]) <= await seen(backend)


async def test_without_an_archive_anywhere_nothing_is_taken_away(clock: HeldClock) -> None:
    backend = NoArchive(clock=clock)
    await backend.connect()
    ids = await store_memories(backend, clock)
    service = MemoryConsolidationService(
        backend=backend,
        config=a_config(most=1),
        strategy=SimpleConsolidationStrategy(backend=backend, clock=clock),
        clock=clock,
    )

    for step in (service.run_consolidation, service.enforce_max_memories):
        with pytest.raises(MemoryCapabilityError, match="without an archive"):
            await step(ADA)
    assert await seen(backend) == set(ids)


async def test_what_a_foreign_strategy_deletes_is_archived_as_it_was(
    backend: InMemoryBackend, clock: HeldClock
) -> None:
    ids = await store_memories(backend, clock)
    strategy = Sweeping(backend, ArchivalMode.ABSTRACTIVE)
    service = MemoryConsolidationService(
        backend=backend, config=a_config(), strategy=strategy, clock=clock
    )

    result = await service.run_consolidation(ADA)

    assert result.archived_count == 3
    assert "unheard-of" in result.removed_ids
    assert {each.original_id for each in result.archival_index} == set(ids[:3])
    for each in result.archival_index:
        archived = await backend.archival_store.restore(ADA, each.archival_id)
        assert archived is not None
        assert archived.archival_mode is each.mode is ArchivalMode.ABSTRACTIVE
        assert archived.archived_at > archived.created_at


async def test_what_a_foreign_strategy_deletes_and_no_archive_takes_is_stored_again(
    backend: InMemoryBackend, clock: HeldClock
) -> None:
    await store_memories(backend, clock)
    store = FullArchive(clock, lambda _: False)
    service = MemoryConsolidationService(
        backend=backend,
        config=a_config(),
        strategy=Sweeping(backend),
        archival_store=store,
        clock=clock,
    )

    result = await service.run_consolidation(ADA)

    assert result.archived_count == 0
    contents = {entry.content for entry in await backend.retrieve(ADA, MemoryQuery())}
    assert contents == {f"Memory number {n}." for n in range(4)}


async def test_without_a_strategy_nothing_is_consolidated(
    backend: InMemoryBackend, clock: HeldClock
) -> None:
    ids = await store_memories(backend, clock)
    service = MemoryConsolidationService(backend=backend, config=a_config(), clock=clock)

    assert await service.run_maintenance(ADA) == ConsolidationResult()
    assert await seen(backend) == set(ids)


# The limit.


async def test_the_limit_takes_the_oldest_into_the_archive(
    backend: InMemoryBackend, clock: HeldClock
) -> None:
    ids = await store_memories(backend, clock, 7)
    service = MemoryConsolidationService(backend=backend, config=a_config(most=4), clock=clock)

    assert await service.enforce_max_memories(ADA) == 3

    assert await seen(backend) == set(ids[3:])
    archived = await backend.archival_store.search(ADA, MemoryQuery())
    assert {each.original_id for each in archived} == set(ids[:3])
    assert await service.enforce_max_memories(ADA) == 0


async def test_of_equally_old_memories_the_limit_takes_the_smaller_id(
    backend: InMemoryBackend, clock: HeldClock
) -> None:
    ids = sorted([await backend.store(ADA, a_request(f"At once {n}")) for n in range(5)])
    service = MemoryConsolidationService(backend=backend, config=a_config(most=3), clock=clock)

    assert await service.enforce_max_memories(ADA) == 2
    assert await seen(backend) == set(ids[2:])


@pytest.mark.parametrize("tag", ["core", "distillation", "detailed_experience"])
async def test_protected_memories_count_but_stay(
    backend: InMemoryBackend, clock: HeldClock, tag: str
) -> None:
    protected = await store_memories(backend, clock, 3, tag)
    others = await store_memories(backend, clock, 2)
    service = MemoryConsolidationService(backend=backend, config=a_config(most=2), clock=clock)

    assert await service.enforce_max_memories(ADA) == 2
    assert await seen(backend) == set(protected)
    assert not set(others) & await seen(backend)


async def test_more_than_a_page_is_taken_in_batches_and_still_the_oldest_first(
    clock: HeldClock,
) -> None:
    backend = InMemoryBackend(clock=clock)
    await backend.connect()
    ids = await store_memories(backend, clock, 1_200)
    service = MemoryConsolidationService(
        backend=backend, config=a_config(most=900), max_enforce_batch=100, clock=clock
    )

    assert await service.enforce_max_memories(ADA) == 300
    assert {
        e.original_id for e in await backend.archival_store.search(ADA, MemoryQuery(limit=1000))
    } == set(ids[:300])


async def test_what_cannot_be_put_away_stays_and_the_rest_goes(
    backend: InMemoryBackend, clock: HeldClock
) -> None:
    ids = await store_memories(backend, clock, 4)
    store = FullArchive(clock, lambda entry: entry.original_id != ids[0])
    service = MemoryConsolidationService(
        backend=backend, config=a_config(most=2), archival_store=store, clock=clock
    )

    assert await service.enforce_max_memories(ADA) == 2
    assert await seen(backend) == {ids[0], ids[3]}
    assert await store.count(ADA) == 2


@pytest.mark.parametrize("batch", [99, 10_001])
def test_a_batch_has_its_bounds(batch: int) -> None:
    with pytest.raises(ValueError, match="100 to 10000"):
        MemoryConsolidationService(
            backend=InMemoryBackend(), config=a_config(), max_enforce_batch=batch
        )


# The kill switch and retention.


async def test_the_kill_switch_is_read_again_at_each_call(
    backend: InMemoryBackend, clock: HeldClock
) -> None:
    await store_memories(backend, clock)
    resolver = Resolver(False, True)
    service = MemoryConsolidationService(
        backend=backend,
        config=a_config(),
        strategy=SimpleConsolidationStrategy(backend=backend, clock=clock),
        config_resolver=resolver,
        clock=clock,
    )

    assert await service.run_maintenance(ADA) == ConsolidationResult()
    assert (await service.run_maintenance(ADA)).consolidated_count == 3
    assert set(resolver.asked) == {("memory", "consolidation_enabled")}


async def test_a_switch_that_cannot_be_read_is_on(
    backend: InMemoryBackend, clock: HeldClock
) -> None:
    await store_memories(backend, clock)
    service = MemoryConsolidationService(
        backend=backend,
        config=a_config().model_copy(update={"enabled": False}),
        strategy=SimpleConsolidationStrategy(backend=backend, clock=clock),
        config_resolver=Resolver(RuntimeError("no such key")),
        clock=clock,
    )

    assert (await service.run_consolidation(ADA)).consolidated_count == 3


async def test_retention_comes_first_and_an_agents_word_is_heard(
    backend: InMemoryBackend, clock: HeldClock
) -> None:
    await store_memories(backend, clock)
    service = MemoryConsolidationService(backend=backend, config=a_config(most=1), clock=clock)

    await service.run_maintenance(ADA, agent_category_overrides={MemoryCategory.EPISODIC: 1})

    assert await backend.count(ADA) == 0
    assert await backend.archival_store.count(ADA) == 0


async def test_the_function_cleans_up_by_the_companys_rules(
    backend: InMemoryBackend, clock: HeldClock
) -> None:
    await store_memories(backend, clock)
    rule = RetentionRule(category=MemoryCategory.EPISODIC, retention_days=1)
    config = ConsolidationConfig(retention=RetentionConfig(rules=(rule,)))

    assert await cleanup_retention(ADA, backend=backend, config=config, clock=clock) == 4


async def test_a_step_that_fails_is_raised(
    backend: InMemoryBackend, clock: HeldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        del agent_id, query
        raise MemoryRetrievalError("broken")

    await store_memories(backend, clock)
    monkeypatch.setattr(backend, "retrieve", broken)
    service = MemoryConsolidationService(
        backend=backend,
        config=a_config(),
        strategy=SimpleConsolidationStrategy(backend=backend, clock=clock),
        clock=clock,
    )

    with pytest.raises(MemoryRetrievalError, match="broken"):
        await service.run_maintenance(ADA)
