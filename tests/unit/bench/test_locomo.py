"""Conversations in the LoCoMo format, and questions that a store cannot answer made of them."""

from __future__ import annotations

from typing import Any

import pytest
from bench.foreign import questions, renamed
from bench.locomo import Asked, Dialogue, dialogue, when


def _sample(**talk: Any) -> dict[str, Any]:
    turns = [
        {"speaker": "Ann", "dia_id": "D1:01", "text": "Hello"},
        {"speaker": "Bob", "dia_id": "D1:2", "text": " ", "blip_caption": "a red kite"},
    ]
    return {
        "sample_id": "s",
        "conversation": {"speaker_a": "Ann", "speaker_b": "Bob", "session_1": turns, **talk},
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
    ("text", "expected"),
    [
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56:00+00:00"),
        ("2023/05/20 (Sat) 02:21", "2023-05-20T02:21:00+00:00"),
        ("2023-05-20T02:21:00+02:00", "2023-05-20T02:21:00+02:00"),
    ],
)
def test_dates_are_read_in_the_ways_in_which_corpora_write_them(text: str, expected: str) -> None:
    moment = when(text)

    assert moment is not None
    assert moment.isoformat() == expected


def _dialogue(name: str, people: tuple[str, str], *asked: str) -> Dialogue:
    return Dialogue(name, people, (), tuple(Asked(text, 4, ("x",)) for text in asked))


ONE = _dialogue("one", ("Ann", "Bob"), "What did Ann buy?")
TWO = _dialogue("two", ("Cem", "Dee"), "Where did Dee go?")


def test_the_unknown_person_keeps_the_other_dialogue_s_name() -> None:
    assert questions([ONE, TWO])["A"] == [
        ("one", "Where did Dee go?"),
        ("two", "What did Ann buy?"),
    ]


def test_the_known_name_is_that_of_the_store_that_is_asked() -> None:
    assert questions([ONE, TWO])["B"] == [
        ("one", "Where did Bob go?"),
        ("two", "What did Cem buy?"),
    ]


def test_a_name_that_both_dialogues_share_is_made_unknown() -> None:
    other = _dialogue("two", ("Ann", "Dee"), "Where did Ann go?")

    asked = dict(questions([ONE, other])["A"])

    assert "Ann" not in asked["one"]


def test_names_change_places_without_meeting() -> None:
    assert renamed("Ann told Bob", {"Ann": "Bob", "Bob": "Ann"}) == "Bob told Ann"


def test_the_questions_are_the_same_every_time() -> None:
    assert questions([ONE, TWO]) == questions([ONE, TWO])
