"""SPEC 18.2.7, 18.2.8: what is called better is ahead by more than chance."""

from __future__ import annotations

from memd.learn.tuning.evaluation import compare_ranks


def ranks(better: int, worse: int, same: int) -> tuple[list[int], list[int]]:
    """Return ranks before and after of so many questions."""
    before = [2] * better + [1] * worse + [3] * same
    return before, [1] * better + [2] * worse + [3] * same


def test_a_gain_within_two_standard_errors_is_not_better() -> None:
    some = compare_ranks(*ranks(better=10, worse=5, same=85))  # 1.3 standard errors

    assert some.tuned_ndcg > some.base_ndcg
    assert some.tuned_recall == some.base_recall
    assert not some.better
    assert compare_ranks(*ranks(better=15, worse=3, same=82)).better


def test_what_loses_a_question_or_an_answer_is_not_better() -> None:
    before, after = ranks(better=15, worse=0, same=85)

    assert compare_ranks(before, after).better
    assert not compare_ranks([*before, 10], [*after, 0]).better
    assert not compare_ranks(before, after, (0.5, 0.48)).better


def test_gains_are_shares_of_the_base_and_nothing_of_nothing() -> None:
    nothing = compare_ranks([0, 0], [1, 1])

    assert (nothing.base_ndcg, nothing.improvement_ndcg, nothing.improvement_recall) == (0, 0, 0)
    assert compare_ranks([2], [1]).improvement_recall == 0.0
    assert round(compare_ranks([3, 3], [1, 1]).improvement_ndcg, 6) == 1.0
