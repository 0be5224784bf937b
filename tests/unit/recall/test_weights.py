"""The reviewed table fits the features and the signals that it weighs."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from support.measured_candidates import a_candidate, asked, measured

from memd.recall.ranking.features import NAMES
from memd.recall.ranking.rankings import OTHERS_MIN, calibration, rank, signals
from memd.recall.ranking.weights import (
    CALIBRATION,
    COMPOSED,
    HYBRID,
    WITHOUT_TOKENS,
    WITHOUT_VECTORS,
    RankerTuning,
    Weights,
    logistic,
    parse_tuning,
)

DENSE = {"cos", "nlift", "s3lift", "maxsim"}
TABLES = pytest.mark.parametrize(
    "weights",
    [HYBRID, WITHOUT_TOKENS, COMPOSED, WITHOUT_VECTORS],
    ids=["hybrid", "without tokens", "composed", "words"],
)


def test_with_vectors_every_feature_has_a_weight() -> None:
    assert tuple(HYBRID.features) == NAMES


def test_without_token_vectors_none_of_theirs_has_one() -> None:
    assert set(WITHOUT_TOKENS.features) == set(NAMES) - {"maxsim"}


def test_without_vectors_no_dense_feature_has_one() -> None:
    assert set(WITHOUT_VECTORS.features) == set(NAMES) - DENSE
    assert not {"maxcos", "few_maxcos"} & set(WITHOUT_VECTORS.gate)


def test_a_tuning_does_without_what_cannot_be_compared() -> None:
    tuned = RankerTuning("model", replace(HYBRID, bar=0.1))

    assert tuned.weights_for(tokens=True) is tuned.weights
    assert tuned.weights_for(tokens=False) == replace(WITHOUT_TOKENS, bar=0.1)


def test_a_tuning_of_before_there_were_token_vectors_keeps_to_the_table_without() -> None:
    before = RankerTuning("model", WITHOUT_TOKENS)

    assert parse_tuning(before.body()) == before
    assert before.weights_for(tokens=True) is WITHOUT_TOKENS
    assert parse_tuning(RankerTuning("model").body()) == RankerTuning("model")


@TABLES
def test_the_gate_weighs_only_what_is_measured(weights: Weights) -> None:
    items = rank(measured(asked("red kite"), [a_candidate(1, "a red kite")]), weights)

    assert set(weights.gate) <= set(signals(items))


@TABLES
def test_the_calibration_weighs_only_what_is_worked_out(weights: Weights) -> None:
    items = rank(measured(asked("red kite"), [a_candidate(1, "a red kite")]), weights)
    common, (own,) = calibration([items[0].score], signals(items), weights)

    assert set(weights.calibration) <= {*common, *own} == set(CALIBRATION)


@TABLES
def test_a_higher_score_is_more_probable(weights: Weights) -> None:
    common = dict.fromkeys(CALIBRATION[1:-1], 0.0)
    evidence = [{"share": more - 2.0, "alone": 0.0} for more in (0.0, 1.0)]

    low, high = weights.probabilities(common, evidence)

    assert high > low


@TABLES
def test_of_one_answer_the_better_is_more_probable_and_most_if_it_stands_alone(
    weights: Weights,
) -> None:
    items = rank(measured(asked("red kite"), [a_candidate(1, "a red kite")]), weights)
    common, several = calibration([3.0, 2.0, 1.0], signals(items), weights)
    chances = weights.probabilities(common, several)
    _, (alone,) = calibration([3.0], signals(items), weights)

    assert chances == sorted(set(chances), reverse=True)
    assert weights.probabilities(common, [alone])[0] > chances[0]
    assert alone["alone"] == pytest.approx(-math.log(OTHERS_MIN))
    assert several[0]["alone"] == pytest.approx(-math.log(1 - math.exp(several[0]["share"])))


@TABLES
def test_the_gate_s_threshold_is_a_probability_that_can_be_missed(weights: Weights) -> None:
    assert 0 < weights.gate_min < 0.5


@pytest.mark.parametrize("value", [-1e6, 1e6])
def test_the_logistic_function_does_not_overflow(value: float) -> None:
    assert logistic(value) == pytest.approx(float(value > 0))


def test_the_logistic_function_is_one_half_at_zero() -> None:
    assert logistic(0.0) == 0.5
    assert logistic(math.log(3)) == pytest.approx(0.75)
