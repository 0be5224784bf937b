"""Which times a text names, on a Wednesday in Berlin, and which events a question goes by."""

from __future__ import annotations

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest
from support.period_notation import BERLIN, NOW, only, read, shown

from memd.base.clock import to_us
from memd.extract.calendar_periods import CalendarDate
from memd.extract.time_words import Grain
from memd.extract.times import Side, asks_ahead, find_events, find_periods, parse_limit

STRETCHES = {
    "What did I cook yesterday?": "2026-11-17 2026-11-18",
    "the day before yesterday": "2026-11-16 2026-11-17",
    "yesterday evening": "2026-11-17T17 2026-11-18",
    "last night": "2026-11-17T18 2026-11-18T05",
    "this morning": "2026-11-18T05 2026-11-18T12",
    "what is on tonight": "2026-11-18T17 2026-11-19T05",
    "last week": "2026-11-09 2026-11-16",
    "this week's meals": "2026-11-16 2026-11-23",
    "next week": "2026-11-23 2026-11-30",
    "last weekend": "2026-11-14 2026-11-16",
    "last month": "2026-10-01 2026-11-01",
    "next year": "2027-01-01 2028-01-01",
    "on Monday": "2026-11-16 2026-11-17",
    "last Wednesday": "2026-11-11 2026-11-12",
    "next Tuesday": "2026-11-24 2026-11-25",
    "Monday evening": "2026-11-16T17 2026-11-17",
    "3 days ago": "2026-11-15 2026-11-16",
    "two weeks ago": "2026-11-01 2026-11-08",
    "a couple of days ago": "2026-11-11 2026-11-17",
    "2 hours ago": "2026-11-18T12 2026-11-18T13",
    "the last 3 days": "2026-11-15 2026-11-19",
    "in March": "2026-03-01 2026-04-01",
    "in december": "2025-12-01 2026-01-01",
    "last November": "2025-11-01 2025-12-01",
    "in March 2025": "2025-03-01 2025-04-01",
    "in 2024": "2024-01-01 2025-01-01",
    "on 8 May 2023": "2023-05-08 2023-05-09",
    "on May 8th, 2023": "2023-05-08 2023-05-09",
    "2025-03-01": "2025-03-01 2025-03-02",
    "2025-03": "2025-03-01 2025-04-01",
    "am 1.3.2025": "2025-03-01 2025-03-02",
    "between March and May 2025": "2025-03-01 2025-06-01",
    "from Monday to Friday": "2026-11-09 2026-11-14",
    "since March": "2026-03-01 -",
    "after 8 May 2023": "2023-05-09 -",
    "until Friday": "- 2026-11-14",
    "before 2025": "- 2025-01-01",
    "the Monday before July 24, 2023": "2023-07-17 2023-07-24",
    "last summer": "2026-06-01 2026-09-01",
    "in winter 2024": "2023-12-01 2024-03-01",
    "gestern Abend": "2026-11-17T17 2026-11-18",
    "vorgestern": "2026-11-16 2026-11-17",
    "letzte Woche": "2026-11-09 2026-11-16",
    "nächsten Montag": "2026-11-23 2026-11-24",
    "vor drei Wochen": "2026-10-25 2026-11-01",
    "seit März": "2026-03-01 -",
    "am 8. Mai 2023": "2023-05-08 2023-05-09",
    "am Wochenende": "2026-11-14 2026-11-16",
    "hier soir": "2026-11-17T17 2026-11-18",
    "avant-hier": "2026-11-16 2026-11-17",
    "lundi dernier": "2026-11-16 2026-11-17",
    "la semaine dernière": "2026-11-09 2026-11-16",
    "l'an dernier": "2025-01-01 2026-01-01",
    "il y a trois jours": "2026-11-15 2026-11-16",
    "jusqu'à vendredi": "- 2026-11-14",
    "ayer por la tarde": "2026-11-17T12 2026-11-17T20",
    "la semana pasada": "2026-11-09 2026-11-16",
    "la semana que viene": "2026-11-23 2026-11-30",
    "hace dos semanas": "2026-11-01 2026-11-08",
    "el 8 de mayo de 2023": "2023-05-08 2023-05-09",
    "entre lunes y miércoles": "2026-11-09 2026-11-12",
    "ieri sera": "2026-11-17T17 2026-11-18",
    "due giorni fa": "2026-11-16 2026-11-17",
    "il mese scorso": "2026-10-01 2026-11-01",
    "ontem à noite": "2026-11-17T18 2026-11-18T05",
    "há três dias": "2026-11-15 2026-11-16",
    "na segunda-feira": "2026-11-16 2026-11-17",
    "gisteravond": "2026-11-17T17 2026-11-18",
    "twee weken geleden": "2026-11-01 2026-11-08",
    "afgelopen vrijdag": "2026-11-13 2026-11-14",
}


@pytest.mark.parametrize("text", STRETCHES)
def test_words_of_time_are_read(text: str) -> None:
    assert read(text) == [STRETCHES[text]]


@pytest.mark.parametrize(
    "text",
    [
        "May I ask who our dentist is?",
        "What may happen in a march? They march on.",
        "the second page, the last line, my last name, the next step, this time",
        "Use port 2024 for version 3.11.2 and 2024.1.2",
        "in 2000 lines, a 2015 Golf, order #2024, 2023%",
        "Who has the man in the sun sat with?",
        "before the release, after the move, since you asked",
        "every Monday, jeden Montag, chaque lundi",
        "Wo ist hier der Schlüssel?",
        "Guten Morgen! Am Morgen und por la mañana",
        "Is there life on Mars? Where does Marco live? La casa de Julio in Rio de Janeiro",
        "La segunda vez, il fait beau, il y a un chat",
        "Does it fall in the water? The spring of the lock",
        "2023-13-01 and 2023-02-30",
        "2023-13 and 2023-00",
        "",
    ],
)
def test_other_words_are_no_times(text: str) -> None:
    assert read(text) == []


