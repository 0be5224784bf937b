"""What a person says now leads what they said before, and what is only alike stays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.ranked_candidates import an_entry

from memd.domain.enums import Origin, Trust
from memd.domain.sleep.consolidation import DIGEST_TAG
from memd.recall.ranking.newer_first import (
    CHARS_MAX,
    LEADERS,
    find_kin,
    put_newer_first,
)
from memd.recall.ranking.rankings import RankedCandidate

HERON, PLOVER = "staging host is heron", "the pi died. staging is plover now, an old NUC"
STAGING = "What is the staging host?"
NEAR = 0.6


def vectors_of(near: float, keys: Sequence[int]) -> dict[int, bytes]:
    """Return a vector for each of *keys*, each as *near* to each other one."""
    rows = math.sqrt(1 - near) * np.eye(1 + len(keys), dtype=np.float32)
    rows[:, 0] = math.sqrt(near)
    return {key: row.tobytes() for key, row in zip(keys, rows[1:], strict=True)}


def texts_of(
    items: list[RankedCandidate],
    query: str = STAGING,
    near: float = NEAR,
    *,
    english_alone: bool = False,
) -> list[str]:
    """Return the order in which *items* are told, each as *near* to each other one."""
    kin = find_kin(items, partial(vectors_of, near), english_alone=english_alone)
    return [item.measured.candidate.own for item in put_newer_first(items, kin, query)]


def an_old(text: str = HERON, relevance: float = 0.97, **fields: Any) -> RankedCandidate:
    return an_entry(relevance, text, **{"created_at_us": 1, **fields})


def a_new(text: str = PLOVER, relevance: float = 0.01, **fields: Any) -> RankedCandidate:
    return an_entry(relevance, text, **{"created_at_us": 2, **fields})


def test_a_newer_statement_leads_and_is_as_likely_as_the_older_one() -> None:
    old, new, other = an_old(), a_new(), an_entry(0.5, "The lid is blue", created_at_us=0)
    kin = {old.measured.candidate.memory_key: {new.measured.candidate.memory_key: NEAR}}

    first, second, third = put_newer_first([old, other, new], kin, STAGING)

    assert (first.measured, first.relevance, first.bar) == (new.measured, 0.97, new.bar)
    assert (second, third) == (old, other)


@pytest.mark.parametrize(
    ("earlier", "later", "query", "near"),
    [
        ("my flatmate is called Ronja", "Ronja moved out, Malik has her room", "my flatmate?", 0.4),
        ("font is Lora for headings", "Marlies wants Inter instead of Lora", "Which font?", 0.4),
        ("choir is on Wednesdays", "choir is on Mondays", "When is choir?", 0.8),
        ("Der Zug fährt um 8 Uhr", "der Zug geht jetzt um 9", "Wann fährt der Zug?", 0.6),
        ("Le serveur est à Lyon", "on a déménagé le serveur à Nantes", "Où est le serveur?", 0.6),
    ],
    ids=["a name", "another name", "no word of change", "German", "French"],
)
def test_it_need_not_be_in_the_words_of_the_question(
    earlier: str, later: str, query: str, near: float
) -> None:
    assert texts_of([an_old(earlier), a_new(later)], query, near) == [later, earlier]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (PLOVER, {"created_at_us": 0}),
        (PLOVER, {"origin": Origin.ASSISTANT, "trust": int(Trust.ASSISTED)}),
        (PLOVER, {"origin": Origin.WEB, "trust": int(Trust.UNTRUSTED)}),
        (PLOVER, {"speaker": "Ada"}),
        (PLOVER, {"project_id": "/home/ada/hives"}),
        (f"{PLOVER}. " + "And the lid is red. " * (CHARS_MAX // 10), {}),
        (HERON.replace("heron", "a raspberry pi"), {"relevance": 0.0001}),
    ],
    ids=["older", "an assistant", "foreign", "turn", "elsewhere", "long", "unlikely"],
)
def test_what_does_not_outdate_it_stays_where_it_is(text: str, fields: dict[str, Any]) -> None:
    assert texts_of([an_old(), a_new(text, **fields)]) == [HERON, text]


@pytest.mark.parametrize(
    ("one", "other", "query"),
    [
        (
            "the road bike has 28 mm tyres",
            "the winter bike has 35 mm tyres now",
            "Which tyres does the road bike have?",
        ),
        (
            "the key of the cellar hangs behind the fridge",
            "the key of the shed is in the blue bowl now",
            "Where is the key of the cellar?",
        ),
        (
            "Lea is allergic to hazelnuts",
            "Paul isn't allergic to cats any more",
            "What is Lea allergic to?",
        ),
        (
            "The nginx port is 8080.",
            "The nginx port of the old host in the cellar is 80.",
            "the nginx port",
        ),
        (
            "The nginx port is 8080.",
            "Nobody may touch the nginx port on a Friday afternoon.",
            "the nginx port",
        ),
    ],
)
def test_what_is_said_of_another_thing_does_not_lead(one: str, other: str, query: str) -> None:
    assert texts_of([an_old(one), a_new(other, 0.9)], query) == [one, other]


@pytest.mark.parametrize(
    ("one", "other", "query"),
    [
        ("Unsere Tochter heißt Lotte.", "Der Vermieter heißt Petersen.", "Wie heißt die Tochter?"),
        ("Die Kita schließt um 16 Uhr", "Das Bad schließt jetzt um 19 Uhr", "Kita schließt wann?"),
        ("La guardería cierra a las 4", "La biblioteca cierra a las 7", "¿Cuándo cierra?"),
    ],
    ids=["a form", "a word of change", "Spanish"],
)
def test_a_model_that_reads_english_alone_says_nothing_of_other_languages(
    one: str, other: str, query: str
) -> None:
    order = texts_of([an_old(one), a_new(other, 0.9)], query, english_alone=True)
    assert order == [one, other]


def test_a_correction_in_another_language_leads_by_its_words() -> None:
    old, new = "Die Kita schließt um 16 Uhr", "Die Kita schließt jetzt um 17 Uhr"
    assert texts_of([an_old(old), a_new(new)], "Wann?", english_alone=True) == [new, old]


def test_a_date_in_common_is_no_subject() -> None:
    old, new = "Launch of the site is on 15 December.", "The dentist moved me to 18 December."
    assert texts_of([an_old(old), a_new(new, 0.5)], "launch of the site", 0.4) == [old, new]


def test_a_word_that_many_statements_have_is_no_subject() -> None:
    old, new = "The error budget of harbor is 43 minutes", "We now release harbor on Wednesdays."
    others = [
        an_old(f"{name} looks after harbor", 0.02, created_at_us=0) for name in ("Ada", "Ben")
    ]
    order = texts_of([an_old(old), a_new(new, 0.3), *others], "How large is the error budget?", 0.4)
    assert order[:2] == [old, new]
    order = texts_of([an_old(old), a_new(new, 0.3)], "How large is the error budget?", 0.4)
    assert order == [new, old], "it is one of two statements about harbor"


@pytest.mark.parametrize(
    ("choice", "later"),
    [
        ("rayon it is", "drop rayon"),
        (
            "User: no then. rayon it is\nIn answer to: Rayon is simple.",
            "crossbeam then, drop rayon",
        ),
        ("go with cargo-dist", "forget cargo-dist"),
        ("dann halt Redis", "Redis fliegt raus"),
        ("wir nehmen Redis", "doch kein Redis"),
    ],
)
def test_what_gives_up_a_choice_leads_without_a_vector(choice: str, later: str) -> None:
    items = [an_old(choice), a_new(later, 0.001)]
    ordered = put_newer_first(items, {}, "what did we take?")
    assert [item.measured.candidate.own for item in ordered] == [later, choice]
    assert ordered[0].relevance == items[0].relevance


@pytest.mark.parametrize(
    ("text", "later"),
    [
        ("rayon needs 4 threads in CI", "drop rayon"),
        ("rayon it is", "drop the rayon feature flag"),
        ("rayon it is", "if it hangs, drop rayon"),
        ("crossbeam it is", "drop rayon"),
    ],
)
def test_what_gives_up_another_thing_than_a_choice_stays(text: str, later: str) -> None:
    items = [an_old(text), a_new(later, 0.001)]
    assert put_newer_first(items, {}, "what did we take?") == items


@pytest.mark.parametrize(
    "query",
    ["What did staging used to be?", "Which host was staging before plover?", "the former host"],
)
def test_what_was_before_is_told_as_it_was_ranked(query: str) -> None:
    assert texts_of([an_old(), a_new()], query) == [HERON, PLOVER]


def test_where_nothing_is_near_enough_nothing_moves() -> None:
    assert texts_of([an_old(), a_new()], near=0.2) == [HERON, PLOVER]
    assert texts_of([an_old(), a_new("Staging host is heron.")], near=0.99)[0] == HERON


@pytest.mark.parametrize(("minutes", "leads"), [(1, False), (59, False), (61, True)])
def test_of_what_was_said_in_one_sitting_only_the_surer_leads(minutes: int, leads: bool) -> None:
    older, later = "choir is on Wednesdays", "choir is on Mondays"
    new = a_new(later, created_at_us=1 + minutes * 60_000_000)
    order = texts_of([an_old(older), new], "When is choir?")
    assert order == ([later, older] if leads else [older, later])


def test_the_surest_of_several_leads() -> None:
    unsure = a_new("the NUC has a new fan now", 0.005, created_at_us=3)

    assert texts_of([an_old(), unsure, a_new()])[:2] == [PLOVER, HERON]


def test_what_outdates_two_is_told_once_before_the_first() -> None:
    other = an_old("the machine for staging is heron", 0.9)

    assert texts_of([an_old(), other, a_new()]) == [PLOVER, HERON, other.measured.candidate.own]


def test_a_newer_statement_and_a_correction_both_lead() -> None:
    correction = "Correction: the staging host is crow"

    ordered = texts_of([an_old(), a_new(), a_new(correction, created_at_us=3)])

    assert ordered[-1] == HERON
    assert texts_of([an_old(), a_new(), a_new(correction)], "the former host?") == [
        correction,
        HERON,
        PLOVER,
    ]


def test_what_is_not_worth_a_place_and_what_comes_late_has_no_newer_before_it() -> None:
    doubtful = an_old(relevance=0.05)
    gated = replace(an_old(), passes=False)
    best = [an_old(f"the lid {at} is blue") for at in range(LEADERS)]

    assert texts_of([doubtful, a_new()]) == [HERON, PLOVER]
    assert texts_of([gated, a_new()]) == [HERON, PLOVER]
    kin = find_kin([*best, an_old()], partial(vectors_of, NEAR), english_alone=True)
    assert list(kin) == [item.measured.candidate.memory_key for item in best]


def test_neither_a_turn_of_a_dialogue_nor_a_digest_is_outdated() -> None:
    items = [an_old(speaker="Ada"), an_old("Asked first: staging", kind=DIGEST_TAG), a_new()]

    assert find_kin(items, partial(vectors_of, NEAR), english_alone=True) == {}


ASSISTED = {"origin": Origin.ASSISTANT, "trust": int(Trust.ASSISTED), "session_key": 7}


def of_one_talk(rule: str, **fields: Any) -> list[str]:
    """Return what is told of an assistant's sentence and of the statement that it answers."""
    sentence = an_entry(0.96, "I will ask before every commit.", created_at_us=2, **ASSISTED)
    statement = an_entry(0.5, rule, **{"created_at_us": 1, "session_key": 7, **fields})
    return texts_of([sentence, statement], "Must you ask?")


def test_what_an_assistant_makes_of_a_statement_comes_after_it() -> None:
    rule = "never commit without asking me"

    assert of_one_talk(rule)[0] == rule
    assert of_one_talk(rule, session_key=8)[1] == rule
    assert of_one_talk("may one commit without asking?")[1].endswith("?")


def test_kin_are_the_cosines_of_those_that_have_a_vector_and_may_be_newer() -> None:
    rows = ((1.0, 0.0), (0.6, 0.8), (0.0, 1.0))
    east, near, north = (np.array(row, np.float32).tobytes() for row in rows)
    old, new, pending, far = an_old(), a_new(), a_new("the lid is blue"), a_new("the cat is old")
    keys = [item.measured.candidate.memory_key for item in (old, new, far)]
    vectors = dict(zip(keys, (east, near, north), strict=True))

    kin = find_kin([old, new, pending, far], lambda _: vectors, english_alone=True)

    assert kin == {keys[0]: {keys[1]: pytest.approx(0.6)}}
    assert find_kin([old, new], lambda _: {keys[1]: near}, english_alone=True) == {}
