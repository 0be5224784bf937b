"""SPEC 8.3: one list ranked by relevance and recency."""

from __future__ import annotations

from datetime import timedelta

import pytest
from support.entries import NOW, an_entry, entries

from memd.domain.enums import FusionStrategy
from memd.domain.settings.retrieval import MemoryRetrievalConfig
from memd.recall.ranking.scored_memories import (
    compute_combined_score,
    compute_recency_score,
    rank_memories,
)

CONFIG = MemoryRetrievalConfig()


@pytest.mark.parametrize(
    ("hours", "score"), [(24, 0.7866), (72, 0.4868), (168, 0.1864), (720, 0.0007)]
)
def test_recency_falls_exponentially_with_age(hours: int, score: float) -> None:
    recency = compute_recency_score(NOW - timedelta(hours=hours), NOW, decay_rate=0.01)

    assert recency == pytest.approx(score, abs=5e-5)


def test_recency_halves_in_69_hours() -> None:
    created = NOW - timedelta(hours=69.3147)

    assert compute_recency_score(created, NOW, 0.01) == pytest.approx(0.5, abs=1e-5)


@pytest.mark.parametrize("hours", [0, -1, -10_000])
def test_an_age_of_zero_or_less_is_exactly_one(hours: int) -> None:
    assert compute_recency_score(NOW - timedelta(hours=hours), NOW, 0.01) == 1.0


def test_the_combined_score_is_at_most_one() -> None:
    assert compute_combined_score(1.0, 1.0, 0.7000005, 0.3000005) == 1.0
    assert compute_combined_score(
        relevance=0.9, recency=0.7866, relevance_weight=0.7, recency_weight=0.3
    ) == pytest.approx(0.8660, abs=5e-5)


def test_the_combined_score_is_at_least_zero() -> None:
    assert compute_combined_score(-0.4, 0.0, 0.7, 0.3) == 0.0


@pytest.mark.parametrize(("raw", "boosted"), [(0.6, 0.7), (0.95, 1.0), (None, 0.6)])
def test_a_personal_memory_is_boosted_up_to_one(raw: float | None, boosted: float) -> None:
    (scored,) = rank_memories((an_entry(relevance_score=raw),), config=CONFIG, now=NOW)

    assert scored.relevance_score == pytest.approx(boosted)
    assert scored.scoring_strategy is FusionStrategy.LINEAR
    assert not scored.is_shared


@pytest.mark.parametrize(("raw", "relevance"), [(0.6, 0.6), (None, 0.5)])
def test_a_shared_memory_is_not_boosted(raw: float | None, relevance: float) -> None:
    shared = (an_entry(relevance_score=raw),)

    (scored,) = rank_memories((), config=CONFIG, now=NOW, shared_entries=shared)

    assert scored.relevance_score == relevance
    assert scored.is_shared


def test_a_score_exactly_at_the_threshold_is_kept() -> None:
    config = MemoryRetrievalConfig(
        relevance_weight=1.0, recency_weight=0.0, personal_boost=0.0, min_relevance=0.5
    )
    at, below = an_entry("at", relevance_score=0.5), an_entry("below", relevance_score=0.499)

    ranked = rank_memories((at, below), config=config, now=NOW)

    assert [memory.entry.id for memory in ranked] == ["at"]


def test_among_equals_personal_comes_before_shared_and_earlier_before_later() -> None:
    config = MemoryRetrievalConfig(personal_boost=0.0)

    ranked = rank_memories(entries("p1", "p2"), config, NOW, shared_entries=entries("s1"))

    assert [memory.entry.id for memory in ranked] == ["p1", "p2", "s1"]


def test_the_same_memory_in_both_lists_stays_twice() -> None:
    ranked = rank_memories(entries("m"), CONFIG, NOW, shared_entries=entries("m"))

    assert [memory.is_shared for memory in ranked] == [False, True]


def test_at_most_max_memories_remain() -> None:
    config = MemoryRetrievalConfig(max_memories=2)

    assert len(rank_memories(entries(*"abcde"), config, NOW)) == 2


def test_diversity_gets_the_whole_overfetched_pool() -> None:
    config = MemoryRetrievalConfig(max_memories=2, diversity_penalty_enabled=True)

    assert config.pool_size == 6
    assert len(rank_memories(entries(*"abcdefgh"), config, NOW)) == 6


def test_age_counts_from_the_event_where_it_is_known() -> None:
    old = an_entry(relevance_score=0.9, occurred_at=NOW - timedelta(hours=720))

    (scored,) = rank_memories((old,), CONFIG, NOW)

    assert scored.recency_score == pytest.approx(0.0007, abs=5e-5)


def test_a_very_old_memory_needs_a_raw_relevance_of_a_third() -> None:
    year = 24 * 365
    enough, short = (
        an_entry(str(raw), relevance_score=raw, hours_old=year) for raw in (0.3286, 0.3285)
    )

    ranked = rank_memories((enough, short), CONFIG, NOW)

    assert [memory.entry.id for memory in ranked] == ["0.3286"]
