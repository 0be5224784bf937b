"""Wishes that outlive the day, in the words in which people say them, and what only sounds so."""

from __future__ import annotations

from pathlib import Path

import pytest

from memd.sleep.distil.acts import WORTH, judge
from memd.sleep.distil.distil import ReadSession, distil
from memd.sleep.distil.exchanges import NapKind
from memd.sleep.distil.language.standing import is_standing_wish

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


def _preferences(*messages: str) -> list[str]:
    turns = [
        turn
        for text in messages
        for turn in (
            {"role": "user", "content": text},
            {"role": "assistant", "content": "That is done."},
        )
    ]
    return [each.text for each in distil(ReadSession.of(turns)) if each.kind is NapKind.PREFERENCE]


@pytest.mark.parametrize(
    "rider", ["El mensaje en castellano, claro y completo.", "Le message en deux lignes au plus."]
)
def test_what_is_said_again_beside_another_request_is_a_preference(rider: str) -> None:
    assert _preferences(f"Push it.\n{rider}") == []
    assert _preferences(f"Push it.\n{rider}", "Look at the lock.", f"Push it.\n{rider}") == [rider]


@pytest.mark.parametrize(
    "again",
    [
        "The lock of the cache is slow.\nIt is read four times a page.",  # a message sent again
        "Push it.\nWhy is the page of the shop red?",
        "Push it.\n- the page of the shop",
        "Push it.\nThank you so.",
        "Ok now.\nThe lock of the cache is slow, mend it.",  # a request behind an opening
        "Push it.\nfatal: the repository of the shop is not to be found",
    ],
)
def test_a_message_sent_again_a_question_and_an_item_are_none(again: str) -> None:
    assert _preferences(again, "Look at the lock.", again) == []
