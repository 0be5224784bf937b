"""Conversations in the LoCoMo format are read leniently."""

from __future__ import annotations

from typing import Any

import pytest
from bench.locomo import dialogue, when


def _sample(**talk: Any) -> dict[str, Any]:
    said = [
        {"speaker": "Ann", "dia_id": "D1:01", "text": "Hello"},
        {"speaker": "Bob", "dia_id": "D1:2", "text": " ", "blip_caption": "a red kite"},
    ]
    return {
        "sample_id": "s",
        "conversation": {"speaker_a": "Ann", "speaker_b": "Bob", "session_1": said, **talk},
        "qa": [
            {"question": "What?", "category": 4, "evidence": ["D:1:1; D1:02"]},
            {"question": "Which?", "category": 1, "evidence": ["D9:9", "D"]},
            {"question": "Why?", "category": 5},
        ],
    }


def test_turn_ids_are_one_spelling_in_turns_and_evidence() -> None:
    read = dialogue(_sample())

    assert [turn.place for turn in read.turns] == ["s/D1:1", "s/D1:2"]
    assert read.questions[0].gold == ("s/D1:1", "s/D1:2")


def test_a_question_without_evidence_among_the_turns_is_left_out() -> None:
    assert [asked.text for asked in dialogue(_sample()).questions] == ["What?"]


def test_a_turn_without_words_says_its_caption() -> None:
    assert dialogue(_sample()).turns[1].text == "a red kite"


def test_the_iso_time_of_a_session_is_preferred() -> None:
    talk = {"session_1_date_time": "4:04 pm on 20 January, 2023", "session_1_iso": "2023-01-21"}

    turn = dialogue(_sample(**talk)).turns[0]

    assert turn.item()["occurred_at"] == "2023-01-21T00:00:00+00:00"


def test_an_unreadable_date_is_left_out() -> None:
    turn = dialogue(_sample(session_1_date_time="some day in spring")).turns[0]

    assert "occurred_at" not in turn.item()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00+00:00"),
        ("2023/05/20 (Sat) 02:21", "2023-05-20T02:21:00+00:00"),
        ("2023-05-20T02:21:00+02:00", "2023-05-20T02:21:00+02:00"),
    ],
)
def test_dates_are_read_in_the_ways_in_which_corpora_write_them(text: str, told: str) -> None:
    moment = when(text)

    assert moment is not None
    assert moment.isoformat() == told
