"""Turns that state nothing are told from statements, and rather not than wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.work_units import effort

from memd.domain.enums import Passing
from memd.extract.passing import TEXT_CHARS_MAX, passing_kind

LETTERS = {
    "s": None,
    "q": Passing.QUESTION,
    "r": Passing.REQUEST,
    "a": Passing.ACKNOWLEDGEMENT,
    "m": Passing.REMARK,
}
LABELLED = [
    (LETTERS[line[0]], line[2:])
    for line in (Path(__file__).parent / "passing.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]


def test_no_statement_is_kept_apart_and_hardly_anything_else_is_remembered() -> None:
    """The list is of many kinds in ten languages; what is wrong with a statement is lost."""
    statements = [text for does, text in LABELLED if does is None]
    others = [text for does, text in LABELLED if does is not None]
    assert len(statements) >= 390
    assert len(others) >= 400
    lost = [text for text in statements if passing_kind(text) is not None]
    remembered = [text for text in others if passing_kind(text) is None]
    assert lost == []
    assert len(remembered) <= 0.02 * len(others), remembered


@pytest.mark.parametrize(("does", "text"), [each for each in LABELLED if each[0] is not None])
def test_what_a_turn_does_is_told(does: Passing, text: str) -> None:
    assert passing_kind(text) is does


def test_what_is_decided_together_by_its_name_is_a_statement() -> None:
    assert passing_kind("ok let's go with cement board then, 12 mm") is None
    assert passing_kind("let's go with option 2") is Passing.REQUEST
    assert passing_kind("let's look at the parser") is Passing.REQUEST


@pytest.mark.parametrize(
    ("text", "does"),
    [
        ("Let me look at the parser.", Passing.REMARK),
        ("I'll now run the tests.", Passing.REMARK),
        ("Now let me check the callers, and then the tests.", Passing.REMARK),
        ("Now fix the import:", Passing.REMARK),
        ("Ich schaue mir das an.", Passing.REMARK),
        ("Ich trage das in die Doku ein.", Passing.REMARK),
        ("Ich aendere den Test.", Passing.REMARK),
        ("Jetzt lasse ich die Tests laufen.", Passing.REMARK),
        ("Moment, ich schaue nach.", Passing.REMARK),
        ("J'ajoute ça à la doc.", Passing.REMARK),
        ("Ejecuto las pruebas.", Passing.REMARK),
        ("Controllo i log.", Passing.REMARK),
        ("Ik kijk even in de logs.", Passing.REMARK),
        ("Mache ich.", Passing.ACKNOWLEDGEMENT),
        ("Done.", Passing.ACKNOWLEDGEMENT),
        ("Noted.", Passing.ACKNOWLEDGEMENT),
        ("Got it, noted.", Passing.ACKNOWLEDGEMENT),
        ("Noted, thanks.", Passing.ACKNOWLEDGEMENT),
        ("Noted: staging is stage2.example.org.", None),
        ("Committed as 3f2a1c0.", Passing.REMARK),
        ("Committed offsets are kept for seven days.", None),
        ("Poor Fips.", Passing.REMARK),
        ("Peat-free then.", Passing.REMARK),
        ("Sorry, replaced by a static buffer.", Passing.REMARK),
        ("We added the battery measurement.", Passing.REMARK),
        ("Replaced by a buffer of 512 bytes.", None),
        ("The tests pass.", Passing.REMARK),
        ("All 13 tests pass.", Passing.REMARK),
        ("Done, the build is green now.", Passing.REMARK),
        ("All 58 pass.", Passing.REMARK),
        ("Renamed in 14 files; tests green.", Passing.REMARK),
        ("All tests pass. Now let me run the linter.", Passing.REMARK),
        ("Let me verify that the exec file is clean.", Passing.REMARK),
        ("Let me find where the warning is printed and how it is made.", Passing.REMARK),
        ("Now I have the full picture. Let me look at what is left.", Passing.REMARK),
        ("The build runs all checks.", None),
        ("All tests pass on 3.12 only.", None),
        ("Let me check the cache: it is never emptied.", None),
        ("Let me check the config - the port is 8443 there.", None),
        ("Let me explain why the index is stale.", None),
        ("I have everything in Postgres.", None),
        ("The tests pass since Redis runs on port 6390.", None),
        ("The tests need a running Redis.", None),
        ("Moved to `conf/app.toml`.", None),
        ("Port 8443.", None),
        ("He is asthmatic.", None),
        ("Ann keeps bees.", None),
        ("Would you like me to go on?", Passing.QUESTION),
        ("The parser reads one line too many.", None),
        ("I found it: the cache is never emptied.", None),
        ("I'll remember that you prefer tabs.", None),
        ("Let me always run the tests first from now on.", None),
        ("I'm allergic to nuts.", None),
        ("Ich habe den Fehler gefunden: der Cache wird nie geleert.", None),
        ("Ich prüfe ab jetzt immer zuerst die Tests.", None),
        ("Ich notiere, dass du Tabs bevorzugst.", None),
        ("Ich passe den Timeout auf 55 Sekunden an.", None),
        ("J'ai trouvé l'erreur : le cache n'est jamais vidé.", None),
    ],
)
def test_an_assistant_remarks_on_what_it_does(text: str, does: Passing | None) -> None:
    assert passing_kind(text, by_assistant=True) is does


@pytest.mark.parametrize(
    "text",
    [
        "Let me look at the parser.",
        "I'll now run to the station.",
        "Ich trage das in die Doku ein.",
        "Ich suche eine Wohnung in Graz",
    ],
)
def test_what_a_person_means_to_do_is_no_remark(text: str) -> None:
    assert passing_kind(text) is None


def test_a_turn_does_what_its_sentences_do_together() -> None:
    assert passing_kind("Thanks! That looks great. Can you run it again?") is Passing.REQUEST
    assert passing_kind("ok. What is left?") is Passing.QUESTION
    assert passing_kind("What is left? The docs are done.") is None
    assert passing_kind("Fix this:\n```py\nx = 1\n```") is Passing.REQUEST
    assert passing_kind("```py\nx = 1\n```") is None
    assert passing_kind("") is None


def test_what_is_typed_to_the_program_states_nothing() -> None:
    assert passing_kind("/review 150") is Passing.REQUEST
    assert passing_kind("/etc/memd is where the settings are kept") is None


def test_a_text_that_is_too_long_is_remembered() -> None:
    assert passing_kind("What is that? " * 10) is Passing.QUESTION
    assert passing_kind("What is that? " * (TEXT_CHARS_MAX // 14 + 1)) is None


@given(st.text(max_size=300), st.booleans())
def test_any_text_is_judged(text: str, by_assistant: bool) -> None:
    assert passing_kind(text, by_assistant=by_assistant) in {None, *Passing}


WORDS = [text for _, each in LABELLED for text in each.split()]


@given(st.lists(st.sampled_from([*WORDS, ",", "?", ":", "…", "\n", "yes please", "no problem"])))
def test_words_in_any_order_are_judged(words: list[str]) -> None:
    assert passing_kind(" ".join(words)) in {None, *Passing}


# Each could be read in very many ways by a pattern that tries them all.
HOSTILE = [
    "yes please ", "no problem ", "ok ", "k", "ha", "嗯", "好的", "so ", "?", "' ", ", ", "-",
    "a b-",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_takes_long(piece: str) -> None:
    """A pattern that tries every reading of such a text never comes to an end of it."""
    text = (piece * TEXT_CHARS_MAX)[: TEXT_CHARS_MAX - 1] + "X"
    with effort() as spent:
        passing_kind(text)
        passing_kind(text, by_assistant=True)
    assert spent.units < 20


COURTESIES = """
    I don't know. | I do not know. | Not that I know. | No idea. | I'm not sure.
    I don't know, sorry. | Sorry to hear that. | I'm sorry to hear that! | Talk later, Marta!
    Congratulations to Pieter! | Hi Jonas, got it. | Glad to hear it! | Nice to meet you, Marta!
    That's great news. | Have a nice trip! | Enjoy your dinner! | Good luck tomorrow!
    See you tomorrow, Jonas. | I don't have that information. | Not as far as I know.
    I can't say. | Good morning Marta! | Get well soon! | Thanks, I'll remember that.
"""
STATED = """
    ASML in Veldhoven. | Postgres 17. | I don't know Rust. | I don't know him. | Sorry, port 8080
    I don't have that book | Congratulations to Pieter on the job at ASML | I'll note that it is 80
    Happy birthday to Lotte! | Got it, Postgres | I do not have any data in prod
    Not to my house | We don't know who broke the build
"""


@pytest.mark.parametrize("by_assistant", [True, False])
def test_courtesies_and_not_knowing_state_nothing(by_assistant: bool) -> None:
    def kinds(texts: str) -> dict[str, Passing | None]:
        each = (text.strip() for line in texts.strip().splitlines() for text in line.split(" | "))
        return {text: passing_kind(text, by_assistant=by_assistant) for text in each}

    assert {text for text, kind in kinds(COURTESIES).items() if kind is None} == set()
    assert {text for text, kind in kinds(STATED).items() if kind is not None} == set()
