"""Asking that something be remembered, in many words and languages."""

from __future__ import annotations

import pytest
from support.work_units import effort

from memd.sleep.distil.user.remember_requests import (
    RememberRequest,
    find_remember_requests,
    statement_of,
)

RENT = "the rent of the flat is 950 pounds"


@pytest.mark.parametrize(
    "asked",
    [
        *("dont forget: {}", "don't forget that {}", "Do not forget: {}", "pls dont forgt, {}"),
        *(
            "{}, dont forget!",
            "{}, don't let me forget",
            "{}. please dont forget it",
            "{} (for later)",
        ),
        *(
            "remember that {}",
            "rember: {}",
            "please remember this, {}",
            "can you remember that {}?",
        ),
        *("keep in mind that {}", "bear in mind: {}", "{}, keep that in mind", "{} pls remember"),
        *("note to self: {}", "for the record, {}", "for later: {}", "{}, for future reference"),
        *("save this: {}", "pls save that {}", "{} - save that please", "write down: {}"),
        *("{}, write that down", "make a note: {}", "remember {}", "do not forget {}"),
    ],
)
def test_what_is_asked_for_is_told_without_the_words_that_ask(asked: str) -> None:
    [*_, (text, is_kept, is_firm)] = [
        each for each in find_remember_requests(asked.format(RENT).split(". ")) if each.text
    ]
    assert (text.rstrip("?"), is_kept, is_firm) == (RENT, True, True)


@pytest.mark.parametrize(
    ("asked", "statement"),
    [
        ("Merk dir bitte: die Miete ist 950 Euro", "die Miete ist 950 Euro"),
        ("vergiss nicht, dass die Miete 950 Euro ist", "die Miete 950 Euro ist"),
        ("die Miete ist 950 Euro, bitte merken", "die Miete ist 950 Euro"),
        ("n'oublie pas que le loyer est de 950 euros", "le loyer est de 950 euros"),
        ("retiens bien : le loyer est de 950 euros", "le loyer est de 950 euros"),
        ("recuerda que el alquiler es 950", "el alquiler es 950"),
        ("el alquiler es 950, no lo olvides", "el alquiler es 950"),
        ("lembra-te que a renda é 950", "a renda é 950"),
        ("nao esquecas: a renda é 950", "a renda é 950"),
        ("ricorda che l'affitto è 950", "l'affitto è 950"),
        ("onthoud dat de huur 950 is", "de huur 950 is"),
        ("de huur is 950, niet vergeten", "de huur is 950"),
    ],
)
def test_other_languages_ask_too(asked: str, statement: str) -> None:
    assert statement_of(asked) == RememberRequest(statement, is_kept=True)


@pytest.mark.parametrize("asked", ["fyi {}", "just so you know, {}", "note that {}", "{}, fyi"])
def test_what_is_mentioned_is_not_asked_firmly(asked: str) -> None:
    assert statement_of(asked.format(RENT)) == RememberRequest(RENT, is_kept=True, is_firm=False)


@pytest.mark.parametrize(
    "text",
    [
        *("dont forget to run the tests", "don't forget the tests", "remember to close the file"),
        *("note that this line is wrong", "remember when we had no tests?", "i remember that bug"),
        *("do you remember that bug?", "save that as csv", "write that down in the readme"),
        *("save the file for later", "we leave that for later", "remember it is broken"),
        "don't forget you have to build it first",
    ],
)
def test_orders_and_what_is_at_hand_are_not_asked_for(text: str) -> None:
    assert statement_of(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "remember i told you about the lock",
        "remember we talked about the lock",
        "don't forget i asked for a short one",
        "remember I said no to that",
    ],
)
def test_that_something_was_said_is_no_statement(text: str) -> None:
    assert statement_of(text) is None


@pytest.mark.parametrize(
    "statement",
    [
        "i parked the car on level 3",
        "we moved the server to the cellar",
        "mum said dinner is at eight",
        "i told you the rent is 950",
    ],
)
def test_what_somebody_did_is_a_statement(statement: str) -> None:
    assert statement_of(f"remember {statement}") == RememberRequest(statement, is_kept=True)


def test_what_only_asks_is_about_the_sentence_beside_it() -> None:
    before = find_remember_requests(["How are you?", RENT, "Please remember that."])
    assert [each.text for each in before if each.is_kept] == [RENT]
    behind = find_remember_requests(
        ["Remember this:", RENT, "our dentist is Dr Wong", "what do you think?"]
    )
    assert [each.text for each in behind if each.is_kept] == [RENT, "our dentist is Dr Wong"]
    assert [
        each.is_kept for each in find_remember_requests(["Remember this.", RENT, "It rains."])
    ] == [
        False,
        True,
        False,
    ]


def test_what_cannot_be_told_later_stays_as_it_is() -> None:
    text = f"remember: {RENT}"
    assert find_remember_requests([text], lambda _: False) == [RememberRequest(text)]


@pytest.mark.parametrize("run", [" ", ",", "\n", ". ", " -"])
def test_a_long_run_of_blanks_or_marks_takes_linear_time(run: str) -> None:
    units = []
    for count in (1_000, 4_000):
        with effort() as spent:
            statement_of(f"{RENT}{run * count}x")
        units.append(spent.units)
    assert units[1] < 8 * max(1.0, units[0]), units
