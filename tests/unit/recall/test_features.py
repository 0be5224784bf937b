"""Decision 0020: what the ranker knows of each candidate."""

from __future__ import annotations

import pytest
from support.measured_candidates import a_candidate, asked, measured

from memd.recall.ranking.features import _TIME_WORDS, NAMES, Statistics
from memd.store.search.fulltext import Corpus


def test_every_feature_of_the_table_is_measured() -> None:
    (item,) = measured(asked("red kite"), [a_candidate(1, "a red kite")])

    assert set(NAMES) <= set(item.features)


def test_in_a_store_of_one_memory_its_words_still_count() -> None:
    (item,) = measured(asked("red kite"), [a_candidate(1, "a red kite")])

    assert item.features["bmn"] > 0


def test_a_term_that_no_memory_holds_is_rare_but_worth_nothing_to_bm25() -> None:
    statistics = Statistics(Corpus(100, 1_000, 0), {"known": 3, "unknown": 0})

    assert statistics.idf("unknown") > statistics.idf("known") > 0


def test_words_of_the_neighbours_count_less_than_own_words() -> None:
    own, beside = measured(
        asked("kite"), [a_candidate(1, "kite"), a_candidate(2, "thing", context="kite")]
    )

    assert own.features["bmx"] > beside.features["bmx"] > 0
    assert own.features["bmr"] == 1.0 > beside.features["bmr"] > 0
    assert beside.features["bmn"] == 0.0
    assert beside.covx == 1.0


def test_a_session_lifts_by_its_best_cover_and_all_its_words() -> None:
    first, second, alone = measured(
        asked("red kite"),
        [
            a_candidate(1, "red kite", session_key=7, speaker="Ann"),
            a_candidate(2, "kite", session_key=7, speaker="Bob"),
            a_candidate(3, "red", speaker="Ann"),
        ],
    )

    assert first.features["smlift"] == first.features["slift"] == 0.0
    assert second.features["cov"] + second.features["smlift"] == pytest.approx(1.0)
    assert second.features["slift"] == second.features["smlift"]
    assert alone.features["smlift"] == alone.features["slift"] == 0.0 < alone.features["cov"]


def test_the_words_of_a_session_lift_as_far_as_somebody_speaks() -> None:
    candidates = [
        a_candidate(1, "red kite", session_key=7, speaker="Ann"),
        a_candidate(2, "kite", session_key=7, speaker="Bob"),
        a_candidate(3, "a nap's kite", kind="outcome"),
        a_candidate(4, "a page on kites"),
        a_candidate(5, "another page"),
    ]
    _, half, *_ = measured(asked("red kite"), candidates)
    _, own_alone, *_ = measured(asked("red kite"), candidates, own_count=3)
    nobody = measured(asked("red kite"), [one._replace(speaker=None) for one in candidates])

    assert half.features["smlift"] == half.features["slift"] > 0.0
    assert half.features["smlift"] == pytest.approx((1.0 - half.features["cov"]) / 2)
    assert own_alone.features["smlift"] == pytest.approx(1.0 - own_alone.features["cov"])
    assert all(item.features["smlift"] == item.features["slift"] == 0.0 for item in nobody)


def test_neighbours_and_session_lift_as_far_as_they_are_nearer_than_the_memory_itself() -> None:
    item, far, alone = measured(
        asked("kite"),
        [
            a_candidate(1, "x", before_key=8, after_key=9),
            a_candidate(2, "y", before_key=7),
            a_candidate(3, "z"),
        ],
        {1: 0.3, 8: 0.5, 9: 0.1, 2: 0.4, 7: 0.1, 3: 0.2},
    )

    assert item.features["cos"] == 0.3
    assert item.features["nlift"] == pytest.approx(0.2)
    assert item.features["s3lift"] == pytest.approx(0.0)
    assert far.features["nlift"] == 0.0 > far.features["s3lift"]
    assert alone.features["nlift"] == alone.features["s3lift"] == 0.0


def test_the_one_who_is_asked_about_and_speaks_is_named() -> None:
    ann, bob = measured(
        asked("What did Ann buy?", "ann"),
        [a_candidate(1, "Ann: a kite", speaker="Ann"), a_candidate(2, "Bob: Ann", speaker="Bob")],
    )

    assert (ann.features["name"], bob.features["name"]) == (1.0, 0.0)


def test_two_names_name_nobody() -> None:
    (item,) = measured(
        asked("What did Ann and Bob buy?", "ann", "bob"),
        [a_candidate(1, "Ann: a kite", speaker="Ann")],
    )

    assert item.features["name"] == 0.0


def test_the_time_of_the_event_is_dated_and_not_that_of_the_telling() -> None:
    may_2023_us = 1_683_500_000_000_000
    then, now = measured(
        asked("What happened in May 2023?"),
        [a_candidate(1, "x", occurred_at_us=may_2023_us), a_candidate(2, "x")],
    )

    assert (then.features["date"], now.features["date"]) == (1.0, 0.0)


def test_words_of_time_count_only_where_a_time_is_asked_for() -> None:
    candidate = a_candidate(1, "we flew it last week")

    (when,) = measured(asked("When did the kite fly?"), [candidate])
    (where,) = measured(asked("Where did the kite fly?"), [candidate])

    assert (when.features["when"], where.features["when"]) == (1.0, 0.0)


def test_words_that_stand_together_in_both_are_a_pair() -> None:
    about = asked("dance studio")
    together, apart = measured(
        about, [a_candidate(1, "my dance studio"), a_candidate(2, "a studio for dance")]
    )

    assert (together.features["pair"], apart.features["pair"]) == (1.0, 0.0)


def test_a_name_that_no_candidate_holds_is_strange() -> None:
    known, strange = (
        measured(asked(text), [a_candidate(1, "Marcus likes kites")])[0].features["strange"]
        for text in ("What does Marcus like?", "What does Priscilla like?")
    )

    assert (known, strange) == (0.0, 1.0)


@pytest.mark.parametrize("word", [*_TIME_WORDS.split(), "1999", "DAYS", "1999."])
def test_each_word_of_time_is_noticed_where_a_time_is_asked_for(word: str) -> None:
    dated, other = measured(
        asked("When did the kite fly?"),
        [a_candidate(1, f"The kite, {word} it flew"), a_candidate(2, "It flew by daylight, 12 m")],
    )

    assert (dated.features["when"], other.features["when"]) == (1.0, 0.0)


def test_a_question_is_noticed() -> None:
    question, answer = measured(
        asked("kite"), [a_candidate(1, "a kite?"), a_candidate(2, "4 kites.")]
    )

    assert (question.features["isq"], answer.features["isq"]) == (1.0, 0.0)


def test_the_terms_that_a_memory_holds_are_told() -> None:
    (item,) = measured(asked("the red kite"), [a_candidate(1, "kite, kite")])

    assert item.matched == ("kite",)
