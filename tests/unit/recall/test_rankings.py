"""Decisions 0020 to 0022: one score that orders, and the gate that says nothing fits."""

from __future__ import annotations

from math import inf

import pytest
from support.measured_candidates import a_candidate, asked, measured

from memd.domain.enums import SearchMode
from memd.recall.ranking.features import MeasuredCandidate
from memd.recall.ranking.rankings import (
    MANY,
    NOTE_BAR,
    answer_bar,
    gate,
    rank,
    rank_with_gate,
    signals,
)
from memd.recall.ranking.weights import COMPOSED, HYBRID, WITHOUT_VECTORS, Weights

ABOUT = asked("Where is the red kite?")
DAY_US = 86_400_000_000


def _keys(
    items: list[MeasuredCandidate], mode: SearchMode, project_id: str | None = None
) -> list[int]:
    ranked = rank(items, HYBRID, mode, project_id)
    return [item.measured.candidate.memory_key for item in ranked]


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

    relevances = [item.relevance for item in rank(items, HYBRID)]

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
    items = rank(measured(ABOUT, [a_candidate(1, own)], {1: cosine}), HYBRID)

    assert (gate(items, HYBRID) >= HYBRID.gate_min) is opens


def test_the_same_cosine_says_less_in_a_store_of_many() -> None:
    one = rank(measured(ABOUT, [a_candidate(1, "x")], {1: 0.35}), HYBRID)
    cosines = {key: 0.35 - key / 1_000 for key in range(150)}
    many = rank(measured(ABOUT, [a_candidate(key, "x") for key in cosines], cosines), HYBRID)

    assert gate(one, HYBRID) > gate(many, HYBRID)
    assert signals(many)["few"] == 0.0


def test_a_stranger_s_name_shuts_the_gate_a_little() -> None:
    candidate = a_candidate(1, "Marcus likes a red kite")
    known, strange = (
        gate(rank(measured(asked(text), [candidate], {1: 0.3}), HYBRID), HYBRID)
        for text in ("Does Marcus like kites?", "Does Priscilla like kites?")
    )

    assert known > strange


def test_without_vectors_shared_words_open_the_gate() -> None:
    items = rank(measured(ABOUT, [a_candidate(1, "the red kite")]), WITHOUT_VECTORS)

    assert gate(items, WITHOUT_VECTORS) >= WITHOUT_VECTORS.gate_min


def _mixed(
    cosines: dict[int, float], own: str = "the red kite hangs there"
) -> list[MeasuredCandidate]:
    """Return three memories that somebody told, 1 to 3, and three that naps composed, 11 to 13."""
    turns = [a_candidate(key, own) for key in (1, 2, 3)]
    composed = [a_candidate(key, "a flying toy", kind="outcome") for key in (11, 12, 13)]
    every = dict.fromkeys((1, 2, 3, 11, 12, 13), 0.0) if cosines else {}
    return measured(ABOUT, [*turns, *composed], every | cosines)


def _passing(items: list[MeasuredCandidate]) -> set[int]:
    ranked, _ = rank_with_gate(items, HYBRID)
    return {item.measured.candidate.memory_key for item in ranked if item.passes}


def test_what_naps_composed_is_ordered_by_its_meaning_before_its_words() -> None:
    words, meaning = (
        a_candidate(key, own, kind="outcome")
        for key, own in ((1, "red kite paint"), (2, "our flying toy"))
    )
    items = measured(ABOUT, [words, meaning], {1: 0.25, 2: 0.6})

    ranked, _ = rank_with_gate(items, HYBRID)

    assert [item.measured.candidate.memory_key for item in ranked] == [2, 1]
    assert _keys(items, SearchMode.HYBRID) == [1, 2]  # as a turn is ordered


@pytest.mark.parametrize(
    ("cosines", "passing"),
    [
        ({1: 0.0, 11: 0.1}, set()),
        ({1: 0.0, 11: 0.4}, {11, 12, 13}),
        ({1: 0.8, 11: 0.1}, {1, 2, 3}),
        ({1: 0.8, 11: 0.4}, {1, 2, 3, 11, 12, 13}),
    ],
)
def test_what_naps_composed_has_a_gate_of_its_own(
    cosines: dict[int, float], passing: set[int]
) -> None:
    assert _passing(_mixed(cosines, own="soup for lunch")) == passing


