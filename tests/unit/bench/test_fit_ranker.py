"""A bed weighs in a fit what was decided, whatever its size, as do the small stores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest
from bench.fit_ranker import alike, gaps_by_chance
from bench.fitting import (
    ENTRY_BEDS,
    ENTRY_WEIGHTS,
    GATE_BEDS,
    GATE_WEIGHTS,
    RANKER_BEDS,
    Judged,
    bed_shares,
    fit_gate,
    weighed,
)
from bench.samples import Sample, folds

from memd.recall.ranking.weights import HYBRID


def sample(bed: str, kind: str = "H") -> Sample:
    return Sample(kind, "fold", "", 1, [], [], bed)


MIXED = [
    *(sample("dialogues", kind) for kind in "HHHHGAAB"),
    *(sample("everyday", kind) for kind in "HHB"),
    *(sample("small", "S") for _ in range(4)),
]


def total(bed: str, shares: Iterable[float]) -> float:
    return float(sum(s for each, s in zip(MIXED, shares, strict=True) if each.bed == bed))


@pytest.mark.parametrize("count", [1, 9])
def test_a_bed_weighs_the_same_in_the_ranker_whatever_its_size(count: int) -> None:
    shares = bed_shares([sample("dialogues")] * count + [sample("coding"), sample("everyday")])
    weights = [RANKER_BEDS[bed] for bed in ("dialogues", "coding", "everyday")]
    assert [sum(shares[:count]), *shares[count:]] == pytest.approx(
        [weight / sum(weights) for weight in weights]
    )


def test_a_bed_weighs_what_was_decided_whatever_groups_it_has() -> None:
    shares = weighed(MIXED, ENTRY_WEIGHTS, ENTRY_BEDS)
    assert {bed: total(bed, shares) for bed in ("dialogues", "everyday", "small")} == pytest.approx(
        {bed: ENTRY_BEDS[bed] for bed in ("dialogues", "everyday", "small")}
    )


def test_the_gate_is_fitted_on_dialogues_and_small_stores_alone() -> None:
    shares = weighed(MIXED, GATE_WEIGHTS, GATE_BEDS)
    assert total("everyday", shares) == 0.0
    assert total("dialogues", shares) == pytest.approx(GATE_BEDS["dialogues"])


def test_where_there_are_no_dialogues_the_gate_is_fitted_on_what_there_is() -> None:
    others = [each for each in MIXED if each.bed != "dialogues"]
    shares = weighed(others, GATE_WEIGHTS, GATE_BEDS)
    assert sum(shares[:3]) == pytest.approx(1.0)
    assert sum(shares[3:]) == pytest.approx(GATE_BEDS["small"])


def test_of_each_bed_one_part_is_left_out_in_turn() -> None:
    samples = [replace(sample("dialogues"), fold=f"d{at}") for at in range(2)]
    samples += [replace(sample("everyday"), fold=f"e{at}") for at in range(3)]
    samples += [replace(sample("small", "S"), fold=f"s{at}") for at in range(4)]
    out = [{each.fold for each in test} for _, test in folds(samples)]
    assert out == [{"d0", "e0", "s0", "s3"}, {"d1", "e1", "s1"}, {"e2", "s2"}]


def test_a_signal_that_would_shut_the_gate_where_more_is_found_is_left_out() -> None:
    """On some kinds of text it is what nothing answers that is asked with a date."""
    judged = [
        Judged(sample("dialogues", kind), [], {"maxcos": near, "t1_date": date}, [answered], 0.0)
        for near, date, answered, kind in 20 * [(0.6, 0.0, True, "H"), (0.5, 1.0, False, "B")]
    ]
    gate, _ = fit_gate(judged, ["maxcos", "t1_date"])
    assert gate["maxcos"] > 0
    assert "t1_date" not in gate


def test_what_chance_makes_of_true_relevances_is_less_the_more_there_are() -> None:
    few, many = ([[0.3] * size] for size in (60, 6_000))
    assert np.mean(gaps_by_chance(few)) > 5 * np.mean(gaps_by_chance(many)) > 0
    assert set(gaps_by_chance([[0.3] * 20])) == {0.0}


def test_a_table_is_another_one_if_a_number_moves_by_more_than_a_drawn_tie() -> None:
    assert alike(replace(HYBRID, offset=HYBRID.offset + 0.01), HYBRID)
    assert not alike(replace(HYBRID, offset=HYBRID.offset + 0.1), HYBRID)
    fewer = {name: value for name, value in HYBRID.gate.items() if name != "t1_date"}
    assert not alike(replace(HYBRID, gate=MappingProxyType(fewer)), HYBRID)
