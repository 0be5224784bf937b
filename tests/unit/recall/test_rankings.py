"""RANKER: one score that orders, and the gate that says nothing fits."""

from __future__ import annotations

import pytest
from support.measured import a_candidate, asked, measured

from memd.model.enums import SearchMode
from memd.recall.features import Measured
from memd.recall.rankings import gate, lifted, ranked, signals
from memd.recall.weights import HYBRID, WITHOUT_VECTORS

ABOUT = asked("Where is the red kite?")


def _keys(items: list[Measured], mode: SearchMode, project_id: str | None = None) -> list[int]:
    found = ranked(items, HYBRID, mode, project_id)
    return [item.measured.candidate.memory_key for item in found]


def test_words_and_meaning_order_together() -> None:
    items = measured(
        ABOUT,
        [a_candidate(1, "a blue car"), a_candidate(2, "the red kite"), a_candidate(3, "a red car")],
        {1: 0.1, 2: 0.7, 3: 0.3},
    )

    assert _keys(items, SearchMode.HYBRID) == [2, 3, 1]


def test_in_mode_dense_the_cosine_alone_orders() -> None:
    items = measured(ABOUT, [a_candidate(1, "the red kite"), a_candidate(2, "x")], {1: 0.1, 2: 0.7})

    assert _keys(items, SearchMode.DENSE) == [2, 1]


def test_in_mode_words_what_holds_none_is_left_out() -> None:
    items = measured(ABOUT, [a_candidate(1, "red"), a_candidate(2, "x")], {1: 0.1, 2: 0.9})

    assert _keys(items, SearchMode.WORDS) == [1]


def test_among_equals_the_newest_comes_first() -> None:
    items = measured(ABOUT, [a_candidate(1, "red"), a_candidate(2, "red")])

    assert _keys(items, SearchMode.HYBRID) == [2, 1]


def test_a_memory_of_the_active_project_is_preferred_among_likes() -> None:
    items = measured(ABOUT, [a_candidate(1, "red", project_id="p"), a_candidate(2, "red")])

    assert _keys(items, SearchMode.HYBRID, "p") == [1, 2]


def test_the_relevance_is_a_probability_that_falls_with_the_rank() -> None:
    items = measured(
        ABOUT, [a_candidate(key, "red kite " * key) for key in range(1, 6)], {1: 0.9, 2: 0.5}
    )

    relevances = [item.relevance for item in ranked(items, HYBRID)]

    assert relevances == sorted(relevances, reverse=True)
    assert all(0 <= relevance <= 1 for relevance in relevances)


def test_without_candidates_the_gate_is_shut() -> None:
    assert gate([], HYBRID) == 0.0


@pytest.mark.parametrize(
    ("own", "cosine", "opens"),
    [
        ("the red kite is in the garage", 0.75, True),
        ("my flying toy lies beside the car", 0.42, True),
        ("I had soup for lunch", 0.08, False),
    ],
)
def test_a_store_of_one_memory_answers_by_words_or_by_meaning_and_else_says_nothing(
    own: str, cosine: float, opens: bool
) -> None:
    items = ranked(measured(ABOUT, [a_candidate(1, own)], {1: cosine}), HYBRID)

    assert (gate(items, HYBRID) >= HYBRID.gate_min) is opens


def test_the_same_cosine_says_less_in_a_store_of_many() -> None:
    one = ranked(measured(ABOUT, [a_candidate(1, "x")], {1: 0.35}), HYBRID)
    cosines = {key: 0.35 - key / 1_000 for key in range(150)}
    many = ranked(measured(ABOUT, [a_candidate(key, "x") for key in cosines], cosines), HYBRID)

    assert gate(one, HYBRID) > gate(many, HYBRID)
    assert signals(many)["few"] == lifted(signals(many), HYBRID) == 0.0


def test_a_stranger_s_name_shuts_the_gate_a_little() -> None:
    candidate = a_candidate(1, "Marcus likes a red kite")
    known, strange = (
        gate(ranked(measured(asked(text), [candidate], {1: 0.3}), HYBRID), HYBRID)
        for text in ("Does Marcus like kites?", "Does Priscilla like kites?")
    )

    assert known > strange


def test_without_vectors_shared_words_open_the_gate() -> None:
    items = ranked(measured(ABOUT, [a_candidate(1, "the red kite")]), WITHOUT_VECTORS)

    assert gate(items, WITHOUT_VECTORS) >= WITHOUT_VECTORS.gate_min
