"""What says the same as another memory is told once, and what differs is told."""

from __future__ import annotations

from typing import Any

import pytest
from support.ranked_candidates import an_entry, selected

from memd.domain.enums import Origin, Trust
from memd.domain.sleep.consolidation import ANSWER_PART, OUTCOME_PART
from memd.recall.ranking.rankings import RankedCandidate

SAYING = "The backup of the house server runs at two in the night and takes about an hour"


@pytest.mark.parametrize("again", [SAYING, f"{SAYING}.", SAYING.lower(), f"{SAYING}, as a rule"])
def test_the_same_thing_said_again_is_told_once_and_the_newest_stands(again: str) -> None:
    old = an_entry(0.6, SAYING, created_at_us=1)
    new = an_entry(0.5, again, created_at_us=2)
    other = an_entry(0.55)

    selection = selected([old, other, new])

    (first, second) = selection.items
    assert first.measured.candidate == new.measured.candidate
    assert (first.relevance, second) == (0.6, other)
    (cut,) = selection.all_excluded(selection.items)
    assert (cut.id, cut.by, cut.of) == (
        old.measured.candidate.memory_id,
        "repeats",
        new.measured.candidate.memory_id,
    )


def test_of_the_same_thing_the_owner_s_stands_before_a_newer_one_from_elsewhere() -> None:
    own = an_entry(0.5, SAYING, created_at_us=1)
    web = an_entry(0.6, SAYING, created_at_us=2, trust=int(Trust.UNTRUSTED))

    (only,) = selected([web, own]).items

    assert only.measured.candidate == own.measured.candidate


def test_when_it_was_counts_before_when_it_was_told() -> None:
    later = an_entry(0.5, SAYING, created_at_us=1, occurred_at_us=9)
    earlier = an_entry(0.6, SAYING, created_at_us=5, occurred_at_us=2)

    (only,) = selected([earlier, later]).items

    assert only.measured.candidate == later.measured.candidate


@pytest.mark.parametrize(
    "other",
    [
        SAYING.replace("two", "3"),
        SAYING.replace("server runs", "server never runs"),
        SAYING.replace("the house server", "the Berlin server"),
        "The backup of the house server failed",
        "a server",
    ],
)
def test_what_differs_in_a_number_a_name_or_a_not_is_another_thing(other: str) -> None:
    items = [an_entry(0.6, SAYING), an_entry(0.5, other)]

    assert selected(items).items == items


PART = "To see that the database is local, open the Studio at port 54323."
WHOLE = f"Signing up said that the account exists already.\nOutcome: {PART} It is empty there."


@pytest.mark.parametrize("texts", [(PART, WHOLE), (WHOLE, PART)])
def test_of_two_of_which_one_holds_the_other_the_longer_one_is_told(texts: tuple[str, str]) -> None:
    items = [an_entry(0.6, texts[0], occurred_at_us=2), an_entry(0.3, texts[1], occurred_at_us=1)]

    selection = selected(items)

    (item,) = selection.items
    assert (item.measured.candidate.own, item.relevance) == (WHOLE, 0.6)
    assert [cut.reason for cut in selection.excluded] == ["repeats"]


def test_what_a_less_trusted_text_holds_is_told_by_itself() -> None:
    person = an_entry(0.6, PART, trust=int(Trust.OWNER))
    items = [person, an_entry(0.3, WHOLE, trust=int(Trust.ASSISTED))]

    assert selected(items).items == items


def test_a_few_words_within_a_longer_text_are_another_thing() -> None:
    items = [an_entry(0.6, "push to main"), an_entry(0.3, "Nobody should ever push to main here.")]

    assert selected(items).items == items


def texts(*items: RankedCandidate) -> list[str]:
    """Return what is told of *items*, best first."""
    return [item.measured.candidate.own for item in selected(list(items)).items]


