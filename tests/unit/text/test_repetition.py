"""What only says again what was told is told from what says more."""

from __future__ import annotations

import pytest

from memd.text.repetition import KnownWords, confirms, remove_known

TOLD = KnownWords(
    [
        "The billing service keeps its data in PostgreSQL 16.",
        "Agent: Shall I delete the old files?\nUser: yes\nOutcome: All checks of heron pass with "
        "-race. Releases go out on Thursdays from the release branch.",
        "We always use pnpm, not npm.",
    ]
)


@pytest.mark.parametrize(
    "sentence",
    [
        "The billing service keeps its data in PostgreSQL 16.",
        "As noted earlier, the billing service keeps its data in PostgreSQL 16.",
        "According to memory: releases go out on Thursdays, from the release branch.",
        "You always use pnpm, not npm.",
    ],
)
def test_what_was_told_is_known_again(sentence: str) -> None:
    assert TOLD.covers(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The billing service keeps its data in PostgreSQL 17.",
        "The billing service no longer keeps its data in PostgreSQL 16.",
        "The billing service keeps its data in PostgreSQL 16 on db-3.internal.",
        "Releases never go out on Thursdays from the release branch.",
        "We always use npm, without pnpm.",
        "All checks pass.",
        "Delete the releases of PostgreSQL.",
        "I moved the billing service to another cluster and restarted it.",
        "",
        "Yes.",
    ],
)
def test_news_in_the_same_words_stays(sentence: str) -> None:
    assert not TOLD.covers(sentence)


def test_only_the_sentences_that_were_told_are_taken_out() -> None:
    text = (
        "The billing service keeps its data in PostgreSQL 16. I have raised its memory to 4 GB.\n\n"
        "- You always use pnpm, not npm.\n- The lock file is in the repository now.\n"
    )
    left = "I have raised its memory to 4 GB.\n\n- The lock file is in the repository now."
    assert remove_known(text, TOLD) == left
    assert remove_known(text, KnownWords(())) == text
    assert remove_known("Nothing of it.\n\n  Indented.", TOLD) == "Nothing of it.\n\n  Indented."


@pytest.mark.parametrize(
    ("answer", "does"),
    [
        ("Noted: 12 November.", True),
        ("Understood, the deadline of the paper stays 12 November.", True),
        ("Noted: 13 November.", False),
        ("No paper in November.", False),
        ("The deadline is in paper.toml.", False),
        ("Noted.", False),
        ("", False),
    ],
)
def test_a_confirmation_has_nothing_that_was_not_stated(answer: str, does: bool) -> None:
    assert confirms(answer, "paper deadline is november 12, The Cryosphere") is does
    assert not confirms(answer, "")
