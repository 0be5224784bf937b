"""What stands above a note is read and is no part of its text."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.base.limits import TAGS_MAX
from memd.cli.notes.note import front_matter, leading_day, moment


def test_yaml_gives_title_date_and_tags() -> None:
    front = front_matter(
        "---\ntitle: Billing service\ndate: 2026-11-21T10:30:00+01:00\ntags:\n  - work\n  - '#db'\n"
        "---\nThe text.\n"
    )

    assert front.text == "The text.\n"
    assert front.title == "Billing service"
    assert front.occurred_at == datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
    assert front.tags == ("work", "db")
    assert not front.problems


def test_toml_gives_the_same() -> None:
    front = front_matter(
        '+++\ntitle = "Billing"\ndate = 2026-11-21T09:30:00Z\ntags = ["work", "db"]\n+++\nThe text.'
    )

    assert front.text == "The text."
    assert (front.title, front.tags) == ("Billing", ("work", "db"))
    assert front.occurred_at == datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("written", "tags"),
    [
        ("[a, b]", ("a", "b")),
        ("a, b c", ("a", "b c")),
        ("'#a #b'", ("a", "b")),
        ("2024", ("2024",)),
        ("[no, yes]", ("no", "yes")),
        ("", ()),
        ("{a: 1}", ()),
    ],
)
def test_tags_may_be_a_list_or_words(written: str, tags: tuple[str, ...]) -> None:
    assert front_matter(f"---\ntags: {written}\n---\nx").tags == tags


@pytest.mark.parametrize("key", ["date", "created", "Created", "date created"])
def test_a_day_is_its_noon(key: str) -> None:
    moment = front_matter(f"---\n{key}: 2026-11-21\n---\nx").occurred_at
    assert moment == datetime(2026, 11, 21, 12).astimezone()


@pytest.mark.parametrize(
    "written", ["2026-11-21 10:30:00 +0100", "2026-11-21T09:30:00Z", "2026/11/21 10:30 +01:00"]
)
def test_times_are_read_as_tools_write_them(written: str) -> None:
    assert moment(written) == datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize("written", ["soon", "2026-02-30", "0001-13-01", "", "99999-01-01"])
def test_what_is_no_date_is_told_and_the_text_is_there(written: str) -> None:
    assert moment(written) is None
    front = front_matter(f"---\ntitle: x\ndate: {written}\n---\nThe text.")
    assert front.text == "The text."
    assert front.problems == (() if not written else ("its date cannot be read",))


def test_broken_front_matter_is_told_by_its_line_and_is_no_part_of_the_text() -> None:
    front = front_matter("---\ntitle: Notes: the second part\ntags: [a\n---\nThe text.")

    assert front.text == "The text."
    (problem,) = front.problems
    assert "line 2" in problem


@pytest.mark.parametrize(
    "text",
    [
        "---\nA text between two lines.\n---\nAnd more.",
        "---\n- a list\n---\nAnd more.",
        "---\ntitle: never closed\n\nThe text.",
        "No front matter.\n---\ntitle: x\n---\n",
        " ---\ntitle: x\n---\n",
    ],
)
def test_what_is_no_front_matter_is_text(text: str) -> None:
    assert front_matter(text).text == text
    assert not front_matter(text).problems


@pytest.mark.parametrize("block", ["[" * 5_000, "a: " + "[" * 1_000, "a: *b", "a: &a [*a]"])
def test_front_matter_made_to_break_a_reader_breaks_none(block: str) -> None:
    assert front_matter(f"---\nkey: x\n{block}\n---\nThe text.").text == "The text."


def test_of_too_many_tags_the_first_are_kept_and_told() -> None:
    many = ", ".join(f"t{n}" for n in range(TAGS_MAX + 1))
    front = front_matter(f"---\ntags: [{many}]\n---\nx")

    assert len(front.tags) == TAGS_MAX
    assert front.problems


@pytest.mark.parametrize("name", ["2026-11-21", "2026_11_21", "2026-11-21 At the lake"])
def test_a_diary_page_is_dated_by_its_name(name: str) -> None:
    assert leading_day(name) == datetime(2026, 11, 21, 12).astimezone()


@pytest.mark.parametrize("name", ["20261121", "notes", "v1.2-11", "2026-11-211"])
def test_other_names_are_no_dates(name: str) -> None:
    assert leading_day(name) is None


@given(st.text(alphabet="-+ab:[]{}'\"#\n\t ,.&*|>%@`", max_size=120))
def test_no_text_breaks_the_reader(text: str) -> None:
    assert text.endswith(front_matter(text).text)
