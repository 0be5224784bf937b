import math
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.fakes import WordCounter
from support.work_units import effort

from memd.text.importance import (
    _CODE_SHAPE,
    _CODE_SIGN,
    IMPORTANCE_MIN,
    importance,
    is_kept,
    is_technical,
    novelty,
    salience,
)


class Letters:
    """Knows no word at all."""

    def count(self, text: str) -> int:
        return len(text.replace(" ", ""))


VECTORS = [
    ("I prefer PostgreSQL in 2026 at Acme because async APIs are reliable.", 1.0),
    ("The meeting went well.", 0.3),
    ("i prefer tea", 0.4),
    ("It is 5 pm", 0.2),
    ("We went home", 0.0),
    ("Acme shipped API v2 in 2026.", 0.6),
    ("I prefer APIs.", 0.4),
    ("", 0.0),
    (" \n\t ", 0.0),
]


@pytest.mark.parametrize(("text", "score"), VECTORS)
def test_salience_adds_up_the_signals(text: str, score: float) -> None:
    assert salience(text) == score
    assert salience(text, WordCounter()) == score


@pytest.mark.parametrize(("text", "score"), VECTORS)
def test_salience_is_the_same_with_a_vocabulary_of_word_pieces(text: str, score: float) -> None:
    # As the installed model has these words; all others are whole.
    pieces = {"postgresql": 4, "apis": 2, "async": 3, "acme": 2}

    class Vocabulary:
        def count(self, text: str) -> int:
            return sum(pieces.get(word.lower(), 1) for word in text.split())

    assert salience(text, Vocabulary()) == score


@pytest.mark.parametrize(
    "text",
    [
        *("with Acme", "(Bob)", "GitHub", "we work with IBM", "IBM", "from the US store"),
        *("she lives in Zürich", "Bo called", "Łódź", "Éric", "Ærø", "Москва", "in Αθήνα"),
        *(
            "東京都に住んでいる",
            "田中さんは先生だ",
            "我在上海市工作",
            "她读《红楼梦》",
            "김민수씨가 왔다",
        ),
        *("김민수씨가 왔다", "Thanks, Ann", "Sunday at the Louvre", "the McDonald contract"),
    ],
)
def test_names_count_whatever_their_letters(text: str) -> None:
    assert salience(text) >= 0.3


@pytest.mark.parametrize(
    "text",
    [
        *("Thanks", "Thanks a lot!", "Yeah. Great. Wow!", "We went home", "The end", "That's it"),
        *(
            "I am SO happy",
            "STOP THIS AT ONCE PLEASE",
            "OK",
            "Don't",
            "lol",
            "今日はとても暑い",
            "",
        ),
    ],
)
def test_a_capital_or_loud_letters_alone_are_no_name(text: str) -> None:
    assert salience(text) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        *("Bis morgen!", "Schönes Wochenende!", "Guten Morgen", "Danke für die Hilfe"),
        *("Kein Problem", "ich habe eine alte Heizung repariert", "es war eine gute Idee"),
        "wo ist der Schlüssel für den Keller?",
    ],
)
def test_a_german_noun_with_an_article_and_a_courtesy_are_no_names(text: str) -> None:
    assert salience(text) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        *("wir fahren mit Anna nach Zürich", "ich war bei IBM", "das ist von Ann für den Chef"),
        *("wir sind mit dem Zug in Berlin", "Das Dach ist undicht", "Im Keller ist unser Abteil"),
    ],
)
def test_names_and_statements_count_in_german(text: str) -> None:
    assert salience(text) == 0.3


@pytest.mark.parametrize("text", ["Problem in the den", "John von Neumann met Ann", "In the den"])
def test_words_that_german_has_too_change_nothing_in_english(text: str) -> None:
    assert salience(text) == (0.0 if text == "In the den" else 0.3)


@pytest.mark.parametrize(
    "text",
    [
        *("5", "at 17", "2024-01-20", "3/4", "in 1999.", "1,5", "3.5", "12345 servers", "2026年"),
        *("1.5 GB", "1234567890", "at 5pm", "on the 5th", "10km", "it took ٣ days"),
    ],
)
def test_numbers_of_any_length_and_dates_count(text: str) -> None:
    assert salience(text) >= 0.2


