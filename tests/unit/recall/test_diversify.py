"""SPEC 8.5: a ranking made less repetitive."""

from __future__ import annotations

import math

import pytest
from support.entries import a_scored

from memd.domain.settings.retrieval import ScoredMemory
from memd.recall.ranking.scored_memories import (
    apply_diversity_penalty,
    bigram_jaccard,
    score_by_rank,
)


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