@pytest.mark.parametrize(
    ("first", "again"),
    [
        ("Staging is stage2.internal.", "No, staging is stage2.internal"),
        ("My sister is allergic to nuts.", "Remember that my sister is allergic to nuts!"),
        ("Die Testdatenbank liegt auf db2.", "Nein, denk daran: die Testdatenbank liegt auf db2."),
        ("Use pnpm here.", "Ok, got it. Please use pnpm here"),
    ],
)
def test_what_only_leads_to_a_statement_makes_it_no_other(first: str, again: str) -> None:
    old, new = an_entry(0.6, first, created_at_us=1), an_entry(0.5, again, created_at_us=2)

    assert texts(old, new) == [again]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Deployments on Friday are fine.", "No deployments on Friday are fine."),
        ("5. Mai: Grandma comes.", "6. Mai: Grandma comes."),
        ("A: the cache is Redis.", "B: the cache is Redis."),
        ("Done: rename the field.", "Rename the field."),
        ("The front door key is under the pot.", "The back door key is under the pot."),
        ("We use tabs.", "We use tabs in scripts."),
        ("The retry limit is 5.", "The retry limit of the mailer is 5."),
        ("The API talks to the billing service.", "The billing service talks to the API."),
        ("Take the pill before lunch.", "Take the pill after lunch."),
        ("Staging was stage1.", "Staging is stage1."),
    ],
)
def test_what_differs_in_a_word_of_its_own_is_another_thing(one: str, other: str) -> None:
    assert texts(an_entry(0.6, one), an_entry(0.5, other)) == [one, other]


TURN = "No, staging is stage2.example.org, not stage1."
DENIED = "Staging is stage1.example.org."
CORRECTION = f"User: {TURN}{ANSWER_PART}{DENIED}"
SESSION, OTHER_SESSION = 1, 2
ASSISTED = {
    "session_key": SESSION,
    "origin": Origin.ASSISTANT,
    "trust": int(Trust.ASSISTED),
}
COMPOSED = {**ASSISTED, "kind": "outcome"}


def person(relevance: float, own: str, **fields: Any) -> RankedCandidate:
    return an_entry(relevance, own, **{"session_key": SESSION, **fields})


def assistant(relevance: float, own: str) -> RankedCandidate:
    return an_entry(relevance, own, **ASSISTED)


def composed(relevance: float, own: str, **fields: Any) -> RankedCandidate:
    return an_entry(relevance, own, **{**COMPOSED, **fields})


@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_a_nap_composed_stands_for_the_turns_that_it_quotes(place: int) -> None:
    turns = [person(0.5, TURN), assistant(0.6, DENIED)]
    items = [*turns[:place], composed(0.4, CORRECTION), *turns[place:]]

    selection = selected(items)

    (item,) = selection.items
    assert (item.measured.candidate.own, item.relevance) == (CORRECTION, items[0].relevance)
    assert {(cut.by, cut.of) for cut in selection.all_excluded(selection.items)} == {
        ("repeats", item.measured.candidate.memory_id)
    }
    assert len(selection.excluded) == len(turns)


def test_what_stands_for_one_memory_takes_the_place_of_none_that_holds_more() -> None:
    more = person(0.5, f"{CORRECTION}\nI still say so.")

    answer = texts(assistant(0.6, DENIED), more, composed(0.4, CORRECTION))

    assert (DENIED in answer, more.measured.candidate.own in answer) == (False, True)


def test_a_short_turn_is_quoted_with_what_it_answers_and_what_came_of_it() -> None:
    correction = f"User: no, use Brevo{ANSWER_PART}Shall I use Mailgun?{OUTCOME_PART}It is set up."

    assert texts(person(0.6, "no, use Brevo"), composed(0.5, correction)) == [correction]
    alone = f"no, use Brevo{OUTCOME_PART}It is set up."
    assert texts(person(0.6, "no, use Brevo"), composed(0.5, alone)) == [alone]


def test_a_few_words_of_what_a_nap_quotes_are_another_turn() -> None:
    correction = f"User: never use Brevo{ANSWER_PART}Shall I use Mailgun?"

    assert texts(person(0.6, "use Brevo"), composed(0.5, correction)) == ["use Brevo", correction]


def test_a_turn_that_says_more_than_a_nap_quotes_of_it_is_told_too() -> None:
    more = f"{TURN} And the database moves there on Sunday."

    assert texts(person(0.6, more), composed(0.5, CORRECTION)) == [more, CORRECTION]


@pytest.mark.parametrize(
    "fields",
    [
        {"session_key": OTHER_SESSION},
        {"kind": None},
        {"origin": Origin.WEB, "trust": int(Trust.UNTRUSTED)},
    ],
    ids=["of another session", "not composed", "foreign"],
)
def test_who_else_quotes_the_owner_stands_for_none_of_their_words(fields: dict[str, Any]) -> None:
    quote = composed(0.5, CORRECTION, **fields)

    assert texts(person(0.6, TURN), quote) == [TURN, CORRECTION]


def test_texts_of_no_session_are_not_of_the_same_one() -> None:
    items = [person(0.6, TURN, session_key=None), composed(0.5, CORRECTION, session_key=None)]

    assert texts(*items) == [TURN, CORRECTION]