def test_a_weekday_is_the_last_or_the_next_one() -> None:
    monday = only("on Monday")

    assert monday.other is not None
    assert shown(monday.other[0]) == "2026-11-23"
    assert only("last Monday").other is None


def test_what_the_calendar_says_is_told_as_such() -> None:
    assert only("on 8 May, 2023").dates == (CalendarDate(5, 2023, 8),)
    assert only("since 2024-02-29").dates == (CalendarDate(2, 2024, 29),)
    assert only("in March").dates == (CalendarDate(3),)
    assert only("last March").dates == ()


def test_how_exact_words_are_and_whether_they_limit() -> None:
    assert [only(text).grain for text in ("tonight", "yesterday", "on Monday", "in 2024")] == [
        Grain.HOUR,
        Grain.HOUR,
        Grain.DAY,
        Grain.YEAR,
    ]
    assert [only(text).bounds for text in ("since March", "in March")] == [True, False]


def test_a_season_is_read_only_where_clocks_tell_which_half_of_the_earth_it_is() -> None:
    assert find_periods("last summer", NOW, UTC) == ()
    assert find_periods("last summer", NOW, ZoneInfo("Australia/Sydney")) == ()


def test_a_day_is_as_long_as_the_clock_of_its_zone_makes_it() -> None:
    one = only("on 29 March 2026")  # an hour is left out in spring

    assert one.from_us is not None
    assert one.to_us is not None
    assert one.to_us - one.from_us == 23 * 3_600_000_000


def test_the_place_of_the_words_is_known() -> None:
    text = "What did we decide since last March, in short?"
    one = only(text)

    assert text[one.start : one.end] == "since last March"


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("last week", "2026-11-09"),
        ("3 days ago", "2026-11-15"),
        ("two weeks ago", "2026-11-04"),
        ("March", "2026-03-01"),
        ("may", "2026-05-01"),
        ("2024", "2024-01-01"),
        ("the day before yesterday", "2026-11-16"),
        ("gestern", "2026-11-17"),
        ("hier", "2026-11-17"),
        ("ayer por la tarde", "2026-11-17T12"),
        ("8 May", "2026-05-08"),
    ],
)
def test_a_limit_is_where_a_time_begins(text: str, begin: str) -> None:
    limit = parse_limit(text, NOW, BERLIN)

    assert limit is not None
    assert shown(to_us(limit)) == begin


@pytest.mark.parametrize("text", ["", "soon", "last", "last week or so", "monday tuesday", "0"])
def test_what_is_not_a_time_and_nothing_else_is_no_limit(text: str) -> None:
    assert parse_limit(text, NOW, BERLIN) is None


@pytest.mark.parametrize(
    "word", ["May ", "1 ", "de ", "between March and ", "il y a ", "8.", "last "]
)
def test_a_text_of_nothing_but_words_of_time_is_read_once(word: str) -> None:
    short, long = (len(find_periods(word * times, NOW, BERLIN)) for times in (50, 100))

    assert long <= 2 * short + 1


@pytest.mark.parametrize(
    ("question", "side", "words"),
    [
        ("What did we decide before the release?", Side.BEFORE, "release"),
        ("After the migration, what broke?", Side.AFTER, "migration"),
        ("Before the release what did we decide?", Side.BEFORE, "release"),
        ("What is slow since we moved to Postgres?", Side.SINCE, "moved to Postgres"),
        ("Who was on call during the outage?", Side.DURING, "outage"),
        ("Where did we eat after Anna's wedding?", Side.AFTER, "Anna s wedding"),
        ("Was haben wir vor dem Umzug gekocht?", Side.BEFORE, "Umzug"),
        ("Was ist seit dem Release kaputt?", Side.SINCE, "Release"),
        ("Qu'avons-nous mangé après le marathon ?", Side.AFTER, "marathon"),
        ("Qui était là pendant l'incendie ?", Side.DURING, "incendie"),
        ("¿Qué compré antes de la mudanza?", Side.BEFORE, "mudanza"),
        ("Cosa ho comprato prima del trasloco?", Side.BEFORE, "trasloco"),
        ("O que comprei depois da mudança?", Side.AFTER, "mudança"),
        ("Waarover sprak ik na de verhuizing?", Side.AFTER, "verhuizing"),
    ],
)
def test_an_event_is_named_as_the_limit_of_a_time(question: str, side: Side, words: str) -> None:
    assert find_events(question) == ((side, tuple(words.split())),)


@pytest.mark.parametrize(
    "question",
    [
        "What did we cook before last week?",
        "What did we do after lunch?",
        "Where did I go after a long walk?",
        "What is before me?",
        "Which song did the choir sing?",
        f"What did we do after the {'very ' * 9}long walk?",
    ],
)
def test_what_is_not_named_as_known_is_no_event(question: str) -> None:
    assert find_events(question) == ()


@pytest.mark.parametrize(
    ("question", "ahead"),
    [
        ("What should I do before the release?", True),
        ("What does Deborah play during her practice?", True),
        ("Was soll ich vor dem Umzug tun?", True),
        ("What did I do before the release?", False),
    ],
)
def test_what_is_to_come_is_told_from_what_was(question: str, ahead: bool) -> None:
    assert asks_ahead(question) is ahead
