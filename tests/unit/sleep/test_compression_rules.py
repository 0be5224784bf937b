"""The summary of an old session by rule, and the prompt for a model (SPEC 3.4, 3.5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.sleep.compression import CHARS, fitting, in_short, prompted
from memd.sleep.night import ROWS_MAX, ROWS_MIN, STEP_MS, next_limit


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
    assert in_short(contents) == short


def test_at_most_nine_hundred_characters_and_a_full_stop_where_a_word_was_cut() -> None:
    assert in_short(["x" * 2000]) == "x" * CHARS + "."
    assert in_short([("x" * (CHARS - 1) + "! ") * 2]) == "x" * (CHARS - 1) + "!"


@given(st.lists(st.text(max_size=300), max_size=12))
def test_a_short_form_is_short_has_one_line_and_is_of_words_that_were_said(
    contents: list[str],
) -> None:
    short = in_short(contents)
    assert len(short) <= CHARS + 1
    assert short == " ".join(short.split())
    assert short.rstrip(".") in " ".join(" ".join(contents).split()) + "."


def test_the_prompt_is_the_documents_with_the_conversation_in_a_fence() -> None:
    assert prompted(["We met.", "It rained {session_content}."]) == (
        "Summarize the following conversation into 2-3 sentences capturing key facts,\n"
        "decisions, and topics discussed. Be specific and preserve names, numbers, and\n"
        "technical details. Do not include pleasantries.\n"
        "Conversation:\n"
        "<conversation>\nWe met.\nIt rained {session_content}.\n</conversation>"
    )


@given(
    st.lists(st.text(min_size=1, max_size=50), min_size=1, max_size=20),
    st.integers(1, 60),
    st.integers(1, 400),
)
def test_what_fits_is_a_beginning_and_never_nothing(
    contents: list[str], each_max: int, chars_max: int
) -> None:
    taken = fitting(contents, each_max=each_max, chars_max=chars_max)
    assert taken
    assert taken == [content[:each_max] for content in contents[: len(taken)]]
    assert len(taken) == 1 or sum(len(text) + 1 for text in taken) <= chars_max


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
