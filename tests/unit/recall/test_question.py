"""Decision 0020: a query as the ranker sees it."""

from __future__ import annotations

from datetime import UTC

import pytest
from support.entries import NOW
from support.measured_candidates import asked

from memd.base.clock import to_us
from memd.extract.times import find_periods
from memd.recall.question import name_candidates, question


def test_h27_a_question_has_at_most_64_terms() -> None:
    many = asked(" ".join(f"lamp{number}" for number in range(2_000)))
    assert many.terms == tuple(f"lamp{number}" for number in range(64))
    assert asked("OR " * 2_000).terms == ("or",)


def test_function_words_are_no_terms() -> None:
    assert asked("What did you do with the red bicycle?").terms == ("red", "bicycle")


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Wie viel frisst eine Katze?", ("frisst", "katze")),
        ("Où est la clé de la voiture ?", ("clé", "voiture")),
        ("was kann ich heute ohne Fleisch kochen?", ("fleisch", "kochen")),
        ("Comment s'appelle notre dentiste ?", ("dentiste",)),
        ("Did Die Zeit call about the car?", ("die", "zeit", "call", "car")),
    ],
)
def test_function_words_of_other_languages_are_no_terms_of_their_questions(
    text: str, terms: tuple[str, ...]
) -> None:
    assert asked(text).terms == terms


def test_a_question_of_function_words_only_keeps_them() -> None:
    assert asked("Who are you?").terms == ("who", "are", "you")


def test_a_known_speaker_is_a_name_and_no_content() -> None:
    about = asked("What did Tim paint?", "tim")

    assert about.names == {"tim"}
    assert about.content == ("paint",)
    assert "tim" in about.terms


def test_a_question_is_about_a_person_where_it_names_exactly_one() -> None:
    assert asked("What did Tim paint?", "tim").person == "tim"
    assert asked("What did Tim paint?").person is None
    assert asked("What did Tim and Ann paint?", "tim", "ann").person is None


def test_a_question_about_nothing_but_a_name_keeps_it_as_content() -> None:
    assert asked("Tim?", "tim").content == ("tim",)


@pytest.mark.parametrize(
    ("text", "dense"),
    [
        ("What did Tim's boss say that time?", "What did boss say that time?"),
        ("What did TIM\u2019s boss say?", "What did boss say?"),
        ("Tim", "Tim"),
    ],
)
def test_names_are_cut_out_of_what_is_embedded_as_whole_words(text: str, dense: str) -> None:
    assert asked(text, "tim").dense == dense


def test_names_of_up_to_three_words_are_looked_for() -> None:
    assert "jean luc picard" in name_candidates("Did Jean Luc Picard call?")


def test_words_side_by_side_are_pairs_when_one_of_them_means_something() -> None:
    about = asked("Where is the dance studio of Ann")

    assert ("dance", "studio") in about.pairs
    assert ("the", "dance") in about.pairs
    assert ("is", "the") not in about.pairs


def test_a_word_written_like_a_name_inside_a_sentence_is_proper() -> None:
    assert asked("What did Marcus say to Ann about Berlin?", "ann").proper == {"marcus", "berlin"}


def test_a_german_noun_is_not_proper() -> None:
    assert not asked("Wo ist der Schlüssel für den Keller?").proper
    assert asked("Où habite la soeur de Margot ?").proper == {"margot"}


def test_the_first_word_of_a_question_is_not_proper() -> None:
    assert not asked("Painting is whose hobby?").proper


@pytest.mark.parametrize("text", ["When did it rain?", "Which year was it?", "How long is it?"])
def test_a_question_for_a_time_is_recognised(text: str) -> None:
    assert asked(text).asks_when


def test_a_question_for_a_place_asks_for_no_time() -> None:
    assert not asked("Where did it happen whenever it rained?").asks_when


@pytest.mark.parametrize(
    ("text", "request_made"),
    [
        ("Update the list command so that it prints the date.", True),
        ("deploy port", True),
        ("Which port?", False),
        ("It fails again. Why? Look at the log.", False),
        ("どのポートですか\uff1f", False),
    ],
)
def test_what_asks_nothing_is_a_request(text: str, request_made: bool) -> None:
    assert asked(text).is_request is request_made


@pytest.mark.parametrize(
    ("text", "only"),
    [
        ("What happened last week?", True),
        ("was war letzten Montag los?", True),
        ("What did we do in May 2023?", True),
        ("Was habe ich letzte Woche erledigt?", True),
        ("Woran habe ich gestern gearbeitet?", True),
        ("Was stand am Dienstag letzter Woche an?", True),
        ("Was hatten wir übers Wochenende gemacht?", True),
        ("Was gab es Ende Oktober?", True),
        ("Sur quoi ai-je travaillé hier ?", True),
        ("¿En qué he trabajado esta semana?", True),
        ("Su cosa ho lavorato ieri?", True),
        ("Em que trabalhei ontem?", True),
        ("Waaraan heb ik gisteren gewerkt?", True),
        ("Was habe ich letzte Woche gekocht?", False),
        ("What did we cook last week?", False),
        ("What happened?", False),
        ("What happened before last week?", False),
    ],
)
def test_a_question_may_name_nothing_but_a_time(text: str, only: bool) -> None:
    times = find_periods(text, to_us(NOW), UTC)

    assert question(text, frozenset(), str.split, times).only_time is only
