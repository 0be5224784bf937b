"""Which memories become one summary, and what its row takes over (SPEC 16.5, D9)."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.domain.enums import MemoryCategory, MemoryState, Origin, Trust
from memd.sleep.strategies.batches import (
    LINE_CHARS,
    SUMMARY_TOKENS,
    Batch,
    NewSummary,
    group_by_place,
    split_session,
    summary_row,
)
from memd.store.memory.groups import MemberRow

_keys = count(1)


def a_member(own: str = "a turn", **fields: Any) -> MemberRow:
    key = next(_keys)
    plain = MemberRow(
        memory_key=key,
        memory_id=f"m{key:06}",
        row_hash=b"",
        namespace="default",
        category="episodic",
        level="persistent",
        project_key=None,
        origin="person",
        trust=2,
        text=own,
        ordinal=key,
        part=0,
        importance=0.5,
        created_at_us=key,
        occurred_at_us=None,
        state="active",
    )
    return plain._replace(**fields)


def words(text: str) -> int:
    return len(text.split())


def cuts(*members: MemberRow, threshold: int = 3) -> list[list[MemberRow]]:
    return [list(batch.members) for batch in split_session(members, threshold, words)]


@pytest.mark.parametrize(("count", "batches"), [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1)])
def test_fewer_than_the_threshold_are_left_alone(count: int, batches: int) -> None:
    members = [a_member() for _ in range(count)]
    assert cuts(*members) == [members] * batches


@pytest.mark.parametrize("field", ["namespace", "category", "level", "project_key"])
def test_a_group_never_mixes_what_a_filter_keeps_apart(field: str) -> None:
    other: Any = {"category": "semantic", "level": "project", "project_key": 7}.get(field, "work")
    ours = [a_member() for _ in range(3)]
    theirs = [a_member(**{field: other}) for _ in range(3)]
    mixed = [member for pair in zip(ours, theirs, strict=True) for member in pair]
    assert sorted(cuts(*mixed), key=lambda some: some[0].memory_key) == [ours, theirs]
    assert cuts(*mixed[:5]) == [ours]
    assert sorted(group_by_place(mixed), key=lambda some: some[0].memory_key) == [ours, theirs]


def test_a_group_is_cut_where_a_summary_is_as_long_as_the_model_reads_at_once() -> None:
    lines = SUMMARY_TOKENS // 40
    members = [a_member("word " * 38) for _ in range(2 * lines)]  # each with its dash: 40 tokens
    assert cuts(*members) == [members[:lines], members[lines:]]


def test_of_a_long_memory_only_the_line_that_a_summary_shows_of_it_counts() -> None:
    members = [a_member("x" * LINE_CHARS + " word" * 1000) for _ in range(6)]
    assert cuts(*members) == [members]


def test_a_summary_is_longer_than_that_rather_than_of_fewer_than_the_threshold() -> None:
    members = [a_member("w " * 90) for _ in range(6)]  # 92 tokens: two fit, three do not
    assert cuts(*members) == [members[:3], members[3:]]


def test_what_is_left_over_waits_for_more() -> None:
    members = [a_member("w " * 90) for _ in range(5)]
    assert cuts(*members) == [members[:3]]


@given(
    sizes=st.lists(st.integers(1, 120), max_size=60),
    spaces=st.lists(st.sampled_from(["a", "b"]), min_size=60, max_size=60),
    threshold=st.integers(2, 6),
)
def test_every_cut_keeps_the_order_and_each_memory_is_in_one_batch_at_most(
    sizes: list[int], spaces: list[str], threshold: int
) -> None:
    members = [
        a_member("w " * size, namespace=space)
        for size, space in zip(sizes, spaces[: len(sizes)], strict=True)
    ]
    batches = split_session(members, threshold, words)
    keys = [member.memory_key for batch in batches for member in batch.members]
    assert len(keys) == len(set(keys))
    for batch in batches:
        assert len(batch.members) >= threshold
        assert len({member.namespace for member in batch.members}) == 1
        batch_keys = [member.memory_key for member in batch.members]
        assert batch_keys == sorted(batch_keys)
        but_the_last = sum(words(m.text[:LINE_CHARS]) + 2 for m in batch.members[:-1])
        assert but_the_last <= SUMMARY_TOKENS or len(batch.members) <= threshold


def test_the_newest_stays_and_of_equals_the_first() -> None:
    old, new, as_new = a_member(), a_member(created_at_us=10**9), a_member(created_at_us=10**9)
    (batch,) = split_session([old, new, as_new], 3, words)
    assert batch.visible is new
    assert batch.to_remove == (old, as_new)
    assert batch.select_removed([as_new.memory_id, new.memory_id, "unknown"]) == [as_new]
    assert batch.category is MemoryCategory.EPISODIC


def row_of(*members: MemberRow) -> Any:
    new_summary = NewSummary("id", b"salt", 1, 2, 3, 40, 10**15)
    return summary_row(
        new_summary, members, "The text.", MemoryCategory.EPISODIC, ("consolidated",)
    )


def test_a_summary_is_no_more_trusted_than_its_least_trusted_source() -> None:
    row = row_of(a_member(), a_member(origin="web", trust=0), a_member(origin="assistant", trust=1))
    assert (row.trust, row.origin) == (Trust(0), Origin.WEB)


def test_a_summary_stands_and_is_dated_where_its_first_source_was() -> None:
    row = row_of(
        a_member(ordinal=4, part=1, namespace="work", level="project", project_key=9),
        a_member(ordinal=5, namespace="work", level="project", project_key=9),
    )
    assert (row.ordinal, row.part, row.namespace, row.level, row.project_key) == (
        4, 1, "work", "project", 9,
    )  # fmt: skip
    assert row_of(a_member(created_at_us=77)).occurred_at_us == 77
    assert row_of(a_member(created_at_us=77, occurred_at_us=5)).occurred_at_us == 5
    assert row_of(a_member(created_at_us=77, occurred_at_us=0)).occurred_at_us == 0
    assert row.created_at_us == 10**15


def test_a_summary_is_as_important_as_its_sources_are_on_average() -> None:
    row = row_of(a_member(importance=0.2), a_member(importance=None), a_member(importance=0.8))
    assert row.importance == pytest.approx(0.5)
    assert row_of(a_member(importance=None)).importance == 0.5


def test_a_summary_says_so_and_waits_for_its_vector() -> None:
    row = row_of(a_member())
    assert row.is_summary
    assert row.state is MemoryState.PENDING
    assert (row.reference, row.tags, row.speaker, row.expires_at_us) == (
        "consolidation", ("consolidated",), None, None,
    )  # fmt: skip


def test_a_batch_knows_what_is_removed() -> None:
    one, other = a_member(), a_member()
    assert Batch((one, other), other).to_remove == (one,)
