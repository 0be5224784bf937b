"""No line of a note is lost, and each text stands under its headings."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.cli.notes.sections import NoteSection, sections


def test_a_text_stands_under_all_headings_above_it() -> None:
    text = (
        "intro\n# Billing service\n\n## Decision\nPostgreSQL 16.\n### Why\nIt is known.\n# Other\nx"
    )

    assert sections(text) == [
        NoteSection((), "intro"),
        NoteSection(("Billing service", "Decision"), "PostgreSQL 16."),
        NoteSection(("Billing service", "Decision", "Why"), "It is known."),
        NoteSection(("Other",), "x"),
    ]


def test_a_level_that_was_left_out_is_no_matter() -> None:
    assert sections("# A\n#### B\nb\n## C\nc")[1] == NoteSection(("A", "C"), "c")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("# Shop\n## Milk\n## Bread\n", [NoteSection(("Shop",), "## Milk\n## Bread")]),
        ("# A\na\n# B\n", [NoteSection(("A",), "a\n\n# B")]),
        ("# Log\n## A\n\n## B\na heron", [NoteSection(("Log", "B"), "## A\na heron")]),
        ("# A\n# B\nb", [NoteSection(("B",), "# A\nb")]),
        ("# Only", [NoteSection((), "# Only")]),
        ("# I\n## A boat\n# F\nx", [NoteSection(("I",), "## A boat"), NoteSection(("F",), "x")]),
    ],
)  # fmt: skip
def test_a_heading_without_a_text_is_no_section_of_its_own(
    text: str, parts: list[NoteSection]
) -> None:
    assert sections(text) == parts


@pytest.mark.parametrize(
    "text",
    [
        "# One\n```sh\n# a comment\nls\n```\nafter\n",
        "# One\n~~~\n# a comment\n```\n# still\n~~~\n",
        "# One\n    # indented code\n",
        "# One\n#hashtag of a tool\n",
        "# One\n- a list\n---\nmore",
        "# One\n| a | b |\n| --- | --- |\n| 1 | 2 |",
        "# One\ntwo lines\nof text\n---\n",
    ],
)
def test_code_tables_and_tags_are_no_headings(text: str) -> None:
    (only,) = sections(text)
    assert only.headings == ("One",)


def test_an_underlined_line_is_a_heading() -> None:
    assert sections("Garden\n======\n\nRoses\n-----\ncut in March\n") == [
        NoteSection(("Garden", "Roses"), "cut in March")
    ]


def test_a_fence_that_is_never_closed_hides_no_heading() -> None:
    assert sections("```\ncode\n# One\ntext")[-1] == NoteSection(("One",), "text")


LINES = st.sampled_from(
    ["# A", "## B b", "### C #", "text", "two words", "", "  ", "---", "===", "```", "~~~ py",
     "- item", "| a |", "    code", "#tag", "# " + "x" * 200, "日本語", "####### seven"]
)  # fmt: skip


@given(st.lists(LINES, max_size=40))
def test_no_word_of_a_note_is_lost_and_headings_nest(lines: list[str]) -> None:
    parts = sections("\n".join(lines))

    kept_words = {word for part in parts for word in _words("\n".join((*part.headings, part.text)))}
    assert {word for line in lines for word in _words(line)} <= kept_words
    assert all(part.text.strip() for part in parts)


@given(st.lists(LINES, max_size=40))
def test_texts_stay_in_order(lines: list[str]) -> None:
    numbered = [
        f"{line} {n}" if line in {"text", "two words"} else line for n, line in enumerate(lines)
    ]
    joined = " ".join(part.text for part in sections("\n".join(numbered)))

    numbers = [int(n) for n in re.findall(r"(?:text|words) (\d+)", joined)]
    assert numbers == sorted(numbers)


def _words(line: str) -> list[str]:
    return re.findall(r"\w+", line)
