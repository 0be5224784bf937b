"""SPEC 8.3-8.5: one list ranked, several lists fused, and a ranking made less repetitive."""

from __future__ import annotations

import itertools
import math
from datetime import timedelta

import pytest
from support.entries import NOW, a_scored, an_entry, entries

from memd.domain.enums import FusionStrategy
from memd.domain.settings.retrieval import MemoryRetrievalConfig, ScoredMemory
from memd.recall.ranking.scored_memories import (
    apply_diversity_penalty,
    bigram_jaccard,
    compute_combined_score,
    compute_recency_score,
    fuse_ranked_lists,
    rank_memories,
    score_by_rank,
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


def _scores(*lists: str, max_results: int = 20) -> dict[str, float]:
    fused = fuse_ranked_lists(tuple(entries(*ids) for ids in lists), max_results=max_results)
    return {memory.entry.id: memory.combined_score for memory in fused}


def test_the_shared_head_wins_and_the_rest_is_last() -> None:
    assert _scores("ab", "ac") == {"a": 1.0, "b": 0.0, "c": 0.0}


@pytest.mark.parametrize("lists", [("a",), ("a", "b"), ("ab", "ba")])
def test_when_all_are_equal_all_score_one(lists: tuple[str, ...]) -> None:
    assert set(_scores(*lists).values()) == {1.0}


def test_a_repeated_id_takes_no_rank() -> None:
    assert _scores("aab", "b") == _scores("ab", "b")


def test_the_order_of_the_lists_does_not_change_a_score() -> None:
    lists = ("abcd", "dcab", "cbda", "bd")
    expected = _scores(*lists)

    for order in itertools.permutations(lists):
        assert _scores(*order) == expected


def test_memories_that_trade_ranks_over_three_lists_stay_equal() -> None:
    """A plain sum differs in its last bit here, and spreading would make that a whole rank."""
    scores = _scores("abwxyzc", "cawxyzb", "bcwxyza")

    assert scores["a"] == scores["b"] == scores["c"]


def test_scores_are_spread_before_the_cut() -> None:
    assert _scores("abc", max_results=2) == {"a": 1.0, "b": pytest.approx(0.4919, abs=5e-5)}


@pytest.mark.parametrize(("k", "max_results"), [(0, 20), (-1, 20), (60, 0)])
def test_a_bound_below_one_is_refused_even_without_lists(k: int, max_results: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        fuse_ranked_lists((), k=k, max_results=max_results)


def test_nothing_fuses_to_nothing() -> None:
    assert fuse_ranked_lists(()) == ()
    assert fuse_ranked_lists(((), ())) == ()


def test_twenty_results_are_returned_by_default() -> None:
    assert len(_scores("abcdefghijklmnopqrstuvwxyz")) == 20


def test_the_first_entry_met_is_kept_with_its_own_relevance() -> None:
    first, second = an_entry("a", relevance_score=0.4), an_entry("a", relevance_score=0.9)

    (fused,) = fuse_ranked_lists(((first,), (second,)))

    assert fused.entry is first
    assert fused.relevance_score == 0.4
    assert fused.recency_score == 0.0
    assert fused.scoring_strategy is FusionStrategy.RRF


def test_a_memory_without_relevance_has_none() -> None:
    (fused,) = fuse_ranked_lists((entries("a"),))

    assert fused.relevance_score == 0.0


def test_what_is_shared_stays_marked() -> None:
    fused = fuse_ranked_lists((entries("a", "b"),), shared_ids={"b"})

    assert [(memory.entry.id, memory.is_shared) for memory in fused] == [("a", False), ("b", True)]


def _texts(scored: tuple[ScoredMemory, ...]) -> list[str]:
    return [memory.entry.content for memory in scored]


@pytest.mark.parametrize(
    ("a", "b", "likeness"),
    [
        ("a b c", "a b d", 1 / 3),
        ("A  B\tc", "a b C", 1.0),
        ("one", "one", 0.0),
        ("", "", 0.0),
        ("a b", "b a", 0.0),
    ],
)
def test_likeness_is_the_share_of_word_pairs(a: str, b: str, likeness: float) -> None:
    assert bigram_jaccard(a, b) == pytest.approx(likeness)


@pytest.mark.parametrize("weight", [-0.1, 1.1, math.nan, math.inf])
def test_a_lambda_outside_zero_to_one_is_refused_even_for_nothing(weight: float) -> None:
    with pytest.raises(ValueError, match="diversity_lambda"):
        apply_diversity_penalty((), diversity_lambda=weight)


def test_none_and_one_are_returned_unchanged() -> None:
    one = (a_scored("a b", 0.5),)

    assert apply_diversity_penalty(()) == ()
    assert apply_diversity_penalty(one) == one


def test_of_two_the_better_comes_first() -> None:
    scored = (a_scored("a b", 0.2), a_scored("c d", 0.9))

    assert _texts(apply_diversity_penalty(scored)) == ["c d", "a b"]


def test_with_lambda_zero_the_different_one_comes_second() -> None:
    same, twin, other = a_scored("a b c", 0.9), a_scored("a b c", 0.9), a_scored("x y z", 0.1)

    order = apply_diversity_penalty((same, twin, other), diversity_lambda=0.0)

    assert _texts(order) == ["a b c", "x y z", "a b c"]


def test_among_equals_the_earlier_wins() -> None:
    scored = tuple(a_scored(text, 0.5) for text in ("a b", "c d", "e f"))

    assert apply_diversity_penalty(scored) == scored


def test_every_memory_comes_back_once() -> None:
    scored = tuple(a_scored(f"word {n % 3} tail", n / 10) for n in range(10))

    order = apply_diversity_penalty(scored, diversity_lambda=0.3)

    assert sorted(_texts(order)) == sorted(_texts(scored))
    assert sorted(memory.combined_score for memory in order) == sorted(n / 10 for n in range(10))


def test_another_measure_of_likeness_may_be_given() -> None:
    scored = (a_scored("aa", 0.9), a_scored("ab", 0.8), a_scored("bb", 0.7))

    order = apply_diversity_penalty(
        scored, diversity_lambda=0.5, similarity_fn=lambda x, y: float(x[0] == y[0])
    )

    assert _texts(order) == ["aa", "bb", "ab"]


def test_after_a_rerank_the_rank_counts_and_not_the_old_score() -> None:
    reranked = (a_scored("a b", 0.2), a_scored("c d", 0.9), a_scored("e f", 0.5))

    order = apply_diversity_penalty(score_by_rank(reranked), diversity_lambda=1.0)

    assert _texts(order) == ["a b", "c d", "e f"]
    assert order[0].combined_score == 1.0
