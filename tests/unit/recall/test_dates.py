"""The times of memories and of the events they tell of, and how well they fit a question's."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from support.measured_candidates import a_candidate, asked, measured, words_of

from memd.base.clock import DAY_US, to_us
from memd.extract.calendar_periods import CalendarDate
from memd.recall.ranking.rankings import rank_by_time, rank_with_gate
from memd.recall.ranking.weights import HYBRID
from memd.recall.times import event_time, tells_of

NOW = to_us(datetime(2026, 11, 18, 14, 30, tzinfo=UTC))


def period(question: str, *days: str, own: str = "x") -> list[float]:
    """Return the feature of memories that were told on *days*."""
    candidates = [a_candidate(at, own, occurred_at_us=us(day)) for at, day in enumerate(days)]
    about = asked(question, now_us=NOW)
    return [item.features["period"] for item in measured(about, candidates)]


def us(day: str) -> int:
    return to_us(datetime.fromisoformat(day).replace(tzinfo=UTC))


@pytest.mark.parametrize(
    ("date", "match"),
    [
        (CalendarDate(5), 1.0),
        (CalendarDate(5, 2023), 1.0),
        (CalendarDate(5, 2023, 15), 1.0),
        (CalendarDate(5, 2023, 16), 0.5),
        (CalendarDate(5, 2022), 0.0),
        (CalendarDate(6, 2023, 8), 0.0),
    ],
)
def test_a_date_matches_its_month_and_a_day_within_a_week(date: CalendarDate, match: float) -> None:
    assert date.match(datetime(2023, 5, 8, tzinfo=UTC)) == match


def test_what_lies_in_the_stretch_fits_and_what_lies_beside_it_half() -> None:
    assert period("What happened last week?", "2026-11-10", "2026-11-17", "2026-10-10") == [
        1.0,
        0.5,
        0.0,
    ]


def test_today_is_not_yesterday_but_the_night_between_them_is_a_little() -> None:
    moments = ("2026-11-17T12:00", "2026-11-18T01:30", "2026-11-18T09:00", "2026-11-16T12:00")
    assert period("What happened yesterday?", *moments) == [1.0, 0.5, 0.0, 0.0]


@pytest.mark.parametrize(
    ("days", "answers"),
    [(["2026-11-10", "2026-11-17"], ["2026-11-10"]), (["2026-11-17"], ["2026-11-17"])],
)
def test_what_lies_beside_a_time_answers_only_where_nothing_lies_in_it(
    days: list[str], answers: list[str]
) -> None:
    candidates = [a_candidate(at, day, occurred_at_us=us(day)) for at, day in enumerate(days)]
    about = asked("What happened last week?", now_us=NOW)

    ranked = rank_by_time(rank_with_gate(measured(about, candidates), HYBRID)[0], about)

    assert [item.measured.candidate.own for item in ranked if item.passes] == answers


def ranked_by_time(question: str, *candidates: Any) -> list[str]:
    """Return what answers a question that names only a time, in order."""
    about = asked(question, now_us=NOW)
    assert about.only_time
    ranked = rank_by_time(rank_with_gate(measured(about, candidates), HYBRID)[0], about)
    return [item.measured.candidate.own for item in ranked if item.passes]


@pytest.mark.parametrize("date", ["10 November", "10 November 2026"])
def test_what_happened_on_a_day_answers_before_what_names_it_and_no_neighbour_does(
    date: str,
) -> None:
    assert ranked_by_time(
        f"What happened on {date}?",
        a_candidate(1, "the day before", occurred_at_us=us("2026-11-09T10:00")),
        a_candidate(
            2, "party on 10 November 2026", occurred_at_us=us("2026-10-01"), importance=0.9
        ),
        a_candidate(3, "on the day", occurred_at_us=us("2026-11-10T09:00"), importance=0.1),
    ) == ["on the day", "party on 10 November 2026"]


def test_of_a_session_the_digest_is_told_first_and_decisions_where_these_are_asked_for() -> None:
    its = {"occurred_at_us": us("2026-11-10T09:00"), "session_key": 7}
    candidates = (
        a_candidate(1, "a turn", importance=0.9, **its),
        a_candidate(2, "a decision", kind="decision", importance=0.8, **its),
        a_candidate(3, "the digest", kind="digest", importance=0.2, **its),
    )

    assert ranked_by_time("What happened last week?", *candidates) == [
        "the digest", "a decision", "a turn",
    ]  # fmt: skip
    assert ranked_by_time("What did we decide last week?", *candidates) == ["a decision"]
    assert ranked_by_time("What did we decide last week?", *candidates[::2]) == [
        "the digest", "a turn",
    ]  # fmt: skip


def test_what_fits_all_since_then_fits_less() -> None:
    assert period("What happened since last March?", "2026-11-10", "2025-11-10") == [0.5, 0.0]


def test_a_month_without_a_year_is_above_all_the_latest() -> None:
    latest, before = period("What happened in March?", "2026-03-10", "2025-03-10")
    assert latest > before == 0.0


def test_a_text_that_names_the_time_fits_whenever_it_was_told() -> None:
    text = "We signed the lease on 2 September 2025."
    assert period("Which lease did we sign last year?", "2026-06-01", own=text) == [0.5]
    assert period("Which lease did we sign in 2024?", "2026-06-01", own=text) == [0.0]


def test_words_of_time_in_a_text_are_those_of_the_day_it_was_told() -> None:
    text = "We signed the lease yesterday."
    assert period("What did we sign on Monday?", "2026-11-17", "2026-07-01", own=text) == [1.0, 0.0]


def test_beside_a_date_with_a_year_other_words_of_time_are_not_ours() -> None:
    assert period("What did Ann finish last Friday on 23 January, 2022?", "2026-11-13") == [0.0]


def test_a_time_moves_what_the_gate_let_pass_and_opens_no_gate() -> None:
    def answer(question: str) -> tuple[list[int], float]:
        dated = {"occurred_at_us": us("2026-11-10")}
        candidates = [a_candidate(1, "we cooked soup"), a_candidate(2, "we cooked rice", **dated)]
        items, chance = rank_with_gate(_measured(question, candidates), HYBRID)
        return [item.measured.candidate.memory_key for item in items], chance

    order, chance = answer("What cooked last week?")
    other_order, other_chance = answer("What cooked next month?")
    assert (order[0], other_order[0]) == (2, 1)
    assert chance == pytest.approx(other_chance, abs=0.05)


def _measured(question: str, candidates: list[Any]) -> Any:
    return measured(asked(question, now_us=NOW), candidates, {1: 0.7, 2: 0.6})


TOLD = to_us(datetime(2026, 11, 18, 14, 30, tzinfo=UTC))
RELEASE = frozenset({"release"})


@pytest.mark.parametrize(
    ("own", "tells"),
    [
        ("The release went out today.", True),
        ("We shipped it.", False),
        ("When is the release?", False),
        ("We freeze the API until the release.", False),
    ],
)
def test_a_memory_tells_of_an_event_that_it_states(own: str, tells: bool) -> None:
    assert tells_of(own, RELEASE, words_of) is tells


def test_an_event_was_when_its_memory_is_of_or_when_its_text_says() -> None:
    plain = a_candidate(1, "The release went out.", occurred_at_us=TOLD)
    dated = a_candidate(2, "The release went out yesterday.", occurred_at_us=TOLD)

    assert event_time(plain)[:2] == (TOLD, TOLD)
    assert event_time(dated).begin_us < TOLD - DAY_US // 2
    assert event_time(dated).end_us - event_time(dated).begin_us == DAY_US


def test_a_text_with_several_times_says_none_for_its_event() -> None:
    both = "The release of 1 May 2025 came after that of 3 April 2024."
    assert event_time(a_candidate(1, both, occurred_at_us=TOLD))[:2] == (TOLD, TOLD)
