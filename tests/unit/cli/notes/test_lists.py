"""A statement in a list is a section of its own; a list that is one thing stays one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.cli.notes.sections import NoteSection, sections

COMMANDS = (
    "- `npm run dev` starts the web app on port 5173\n"
    "- Package manager: npm\n"
    "* Dates are stored in UTC\n"
    "  - use `date-fns-tz`\n"
    "  - never `moment`\n"
)


def texts(note: str) -> list[str]:
    return [part.text for part in sections(note)]


def test_each_statement_of_a_list_is_a_section_with_its_nested_items() -> None:
    assert sections(f"# Web\n## Conventions\n{COMMANDS}") == [
        NoteSection(("Web", "Conventions"), "- `npm run dev` starts the web app on port 5173"),
        NoteSection(("Web", "Conventions"), "- Package manager: npm"),
        NoteSection(
            ("Web", "Conventions"),
            "* Dates are stored in UTC\n  - use `date-fns-tz`\n  - never `moment`",
        ),
    ]


def test_the_text_around_a_list_is_a_section() -> None:
    note = "# Web\nWe sell tickets.\n\n- Dates are in UTC\n- Prices are in cents\n\nAsk Priya."
    assert texts(note) == [
        "We sell tickets.", "- Dates are in UTC", "- Prices are in cents", "Ask Priya."
    ]  # fmt: skip


@pytest.mark.parametrize(
    "items",
    [
        "- Milk\n- Oats\n- Bread from the bakery in Mill Street",
        "- 300 g brown lentils\n- 1 onion, finely chopped\n- Salt and freshly ground pepper",
        "1. Bump the version in the file.\n2. Tag the commit and push it.",
        "1. Bump the version:\n   - in the file that says it\n   - in the page of it\n2. Tag.",
        "- [Getting started with the tool](#start)\n- [Everything that you can set](#set)",
        "- The only thing that is said here",
        "```\n- a line of code that is long\n- another line of code here\n```",
        "> - a quoted line that is long\n> - another quoted line here",
        "- 牛乳\n- 卵",
    ],
)
def test_a_list_that_is_one_thing_stays_with_the_text_around_it(items: str) -> None:
    assert texts(f"# Home\nBefore.\n\n{items}\n\nAfter.") == [f"Before.\n\n{items}\n\nAfter."]


@pytest.mark.parametrize(
    ("text", "heading", "before"),
    [
        ("When you deploy:\n\n", "When you deploy", []),
        ("**Production**\n", "Production", []),
        ("Deploys\nare logged.\n\nWhen you deploy:\n", "When you deploy", ["Deploys\nare logged."]),
        ("It is one. It has\ntwo parts:\n", "It has two parts", ["It is one. It has\ntwo parts:"]),
        ("\u672c\u756a\uff1a\n", "\u672c\u756a", []),
    ],
)
def test_the_line_that_introduces_a_list_is_a_heading_of_its_items(
    text: str, heading: str, before: list[str]
) -> None:
    *others, first, second = sections(f"# A\n{text}- ask Lena or Marek first\n- never on a Friday")
    assert [part.text for part in others] == before
    assert first == NoteSection(("A", heading), "- ask Lena or Marek first")
    assert second == NoteSection(("A", heading), "- never on a Friday")


def test_code_belongs_to_its_item_though_it_has_blank_lines_and_dashes() -> None:
    first = "- Restart the consumer with:\n\n  ```sh\n  - one\n\nmake\n  ```"
    loose = "- Then look at the page\n```\nmake\n\n- not an item\n```"
    assert texts(f"# Alerts\n{first}\n{loose}\n\nThen sleep.") == [first, loose, "Then sleep."]


def test_statements_without_spaces_between_words_count() -> None:
    assert len(texts("# 家\n- 猫の薬は毎朝八時に与える\n- 鍵は郵便受けの裏にある")) == 2


def test_a_heading_without_a_text_stays_with_the_neighbouring_statement() -> None:
    items = ["- the first thing is said", "- the second thing is said"]
    note = "\n".join(["# Log", "## A", "", "## B", *items, "", "## C"])
    assert texts(note) == [f"## A\n{items[0]}", f"{items[1]}\n\n## C"]


LINES = st.sampled_from(
    ["# A", "- a statement of five words", "- b: two", "- c", "  - a nested item", "", "* * *",
     "1. a step", "```", "text of a paragraph", "Rules:", "**Bold**", "    - code", "\t- tab"]
)  # fmt: skip


@given(st.lists(LINES, max_size=30))
def test_no_line_of_a_list_is_lost_or_moved(lines: list[str]) -> None:
    numbered = [f"{line} n{n}" if re.search(r"\w$", line) else line for n, line in enumerate(lines)]
    parts = sections("\n".join(numbered))

    words = re.findall(r"n\d+", " ".join(numbered))
    assert set(words) <= set(re.findall(r"n\d+", str(parts)))
    order = [int(n) for part in parts for n in re.findall(r"n(\d+)", part.text)]
    assert order == sorted(order)
