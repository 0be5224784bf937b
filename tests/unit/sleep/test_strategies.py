"""SPEC 16.5-16.11: the documented strategies over a backend."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from support.clocks import HeldClock
from support.entries import a_request
from support.stub_provider import StubProvider

from memd.backends.inmemory import InMemoryBackend
from memd.base.errors import (
    MemoryRetrievalError,
    MemoryStoreError,
    ProviderBusyError,
    ProviderRefusedError,
)
from memd.base.ids import Ids
from memd.base.limits import PAGE_ITEMS_MAX
from memd.domain.enums import MemoryCategory, MemoryLevel
from memd.domain.memory import MemoryEntry, MemoryMetadata, MemoryQuery, MemoryStoreRequest
from memd.domain.sleep.consolidation import (
    ArchivalMode,
    ConsolidationResult,
    ConsolidationStrategy,
    LLMConsolidationConfig,
)
from memd.sleep.strategies.shorten import AbstractiveSummarizer
from memd.sleep.strategies.strategies import (
    CompositeConsolidationStrategy,
    DualModeConsolidationStrategy,
    LLMConsolidationStrategy,
    SimpleConsolidationStrategy,
)

ADA = "ada"
EPISODIC, SEMANTIC = MemoryCategory.EPISODIC, MemoryCategory.SEMANTIC


class Watched(InMemoryBackend):
    """Remembers what was called, in order, and fails where it is told to. Has no archive."""

    move_to_archive = None  # type: ignore[assignment]  # how a class says that it is not of a protocol

    def __init__(self, clock: HeldClock) -> None:
        super().__init__(clock=clock, ids=Ids(clock))
        self.calls: list[tuple[str, str]] = []
        self.requests: list[MemoryStoreRequest] = []
        self.fails: set[str] = set()
        self.missing: set[str] = set()
        self.limits: list[int] = []
        """Of the lookups."""

    async def store(self, agent_id: str, request: MemoryStoreRequest) -> str:
        if "store" in self.fails:
            raise MemoryStoreError("no room")
        memory_id = await super().store(agent_id, request)
        self.requests.append(request)
        self.calls.append(("store", memory_id))
        return memory_id

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        if "retrieve" in self.fails:
            raise MemoryRetrievalError("gone")
        self.calls.append(("retrieve", ",".join(query.tags)))
        self.limits.append(query.limit)
        return await super().retrieve(agent_id, query)

    async def delete(self, agent_id: str, memory_id: str) -> bool:
        self.calls.append(("delete", memory_id))
        if memory_id in self.fails:
            raise MemoryStoreError("locked")
        return memory_id not in self.missing and await super().delete(agent_id, memory_id)


@dataclass
class Desk:
    """A backend with old memories, and an archive that remembers what it was given."""

    clock: HeldClock = field(default_factory=HeldClock)
    archived: list[tuple[str, str, ArchivalMode]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.backend = Watched(self.clock)

    async def filled(
        self, *contents: str, category: MemoryCategory = EPISODIC, **fields: Any
    ) -> tuple[MemoryEntry, ...]:
        """Store *contents*, a second apart, and let three days go by."""
        await self.backend.connect()
        stored_ids = []
        for content in contents:
            self.clock.advance(seconds=1)
            request = a_request(content, category=category, **fields)
            stored_ids.append(await InMemoryBackend.store(self.backend, ADA, request))
        self.clock.advance(days=3)
        entries = [await self.backend.get(ADA, memory_id) for memory_id in stored_ids]
        self.backend.calls.clear()
        return tuple(entry for entry in entries if entry is not None)

    async def move_to_archive(self, agent_id: str, entry: MemoryEntry, mode: ArchivalMode) -> None:
        assert agent_id == ADA
        assert await self.backend.get(ADA, entry.id) == entry, "archived before it is removed"
        if entry.id in self.backend.fails:
            raise MemoryStoreError("the archive is full")
        self.backend.calls.append(("put away", entry.id))
        self.archived.append((entry.id, entry.content, mode))

    def simple(self, **more: Any) -> SimpleConsolidationStrategy:
        return SimpleConsolidationStrategy(backend=self.backend, clock=self.clock, **more)

    def dual(self, **more: Any) -> DualModeConsolidationStrategy:
        return DualModeConsolidationStrategy(backend=self.backend, clock=self.clock, **more)

    def llm(self, provider: StubProvider | None, **more: Any) -> LLMConsolidationStrategy:
        return LLMConsolidationStrategy(
            backend=self.backend,
            provider=provider,
            model=None if provider is None else "large",
            clock=self.clock,
            **more,
        )


@pytest.fixture
def desk() -> Desk:
    return Desk()


THREE = ("We met Ada.", "We met Bob.", "We met Cid.")
DENSE = ('{"port": 1}', '{"port": 2}', '{"port": 3}')


@pytest.fixture
async def entries(desk: Desk) -> tuple[MemoryEntry, ...]:
    return await desk.filled(*THREE)


@pytest.mark.parametrize("kind", ["simple", "dual", "llm"])
async def test_every_strategy_keeps_one_stores_the_summary_puts_away_and_removes_in_that_order(
    desk: Desk, kind: str
) -> None:
    one, two, newest = await desk.filled(*THREE)
    makers: dict[str, CompositeConsolidationStrategy] = {
        "simple": desk.simple(move_to_archive=desk.move_to_archive),
        "dual": desk.dual().archiving_with(desk.move_to_archive),
        "llm": desk.llm(StubProvider(["All three."]), move_to_archive=desk.move_to_archive),
    }
    strategy = makers[kind]
    assert isinstance(strategy, ConsolidationStrategy)

    result = await strategy.consolidate((one, two, newest), agent_id=ADA)

    assert result.removed_ids == (one.id, two.id)
    assert result.summary_id is not None
    assert [call for call in desk.backend.calls if call[0] != "retrieve"] == [
        ("store", result.summary_id),
        ("put away", one.id),
        ("delete", one.id),
        ("put away", two.id),
        ("delete", two.id),
    ]
    assert [content for _, content, _ in desk.archived] == list(THREE[:2])
    remaining = await desk.backend.retrieve(ADA, MemoryQuery())
    assert {entry.id for entry in remaining} == {newest.id, result.summary_id}


async def test_without_a_large_enough_group_the_backend_is_not_called(desk: Desk) -> None:
    entries = await desk.filled(*THREE[:2])
    provider = StubProvider(["x"])
    for strategy in (desk.simple(), desk.dual(), desk.llm(provider)):
        assert await strategy.consolidate(entries, ADA) == ConsolidationResult()
        assert await strategy.consolidate((), ADA) == ConsolidationResult()
    assert desk.backend.calls == []
    assert provider.asked == []


async def test_what_is_younger_than_a_day_is_left_alone(
    entries: tuple[MemoryEntry, ...], desk: Desk
) -> None:
    desk.clock.advance(days=-3)
    assert await desk.simple().consolidate(entries, ADA) == ConsolidationResult()


async def test_a_second_night_finds_nothing_more(desk: Desk) -> None:
    await desk.filled(*THREE, *THREE)
    first = await desk.simple().consolidate(await desk.backend.retrieve(ADA, MemoryQuery()), ADA)
    desk.clock.advance(days=9)
    second_result = await desk.simple().consolidate(
        await desk.backend.retrieve(ADA, MemoryQuery()), ADA
    )
    assert first.consolidated_count == 5
    assert second_result == ConsolidationResult()


async def test_a_summary_lives_where_its_sources_lived(desk: Desk) -> None:
    entries = await desk.filled(
        *THREE, namespace="work", level=MemoryLevel.PROJECT, project_id="memd", session_id="s"
    )
    await desk.simple().consolidate(entries, ADA)
    (request,) = desk.backend.requests
    assert (request.namespace, request.category) == ("work", EPISODIC)
    assert (request.level, request.project_id, request.session_id) == ("project", "memd", None)
    assert request.metadata == MemoryMetadata(source="consolidation", tags=("consolidated",))
    assert request.expires_at is None


@pytest.mark.parametrize("make", [SimpleConsolidationStrategy, DualModeConsolidationStrategy])
def test_a_group_has_two_members_at_least(desk: Desk, make: Any) -> None:
    make(backend=desk.backend, group_threshold=2)
    with pytest.raises(ValueError, match="group_threshold"):
        make(backend=desk.backend, group_threshold=1)


@pytest.mark.parametrize("model", [False, True])
async def test_a_backend_with_an_archive_of_its_own_keeps_the_originals(
    desk: Desk, *, model: bool
) -> None:
    entries = await desk.filled(*THREE)
    backend = InMemoryBackend(clock=desk.clock)
    await backend.connect()
    for entry in entries:
        await backend.store(ADA, a_request(entry.content))
    desk.clock.advance(days=3)
    entries = await backend.retrieve(ADA, MemoryQuery())
    provider = StubProvider([ProviderBusyError("later")])
    strategy = (
        LLMConsolidationStrategy(backend=backend, provider=provider, model="m", clock=desk.clock)
        if model
        else SimpleConsolidationStrategy(backend=backend, clock=desk.clock)
    )

    result = await strategy.consolidate(entries, ADA)

    archived = await backend.archival_store.search(ADA, MemoryQuery())
    assert {entry.original_id for entry in archived} == set(result.removed_ids)
    assert len(archived) == 2
    assert {entry.content for entry in archived} < set(THREE)


# Simple


async def test_the_simple_summary_lists_what_is_removed_and_reports_all_of_it(
    entries: tuple[MemoryEntry, ...], desk: Desk
) -> None:
    desk.backend.missing = {entries[0].id}

    result = await desk.simple().consolidate(entries, ADA)

    assert desk.backend.requests[0].content == (
        "Consolidated episodic memories:\n- We met Ada.\n- We met Bob."
    )
    assert result.removed_ids == (entries[0].id, entries[1].id)
    assert result.mode_assignments == ()


# Dual mode


async def test_a_dense_group_is_extractive_and_a_sparse_one_abstractive(desk: Desk) -> None:
    entries = await desk.filled(*DENSE, category=SEMANTIC) + await desk.filled(*THREE)

    result = await desk.dual(move_to_archive=desk.move_to_archive).consolidate(entries, ADA)

    assert [request.metadata.tags for request in desk.backend.requests] == [
        ("consolidated", "mode:abstractive"),
        ("consolidated", "mode:extractive"),
    ]
    assert {each.original_id: each.mode for each in result.mode_assignments} == {
        memory_id: mode for memory_id, _, mode in desk.archived
    }
    assert [each.original_id for each in result.mode_assignments] == list(result.removed_ids)
    assert [mode.value for _, _, mode in desk.archived] == 2 * ["abstractive"] + 2 * ["extractive"]


async def test_what_dual_mode_did_not_find_to_remove_is_not_counted(
    entries: tuple[MemoryEntry, ...], desk: Desk
) -> None:
    desk.backend.missing = {entries[0].id}
    result = await desk.dual().consolidate(entries, ADA)
    assert result.removed_ids == (entries[1].id,)
    assert [each.original_id for each in result.mode_assignments] == [entries[1].id]


async def test_dual_mode_takes_its_parts(entries: tuple[MemoryEntry, ...], desk: Desk) -> None:
    summarizer = AbstractiveSummarizer(provider=StubProvider(["short"]), model="small")
    await desk.dual(summarizer=summarizer).consolidate(entries, ADA)
    assert desk.backend.requests[0].content == "short\n---\nshort"


# A language model


async def test_a_summary_by_a_model_is_stored_with_its_tags(
    entries: tuple[MemoryEntry, ...], desk: Desk
) -> None:
    await desk.llm(StubProvider([" All three. "])).consolidate(entries, ADA)
    (request,) = desk.backend.requests
    assert request.content == "All three."
    assert request.metadata.tags == ("consolidated", "llm-synthesized")


async def test_distillations_are_looked_up_once_for_all_groups_newest_first(desk: Desk) -> None:
    contents = [f"task {number} went well" for number in range(7)]
    await desk.filled(*contents, metadata=MemoryMetadata(tags=("distillation",)))
    entries = await desk.filled(*THREE) + await desk.filled(*THREE, category=SEMANTIC)
    provider = StubProvider(["ok"])

    result = await desk.llm(provider).consolidate(entries, ADA)

    assert [call for call in desk.backend.calls if call[0] == "retrieve"] == [
        ("retrieve", "distillation")
    ]
    assert len(result.summary_ids) == len(provider.asked) == 2
    for request in provider.asked:
        assert request.prompt.count("<trajectory>") == 5
        assert request.prompt.index("task 6") < request.prompt.index("task 2")
    assert provider.most == 2  # groups are written at the same time


async def test_no_more_context_is_looked_up_than_a_page_holds(desk: Desk) -> None:
    await desk.filled("it went well", metadata=MemoryMetadata(tags=("distillation",)))
    entries = await desk.filled(*THREE)
    provider = StubProvider(["ok"])
    config = LLMConsolidationConfig(max_trajectory_context_entries=PAGE_ITEMS_MAX)

    await desk.llm(provider, config=config).consolidate(entries, ADA)

    assert desk.backend.limits == [PAGE_ITEMS_MAX]
    assert "it went well" in provider.asked[0].prompt


@pytest.mark.parametrize("how", ["unreadable", "not wanted", "no provider"])
async def test_there_may_be_no_context(
    entries: tuple[MemoryEntry, ...], desk: Desk, how: str
) -> None:
    desk.backend.fails = {"retrieve"} if how == "unreadable" else set()
    config = LLMConsolidationConfig(include_distillation_context=how != "not wanted")
    provider = None if how == "no provider" else StubProvider(["ok"])

    result = await desk.llm(provider, config=config).consolidate(entries, ADA)

    assert result.consolidated_count == 2
    assert ("retrieve", "distillation") not in desk.backend.calls


async def test_what_the_model_did_not_read_is_not_removed(desk: Desk) -> None:
    entries = await desk.filled(*(f"{number}" * 900 for number in range(4)))
    config = LLMConsolidationConfig(max_entry_input_chars=1000, max_total_user_content_chars=1000)
    result = await desk.llm(StubProvider(["ok"]), config=config).consolidate(entries, ADA)
    assert result.removed_ids == (entries[0].id,)


async def test_a_fallback_puts_all_away_and_removes_them(
    entries: tuple[MemoryEntry, ...], desk: Desk
) -> None:
    provider = StubProvider([ProviderBusyError("later")])

    result = await desk.llm(provider, move_to_archive=desk.move_to_archive).consolidate(
        entries, ADA
    )

    assert result.removed_ids == (entries[0].id, entries[1].id)
    assert desk.backend.requests[0].metadata.tags == ("consolidated", "concat-fallback")
    assert [mode for _, _, mode in desk.archived] == 2 * [ArchivalMode.EXTRACTIVE]


async def test_a_fallback_without_an_archive_leaves_everything_as_it_is(
    entries: tuple[MemoryEntry, ...], desk: Desk
) -> None:
    provider = StubProvider([ProviderBusyError("later")])
    assert await desk.llm(provider).consolidate(entries, ADA) == ConsolidationResult()
    assert {name for name, _ in desk.backend.calls} == {"retrieve"}


async def test_without_a_provider_the_llm_strategy_works_by_rule(
    entries: tuple[MemoryEntry, ...], desk: Desk
) -> None:
    result = await desk.llm(None).consolidate(entries, ADA)
    assert result.consolidated_count == 2
    assert desk.backend.requests[0].content.startswith("Consolidated episodic memories:")


async def test_what_the_model_s_strategy_did_not_find_to_remove_is_reported(
    entries: tuple[MemoryEntry, ...], desk: Desk
) -> None:
    desk.backend.missing = {entries[0].id}
    result = await desk.llm(StubProvider(["ok"])).consolidate(entries, ADA)
    assert result.removed_ids == (entries[0].id, entries[1].id)


def test_a_group_for_a_model_has_three_members_at_least() -> None:
    with pytest.raises(ValueError, match="group_threshold"):
        LLMConsolidationConfig(group_threshold=2)


# What fails


@pytest.mark.parametrize("fails", ["provider", "store"])
async def test_nothing_is_removed_when_the_summary_is_not_made_or_not_stored(
    entries: tuple[MemoryEntry, ...], desk: Desk, fails: str
) -> None:
    refused = ProviderRefusedError("wrong key")
    provider = StubProvider([refused if fails == "provider" else "ok"])
    desk.backend.fails = {fails}

    with pytest.raises((ProviderRefusedError, MemoryStoreError)) as raised:
        await desk.llm(provider, move_to_archive=desk.move_to_archive).consolidate(entries, ADA)

    assert not isinstance(raised.value, BaseExceptionGroup)
    assert await desk.backend.count(ADA) == 3
    assert {name for name, _ in desk.backend.calls} <= {"retrieve"}


async def test_what_could_not_be_removed_is_not_reported(
    entries: tuple[MemoryEntry, ...], desk: Desk
) -> None:
    desk.backend.fails = {entries[0].id}
    for strategy in (desk.simple(), desk.dual(), desk.llm(StubProvider(["ok"]))):
        result = await strategy.consolidate(entries, ADA)
        assert entries[0].id not in result.removed_ids
        assert await desk.backend.get(ADA, entries[0].id) == entries[0]


async def test_what_could_not_be_put_away_is_not_removed(
    entries: tuple[MemoryEntry, ...], desk: Desk
) -> None:
    desk.backend.fails = {entries[0].id}
    result = await desk.simple(move_to_archive=desk.move_to_archive).consolidate(entries, ADA)
    assert result.removed_ids == (entries[1].id,)
    assert ("delete", entries[0].id) not in desk.backend.calls


async def test_a_cancelled_night_has_removed_only_what_it_put_away(
    entries: tuple[MemoryEntry, ...], desk: Desk
) -> None:

    async def interrupted(agent_id: str, entry: MemoryEntry, mode: ArchivalMode) -> None:
        if desk.archived:
            raise asyncio.CancelledError
        await desk.move_to_archive(agent_id, entry, mode)

    with pytest.raises(asyncio.CancelledError):
        await desk.simple(move_to_archive=interrupted).consolidate(entries, ADA)

    assert await desk.backend.get(ADA, entries[0].id) is None
    assert await desk.backend.get(ADA, entries[1].id) == entries[1]
    assert [memory_id for memory_id, _, _ in desk.archived] == [entries[0].id]
