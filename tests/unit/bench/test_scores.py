"""The figures of the recall bench, on rankings that can be counted by hand."""

from __future__ import annotations

import math

import pytest
from bench.scores import Graded, block, ndcg, quantile, reciprocal_rank, report


def test_recall_is_the_share_of_the_gold_and_hit_asks_for_any() -> None:
    figures = block([Graded(1, ("a", "b"), ("x", "a")), Graded(1, ("c",), ())])

    assert (figures["R@5"], figures["hit@5"]) == (25.0, 50.0)


def test_a_place_beyond_the_cut_does_not_count() -> None:
    figures = block([Graded(1, ("a",), (*"bcdefg", "a"))])

    assert (figures["R@5"], figures["R@10"]) == (0.0, 100.0)


def test_the_reciprocal_rank_is_that_of_the_first_gold() -> None:
    assert reciprocal_rank(Graded(1, ("a", "b"), ("x", "b", "a"))) == 0.5


def test_ndcg_is_one_when_all_gold_comes_first() -> None:
    assert ndcg(Graded(1, ("a", "b"), ("b", "a", "x"))) == pytest.approx(1.0)


def test_ndcg_discounts_by_the_logarithm_of_the_rank() -> None:
    assert ndcg(Graded(1, ("a",), ("x", "a"))) == pytest.approx(1 / math.log2(3))


def test_the_adversarial_category_is_reported_apart() -> None:
    figures = report([Graded(4, ("a",), ("a",)), Graded(5, ("a",), ())], 5)

    assert figures["R@10"] == 100.0
    assert figures["adversarial"]["R@10"] == 0.0
    assert list(figures["by_category"]) == ["4"]


def test_a_quantile_is_a_value_that_was_measured() -> None:
    assert quantile([4.0, 1.0, 3.0, 2.0], 0.95) == 4.0
