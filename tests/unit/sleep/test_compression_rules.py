"""The summary of an old session by rule, and the prompt for a model (SPEC 3.4, 3.5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.sleep.night.compression import (
    CHARS,
    SessionText,
    build_prompt,
    first_sentences,
    select_fitting,
    summarise_by_rule,
)
from memd.sleep.night.night import ROWS_MAX, ROWS_MIN, STEP_MS, next_limit


@pytest.mark.parametrize(
    ("contents", "short"),
    [
        (["One.", "Two.", "Three.", "Four."], "One. Two. Three."),
        (["One! Two? Three. Four."], "One! Two? Three."),
        (["a  b\n\tc\r\n", "  d "], "a b c d."),
        (["It cost 3.50 in 1.5 hours. Yes."], "It cost 3.50 in 1.5 hours. Yes."),
        (["Really?!", "Yes...", "No"], "Really?! Yes... No."),
        (["and then"], "and then."),
        (["it was 7"], "it was 7."),
        (["as he said:"], "as he said:"),
        (["(so it is)"], "(so it is)"),
        (["Grüße aus Köln"], "Grüße aus Köln."),
        ([], ""),
        (["  \n "], ""),
    ],
)
def test_the_first_three_sentences_on_one_line(contents: list[str], short: str) -> None:
    assert first_sentences(contents) == short


def test_at_most_nine_hundred_characters_and_a_full_stop_where_a_word_was_cut() -> None:
    assert first_sentences(["x" * 2000]) == "x" * CHARS + "."
    assert first_sentences([("x" * (CHARS - 1) + "! ") * 2]) == "x" * (CHARS - 1) + "!"


@given(st.lists(st.text(max_size=300), max_size=12))
def test_a_short_form_is_short_has_one_line_and_is_of_words_that_were_said(
    contents: list[str],
) -> None:
    short = first_sentences(contents)
    assert len(short) <= CHARS + 1
    assert short == " ".join(short.split())
    assert short.rstrip(".") in " ".join(" ".join(contents).split()) + "."


def test_the_prompt_is_the_documents_with_the_conversation_in_a_fence() -> None:
    assert build_prompt(["We met.", "It rained {session_content}."]) == (
        "Summarize the following conversation into 2-3 sentences capturing key facts,\n"
        "decisions, and topics discussed. Be specific and preserve names, numbers, and\n"
        "technical details. Do not include pleasantries.\n"
        "Conversation:\n"
        "<conversation>\nWe met.\nIt rained {session_content}.\n</conversation>"
    )


@given(
    st.lists(st.builds(SessionText, st.text(min_size=1, max_size=50), st.booleans()), min_size=1),
    st.integers(1, 60),
    st.integers(1, 400),
)
def test_what_fits_is_in_order_and_begins_with_what_is_left_over(
    texts: list[SessionText], each_max: int, chars_max: int
) -> None:
    selected = select_fitting(texts, each_max=each_max, chars_max=chars_max)
    assert selected
    assert list(selected) == sorted(selected)
    assert selected == {place: texts[place].text[:each_max] for place in selected}
    assert len(selected) == 1 or sum(len(text) + 1 for text in selected.values()) <= chars_max
    active = [place for place, each in enumerate(texts) if each.is_active]
    assert set(active[:1]) <= set(selected)
    assert set(active) <= set(selected) or {texts[place].is_active for place in selected} == {True}


def test_where_nothing_was_listed_before_the_rule_is_the_documents() -> None:
    texts = ["One.", "Two.", "Three.", "Four."]
    assert summarise_by_rule([SessionText(text) for text in texts]) == first_sentences(texts)


def test_what_is_left_over_stands_in_the_summary_that_alone_shows_it() -> None:
    listed = [SessionText(text, is_active=False) for text in ("One.", "Two.", "Three.", "Four.")]
    assert (
        summarise_by_rule([*listed, SessionText("Five  is\nlast")])
        == "One. Two. Three. Five is last."
    )
    assert (
        summarise_by_rule([SessionText("One."), *listed[1:]]) == "One. Two. Three."
    )  # it stands there already
    many = summarise_by_rule(
        [SessionText("x" * 2_000, is_active=False), *(SessionText(f"{n} " * 99) for n in range(8))]
    )
    assert len(many) <= CHARS
    assert all(f"{n} {n} {n}" in many for n in range(8))


def test_a_summary_is_of_what_the_user_states_each_thing_once_and_no_answer_alone() -> None:
    talk = [
        SessionText("We got a cat yesterday! Miso, from the shelter. What should I watch for?"),
        SessionText("- One quiet room\n- A hiding place", is_own=False),
        SessionText("the shelter gave her Royal Canin"),
        SessionText("the shelter gave her Royal Canin."),
        SessionText("Most likely yes; they have REM sleep.", is_own=False),
    ]
    short = "We got a cat yesterday! Miso, from the shelter. the shelter gave her Royal Canin."
    assert summarise_by_rule(talk) == short
    listed = [memory._replace(is_active=False) for memory in talk[:-1]]
    assert summarise_by_rule([*listed, talk[-1]]) == short
    doubled = [
        SessionText("One. Two. Ha! Then three.", is_active=False),
        SessionText("ok. ok. Four. One."),
    ]
    assert summarise_by_rule(doubled) == "One. Two. Then three. Four."


def test_where_the_user_said_nothing_it_is_what_others_state() -> None:
    answer = SessionText("It listens on 8080. Anything else?", is_own=False)
    assert summarise_by_rule([answer]) == "It listens on 8080."
    assert summarise_by_rule([SessionText("Which port is it?")]) == "Which port is it?"


def test_a_step_grows_and_shrinks_towards_its_time() -> None:
    assert next_limit(32, STEP_MS) == 32
    assert next_limit(32, 2 * STEP_MS) == 16
    assert next_limit(32, 0.0) == 64  # never more than twice as many at once
    assert next_limit(320, 100 * STEP_MS) == 80  # nor less than a quarter
    assert next_limit(ROWS_MIN, 10_000.0) == ROWS_MIN
    assert next_limit(ROWS_MAX, 0.1) == ROWS_MAX


@given(st.integers(ROWS_MIN, ROWS_MAX), st.floats(0, 1e6))
def test_a_step_is_always_within_its_bounds(limit: int, took_ms: float) -> None:
    assert ROWS_MIN <= next_limit(limit, took_ms) <= ROWS_MAX
