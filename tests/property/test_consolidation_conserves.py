"""SPEC D9: whatever fails, and wherever, a consolidation loses no original."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as some
from support.clocks import HeldClock
from support.entries import NOW, an_entry
from support.stub_provider import Answer, StubProvider

from memd.base.errors import MemoryStoreError, ProviderBusyError, ProviderRefusedError
from memd.domain.enums import MemoryCategory
from memd.domain.memory import MemoryEntry, MemoryMetadata, MemoryQuery, MemoryStoreRequest
from memd.domain.sleep.consolidation import (
    PROTECTED_TAGS,
    SUMMARY_TAGS,
    ArchivalMode,
    ConsolidationResult,
)
from memd.sleep.strategies.selection import HighestRelevanceSelector
from memd.sleep.strategies.strategies import (
    CompositeConsolidationStrategy,
    DualModeConsolidationStrategy,
    LLMConsolidationStrategy,
    SimpleConsolidationStrategy,
)


class Faulty:
    """A backend and an archive in dictionaries; call number *at* raises *error*."""

    backend_name = "faulty"
    is_connected = True

    def __init__(self, entries: list[MemoryEntry], at: int, error: BaseException) -> None:
        self.hot = {entry.id: entry for entry in entries}
        self.archive: dict[str, MemoryEntry] = {}
        self.summaries: list[MemoryStoreRequest] = []
        self._at, self._error, self._calls = at, error, 0

    def _call(self) -> None:
        self._calls += 1
        if self._calls == self._at:
            raise self._error

    async def connect(self) -> None: ...

    async def disconnect(self) -> None: ...

    async def health_check(self) -> bool:
        return True

    async def store(self, agent_id: str, request: MemoryStoreRequest) -> str:
        assert agent_id == "ada"
        self._call()
        self.summaries.append(request)
        return f"summary-{len(self.summaries)}"

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        return ()

    async def get(self, agent_id: str, memory_id: str) -> MemoryEntry | None:
        return self.hot.get(memory_id)

    async def count(self, agent_id: str, *, category: MemoryCategory | None = None) -> int:
        return len(self.hot)

    async def delete(self, agent_id: str, memory_id: str) -> bool:
        self._call()
        return self.hot.pop(memory_id, None) is not None

    async def move_to_archive(self, agent_id: str, entry: MemoryEntry, mode: ArchivalMode) -> None:
        self._call()
        self.archive[entry.id] = entry


def entry(
    number: int, content: str, category: MemoryCategory, namespace: str, tag: str, days: int
) -> MemoryEntry:
    return an_entry(
        f"m{number}",
        content=content,
        category=category,
        namespace=namespace,
        metadata=MemoryMetadata(tags=(tag,)),
        created_at=NOW - timedelta(days=days),
    )


TAGS = some.sampled_from(["plain"] * 12 + sorted(PROTECTED_TAGS | SUMMARY_TAGS))
ENTRIES = some.lists(
    some.tuples(
        some.sampled_from(["We met Ada.", '{"port": 1}', "word " * 90, "key: value\nhost: db1"]),
        some.sampled_from([MemoryCategory.EPISODIC, MemoryCategory.SEMANTIC]),
        some.sampled_from(["default", "work"]),
        TAGS,
        some.integers(0, 4),
    ),
    max_size=20,
).map(lambda rows: [entry(number, *row) for number, row in enumerate(rows)])
ERRORS: list[BaseException] = [MemoryStoreError("no"), OSError(), RuntimeError("a bug")]
ANSWERS: list[Answer] = ["ok", "", ProviderBusyError("later"), ProviderRefusedError("key")]
MAKERS: list[Callable[[Faulty, Answer], CompositeConsolidationStrategy]] = [
    lambda faulty, _: SimpleConsolidationStrategy(
        backend=faulty, clock=HeldClock(), move_to_archive=faulty.move_to_archive
    ),
    lambda faulty, _: DualModeConsolidationStrategy(
        backend=faulty, clock=HeldClock(), move_to_archive=faulty.move_to_archive
    ),
    lambda faulty, answer: LLMConsolidationStrategy(
        backend=faulty,
        provider=StubProvider([answer]),
        model="m",
        clock=HeldClock(),
        move_to_archive=faulty.move_to_archive,
    ),
]


@settings(max_examples=150)
@given(
    ENTRIES,
    some.sampled_from(MAKERS),
    some.sampled_from(ANSWERS),
    some.integers(0, 12),
    some.sampled_from(ERRORS),
)
def test_every_original_is_where_it_was_or_in_the_archive_as_it_was(
    entries: list[MemoryEntry],
    make: Callable[[Faulty, Answer], CompositeConsolidationStrategy],
    answer: Answer,
    at: int,
    error: BaseException,
) -> None:
    faulty = Faulty(entries, at, error)
    strategy = make(faulty, answer)
    try:
        result = asyncio.run(strategy.consolidate(tuple(entries), "ada"))
    except (MemoryStoreError, OSError, RuntimeError, ProviderRefusedError):
        result = None

    for original in entries:
        assert original in (faulty.hot.get(original.id), faulty.archive.get(original.id))
    gone = {original.id for original in entries} - set(faulty.hot)
    if result is not None:
        assert set(result.removed_ids) == gone
        assert len(result.summary_ids) == len(faulty.summaries)
        assert ConsolidationResult.model_validate(result.model_dump()) == result
    if gone:
        assert faulty.summaries, "nothing goes before something stands for it"


@given(ENTRIES)
def test_groups_share_no_member_and_hold_no_protected_one(entries: list[MemoryEntry]) -> None:
    groups = HighestRelevanceSelector().select(entries, NOW)
    members = [each for group in groups for each in (group.kept, *group.to_remove)]
    assert len({each.id for each in members}) == len(members)
    for group in groups:
        assert len(group.to_remove) >= 2
        for each in (group.kept, *group.to_remove):
            assert (each.category, each.namespace) == (group.category, group.namespace)
            assert each.metadata.tags == ("plain",)
            assert NOW - each.created_at >= timedelta(days=1)
