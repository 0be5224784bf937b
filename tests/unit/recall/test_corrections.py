"""What corrects an older memory stands before it, and nothing else is moved."""

from __future__ import annotations

from typing import Any

import pytest
from support.ranked_candidates import an_entry, selected

from memd.domain.enums import Origin, Trust
from memd.recall.ranking.newer_first import CHARS_MAX, put_newer_first
from memd.recall.ranking.rankings import RankedCandidate

TIMEOUT = "The watchdog timeout on the valve board is 4 seconds"
CORRECTED = "Correction: watchdog is 8 seconds, 4 was too short"


def texts_of(correction: RankedCandidate, *others: RankedCandidate) -> list[str]:
    ordered = sorted([correction, *others], key=lambda item: -item.relevance)
    return [item.measured.candidate.own for item in selected(ordered).items]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (TIMEOUT, CORRECTED),
        ("The uart console runs at 115200 baud", "actually the console is at 921600 now"),
        ("Redis holds the sessions", "We no longer use Redis for sessions, Valkey has them"),
        ("The API listens on port 8080", "the API moved to 8443"),
        ("Der Zug fährt um 8 Uhr ab", "Korrektur: der Zug fährt um 9 Uhr"),
        ("My manager is Priya Shah", "My manager is now Tom Fischer"),
        ("We go to Lisbon from 14 to 18 May", "Updated: we go to Lisbon from 21 to 25 May"),
        ("Le serveur est à Lyon", "En fait le serveur est à Nantes"),
        ("the fee is 260 euro", "no, 290\nCorrects: the fee is 260 euro"),
    ],
)
def test_a_correction_stands_before_what_it_corrects_and_is_as_likely(
    earlier: str, later: str
) -> None:
    old = an_entry(0.9, earlier, created_at_us=1)
    new = an_entry(0.03, later, created_at_us=2)
    other = an_entry(0.5, "The lid is blue", created_at_us=3)

    (first, second, third) = selected([old, other, new]).items

    assert (first.measured.candidate.own, first.relevance) == (later, 0.9)
    assert (second, third) == (old, other)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("The watchdog barks after 8 seconds", {}),
        (CORRECTED, {"created_at_us": 0}),
        (CORRECTED, {"trust": int(Trust.ASSISTED)}),
        (CORRECTED, {"origin": Origin.WEB, "trust": int(Trust.UNTRUSTED)}),
        (CORRECTED, {"speaker": "Ada"}),
        (CORRECTED, {"project_id": "/home/ada/hives"}),
        ("Correction: the meeting is on Friday", {}),
        (f"{CORRECTED}. " + "And the lid is red. " * (CHARS_MAX // 10), {}),
    ],
    ids=[
        "unsaid",
        "older",
        "less trusted",
        "foreign",
        "turn",
        "elsewhere",
        "another thing",
        "long",
    ],
)
def test_what_is_no_correction_of_it_stays_where_it_is(text: str, fields: dict[str, Any]) -> None:
    old = an_entry(0.9, TIMEOUT, created_at_us=1)
    new = an_entry(0.03, text, **{"created_at_us": 2, **fields})

    assert texts_of(new, old) == [TIMEOUT]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("My manager is Priya Shah", "My sister's manager is now Tom Fischer"),
        ("Her manager is Priya Shah", "My manager is now Tom Fischer"),
        ("There is a spare key under the pot", "There is now a bakery in our street"),
        ("She is a nurse in Bern", "She is now on the second floor"),
    ],
)
def test_what_something_else_is_now_corrects_nothing(earlier: str, later: str) -> None:
    old = an_entry(0.9, earlier, created_at_us=1)
    new = an_entry(0.03, later, created_at_us=2)

    assert texts_of(new, old) == [earlier]


def test_what_is_not_worth_a_place_brings_no_correction() -> None:
    old = an_entry(0.05, TIMEOUT, created_at_us=1)
    new = an_entry(0.03, CORRECTED, created_at_us=2)

    assert texts_of(new, old) == []


def test_the_newest_of_several_corrections_comes_first() -> None:
    old = an_entry(0.9, TIMEOUT, created_at_us=1)
    new = an_entry(0.03, CORRECTED, created_at_us=2)
    newest = an_entry(0.02, "No, correction: the watchdog is at 16 seconds", created_at_us=3)

    assert texts_of(new, old, newest)[0] == newest.measured.candidate.own


def test_who_says_how_many_gets_no_more_than_that() -> None:
    old = an_entry(0.9, TIMEOUT, created_at_us=1)
    new = an_entry(0.03, CORRECTED, created_at_us=2)

    selection = selected([old, new], top_k=1)

    assert [item.measured.candidate.own for item in selection.items[: selection.count_max]] == [
        CORRECTED
    ]


def test_what_corrects_another_thing_than_is_asked_about_stays_where_it_is() -> None:
    tree = an_entry(0.99, "the Christmas tree comes from farmer Huber", created_at_us=1)
    eggs = an_entry(0.98, "the eggs come from farmer Steiner, no longer Huber", created_at_us=2)

    assert put_newer_first([tree, eggs], {}, "Where is our Christmas tree from?") == [tree, eggs]
    assert put_newer_first([tree, eggs], {}, "Where is it from?")[1] == tree
