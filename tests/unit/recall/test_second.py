"""SPEC 2.7: a second look at the best candidates, and what is done without one."""

from __future__ import annotations

import math

import pytest
from support.found import a_found
from support.pairs import FakePairs

from memd.base.errors import (
    BusyError,
    DegradedError,
    EmbeddingError,
    ModelError,
    StoppingError,
)
from memd.recall.answer import RankedCandidates, blended
from memd.recall.rerank import CANDIDATES, WEIGHT, logit, second_scores
from memd.recall.second import DAMAGED, NO_RERANKER, looked_again

FOUND = RankedCandidates([], 0.9, degraded=None)


async def test_the_score_is_a_weighted_mean_of_two_logits_from_0_to_1() -> None:
    (score,) = await second_scores(FakePairs(lambda _q, _t: 3.0), "q", ["t"], [0.25])

    assert math.log(score / (1 - score)) == pytest.approx(
        (1 - WEIGHT) * math.log(0.25 / 0.75) + WEIGHT * 3.0
    )


@pytest.mark.parametrize("said", [-1e6, -11.2, 0.0, 9.3, 1e6])
@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
async def test_however_large_a_logit_is_the_score_is_a_share(score: float, said: float) -> None:
    (again,) = await second_scores(FakePairs(lambda _q, _t: said), "q", ["t"], [score])

    assert 0.0 <= again <= 1.0
    assert math.isfinite(logit(score))


async def test_what_was_further_behind_stays_behind_and_nothing_is_lost() -> None:
    items = [a_found(relevance=1 - n / 100) for n in range(CANDIDATES + 5)]
    places = {item.measured.candidate.own: n for n, item in enumerate(items)}
    scorer = FakePairs(lambda _query, text: float(places[text]))

    again, found = await looked_again(scorer, "q", items, FOUND)

    order = [places[item.measured.candidate.own] for item in again]
    assert sorted(order[:CANDIDATES]) == list(range(CANDIDATES))
    assert order[CANDIDATES:] == list(range(CANDIDATES, CANDIDATES + 5))
    scores = [item.relevance for item in again]
    assert scores == sorted(scores, reverse=True)
    assert (found, len(scorer.asked[0][1])) == (FOUND, CANDIDATES)


@pytest.mark.parametrize(
    ("scorer", "said"),
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
    scorer: FakePairs | None, said: str
) -> None:
    items = [a_found(relevance=0.9), a_found(relevance=0.2)]

    again, found = await looked_again(scorer, "q", items, FOUND)

    assert again == blended(items)
    assert found.degraded is not None
    assert said in found.degraded


async def test_two_reasons_are_both_told() -> None:
    already = RankedCandidates([], 0.9, degraded="only words are searched")

    _, found = await looked_again(None, "q", [a_found()], already)

    assert found.degraded == f"only words are searched; {NO_RERANKER}"


async def test_where_nothing_was_found_nothing_is_asked() -> None:
    scorer = FakePairs()

    assert await looked_again(scorer, "q", [], FOUND) == ([], FOUND)
    assert scorer.asked == []


async def test_a_bug_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        await looked_again(FakePairs(fails=ZeroDivisionError()), "q", [a_found()], FOUND)
