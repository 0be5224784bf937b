"""The public beds are read from files as their repositories have them; none is needed here."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench import public
from bench.bed_samples import nearest_of_each
from bench.foreign import STRANGERS


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
    store = public.stores("scenes", tmp_path)[0]
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
    for at in range(public.COMMITTEE_STORES):
        sitting = {"meeting_transcripts": transcript, "specific_query_list": asked}
        write(folder / f"sitting_{at}.json", sitting)
    store = public.stores("committees", tmp_path)[0]
    assert store.dialogue.people == ("Mr. Bains", "The Chair")
    assert [(q.text, q.gold) for q in store.dialogue.questions] == [
        ("When is it paid?", (store.dialogue.turns[0].place,))
    ]


def test_of_a_chat_what_the_person_says_is_stored_with_its_day(tmp_path: Path) -> None:
    turns = [
        {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "It ends. ->-> 1,1"},
        {"role": "assistant", "id": 1, "content": "Good."},
    ]
    asked: dict[str, Any] = {kind: [] for kind in public.CHATS_ASKED}
    question = {"question": "When does it end?", "source_chat_ids": {"first": [0, 1]}}
    asked |= {"information_extraction": [question], "abstention": [{"question": "Who?"}]}
    for name in ("1", "2"):
        chat = tmp_path / "BEAM" / "chats" / "100K" / name
        write(chat / "chat.json", [{"batch_number": 1, "turns": [turns]}])
        many = {**asked, "information_extraction": [question] * 10}
        write(chat / "probing_questions" / "probing_questions.json", many)
    store = public.stores("chats", tmp_path)[0]
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
    [store] = public.stores("channel", tmp_path)
    assert len(store.dialogue.turns) == len(utterances)
    assert [q.text for q in store.dialogue.questions] == ["How loud was the broken cooler of niuq?"]
    assert store.foreign[0] == ("B", "Which cooler did niuq order?")


@pytest.mark.parametrize("nearest", [0, 1])
def test_of_a_text_in_pieces_the_nearest_one_answers(nearest: int) -> None:
    candidates: Any = [SimpleNamespace(features={"cos": float(at == nearest)}) for at in range(3)]
    right = nearest_of_each(["a"], candidates, ["a", "a", "b"])
    assert right == [at == nearest for at in range(3)]
