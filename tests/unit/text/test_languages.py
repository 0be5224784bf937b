"""Which texts are not English, by the words that only other languages have."""

from __future__ import annotations

import pytest

from memd.text.languages import is_english, is_foreign


@pytest.mark.parametrize(
    "text",
    [
        "no cookies, no google fonts, no analytics",
        "One mechanic per session.",
        "Docker says no space left on device.",
        "postgres is 14.9 on prod, so no merge",
    ],
)
def test_short_english_without_an_article_is_english(text: str) -> None:
    assert not is_foreign(text)


@pytest.mark.parametrize(
    "text",
    [
        "no toques la base de datos",
        "per favore solo la tabella",
        "la base es de Ana",
        "an die Kunden kein Rabatt",
    ],
)
def test_a_text_with_words_of_another_language_is_not(text: str) -> None:
    assert is_foreign(text)


@pytest.mark.parametrize(
    "text",
    [
        "was war an der Waschmaschine kaputt?",
        "Was bekommt Mokka an Silvester gegen die Angst?",
        "Nummer vom Tierarzt",
        "wieviel Futter bekommt Mokka am Tag",
    ],
)
def test_a_german_question_with_words_that_english_has_too_is_german(text: str) -> None:
    assert not is_english(text)


@pytest.mark.parametrize("text", ["was it red", "tests was red", "the ins and outs", "I was ill"])
def test_a_word_that_german_has_too_makes_no_english_text_german(text: str) -> None:
    assert is_english(text)
