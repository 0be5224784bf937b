import hashlib

import pytest

from memd.text.preference import default_category, is_preference, preference_name


@pytest.mark.parametrize(
    "text",
    ["I prefer tea", "so i ALWAYS walk", "I hate mornings.", "my favourite tea", "My favorite"],
)
def test_the_documented_signals_make_a_preference(text: str) -> None:
    assert is_preference(text)


@pytest.mark.parametrize(
    "text",
    [
        "I like tea",
        "What is my favourite tea?",
        "Do you know what I prefer? Tell me.",
        "We prefer",
        "",
    ],
)
def test_other_words_and_questions_make_none(text: str) -> None:
    assert not is_preference(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("My favourite editor is Vim.", "favorite_editor"),
        ("my  FAVORITE editors are Vim and Helix", "favorite_editor"),
        ("Vim is my favourite editor.", "favorite_editor"),
        ("Actually, my favourite editor is not Vim anymore!", "favorite_editor"),
        ("Hello there. My favourite test framework is pytest. Bye.", "favorite_test_framework"),
        ("My favourite city for food: Lyon", "favorite_city_for_food"),
        ("My favorite dishes are pies", "favorite_dish"),
        ("My favorite class is this", "favorite_class"),
        ("I prefer tabs over spaces for indentation", "prefer_spaces_or_tabs_for_indentation"),
        ("I prefer spaces rather than tabs for tables.", "prefer_spaces_or_tabs_for_tables"),
        ("I prefer the train over a plane", "prefer_plane_or_train"),
        ("I prefer C++ instead of C", "prefer_c_or_c++"),
        ("I always use dark mode", "always_use_dark_mode"),
        ("I always use the dark mode.", "always_use_dark_mode"),
    ],
)  # fmt: skip
def test_a_plain_topic_gives_the_name(text: str, name: str) -> None:
    assert preference_name(text) == name


@pytest.mark.parametrize(
    "text",
    [
        "I prefer tea",
        "When I travel, my favourite food is ramen",
        "My favourite food is ramen in winter",
        "One of my favourite dishes is lasagna",
        "My favourite one is blue",
        "My favourite part of it is the end",
        "My favourite editor is Vim and I hate Emacs",
        "My favourite editor is Vim. My favourite shell is fish.",
        "My favourite editor is Vim?",
        "I prefer this over that",
        "I prefer walking to work",
        "For Python Vim is my favourite editor",
        "I always use pytest for testing because it is short",
        "My favourite " + "x" * 400 + " is y",
    ],
)
def test_without_a_plain_topic_the_name_is_the_hash_of_the_words(text: str) -> None:
    words = " ".join(text.lower().split())
    assert preference_name(text) == "preference_" + hashlib.sha256(words.encode()).hexdigest()[:12]


def test_case_and_white_space_make_no_difference() -> None:
    text = "I prefer PostgreSQL in 2026 at Acme because async APIs are reliable."
    assert preference_name(text) == preference_name(f"\n {text.upper()}  ")


def test_different_topics_never_share_a_name() -> None:
    texts = [
        "I prefer tabs over spaces in Go",
        "I prefer tabs over spaces in Python",
        "I prefer tabs over spaces",
        "I prefer pytest over unittest in Python",
        "I always use Docker for testing",
        "I always use pytest for testing",
        "My favourite food is pizza",
        "My favourite food for dogs is bones",
        "My favourite food is bones for dogs",
        "My favourite language is Go",
        "My favourite language for scripts is Bash",
        "I hate Go",
        "I prefer Go",
    ]
    assert len({preference_name(text) for text in texts}) == len(texts)


@pytest.mark.parametrize(
    "text",
    [
        "Answer me in German, please, always",
        "Please answer in German from now on.",
        "Always run the linter before you commit",
        "Never use tabs in my code",
        "From now on write tests first.",
        "Don't apologise",
        "Keep your answers short.",
        "Be concise!",
        "Call me Ann.",
        "Antworte immer auf Deutsch",
        "Réponds toujours en français",
        "Nunca uses tabuladores",
        "Ich bevorzuge kurze Antworten",
        "Ich mag keine langen Antworten",
        "Je préfère les réponses courtes",
        "Prefiero respuestas cortas",
    ],
)
def test_what_assistants_are_to_do_from_now_on_is_added_as_a_preference(text: str) -> None:
    assert default_category(text, None) == "procedural"
    assert default_category(text, "Ann") == "semantic", "what another says is a fact about them"


@pytest.mark.parametrize(
    "text",
    [
        "Ann always answers in German",
        "Bob never eats fish.",
        "The staging server is at 10.0.3.7",
        "Don't forget that the key is under the mat",
        "Should you always answer in German?",
        "Always was the first word of the song. Ann sang it.",
        "Callas was a singer",
        "Immerhin sind die Tests grün",
        "Write the report by Friday",
    ],
)
def test_what_only_sounds_like_a_wish_is_added_as_a_fact(text: str) -> None:
    assert default_category(text, None) == "semantic"
