"""SPEC 8.4: several ranked lists become one."""

from __future__ import annotations

import itertools

import pytest
from support.entries import an_entry, entries

from memd.domain.enums import FusionStrategy
from memd.recall.ranking.scored_memories import fuse_ranked_lists


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
