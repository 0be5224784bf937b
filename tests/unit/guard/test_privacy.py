"""Messages that ask not to be remembered, in many words and languages."""

from __future__ import annotations

import pytest

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


def test_folding_keeps_the_length() -> None:
    text = "İstanbul\u2019da Não é ß ﬁ"
    assert len(fold(text)) == len(text)