def test_what_naps_composed_stands_among_the_others_by_its_relevance() -> None:
    cosines = {key: 0.7 - key / 300 for key in range(2 * MANY)}
    candidates = [
        a_candidate(key, "a flying toy", kind="outcome" if key % 2 else None) for key in cosines
    ]

    ranked, chance = rank_with_gate(measured(ABOUT, candidates, cosines), HYBRID)

    relevances = [item.relevance for item in ranked]
    assert relevances == sorted(relevances, reverse=True)
    assert chance == max(
        gate([item for item in ranked if item.measured.candidate.is_composed], COMPOSED),
        gate([item for item in ranked if not item.measured.candidate.is_composed], HYBRID),
    )


def test_a_few_notes_among_much_that_naps_composed_are_no_small_store() -> None:
    notes = [a_candidate(key, "soup for lunch") for key in (1, 2, 3)]
    composed = [a_candidate(key, "a car", kind="outcome") for key in range(4, 4 + MANY)]
    cosines = dict.fromkeys((1, 2, 3), 0.25) | {each.memory_key: 0.3 for each in composed}

    alone, _ = rank_with_gate(measured(ABOUT, notes, cosines), HYBRID)
    among, _ = rank_with_gate(measured(ABOUT, [*notes, *composed], cosines), HYBRID)

    assert alone[0].relevance >= alone[0].bar
    assert {item.bar for item in among if not item.measured.candidate.is_composed} == {inf}


def test_a_note_has_to_be_likelier_than_a_turn_and_the_same_however_sure_the_gate_is() -> None:
    texts = [a_candidate(1, "the red kite hangs there"), a_candidate(2, "a red kite")]
    turns = [each._replace(session_key=7) for each in texts]
    cosines = {1: 0.7, 2: 0.2}

    (notes, _), (spoken, chance) = (
        rank_with_gate(measured(ABOUT, its, cosines), HYBRID) for its in (texts, turns)
    )

    assert {item.bar for item in notes} == {NOTE_BAR}
    assert {item.bar for item in spoken} == {answer_bar(HYBRID, chance)}
    assert answer_bar(HYBRID, chance) < NOTE_BAR


def test_no_note_reaches_its_bar_where_the_gate_hardly_believes_in_an_answer() -> None:
    ranked, chance = rank_with_gate(
        measured(ABOUT, [a_candidate(1, "soup for lunch")], {1: 0.1}), HYBRID
    )

    assert chance < HYBRID.quiet
    assert ranked[0].bar > 1.0


@pytest.mark.parametrize("weights", [HYBRID, WITHOUT_VECTORS], ids=["hybrid", "words"])
def test_where_no_nap_composed_anything_nothing_is_judged_otherwise(weights: Weights) -> None:
    cosines = {key: key / 50 for key in range(1, 31)}
    items = measured(ABOUT, [a_candidate(key, "red kite " * (key % 4)) for key in cosines], cosines)

    ranked, chance = rank_with_gate(items, weights)

    assert ranked == rank(items, weights)
    assert chance == gate(ranked, weights)


def test_without_vectors_what_naps_composed_is_one_of_the_others() -> None:
    items = _mixed({})

    ranked, chance = rank_with_gate(items, WITHOUT_VECTORS)

    assert ranked == rank(items, WITHOUT_VECTORS)
    assert chance == gate(ranked, WITHOUT_VECTORS)


def test_what_waits_for_its_vector_is_judged_by_its_words() -> None:
    cosines = dict.fromkeys(range(2, 150), 0.1)
    others = [a_candidate(key, "soup for lunch", session_key=key) for key in cosines]

    answers, strangers = (
        rank_with_gate(measured(ABOUT, [a_candidate(1, own), *others], cosines), HYBRID)[0]
        for own in ("the red kite hangs in the garage", "the car hangs in the garage")
    )

    assert [item.measured.candidate.memory_key for item in answers if item.passes] == [1]
    assert answers[0].relevance >= answers[0].bar
    assert not any(item.passes for item in strangers)


