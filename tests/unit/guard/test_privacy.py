"""Messages that ask not to be remembered, in many words and languages."""

from __future__ import annotations

import pytest
from support.work_units import effort

from memd.guard.privacy import Privacy, asks_for_privacy, fold


@pytest.mark.parametrize(
    "text",
    [
        *(
            "keep this between us",
            "please don't remember this",
            "this is confidential",
            "off the record.",
        ),
        *(
            "dont save that anywhere",
            "dont write that in any file, its private",
            "dont tell anyone pls",
        ),
        *("das bleibt bitte unter uns", "n'écris ça nulle part", "no guardes esto"),
        *("não guardes isto", "che resti tra noi", "onthoud dit niet", "forget i said that"),
    ],
)
def test_a_message_may_ask_for_privacy_and_no_more(text: str) -> None:
    assert asks_for_privacy(text) == Privacy(is_asked=True, is_all=True)
    beside = asks_for_privacy(f"My doctor raised the dose to 100. {text}")
    assert beside == Privacy(is_asked=True, is_all=False)


@pytest.mark.parametrize(
    "text",
    [
        *("i don't remember that", "don't save this to disk", "keep the helper private"),
        *("should i keep this private?", "do not store it in memory, use redis", "don't log this"),
        "the secret is shared between us and the server",
    ],
)
def test_what_is_said_of_a_program_asks_for_no_privacy(text: str) -> None:
    assert not asks_for_privacy(text).is_asked


@pytest.mark.parametrize(
    "text",
    [
        "don't keep this, but i'm thinking of quitting the library in spring",
        "please don't save this: my salary is 4200",
        "I'm thinking of leaving him. Please don't save that.",
        "i have a lump in my breast, i don't want anyone to know",
        "merk dir das bitte nicht: ich hab 3000 euro schulden bei Katrin",
        "Ich hab Schulden bei Katrin. das bitte nicht merken",
        "Das musst du dir nicht merken: ich hab Angst vor der Operation",
        "nicht speichern bitte: mein gehalt ist 4200",
        "ne garde pas ça, mais je vais démissionner",
        "no guardes esto, pero voy a dejar el trabajo",
    ],
)
def test_the_request_may_stand_before_or_behind_what_it_is_about(text: str) -> None:
    assert asks_for_privacy(text) == Privacy(is_asked=True, is_all=False)


@pytest.mark.parametrize(
    "text",
    [
        "don't keep this branch",
        "don't keep this, we need the old one",
        "don't keep this, I'm going to rewrite it",
        "I renamed it. Don't keep that.",
        "don't store that. Use redis",
        "don't keep this in memory, i want it on disk",
        "i don't want the client to know about the cache",
        "speichere das nicht in der Datenbank",
        "do not record this metric, we have no use for it",
    ],
)
def test_what_is_said_of_the_work_is_remembered(text: str) -> None:
    assert not asks_for_privacy(text).is_asked


def test_folding_keeps_the_length() -> None:
    text = "İstanbul\u2019da Não é ß ﬁ"
    assert len(fold(text)) == len(text)


def test_a_question_asks_for_no_privacy_and_what_follows_it_may() -> None:
    asked = "Should I keep this between us, or keep that private? Dont tell anyone."
    assert asks_for_privacy(asked) == Privacy(is_asked=True, is_all=False)
    assert not asks_for_privacy("keep this to yourself, why?").is_asked


@pytest.mark.parametrize(
    "text",
    [
        "keep this to yourself, " * 1_000,  # each was followed to the end, for a question mark
        "We deploy the café on Fridays. " * 1_000,
        "never write that line, " * 1_000,
    ],
)
def test_a_long_text_takes_no_longer_than_its_length(text: str) -> None:
    with effort() as one:
        asks_for_privacy(text)
    with effort() as four:
        asks_for_privacy(text * 4)
    assert four.units < 8 * one.units + 1


def test_what_asks_for_nothing_is_looked_through_once() -> None:
    """A log that somebody pastes is not split into sentences."""
    text = "2026-11-30 12:00:01 über die Pipeline: stage 3 of 7 took 12 ms.\n" * 3_000
    with effort() as spent:
        assert not asks_for_privacy(text).is_asked
    assert spent.units < 6