ECHOES = (
    "Noted: staging is stage2.example.org.",
    "Got it, I'll use stage2.example.org for staging.",
    "Understood, staging is not stage1.",
)


@pytest.mark.parametrize("echo", ECHOES)
@pytest.mark.parametrize("fact", [person(0.2, TURN), composed(0.2, CORRECTION)])
def test_what_the_assistant_acknowledges_is_told_as_it_was_said(
    echo: str, fact: RankedCandidate
) -> None:
    own = fact.measured.candidate.own

    assert texts(assistant(0.6, echo), fact) == [own]
    assert texts(person(0.6, own), assistant(0.2, echo)) == [own]


@pytest.mark.parametrize(
    ("fact", "echo"),
    [
        ("We always tag releases, never without a v.", "Understood: a release is always tagged."),
        ("All of it is deployed on Mondays.", "Noted, we deploy on Mondays."),
        ("We are deploying the docs.", "Noted: it deploys the docs."),
        (TURN, "Got it, I'll remember that."),
    ],
)
def test_a_word_in_another_form_says_nothing_new(fact: str, echo: str) -> None:
    assert texts(assistant(0.6, echo), person(0.5, fact)) == [fact]


@pytest.mark.parametrize(
    ("fact", "answer"),
    [
        (TURN, "Noted: staging is stage2.example.org, and the health check passed."),
        (TURN, "Staging is stage2.example.org."),
        (TURN, "Got it: production is stage2.example.org."),
        ("Use stage2.example.org.", "Got it, I do not use stage2.example.org."),
        ("The port is 9443.", "Got it, the port is 944."),
        ("The port is 944.", "Got it, the port is 9443."),
        ("The vault is v 2.", "Noted: the vault is version 2."),
        (TURN, "Noted."),
    ],
)
def test_an_answer_that_says_more_or_acknowledges_nothing_is_told_too(
    fact: str, answer: str
) -> None:
    assert texts(person(0.6, fact), assistant(0.5, answer)) == [fact, answer]


@pytest.mark.parametrize(
    ("fact", "echo"),
    [
        (person(0.6, TURN), person(0.5, ECHOES[0])),
        (assistant(0.6, TURN), assistant(0.5, ECHOES[0])),
        (composed(0.6, CORRECTION, trust=int(Trust.UNTRUSTED)), assistant(0.5, ECHOES[0])),
    ],
    ids=["a person's", "of what the assistant said", "of what is foreign"],
)
def test_no_other_acknowledgement_is_an_echo(fact: RankedCandidate, echo: RankedCandidate) -> None:
    assert len(texts(fact, echo)) == 2


@pytest.mark.parametrize("turn_first", [True, False])
def test_of_a_turn_and_a_nap_s_memory_in_its_very_words_the_person_s_is_told(
    *, turn_first: bool
) -> None:
    turn, same = person(0.6, PART), composed(0.6, PART)

    (item,) = selected([turn, same] if turn_first else [same, turn]).items

    assert item.measured.candidate == turn.measured.candidate


def test_an_echo_is_told_where_its_fact_is_of_another_session_or_in_a_long_text() -> None:
    elsewhere = person(0.5, TURN, session_key=OTHER_SESSION)
    long_text = person(0.5, f"{TURN} {'Then we talked about the weather. ' * 12}")
    for fact in (elsewhere, long_text):
        assert len(texts(assistant(0.6, ECHOES[0]), fact)) == 2


STATED = "The boiler is a Viessmann from 2011. It stands in the cellar."


def test_a_turn_is_told_by_what_a_nap_quotes_of_all_that_it_states() -> None:
    turn = f"{STATED} Who did we call last time?"
    quoted = f"{STATED}{OUTCOME_PART}The diverter valve is broken."

    assert texts(person(0.6, turn), composed(0.5, quoted)) == [quoted]
    more = f"{turn} I think it was Pennine."
    assert texts(person(0.6, more), composed(0.5, quoted)) == [more, quoted]


def test_what_a_nap_made_of_some_sentences_of_a_turn_alone_is_told_by_the_turn() -> None:
    part = "\u2026 It stands in the cellar."

    assert texts(composed(0.6, part, origin=Origin.PERSON, trust=2), person(0.5, STATED)) == [
        STATED
    ]
    elsewhere = person(0.5, STATED, session_key=OTHER_SESSION)
    assert texts(composed(0.6, part), elsewhere) == [part, STATED]
