"""What of a session is a fact: SPEC 6.7 to 6.13, a sentence a test."""

from __future__ import annotations

from typing import Any

import pytest

from memd.sleep.transcript.facts import (
    HEADER,
    KEYWORDS,
    NO_FACTS,
    Fact,
    extract_facts,
    parse_summary,
    render_bullets,
)

Message = dict[str, Any]


def texts(*messages: Any) -> list[str]:
    return [fact.text for fact in extract_facts(messages)]


def tool(content: Any, name: str | None = "ls") -> Message:
    return {"role": "tool", "content": content, **({"name": name} if name else {})}


def user(content: Any) -> Message:
    return {"role": "user", "content": content}


def assistant(content: Any, **fields: Any) -> Message:
    return {"role": "assistant", "content": content, **fields}


def calls(*ids: str, name: str = "grep") -> list[Message]:
    return [{"id": i, "type": "function", "function": {"name": name}} for i in ids]


def test_6_7_a_tool_result_is_kept_with_the_tools_name_before_it() -> None:
    assert texts(tool("a.py b.py")) == ["[ls] a.py b.py"]


def test_6_7_a_a_tool_without_a_name_is_called_tool() -> None:
    assert texts(tool("ok", name=None), tool("fine", name="")) == ["[tool] ok", "[tool] fine"]


@pytest.mark.parametrize(("length", "kept"), [(199, 199), (200, 200), (201, 200), (5_000, 200)])
def test_6_7_a_of_a_tool_result_the_first_200_characters_are_kept(length: int, kept: int) -> None:
    assert texts(tool("x" * length)) == ["[ls] " + "x" * kept]


def test_6_7_a_a_tool_result_is_cut_first_and_stripped_then() -> None:
    assert texts(tool(" " * 150 + "x" * 100)) == ["[ls] " + "x" * 50]
    assert texts(tool(" " * 200 + "text"), tool("\n\t ")) == []


def test_6_7_a_nothing_else_of_a_tool_result_is_looked_at() -> None:
    assert texts(tool("x" * 250 + "\nerror: disk full")) == ["[ls] " + "x" * 200]


@pytest.mark.parametrize("keyword", KEYWORDS)
@pytest.mark.parametrize("role", ["assistant", "system", "user", "", "developer"])
def test_6_7_b_a_line_with_a_keyword_is_kept_verbatim_and_stripped(role: str, keyword: str) -> None:
    prose = "This is a long explanation of no use to anybody who reads it later on. " * 2
    message = {"role": role, "content": f"{prose}\n  The {keyword.upper()} 42, at last \n{prose}"}

    assert texts(message) == [f"The {keyword.upper()} 42, at last"]


def test_6_7_b_the_ten_keywords_are_those_of_the_document() -> None:
    documented = "result decided found error success created updated deleted confirmed output"

    assert [keyword.removesuffix(":") for keyword in KEYWORDS] == documented.split()


@pytest.mark.parametrize(("length", "kept"), [(1, True), (119, True), (120, False), (121, False)])
def test_6_7_c_a_message_of_the_user_of_under_120_characters_is_kept(
    length: int, kept: bool
) -> None:
    assert bool(texts(user("x" * length))) is kept


def test_6_7_c_a_short_message_is_kept_whole_and_not_stripped() -> None:
    assert texts(user("  use tabs\nnot spaces \n")) == ["  use tabs\nnot spaces \n"]


@pytest.mark.parametrize("blank", ["", " ", "\n\t ", "\u2003"])
def test_6_7_c_a_blank_message_is_no_fact(blank: str) -> None:
    assert texts(user(blank)) == []


def test_6_7_d_a_short_message_that_is_a_line_with_a_keyword_is_there_once() -> None:
    assert texts(user("decided: tabs")) == ["decided: tabs"]
    assert texts(user("decided: tabs ")) == ["decided: tabs", "decided: tabs "]
    assert texts(user("so,\ndecided: tabs")) == ["decided: tabs", "so,\ndecided: tabs"]


@pytest.mark.parametrize("role", ["assistant", "system", "", "developer"])
def test_6_7_e_prose_without_a_keyword_is_dropped(role: str) -> None:
    assert texts({"role": role, "content": "Let me look."}) == []


def test_6_7_facts_are_in_order_and_each_text_is_there_once_where_it_came_first() -> None:
    extracted = extract_facts(
        [user("go on"), tool("b"), assistant("found: c\nfound: a"), user("go on"), tool("b")]
    )

    assert [(fact.text, fact.index) for fact in extracted] == [
        ("go on", 0), ("[ls] b", 1), ("found: c", 2), ("found: a", 2),
    ]  # fmt: skip


def test_6_8_a_keyword_counts_anywhere_in_a_line_but_not_without_its_colon() -> None:
    message = assistant("No error: fine\nnewfound: x\nthe errors found\nresult :")

    assert texts(message) == ["No error: fine", "newfound: x"]


def test_6_9_a_tool_result_keeps_its_lines_within_the_bullet() -> None:
    assert (
        render_bullets(texts(tool("one\ntwo\n\nthree"), user("x")))
        == "- [ls] one\ntwo\n\nthree\n- x"
    )