@pytest.mark.parametrize("mode", [SearchMode.DENSE, SearchMode.WORDS])
def test_who_says_how_to_search_gets_no_gate(mode: SearchMode) -> None:
    items = _mixed({1: 0.1, 11: 0.1})

    ranked, chance = rank_with_gate(items, HYBRID, mode)

    assert ranked == rank(items, HYBRID, mode)
    assert chance == 1.0


def test_what_naps_composed_of_the_project_that_asks_passes_its_gate_a_little_sooner() -> None:
    items = measured(
        ABOUT,
        [a_candidate(key, "a flying toy", kind="outcome", project_id="kites") for key in range(90)],
        dict.fromkeys(range(90), 0.285),
    )

    passing = {
        project: {item.passes for item in rank_with_gate(items, HYBRID, project_id=project)[0]}
        for project in ("kites", "boats", None)
    }

    assert passing == {"kites": {True}, "boats": {False}, None: {False}}


def test_what_somebody_told_passes_its_gate_whatever_project_asks() -> None:
    items = measured(ABOUT, [a_candidate(1, "red", project_id="kites")], {1: 0.2})

    assert rank_with_gate(items, HYBRID, project_id="kites")[1] == rank_with_gate(items, HYBRID)[1]


@pytest.mark.parametrize(
    ("request_us", "project", "first"),
    [
        (DAY_US * 100, "kites", 2),  # a request, a day after the second was learnt
        (None, "kites", 1),  # a question
        (DAY_US * 100, "boats", 1),
        (DAY_US * 100, None, 1),
        (DAY_US * 130, "kites", 1),  # nothing was learnt lately
    ],
)
def test_a_request_lifts_what_naps_composed_of_its_project_lately(
    request_us: int | None, project: str | None, first: int
) -> None:
    days = {1: 10, 2: 99}
    its = {"kind": "outcome", "project_id": "kites"}
    items = measured(
        ABOUT,
        [a_candidate(key, "x", occurred_at_us=DAY_US * day, **its) for key, day in days.items()],
        {1: 0.40, 2: 0.36},
    )

    ranked, _ = rank_with_gate(items, HYBRID, project_id=project, request_us=request_us)

    assert ranked[0].measured.candidate.memory_key == first


def test_a_request_lifts_nothing_that_somebody_told() -> None:
    items = measured(ABOUT, [a_candidate(1, "red", project_id="kites")], {1: 0.2})

    asked, requested = (
        rank_with_gate(items, HYBRID, project_id="kites", request_us=moment) for moment in (None, 2)
    )

    assert asked == requested


@pytest.mark.parametrize(
    ("text", "newest_first"),
    [
        ("Which database do we use now?", True),
        ("Welche Datenbank nutzen wir derzeit?", True),
        ("Which database did we use?", False),
    ],
)
def test_where_what_is_so_now_is_asked_the_newer_of_two_alike_comes_first(
    text: str, newest_first: bool
) -> None:
    candidates = [a_candidate(1, "Our database is MySQL", occurred_at_us=0)]
    candidates += [a_candidate(2, "Our new database is PostgreSQL", occurred_at_us=40 * DAY_US)]
    items, _ = rank_with_gate(measured(asked(text), candidates, {1: 0.61, 2: 0.6}), HYBRID)

    best = items[0].measured.candidate.memory_key
    assert best == (2 if newest_first else 1)


def test_hours_make_nothing_newer() -> None:
    candidates = [a_candidate(1, "We use MySQL", occurred_at_us=0)]
    candidates += [a_candidate(2, "We use PostgreSQL", occurred_at_us=DAY_US // 2)]
    items, _ = rank_with_gate(
        measured(asked("What do we use now?"), candidates, {1: 0.61, 2: 0.6}), HYBRID
    )

    assert items[0].measured.candidate.memory_key == 1
