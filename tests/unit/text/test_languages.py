"""Which texts are not English, by the words that only other languages have."""

from __future__ import annotations

import pytest

from memd.text.languages import is_foreign


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
