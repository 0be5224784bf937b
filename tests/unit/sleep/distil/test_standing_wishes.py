"""Wishes that outlive the day, in the words in which people say them, and what only sounds so."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.sleep.distil.language.standing_wishes import is_standing_wish
from memd.sleep.distil.user.speech_acts import WORTH, judge

_PAGE = Path(__file__).with_name("standing.txt").read_text("utf-8")
LASTING, PASSING = (part.strip().splitlines() for part in _PAGE.split("\n\n"))
"""What holds from now on, and what only sounds so."""


@pytest.mark.parametrize("text", LASTING)
def test_what_holds_from_now_on_is_worth_keeping(text: str) -> None:
    assert judge(text).score >= WORTH


@pytest.mark.parametrize("text", PASSING)
def test_what_only_sounds_so_is_no_standing_wish(text: str) -> None:
    assert not is_standing_wish(text)
    assert judge(text).score < WORTH


@pytest.mark.parametrize(
    "text",
    [
        'always close letters with "Kind regards, arch. Giulia Bassi"',
        "and never accept cash",
        "Never phone the landlord in the afternoon.",
        "please always round up to full hours",
        "never mix the two accounts",
    ],
)
def test_an_order_with_always_or_never_is_one_whatever_its_verb(text: str) -> None:
    assert is_standing_wish(text)


@pytest.mark.parametrize(
    "text",
    [
        "always fails on the build server",
        "always the same printer",
        "always late at the end",
        "never seen that error before",
        "never worked for me",
        "always crashing here",
        "never in my life",
    ],
)
def test_what_always_or_never_happens_is_no_wish(text: str) -> None:
    assert not is_standing_wish(text)
