"""Which lines of a text say a lesson, and which only look so."""

from __future__ import annotations

import pytest

from memd.text.lessons import extract_lessons, parse_lesson

SAID = "the tests need Redis on port 6380."


@pytest.mark.parametrize(
    "line",
    [
        f"Lesson: {SAID}",
        f"lesson learned: {SAID}",
        f"Lessons learned: {SAID}",
        f"Lesson learnt : {SAID}",
        f"- Lesson: {SAID}",
        f"  * **Lesson:** {SAID}",
        f"2. **Lesson learned**: {SAID}",
        f"**Lesson: {SAID}**",
        f"Lehre: {SAID}",
        f"Leçon apprise : {SAID}",
        f"Lección aprendida: {SAID}",
        f"Lezioni imparate: {SAID}",
        f"Lição aprendida: {SAID}",
        f"Geleerde les: {SAID}",
    ],
)
def test_a_line_that_begins_with_the_word_says_a_lesson(line: str) -> None:
    assert parse_lesson(line) == SAID
    assert extract_lessons(f"We are done.\r\n{line}\r\n\nNext?") == [SAID]


@pytest.mark.parametrize(
    "line",
    [
        "Lesson: see above",
        "Lesson:",
        "Lesson 3: the tests need Redis on port 6380.",
        f"The lesson: {SAID}",
        f"> Lesson: {SAID}",
        f"Lessons: {'x ' * 900}",
        "Lesson: what do the tests need?",
        f"Piano lesson: {SAID}",
    ],
)
def test_no_other_line_does(line: str) -> None:
    assert parse_lesson(line) is None
    assert extract_lessons(line) == []


def test_only_a_line_that_stands_alone_is_one_lesson() -> None:
    assert parse_lesson(f"Lesson: {SAID}\nAnd more.") is None
    assert extract_lessons(f"Lesson: {SAID}\nLesson: {SAID}\nLesson: It is not the cache.") == [
        SAID,
        "It is not the cache.",
    ]