@pytest.mark.parametrize(
    "strange",
    [
        {}, {"role": "user"}, {"content": "found nothing"}, {"role": None, "content": None},
        {"role": "tool", "content": None}, {"role": ["user"], "content": "hello"}, None, 7, [],
        {"role": "user", "content": []}, {"role": "user", "content": [None, 3, {}]},
        {"role": "assistant", "content": "x", "tool_calls": "grep"},
        {"role": "user", "content": [{"type": "tool_result"}, {"type": "text", "text": 5}]},
    ],
)  # fmt: skip
def test_6_10_what_is_missing_or_strange_says_nothing(strange: Any) -> None:
    assert texts(strange) == []


def test_6_10_a_message_without_a_role_is_prose() -> None:
    assert texts({"content": "found: it"}) == ["found: it"]


def test_6_10_content_that_is_no_text_is_printed() -> None:
    assert texts(user(4711), tool(2.5), tool({"exit": 0})) == [
        "4711", "[ls] 2.5", "[ls] {'exit': 0}",
    ]  # fmt: skip


def test_6_11_the_text_blocks_of_a_message_are_its_text() -> None:
    blocks = [
        {"type": "text", "text": "error: no "},
        {"type": "image", "source": {"data": "found: in pixels"}},
        {"type": "thinking", "thinking": "found: in thought", "text": "found: in thought"},
        {"type": "text", "text": "space\nleft"},
    ]

    assert texts(assistant(blocks)) == ["error: no space"]
    assert texts(user([{"type": "text", "text": "use "}, {"type": "text", "text": "tabs"}])) == [
        "use tabs"
    ]


def test_6_11_a_tool_result_block_is_a_tool_result_named_as_it_was_called() -> None:
    called = assistant([{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}])
    answer = [
        {"type": "text", "text": "package "},
        {"type": "image"},
        {"type": "text", "text": "m"},
    ]
    came = user([
        {"type": "tool_result", "tool_use_id": "t1", "content": answer},
        {"type": "tool_result", "tool_use_id": "t9", "content": "x" * 300},
        {"type": "text", "text": "and now?"},
    ])  # fmt: skip

    assert extract_facts([called, came]) == (
        Fact("[Read] package m", "tool", "Read", 1),
        Fact("[tool] " + "x" * 200, "tool", "tool", 1),
        Fact("and now?", "user", None, 1),
    )


def test_6_11_an_id_that_is_used_again_means_the_call_just_before() -> None:
    session = [
        assistant("", tool_calls=calls("c0", name="grep")),
        {"role": "tool", "tool_call_id": "c0", "content": "1"},
        assistant("", tool_calls=calls("c0", name="sed")),
        {"role": "tool", "tool_call_id": "c0", "content": "2"},
    ]

    assert texts(*session) == ["[grep] 1", "[sed] 2"]


def test_6_11_results_without_an_id_are_named_in_the_order_of_the_calls() -> None:
    both = [{"function": {"name": "ls"}}, {"function": {"name": "cat"}}]
    session = [assistant("", tool_calls=both), tool("a", None), tool("b", None), tool("c", None)]

    assert texts(*session) == ["[ls] a", "[cat] b", "[tool] c"]


def test_6_11_a_result_within_a_result_is_not_followed() -> None:
    deep: list[Any] = [{"type": "text", "text": "bottom"}]
    for _ in range(50_000):
        deep = [{"type": "tool_result", "content": deep}]

    assert texts(user(deep), user("up")) == ["up"]


def test_6_13_a_call_is_a_fact_only_if_nothing_answers_it() -> None:
    blocks = [{"type": "tool_use", "id": "t1", "name": "Read"}, {"type": "tool_use", "id": "t2"}]
    session = [
        assistant("", tool_calls=calls("c1", "c2")),
        {"role": "tool", "tool_call_id": "c2", "content": "b"},
        assistant(blocks),
        user([{"type": "tool_result", "tool_use_id": "t1", "content": ""}]),
    ]

    assert texts(*session) == ["called grep", "[grep] b", "called tool"]


@pytest.mark.parametrize(
    "bullets",
    [
        ["a"], ["a", "b"], ["b\n- c"], ["b\n\\- c", "c"], ["- a", "- - b"], ["a\n", "\nb"],
        ["a\n-", "-", "-\n- -\n\\\\- x"], ["[ls] x\n\n- y\r\n- z"], [f"x\n{HEADER}\n\n- y"],
    ],
)  # fmt: skip
def test_6_15_bullets_are_read_back_as_they_were_written(bullets: list[str]) -> None:
    assert parse_summary(f"{HEADER}\n\n{render_bullets(bullets)}") == bullets


def test_6_15_a_fact_of_an_earlier_summary_says_so() -> None:
    extracted = extract_facts([user(f"{HEADER}\n\n- [ls] a\nb\n- decided: c"), user("[ls] a\nb")])

    assert extracted == (
        Fact("[ls] a\nb", "summary", None, 0),
        Fact("decided: c", "summary", None, 0),
    )


def test_6_15_the_header_and_the_line_for_nothing_are_never_facts() -> None:
    assert texts(user(f"{HEADER}\n\n- {NO_FACTS}"), user(HEADER), user(f"{HEADER}\n\n")) == []


def test_6_15_only_the_user_brings_a_summary() -> None:
    text = f"{HEADER}\n\n- plain"

    assert texts(assistant(text)) == []
    assert texts(tool(text)) == [f"[ls] {text}"]
    assert parse_summary("- plain") is None
    assert texts(user(f"{HEADER} is what I read")) == [" is what I read"]
