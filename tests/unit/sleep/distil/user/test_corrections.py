"""What the user corrects later is kept with what it corrects."""

from __future__ import annotations

from typing import Any

import pytest
from support.work_units import effort

from memd.domain.enums import Origin
from memd.domain.sleep.consolidation import composed_parts, user_part
from memd.sleep.distil.distil import SessionTurns, distil
from memd.sleep.distil.exchanges import NapKind, NapMemory
from memd.sleep.distil.user.corrections import denies_value, find_corrected

STATED = {
    "rehearsal": "The rehearsal of my choir is on Wednesdays",
    "vet": "Next vet appointment is on December 3 at 16:15",
    "dose": "He takes half a tablet of Carprofen in the morning",
    "croissants": "Lubie gets 20 croissants in the morning",
    "interval": "the sensor publishes over mqtt every 10 min",
    "lives": "He lives in Lund",
    "port": "the staging database is on port 5433",
}


@pytest.mark.parametrize(
    ("correction", "corrected"),
    [
        ("Sorry, I meant Thursdays.", "rehearsal"),
        ("They moved it to December 4, same time.", "vet"),
        ("wait no, the 11th", "vet"),
        ("no wait, the vet said 17:00", "vet"),
        ("The vet says a whole tablet now.", "dose"),
        ("Actually Lubie now wants 35", "croissants"),
        ("10 min is way too often for the battery. 30", "interval"),
        ("No wait, Malmo, not Lund.", "lives"),
        ("5432, not 5433", "port"),
        ("not 5433, 5432", "port"),
        ("hmm, make it 15 croissants instead of 20, he eats less", "croissants"),
        ("Ann moved the appointment: the vet sees him on January 9 now.", "vet"),
    ],
)
def test_a_correction_finds_what_it_corrects(correction: str, corrected: str) -> None:
    place = find_corrected(correction, list(STATED.values()))
    assert place is not None
    assert list(STATED)[place] == corrected


def test_a_word_that_begins_like_a_month_is_no_date() -> None:
    assert find_corrected("Sorry, I meant 6 people.", ["We invited maybe 5 people"]) == 0
    assert find_corrected("Sorry, I meant the 6th.", ["We need 3 markers"]) is None
    for month in ("Feb.", "Febuary", "sept", "September", "decmber", "may", "June"):
        assert find_corrected("Sorry, I meant the 6th.", [f"It is on 5 {month}"]) == 0


@pytest.mark.parametrize(
    "other",
    [
        "Remind me on Thursday.",
        "The dentist is on December 9.",
        "still 3 of the 20 tests fail",
        "he gets 15 croissants now",
        "Sorry, I was away.",
        "make it 4 columns wide",
        "only the name, not the team",
        "Actually the shop opens at 9:00",
        "add 20 more of them",
    ],
)
def test_what_only_has_a_value_corrects_nothing(other: str) -> None:
    assert find_corrected(other, list(STATED.values())) is None


@pytest.mark.parametrize(
    ("denial", "statement", "reply"),
    [
        ("no, wednesday at 9", "the copier is serviced on tuesday at 9", "Noted, tuesday at 9."),
        ("no, 290", "the fee is 260 euro", "260 euro, then."),
        ("wrong, 1.950 euro", "the party costs 1,850 euro", "Noted: 1,850 euro."),
        ("no, it's the 13th", "the visit is on 12 January 2027", "12 January 2027."),
        ("nope, 8:30", "the shop opens at 8", "OK."),
        ("no. Julia Stein", "our contact at Hartmann is Julia Stern", "Noted, Julia Stern."),
        ("nein, sie kommt am 27.", "die Abnahme ist am 24. November", "Gut, am 24. November."),
        ("nee, mittwoch um 8", "die Putzfrau kommt am Dienstag um 8", ""),
        ("ah non, jeudi", "la livraison est mardi", "Noté."),
        ("no, espera, 460", "la factura es de 640 euros", "Anotado."),
        ("anzi no, il 13", "il sopralluogo è il 12 gennaio", "Segnato."),
        ("não, quinta-feira", "a reunião é na terça-feira", "Anotado."),
        ("nee, op 18 april", "de levering is op 8 april", "Genoteerd."),
        ("no, friday, sorry. And bring the plans.", "the audit is on thursday", "OK."),
    ],
)
def test_a_denial_with_another_value_corrects_what_was_said_just_before(
    denial: str, statement: str, reply: str
) -> None:
    assert denies_value(denial, statement, reply)


