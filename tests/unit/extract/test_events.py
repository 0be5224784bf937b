"""Which events a question dates itself by."""

from __future__ import annotations

import pytest

from memd.extract.times import Side, asks_ahead, find_events


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
