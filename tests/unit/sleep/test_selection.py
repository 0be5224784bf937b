"""SPEC 16.5, D9: which memories are consolidated, and which one stays."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.entries import NOW, an_entry

from memd.domain.enums import MemoryCategory, MemoryLevel, MemoryState
from memd.domain.memory import MemoryEntry, MemoryMetadata
from memd.sleep.strategies.selection import ConsolidationGroup, HighestRelevanceSelector

DAYS = 24.0


def old(memory_id: str, **fields: Any) -> MemoryEntry:
    """Return an entry that is three days old."""
    return an_entry(memory_id, **({"hours_old": 3 * DAYS} | fields))


def select(*entries: MemoryEntry, threshold: int = 3) -> tuple[ConsolidationGroup, ...]:
    return HighestRelevanceSelector(group_threshold=threshold).select(entries, NOW)


def ids(group: ConsolidationGroup) -> tuple[str, tuple[str, ...]]:
    return group.kept.id, tuple(entry.id for entry in group.to_remove)


def test_groups_come_by_category_in_alphabetical_order() -> None:
    categories = (MemoryCategory.SOCIAL, MemoryCategory.EPISODIC, MemoryCategory.PROCEDURAL)
    entries = [
        old(f"{category}-{number}", category=category)
        for number in range(3)
        for category in categories
    ]
    assert [group.category for group in select(*entries)] == sorted(categories)


def test_a_group_below_the_threshold_is_left_alone() -> None:
    assert select(old("a"), old("b")) == ()
    assert len(select(old("a"), old("b"), threshold=2)) == 1
    assert select() == ()


@pytest.mark.parametrize(("threshold", "least"), [(1, 2), (2, 3)])
def test_a_threshold_below_the_least_is_refused(threshold: int, least: int) -> None:
    with pytest.raises(ValueError, match="group_threshold"):
        HighestRelevanceSelector(group_threshold=threshold, threshold_min=least)


def test_the_most_relevant_is_kept_and_the_others_come_in_the_order_given() -> None:
    (group,) = select(
        old("low", relevance_score=0.1),
        old("high", relevance_score=0.9),
        old("none", relevance_score=None),
        old("middle", relevance_score=0.5),
    )
    assert ids(group) == ("high", ("low", "none", "middle"))


def test_no_relevance_is_a_relevance_of_zero_and_then_the_newest_is_kept() -> None:
    (group,) = select(
        old("zero", relevance_score=0.0, hours_old=5 * DAYS),
        old("newest", hours_old=2 * DAYS),
        old("oldest", hours_old=9 * DAYS),
    )
    assert ids(group) == ("newest", ("zero", "oldest"))


def test_of_exact_equals_the_first_is_kept() -> None:
    (group,) = select(old("first"), old("second"), old("third"))
    assert ids(group) == ("first", ("second", "third"))


def test_namespaces_are_never_mixed() -> None:
    entries = [old(f"{name}{number}", namespace=name) for name in "ba" for number in range(3)]
    groups = select(*entries, old("c0", namespace="c"))
    assert [(group.namespace, len(group.to_remove)) for group in groups] == [("a", 2), ("b", 2)]


def test_what_is_filtered_by_a_project_or_ends_with_a_session_is_never_mixed_with_others() -> None:
    project = [
        old(f"p{name}{number}", level=MemoryLevel.PROJECT, project_id=name)
        for name in "xy"
        for number in range(2)
    ]
    session = [old(f"s{n}", level=MemoryLevel.SESSION, session_id="s") for n in range(2)]
    lasting = [old(f"l{number}", project_id=f"{number}", session_id="s") for number in range(2)]

    groups = select(*project, *session, *lasting, threshold=2)

    assert [(group.level.value, group.project_id, group.session_id) for group in groups] == [
        ("persistent", None, None),
        ("project", "x", None),
        ("project", "y", None),
        ("session", None, "s"),
    ]


@pytest.mark.parametrize("tag", ["consolidated", "compressed", "compressed_experience"])
def test_a_summary_is_never_summarised_again(tag: str) -> None:
    summary = old("summary", metadata=MemoryMetadata(tags=("x", tag)))
    assert select(old("a"), old("b"), summary) == ()
    (group,) = select(old("a"), old("b"), old("c"), summary)
    assert "summary" not in ids(group)[1]


@pytest.mark.parametrize("tag", ["core", "distillation", "detailed_experience"])
def test_what_is_protected_is_no_member(tag: str) -> None:
    protected = old("p", relevance_score=1.0, metadata=MemoryMetadata(tags=(tag,)))
    (group,) = select(old("a"), old("b"), old("c"), protected)
    assert ids(group) == ("a", ("b", "c"))


def test_a_member_is_at_least_one_day_old() -> None:
    young = an_entry("young", hours_old=23.99)
    ahead = an_entry("ahead", hours_old=-48.0)  # a clock that was set back
    assert select(old("a"), old("b"), young, ahead) == ()
    (group,) = select(old("a"), old("b"), an_entry("c", hours_old=24.0))
    assert group.kept.id == "c"


def test_what_has_a_date_to_go_is_left_to_go() -> None:
    leaving = old("leaving", expires_at=NOW + timedelta(days=1))
    assert select(old("a"), old("b"), leaving) == ()


@pytest.mark.parametrize("state", [MemoryState.COMPRESSED, MemoryState.ARCHIVED, MemoryState.STALE])
def test_what_is_hidden_is_no_member(state: MemoryState) -> None:
    assert select(old("a"), old("b"), old("hidden", state=state)) == ()


def test_an_entry_that_comes_twice_counts_once() -> None:
    assert select(old("a"), old("b"), old("a")) == ()


def test_what_a_nap_composed_stays_whole_and_a_fact_of_a_nap_does_not() -> None:
    composed = [old(f"c{n}", metadata=MemoryMetadata(tags=("nap", "fix"))) for n in range(3)]
    assert select(*composed) == ()
    facts = [old(f"f{n}", metadata=MemoryMetadata(tags=("nap",))) for n in range(3)]
    assert len(select(*facts)) == 1