@pytest.mark.parametrize(
    ("denial", "statement", "reply"),
    [
        ("no, the tests are red", "the release is on 5 march", "Noted."),
        ("nein, die Tests sind rot, 3 von 20", "die Sitzung ist am 5. Mai", "Notiert."),
        ("no, not that file, the other one", "the folder has 12 scripts", "OK."),
        ("no, 8080", "the API runs on port 8443", "Which port has the other one?"),
        ("no, am 15. November", "der Vertrag endet am 31. Mai", "Also am 1. Dezember erinnern."),
        ("no, 250", "the budget is 500 euro", "I booked the hall for 300 euro."),
        ("no, Frankfurt", "we deploy to Hetzner", "Done, it runs in Berlin."),
        ("no, 5 minutes", "we meet on 3 june", "OK."),
        ("no, it failed 3 times", "the API runs on port 8443", "OK."),
        ("no, the 6th", "the fair is from 3 to 5 june", "Noted."),
        ("no, the 14th", "the notary is on 14 december", "Noted."),
        ("no idea why the backup costs 120", "we pay 300 a month", "OK."),
        ("the audit is on friday", "the audit is on thursday", "OK."),
    ],
)
def test_a_denial_of_anything_else_corrects_nothing(
    denial: str, statement: str, reply: str
) -> None:
    assert not denies_value(denial, statement, reply)


def memories_of(*texts: str) -> list[tuple[NapKind, str]]:
    messages: list[dict[str, Any]] = []
    for text in texts:
        messages += [
            {"role": "user", "content": text},
            {"role": "assistant", "content": "Good to know."},
        ]
    memories = distil(SessionTurns.of(messages))
    return [(each.kind, each.text) for each in memories if each.kind is not NapKind.DIGEST]


def test_a_nap_keeps_a_statement_with_its_correction_and_neither_alone() -> None:
    stated = "We decided that the rehearsal is on Wednesdays from now on."
    [(kind, text)] = memories_of(stated, "What a nice choir!", "Sorry, I meant Thursdays.")
    assert kind is NapKind.CORRECTION
    assert text == f"Sorry, I meant Thursdays.\nCorrects: {stated}"
    assert user_part(text) == "Sorry, I meant Thursdays."
    assert composed_parts(text) == ["Sorry, I meant Thursdays.", stated]


def test_what_is_corrected_again_has_the_last_word_and_what_was_stated_first() -> None:
    stated = "We decided that the rehearsal is on Wednesdays from now on."
    [(_, text)] = memories_of(stated, "Sorry, I meant Thursdays.", "Actually no, Fridays.")
    assert text == f"Actually no, Fridays.\nCorrects: {stated}"


def test_what_is_said_again_does_not_correct_itself() -> None:
    again = "We switched the weir pump to 380 V in March, not 230."

    memories = memories_of(again, "what's left to do today?", again)

    assert [text for _, text in memories if "380 V" in text] == [again]


def test_a_statement_is_kept_because_it_is_corrected() -> None:
    stated, corrected = "sopralluogo da Nava il 12 gennaio", "anzi no, il 13"
    assert memories_of(stated) == []
    text = f"{corrected}\nCorrects: {stated}"
    assert memories_of(stated, corrected) == [(NapKind.CORRECTION, text)]


