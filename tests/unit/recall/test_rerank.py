"""SPEC 2.7: re-ranking the best candidates, and what is done without a re-ranker."""

from __future__ import annotations

import math

import pytest
from support.fake_cross_encoder import FakePairs
from support.ranked_candidates import a_ranked

from memd.base.errors import BusyError, DegradedError, EmbeddingError, ModelError, StoppingError
from memd.recall.candidates import Ranking
from memd.recall.ranking.rankings import RankedCandidate
from memd.recall.ranking.weights import logistic
from memd.recall.rerank import (
    CANDIDATES,
    DAMAGED,
    NO_RERANKER,
    WEIGHT,
    blend,
    blend_scores,
    logit,
    rank_blended,
    rerank,
)

FOUND = Ranking([], 0.9, degraded=None)


async def test_the_score_is_a_weighted_mean_of_two_logits_from_0_to_1() -> None:
    (score,) = await blend_scores(FakePairs(lambda _q, _t: 3.0), "q", ["t"], [0.25])

    assert math.log(score / (1 - score)) == pytest.approx(
        (1 - WEIGHT) * math.log(0.25 / 0.75) + WEIGHT * 3.0
    )


@pytest.mark.parametrize("output", [-1e6, -11.2, 0.0, 9.3, 1e6])
@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
async def test_however_large_a_logit_is_the_score_is_a_share(score: float, output: float) -> None:
    (again,) = await blend_scores(FakePairs(lambda _q, _t: output), "q", ["t"], [score])

    assert 0.0 <= again <= 1.0
    assert math.isfinite(logit(score))


async def test_what_was_further_behind_stays_behind_and_nothing_is_lost() -> None:
    items = [a_ranked(relevance=1 - n / 100) for n in range(CANDIDATES + 5)]
    places = {item.measured.candidate.own: n for n, item in enumerate(items)}
    scorer = FakePairs(lambda _query, text: float(places[text]))

    again, outcome = await rerank(scorer, "q", items, FOUND)

    order = [places[item.measured.candidate.own] for item in again]
    assert sorted(order[:CANDIDATES]) == list(range(CANDIDATES))
    assert order[CANDIDATES:] == list(range(CANDIDATES, CANDIDATES + 5))
    scores = [item.relevance for item in again]
    assert scores == sorted(scores, reverse=True)
    assert (outcome, len(scorer.asked[0][1])) == (FOUND, CANDIDATES)


@pytest.mark.parametrize(
    ("scorer", "reason"),
    [
        (None, NO_RERANKER),
        (FakePairs(fails=DegradedError("none", hint="run: memd model install")), NO_RERANKER),
        (FakePairs(fails=ModelError("x is damaged", hint="run: memd model install")), DAMAGED),
        (FakePairs(fails=BusyError("8 wait")), "(busy)"),
        (FakePairs(fails=EmbeddingError("too long")), ": ordered without"),
        (FakePairs(fails=StoppingError("closing")), ": ordered without"),
    ],
)
async def test_x12_without_it_the_blended_score_counts_and_the_answer_says_so(
    scorer: FakePairs | None, reason: str
) -> None:
    items = [a_ranked(relevance=0.9), a_ranked(relevance=0.2)]

    again, outcome = await rerank(scorer, "q", items, FOUND)

    assert again == rank_blended(items)
    assert outcome.degraded is not None
    assert reason in outcome.degraded


async def test_two_reasons_are_both_told() -> None:
    already = Ranking([], 0.9, degraded="only words are searched")

    _, outcome = await rerank(None, "q", [a_ranked()], already)

    assert outcome.degraded == f"only words are searched; {NO_RERANKER}"


async def test_where_nothing_was_found_nothing_is_asked() -> None:
    scorer = FakePairs()

    assert await rerank(scorer, "q", [], FOUND) == ([], FOUND)
    assert scorer.asked == []


async def test_a_bug_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        await rerank(FakePairs(fails=ZeroDivisionError()), "q", [a_ranked()], FOUND)


def test_the_blend_counts_importance_for_a_fifth() -> None:
    low, high = a_ranked(relevance=0.52), a_ranked(relevance=0.5)
    candidate = high.measured.candidate._replace(importance=1.0)
    high = RankedCandidate(type(high.measured)(candidate, {}, 0.0, ()), 0.5, 0.5)

    first, second = rank_blended([low, high])

    assert first.measured.candidate.memory_id == high.measured.candidate.memory_id
    assert first.relevance == pytest.approx(0.8 * 0.5 + 0.2 * 1.0)
    assert second.relevance == pytest.approx(0.8 * 0.52 + 0.2 * 0.6)


def test_the_blend_of_equals_keeps_their_order() -> None:
    items = [a_ranked(relevance=0.5) for _ in range(3)]

    keys = [item.measured.candidate.memory_key for item in rank_blended(items)]

    assert keys == [item.measured.candidate.memory_key for item in items]


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
    assert logistic(0.0) == 0.5
    assert logistic(2.0) == pytest.approx(0.8808, abs=5e-5)
    assert logistic(-2.0) == pytest.approx(1 - logistic(2.0))
    assert logistic(1e6) == 1.0
    assert logistic(-1e6) == 0.0