@pytest.mark.parametrize("text", ["a5", "v2", "sha256", "five", "x86_64"])
def test_numbers_in_words_do_not_count(text: str) -> None:
    assert salience(text) in (0.0, 0.1)


@pytest.mark.parametrize("unit", ["1", "1.", "٣", "Aa ", "AB ", "ab ", "市", "東", "가", "《"])
def test_a_long_text_of_one_kind_is_scored_in_bounded_time(unit: str) -> None:
    with effort() as spent:
        salience(unit * (300_000 // len(unit)) + "x")
    assert spent.units < 100


@pytest.mark.parametrize(
    "text", ["I  PREFER x", "i always x", "so I hate x", "my\nfavorite x", "My favourite x"]
)
def test_the_documented_signals_of_preference_count(text: str) -> None:
    assert salience(text) == 0.4


@pytest.mark.parametrize("text", ["ai prefer x", "i like x", "i love x", "we prefer x", "my favor"])
def test_other_words_are_no_signal(text: str) -> None:
    assert salience(text) == 0.0


@pytest.mark.parametrize(
    "text",
    [
        *("snake_case", "camelCase", "os.path", "src/memd/base", "~/x/y", "`x`", "v2", "sha256"),
        *("--flag", "run()", "a -> b", "int x;", "MAX_SIZE", "main.py"),
    ],
)
def test_code_shapes_are_technical(text: str) -> None:
    assert is_technical(text)


@pytest.mark.parametrize(
    "text", ["and/or", "well-known", "5pm", "2nd", "e.g. this", "A plain sentence.", "wait...what"]
)
def test_plain_words_are_not(text: str) -> None:
    assert not is_technical(text, WordCounter())


def test_words_that_the_vocabulary_has_in_pieces_are_technical() -> None:
    assert is_technical("idempotent retries", Letters())
    assert not is_technical("idempotent retries", WordCounter())
    assert not is_technical("idempotent retries")
    assert not is_technical("idempotent", Letters())


def test_everything_is_new_to_an_empty_store() -> None:
    assert novelty(None) == 1.0
    assert importance(novelty(None), 0.0) == 0.6


@pytest.mark.parametrize(
    ("similarity", "expected"), [(1.0, 0.0), (0.25, 0.75), (-0.5, 1.0), (1.1, 0.0)]
)
def test_novelty_is_the_distance_between_0_and_1(similarity: float, expected: float) -> None:
    assert novelty(similarity) == expected


def test_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        novelty(math.nan)
    with pytest.raises(ValueError, match="finite"):
        importance(math.inf, 0.0)


def test_what_is_known_already_and_says_little_is_turned_away() -> None:
    score = importance(novelty(1.0), salience("I prefer APIs."))
    assert score == pytest.approx(0.16)
    assert not is_kept(score)


def test_exactly_the_threshold_is_kept() -> None:
    assert is_kept(importance(0.5, 0.0))
    assert is_kept(importance(0.0, 0.75))
    assert is_kept(IMPORTANCE_MIN - 1e-10)
    assert not is_kept(IMPORTANCE_MIN - 1e-6)


@pytest.mark.model
@pytest.mark.parametrize(("text", "score"), VECTORS)
def test_salience_is_the_same_with_the_installed_vocabulary(text: str, score: float) -> None:
    from memd.base.paths import Paths
    from memd.text.tokens import TOKENIZER_FILE, ModelTokens

    file: Path = Paths.resolve().model_dir / TOKENIZER_FILE
    if not file.exists():
        pytest.skip("no model is installed")
    assert salience(text, ModelTokens(file)) == score


SIGNS = ("a `", "a_", "AB_", "aB", "a1", "ab.", "a/", "a-", "a()", "{};\n", "=>-!", "::")


@given(st.one_of([st.text(signs, max_size=12) for signs in SIGNS]))
@example("os.path")
def test_every_code_shape_has_a_sign_of_one(text: str) -> None:
    if _CODE_SHAPE.search(text):
        assert _CODE_SIGN.search(text)