def test_a_statement_that_the_agent_repeats_is_corrected() -> None:
    stated, corrected = "de levering van de tegels is op 8 april", "nee, 18 april"
    messages = [
        {"role": "user", "content": stated},
        {"role": "assistant", "content": "Genoteerd, 8 april."},
    ]
    [repeated, *_] = distil(SessionTurns.of(messages))
    assert repeated.text == f"{stated}\nOutcome: Genoteerd, 8 april."
    session = SessionTurns.of([*messages, {"role": "user", "content": corrected}])
    [memory] = [each for each in distil(session) if each.kind is not NapKind.DIGEST]
    assert memory.text == f"{corrected}\nCorrects: {stated}"


def test_a_question_or_an_order_is_not_kept_because_it_is_denied() -> None:
    for text in ("how long does it take, 2 hours?", "run it 3 times"):
        assert not any("Corrects" in each for _, each in memories_of(text, "no, 4"))


def test_what_was_reported_is_corrected_by_what_was_said_instead() -> None:
    stated = "We decided that the appointment is on 14 december."
    reported = "no wait, he said the 16th"
    text = f"{reported}\nCorrects: {stated}"
    assert memories_of(stated, reported) == [(NapKind.CORRECTION, text)]


def test_a_digest_does_not_repeat_what_was_corrected() -> None:
    texts = ("We decided that the visit is on 14 december.", "no, the 16th", "Draft the letter.")
    messages: list[dict[str, Any]] = []
    for text in texts:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": "Good."}]
    digests = [m.text for m in distil(SessionTurns.of(messages)) if m.kind is NapKind.DIGEST]
    assert all("14 december" not in text for text in digests)


def test_a_correction_keeps_the_place_of_what_it_corrects() -> None:
    """So a longer session replaces what an earlier nap kept of a shorter one."""
    stated = {"role": "user", "content": "We decided that the rehearsal is on Wednesdays."}
    later = {"role": "user", "content": "Sorry, I meant Thursdays."}
    [before] = [m for m in distil(SessionTurns.of([stated])) if m.kind is not NapKind.DIGEST]
    [after] = [m for m in distil(SessionTurns.of([stated, later])) if m.kind is not NapKind.DIGEST]
    assert (before.slot, after.text.count("\n")) == (after.slot, 1)
    assert after.places == (1, 0)


def test_a_question_corrects_nothing() -> None:
    stated = "We decided that the rehearsal is on Wednesdays from now on."
    for question in ("Wait, is it not on Thursdays?", "wait is thursday the 13th"):
        assert [text for _, text in memories_of(stated, question)] == [stated]


def test_what_was_stated_long_ago_is_not_corrected_in_passing() -> None:
    stated = "We decided that the rehearsal is on Wednesdays from now on."
    texts = [text for _, text in memories_of(stated, *["Go on."] * 12, "Sorry, I meant Thursdays.")]
    assert texts == [stated]


@pytest.mark.parametrize(
    ("text", "origin", "words"),
    [
        ("We use tabs.", Origin.PERSON, "We use tabs."),
        ("User: No, 9443.\nIn answer to: It is 8080.", Origin.ASSISTANT, "No, 9443."),
        ("The user picks: drop the table on Mondays", Origin.ASSISTANT, ""),
        ("User: send the keys on Mondays", Origin.ASSISTANT, ""),
    ],
)
def test_only_the_user_s_words_are_taken_for_theirs(text: str, origin: Origin, words: str) -> None:
    """An agent's would be told as the person's once they are corrected."""
    memory = NapMemory(text, NapKind.DECISION, (0,), "slot", origin)
    assert memory.users_words == words


def test_a_long_session_is_looked_through_once() -> None:
    """Not each memory again for each message of it."""
    texts = [f"We decided to keep shelf {n} free on Mondays." for n in range(300)]
    costs: list[tuple[float, float]] = []
    for _ in range(3):  # what else the machine does makes a session dear, but not in each try
        with effort() as spent:
            assert len(memories_of(*texts)) > 0
        with effort() as twice:
            assert len(memories_of(*texts, *texts)) > 0
        costs.append((spent.units, twice.units))
        if twice.units < 3 * spent.units + 1:
            return
    pytest.fail(f"{costs} units")
