"""The lines that first name a thing, remembered beside the facts."""

from __future__ import annotations

from memd.sleep.nap.excerpts import LINE_CHARS_MAX, PART_CHARS, excerpts
from memd.sleep.nap.facts import HEADER, Fact

ROOM = 10_000


def test_the_line_that_first_names_a_thing_is_kept_as_it_stands() -> None:
    texts = ["It begins.\n  parse_line reads src/app.py\nso it does", "again parse_line\nrun(4711)"]

    assert excerpts(texts, (), ROOM) == {0: "parse_line reads src/app.py", 1: "run(4711)"}


def test_what_a_fact_names_is_not_excerpted_too() -> None:
    texts = ["see old_one", "see old_one and\nnew_one"]
    facts = [Fact("see old_one", "user", None, 0)]

    assert excerpts(texts, facts, ROOM) == {1: "new_one"}


def test_a_longer_session_repeats_an_excerpt_word_for_word() -> None:
    texts = ["x_one\nx_two", "x_two\nx_three", "x_four is x_one"]
    last = Fact("x_three x_four", "user", None, 3)

    first = excerpts(texts, (), ROOM)

    assert excerpts([*texts, "x_three x_four"], (last,), ROOM) == first


def test_an_earlier_summary_has_no_excerpt_and_its_things_are_known() -> None:
    summary = f"{HEADER}\n\n- mentioned: x_one"
    fact = Fact("mentioned: x_one", "user", None, 0)

    assert excerpts([summary, "x_one\nx_two"], (fact,), ROOM) == {1: "x_two"}


def test_of_more_than_there_is_room_for_the_latest_stay() -> None:
    texts = [f"name_{n} is told" for n in range(10)]

    assert list(excerpts(texts, (), 2 * len(texts[0]))) == [8, 9]


def test_a_line_is_cut_and_long_excerpts_have_parts() -> None:
    (one,) = excerpts([f"x_one {'word ' * 200} x_two"], (), ROOM).values()
    (many,) = excerpts(["\n".join(f"name_{n} {'is ' * 60}" for n in range(9))], (), ROOM).values()

    assert len(one) == LINE_CHARS_MAX
    assert max(map(len, many.split("\n\n"))) <= PART_CHARS + len("\n\n")
    assert len(many.split("\n\n")) == 3


def test_the_numbers_in_the_margin_of_a_listing_are_left_out() -> None:
    assert excerpts(["   12→\tdef parse_line():\n   13→\tpass"], (), ROOM) == {
        0: "def parse_line():"
    }
