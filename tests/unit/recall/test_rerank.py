"""SPEC 2.7: the score without a re-ranker, and the scale of one."""

from __future__ import annotations

import math

import pytest

from memd.recall.rerank import blend, squash


@pytest.mark.parametrize(
    ("similarity", "importance", "score"), [(1.0, 0.0, 0.8), (0.0, 1.0, 0.2), (0.5, 0.5, 0.5)]
)
def test_four_parts_similarity_and_one_part_importance(
    similarity: float, importance: float, score: float
) -> None:
    assert blend(similarity, importance) == pytest.approx(score)


def test_weights_count_by_their_proportion() -> None:
    assert blend(0.9, 0.1, weights=(8, 2)) == pytest.approx(blend(0.9, 0.1))


def test_the_blend_stays_within_zero_and_one() -> None:
    assert blend(3.0, 1.0) == 1.0
    assert blend(-3.0, 0.0) == 0.0


@pytest.mark.parametrize("weights", [(-1.0, 2.0), (2.0, -1.0), (0.0, 0.0), (math.nan, 1.0)])
def test_negative_or_empty_weights_are_refused(weights: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        blend(0.5, 0.5, weights)


def test_a_logit_of_any_size_lands_between_zero_and_one() -> None:
    assert squash(0.0) == 0.5
    assert squash(2.0) == pytest.approx(0.8808, abs=5e-5)
    assert squash(-2.0) == pytest.approx(1 - squash(2.0))
    assert squash(1e6) == 1.0
    assert squash(-1e6) == 0.0
