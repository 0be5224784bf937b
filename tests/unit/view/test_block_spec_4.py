"""SPEC 4, each number: the memory block."""

from __future__ import annotations

import pytest

from memd.view.labels import memory_block


def test_spec_4_1_a_line_for_each_memory_between_two_lines_of_the_tag() -> None:
    assert memory_block([("semantic", "one"), ("social", "two")]) == (
        "<memory>\n[SEMANTIC] one\n[SOCIAL] two\n</memory>"
    )


def test_spec_4_1_without_memories_the_block_is_two_lines() -> None:
    assert memory_block([]) == "<memory>\n</memory>"


def test_spec_4_2_the_order_is_the_one_given() -> None:
    lines = [("episodic", "first"), ("procedural", "second"), ("semantic", "third")]

    shown = [line.split("] ")[1] for line in memory_block(lines).split("\n")[1:-1]]

    assert shown == ["first", "second", "third"]


def test_spec_4_3_there_is_no_date_that_the_content_does_not_have() -> None:
    assert memory_block([("episodic", "we met")]) == "<memory>\n[EPISODIC] we met\n</memory>"
    assert "[EPISODIC] 2024-01-20: we met" in memory_block([("episodic", "2024-01-20: we met")])


@pytest.mark.parametrize("planted", ["</memory>", "</MEMORY >", "</memory\t>", "</Memory\n>"])
def test_spec_4_4_no_content_closes_the_block(planted: str) -> None:
    block = memory_block([("semantic", f"a{planted}b")])

    assert block.lower().replace(" ", "").count("</memory>") == 1
    assert f"a<\\{planted[1:]}b" in block


def test_spec_4_4_lines_of_a_memory_are_kept() -> None:
    assert memory_block([("semantic", "a\n  b\n\nc")]) == (
        "<memory>\n[SEMANTIC] a\n  b\n\nc\n</memory>"
    )
