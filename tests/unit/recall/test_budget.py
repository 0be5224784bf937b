"""SPEC 2.9-2.13: cutting to a budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memd.recall.answer import pack

costs = st.lists(st.integers(1, 300), max_size=30)


def test_what_does_not_fit_is_skipped_and_smaller_ones_are_tried() -> None:
    assert pack((900, 1500, 1000, 100, 50), 2000, 5).places == [0, 2, 3]


def test_it_stops_at_the_most() -> None:
    assert pack((1, 1, 1), 100, 2).places == [0, 1]


def test_nothing_of_nothing() -> None:
    packed = pack((), 100, 5)

    assert packed == ([], 0, None)


@given(costs=costs, budget=st.integers(0, 2000), most=st.integers(1, 10))
def test_the_best_that_fit_are_taken_in_order(costs: list[int], budget: int, most: int) -> None:
    packed = pack(costs, budget, most)

    assert packed.places == sorted(packed.places)
    assert packed.tokens == sum(costs[place] for place in packed.places) <= budget
    assert len(packed.places) <= most
    assert packed.minimum == min(costs, default=None)
    for place, cost in enumerate(costs):
        before = [taken for taken in packed.places if taken < place]
        room = budget - sum(costs[taken] for taken in before)
        assert (place in packed.places) == (cost <= room and len(before) < most)
