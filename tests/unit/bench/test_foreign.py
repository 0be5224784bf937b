"""Questions that a store cannot answer are made from other dialogues, the same each time."""

from __future__ import annotations

from bench.foreign import questions, renamed
from bench.locomo import Asked, Dialogue


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
