import unicodedata

import pytest
from support.work_units import effort

from memd.text.chunk import clean


def test_a_text_is_composed_stripped_and_its_newlines_are_collapsed() -> None:
    assert clean("  Cafe\u0301\r\n\r\n\r\nLine two  ") == "Café\n\nLine two"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\r\nb\rc\nd", "a\nb\nc\nd"),
        ("a\n\nb", "a\n\nb"),
        ("a\n\n\nb", "a\n\nb"),
        ("a\n\n\n\n\n\n\nb", "a\n\nb"),
        ("a\n \n \n \nb", "a\n \n \n \nb"),
        ("\t \n ", ""),
    ],
)
def test_line_ends_become_newlines_and_three_become_two(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


def test_white_space_in_lines_markup_and_code_stay() -> None:
    text = "# Title\n\n```python\ndef f():\n\treturn  1\n```\n\n- **a**   b"
    assert clean(text) == text


def test_hangul_is_composed_whatever_its_length() -> None:
    decomposed = "\u1112\u1161\u11ab" * 2_000
    assert clean(decomposed) == "\ud55c" * 2_000


def test_long_runs_of_marks_are_ordered_in_bounded_time() -> None:
    text = "a" + "\u0301\u0316" * 400_000
    with effort() as spent:
        cleaned = clean(text)
    assert spent.units < 1_000  # 20 minutes when ordered as one run
    assert sorted(unicodedata.normalize("NFD", cleaned[:1_024])) == sorted(
        unicodedata.normalize("NFD", text[:1_025])
    )
    assert len(cleaned) == len(text) - 1  # one acute is in the base now


def test_texts_with_ordinary_marks_are_not_cut() -> None:
    text = ("e\u0323\u0302" * 5 + " ") * 1_000
    assert clean(text) == unicodedata.normalize("NFC", text).strip()
