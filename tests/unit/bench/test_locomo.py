"""Dialogues are read as they stand, public ones too, and foreign questions are foreign."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench import public_dialogues
from bench.bed_samples import nearest_of_each
from bench.locomo import Asked, Dialogue, dialogue, when
from bench.unanswerable import STRANGERS, questions, renamed


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


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")


def scene(title: str, *lines: tuple[str, str], asked: str, answer: int) -> dict[str, Any]:
    utterances = [
        {"uid": at, "speakers": [who], "utterance": text} for at, (who, text) in enumerate(lines)
    ]
    question = {"question": asked, "answers": [{"utterance_id": answer}]}
    return {"title": title, "paragraphs": [{"utterances:": utterances, "qas": [question]}]}


def test_scenes_are_sessions_of_a_season_and_ask_for_a_line(tmp_path: Path) -> None:
    lines = (("Ross Geller", "Breathe ."), ("Carol Willick", "You 're gon na kill me !"))
    first = scene("s01_e23_c06", *lines, asked="Who will Ross kill ?", answer=1)
    for part in ("dev", "tst"):
        path = tmp_path / "FriendsQA" / "dat" / f"friendsqa_{part}.json"
        write(path, {"data": [first]})
    store = public_dialogues.stores("scenes", tmp_path)[0]
    assert [turn.text for turn in store.dialogue.turns] == ["Breathe.", "You're gonna kill me!"]
    assert store.dialogue.people == ("Ross", "Carol")
    assert [q.gold for q in store.dialogue.questions] == [(store.dialogue.turns[1].place,)]
    assert ("U", f"Who will {STRANGERS[0]} kill?") in store.foreign


def test_of_a_sitting_short_spans_are_asked_for_and_what_says_nothing_is_no_answer(
    tmp_path: Path,
) -> None:
    long = "the money for the schools of the north will be paid in two parts"
    transcript = [
        {"speaker": "Mr. Bains (Riding, LP)", "content": long},
        {"speaker": "The Chair", "content": "Thank you ."},
    ]
    asked = [
        {"query": "When is it paid ?", "relevant_text_span": [["0", "1"]]},
        {"query": "What was it about ?", "relevant_text_span": [["0", "90"]]},
    ]
    folder = tmp_path / "QMSum" / "data" / "Committee" / "all"
    for at in range(public_dialogues.COMMITTEE_STORES):
        sitting = {"meeting_transcripts": transcript, "specific_query_list": asked}
        write(folder / f"sitting_{at}.json", sitting)
    store = public_dialogues.stores("committees", tmp_path)[0]
    assert store.dialogue.people == ("Mr. Bains", "The Chair")
    assert [(q.text, q.gold) for q in store.dialogue.questions] == [
        ("When is it paid?", (store.dialogue.turns[0].place,))
    ]


def test_of_a_chat_what_the_person_says_is_stored_with_its_day(tmp_path: Path) -> None:
    turns = [
        {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "It ends. ->-> 1,1"},
        {"role": "assistant", "id": 1, "content": "Good."},
    ]
    asked: dict[str, Any] = {kind: [] for kind in public_dialogues.CHATS_ASKED}
    question = {"question": "When does it end?", "source_chat_ids": {"first": [0, 1]}}
    asked |= {"information_extraction": [question], "abstention": [{"question": "Who?"}]}
    for name in ("1", "2"):
        chat = tmp_path / "BEAM" / "chats" / "100K" / name
        write(chat / "chat.json", [{"batch_number": 1, "turns": [turns]}])
        many = {**asked, "information_extraction": [question] * 10}
        write(chat / "probing_questions" / "probing_questions.json", many)
    store = public_dialogues.stores("chats", tmp_path)[0]
    [turn] = store.dialogue.turns
    assert (turn.text, turn.when and turn.when.date().isoformat()) == ("It ends.", "2024-03-15")
    assert store.dialogue.questions[0].gold == (turn.place,)
    assert store.foreign[0] == ("B", "Who?")


def test_a_line_of_a_channel_stands_once(tmp_path: Path) -> None:
    utterances = [
        {"speaker": "niuq", "text": "the cooler is too loud"},
        {"speaker": "ubo", "text": "oh"},
    ]
    asked = [
        {
            "question": "How loud was the broken cooler of niuq ?",
            "is_impossible": False,
            "answers": [{"text": "too loud"}],
        },
        {"question": "What is it ?", "is_impossible": False, "answers": [{"text": "too loud"}]},
        {"question": "Which cooler did niuq order ?", "is_impossible": True, "answers": []},
    ]
    talk = {"edus": utterances, "qas": asked}
    path = tmp_path / "Molweni" / "MRC(withDiscourse)" / "test.json"
    write(path, {"data": {"dialogues": [talk, talk]}})
    [store] = public_dialogues.stores("channel", tmp_path)
    assert len(store.dialogue.turns) == len(utterances)
    assert [q.text for q in store.dialogue.questions] == ["How loud was the broken cooler of niuq?"]
    assert store.foreign[0] == ("B", "Which cooler did niuq order?")


@pytest.mark.parametrize("nearest", [0, 1])
def test_of_a_text_in_pieces_the_nearest_one_answers(nearest: int) -> None:
    candidates: Any = [SimpleNamespace(features={"cos": float(at == nearest)}) for at in range(3)]
    right = nearest_of_each(["a"], candidates, ["a", "a", "b"])
    assert right == [at == nearest for at in range(3)]
