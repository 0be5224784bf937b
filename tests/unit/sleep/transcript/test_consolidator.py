"""The nap as a pure function: SPEC 6.1 to 6.6, 6.12, 6.14 to 6.16, a sentence a test."""

from __future__ import annotations

import copy
import inspect
import json
from typing import Any

import pytest

from memd.sleep.transcript.consolidator import (
    MENTION_SHARE,
    MemoryConsolidator,
    newest_fitting,
    tail_start,
)
from memd.sleep.transcript.facts import HEADER, NO_FACTS

Message = dict[str, Any]
estimate = MemoryConsolidator.estimate_tokens


def talk(count: int, text: str = "message") -> list[Message]:
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": f"{text} {n}"} for n in range(count)]


def consolidated(messages: list[Any], **settings: Any) -> tuple[list[Any], str]:
    return MemoryConsolidator(**settings).consolidate(messages, "")


def test_6_1_the_defaults_are_the_documents() -> None:
    consolidator = MemoryConsolidator()

    assert (consolidator.threshold_pct, consolidator.max_tokens) == (0.8, 30_000)
    assert MemoryConsolidator(0.5, 10).max_tokens == 10


@pytest.mark.parametrize("window", [0, -30_000])
def test_6_2_a_window_of_nothing_is_never_full(window: int) -> None:
    assert MemoryConsolidator(max_tokens=window).should_consolidate(24_000) is False


def test_6_3_of_no_messages_nothing_is_made() -> None:
    assert consolidated([]) == ([], "")


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_6_3_up_to_four_messages_are_returned_in_a_new_list(count: int) -> None:
    messages = talk(count)

    shorter, summary = consolidated(messages)

    assert (shorter, summary) == (messages, "")
    assert shorter is not messages


def test_6_3_the_system_prompt_plays_no_part() -> None:
    consolidator = MemoryConsolidator()

    assert consolidator.consolidate(talk(9), "error: x") == consolidator.consolidate(talk(9))
    assert list(inspect.signature(consolidator.consolidate).parameters) == [
        "messages", "system_prompt",
    ]  # fmt: skip


@pytest.mark.parametrize("mention_share", [0.0, MENTION_SHARE])
def test_6_3_the_messages_given_are_not_changed(mention_share: float) -> None:
    messages = [*talk(9), {"role": "user", "content": [{"type": "text", "text": "found: /a/b"}]}]
    before = copy.deepcopy(messages)

    consolidated(messages, mention_share=mention_share)

    assert messages == before


def test_6_4_the_last_four_stay_and_the_rest_is_one_message_of_the_user_before_them() -> None:
    messages = talk(9)

    shorter, _ = consolidated(messages)

    assert len(shorter) == 5
    assert all(
        unchanged is original
        for unchanged, original in zip(shorter[1:], messages[-4:], strict=True)
    )
    assert shorter[0] == {
        "role": "user",
        "content": f"{HEADER}\n\n- message 0\n- message 2\n- message 4",
    }
    assert HEADER == "[Session context consolidated]"


def test_6_5_the_summary_text_is_the_bullets_without_the_header() -> None:
    shorter, summary = consolidated(talk(7))

    assert summary == "- message 0\n- message 2"
    assert shorter[0]["content"] == f"{HEADER}\n\n{summary}"


def test_6_6_without_a_fact_one_bullet_says_so() -> None:
    messages = [{"role": "assistant", "content": "prose"}, *talk(4)]

    assert consolidated(messages)[1] == f"- {NO_FACTS}"


def openai_pair(*ids: str) -> list[Message]:
    calls = [{"id": i, "function": {"name": "ls", "arguments": "{}"}} for i in ids]
    answers = [{"role": "tool", "tool_call_id": i, "content": i} for i in ids]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *answers]


def block_pair(*ids: str) -> list[Message]:
    calls = [{"type": "tool_use", "id": i, "name": "ls", "input": {}} for i in ids]
    answers = [{"type": "tool_result", "tool_use_id": i, "content": i} for i in ids]
    return [
        {"role": "assistant", "content": [{"type": "text", "text": "so"}, *calls]},
        *({"role": "user", "content": [answer]} for answer in answers),
    ]


def nameless_pair(*ids: str) -> list[Message]:
    calls = [{"function": {"name": "ls", "arguments": {}}} for _ in ids]
    answers = [{"role": "tool", "content": i} for i in ids]
    return [{"role": "assistant", "content": "", "tool_calls": calls}, *answers]


@pytest.mark.parametrize("pair", [openai_pair, block_pair, nameless_pair])
@pytest.mark.parametrize("after", [0, 1, 2, 3])
def test_6_12_a_result_is_not_kept_without_its_call(pair: Any, after: int) -> None:
    messages = [*talk(6), *pair("a", "b", "c", "d"), *talk(after)]

    shorter, _ = consolidated(messages)

    assert shorter[1:] == messages[6:]
    assert tail_start(messages) == 6


@pytest.mark.parametrize("pair", [openai_pair, block_pair, nameless_pair])
def test_6_12_a_pair_that_fits_moves_nothing(pair: Any) -> None:
    messages = [*talk(6), *pair("a"), *talk(2)]

    assert consolidated(messages)[0][1:] == messages[6:]


def test_6_12_a_pair_that_was_reached_going_back_is_kept_whole_too() -> None:
    outer = openai_pair("a", "b")
    inner = openai_pair("c", "d", "e")
    messages = [*talk(3), outer[0], outer[1], *inner[:1], outer[2], *inner[1:], *talk(1)]

    assert tail_start(messages) == 3


def test_6_12_a_result_whose_call_is_nowhere_moves_nothing() -> None:
    orphan = {"role": "tool", "tool_call_id": "gone", "content": "x"}
    named = {"role": "tool", "name": "shell_exec", "content": "x"}

    late = [*nameless_pair("a")[:1], {"role": "user", "content": "and?"}, {"role": "tool"}]

    assert tail_start([*talk(6), orphan, *talk(3)]) == 6
    assert tail_start([*talk(6), *late, *talk(3)]) == 8
    assert tail_start([*talk(6), named, named, *talk(3)]) == 7


def test_6_12_a_list_that_is_one_pair_stays_as_it_is() -> None:
    messages = openai_pair(*"abcdefgh")

    assert consolidated(messages) == (messages, "")


@pytest.mark.parametrize(
    ("messages", "tokens"),
    [
        ([], 0),
        ([{"content": "abc"}], 0),
        ([{"content": "abc"}, {"content": "d"}], 1),
        ([{"role": "user", "content": None}, {"role": "user"}], 0),
        ([{"role": "user", "content": 12345678}], 2),
        ([{"role": "tool", "name": "n" * 99, "content": "x" * 8}], 2),
        ([{"role": "assistant", "content": "", "tool_calls": [{"id": "x" * 99}]}], 0),
        ([{"content": [{"type": "text", "text": "x" * 6}, {"type": "text", "text": "yy"}]}], 2),
        (
            [{"content": [{"type": "tool_result", "content": [{"type": "text", "text": "abcd"}]}]}],
            1,
        ),
        ([{"content": [{"type": "tool_use"}, {"type": "image", "data": "x" * 99}]}], 0),
    ],
)
def test_6_14_four_characters_of_content_are_a_token(messages: list[Any], tokens: int) -> None:
    assert estimate(messages) == tokens


def test_6_14_what_a_tool_is_called_with_counts_as_it_is_sent() -> None:
    body = {"path": "a.py", "lines": [1, 2], "text": "x" * 800}
    sent = json.dumps(body)
    openai = {"function": {"name": "write", "arguments": sent}}

    assert estimate([{"tool_calls": [openai]}]) == len(sent) // 4
    assert estimate([{"content": None, "tool_calls": [{"arguments": body}]}]) == len(sent) // 4
    assert estimate([{"content": [{"type": "tool_use", "input": body}]}]) == len(sent) // 4


@pytest.mark.parametrize("calls", [None, 7, [None], [{"function": {}}], [{"function": "ls"}]])
def test_6_14_a_call_without_arguments_counts_nothing(calls: object) -> None:
    assert estimate([{"content": "x" * 8, "tool_calls": calls}]) == 2


def test_6_14_arguments_that_no_json_can_say_are_no_error() -> None:
    deep: list[Any] = []
    deep.append(deep)

    assert estimate([{"content": "x" * 8, "tool_calls": [{"arguments": {"deep": deep}}]}]) >= 2


def test_6_15_a_summary_is_taken_up_and_not_nested() -> None:
    first, _ = consolidated([
        {"role": "tool", "name": "ls", "content": "one\n- two"},
        {"role": "assistant", "content": "decided: tabs"},
        {"role": "user", "content": "plain words"},
        *talk(4),
    ])  # fmt: skip

    _, summary = consolidated([*first, {"role": "user", "content": "plain words"}, *talk(4, "new")])

    assert summary.split("\n- ") == [
        "- [ls] one\n\\- two", "decided: tabs", "plain words", "message 0", "message 2",
    ]  # fmt: skip


@pytest.mark.parametrize("mention_share", [0.0, MENTION_SHARE])
def test_6_15_to_consolidate_twice_changes_nothing_more(mention_share: float) -> None:
    messages = [*talk(9), {"role": "assistant", "content": "/etc/hosts"}, *openai_pair(*"abcde")]
    once = consolidated(messages, mention_share=mention_share)

    assert consolidated(once[0], mention_share=mention_share) == once


def test_6_15_the_line_for_nothing_gives_way_to_the_first_fact() -> None:
    first, summary = consolidated([{"role": "assistant", "content": "prose"}, *talk(4)])
    assert summary == f"- {NO_FACTS}"

    _, summary = consolidated([*first[:1], {"role": "user", "content": "go"}, *talk(4)])
    assert summary == "- go"


@pytest.mark.parametrize("mention_share", [0.0, MENTION_SHARE])
def test_6_16_a_summary_takes_a_quarter_of_the_window_and_the_newest_facts_win(
    mention_share: float,
) -> None:
    lines = [{"role": "assistant", "content": f"found: thing number {n}"} for n in range(2_000)]

    shorter, summary = consolidated(
        [*lines, *talk(4)], max_tokens=4_000, mention_share=mention_share
    )

    assert 0.7 * 1_000 < estimate(shorter[:1]) <= 1_000
    facts_kept = [line for line in summary.splitlines() if line.startswith("- found: ")]
    assert facts_kept == [
        f"- found: thing number {n}" for n in range(2_000 - len(facts_kept), 2_000)
    ]


def test_6_16_facts_that_fit_to_the_character_are_all_kept() -> None:
    facts = ["a" * 10, "b\n- c", "d" * 10]

    assert newest_fitting(facts, len("- " * 3 + "".join(facts) + "\n" * 2) + 1) == facts
    assert newest_fitting(facts, len("- " * 3 + "".join(facts) + "\n" * 2)) == facts[1:]


def test_6_16_one_endless_line_does_not_push_out_the_others() -> None:
    messages = [
        {"role": "user", "content": "use tabs"},
        {"role": "assistant", "content": "error: " + "x" * 1_000_000},
        *talk(4),
    ]

    shorter, summary = consolidated(messages)

    assert summary.startswith("- use tabs\n- error: xxx")
    assert summary.endswith("x …")
    assert 500 < estimate(shorter[:1]) <= 7_500


def test_6_16_a_window_of_nothing_has_the_cap_of_the_default_one() -> None:
    lines = [{"role": "assistant", "content": f"found: {n}"} for n in range(9_000)]

    assert consolidated([*lines, *talk(4)], max_tokens=0) == consolidated([*lines, *talk(4)])


HOSTILE: dict[str, list[Any]] = {
    "nothing": [{} for _ in range(9)],
    "no dictionaries": [None, 3, "text", [], (), b"x", 2.5, "error: y", {"role": 1}],
    "many lines": [{"role": "assistant", "content": "error: x\nline\n" * 25_000}, *talk(4)],
    "many facts": [{"role": "system", "content": f"error: {n}\n" * 9} for n in range(2_500)],
    "one line": [{"role": "assistant", "content": "error: " + "x" * 2_500_000}, *talk(4)],
    "one line of a tool": [{"role": "tool", "content": "/a" * 1_250_000}, *talk(4)],
    "many calls": [*openai_pair(*map(str, range(5_000))), *talk(4)],
    "calls in reverse": [
        openai_pair(*map(str, range(5_000)))[0],
        *reversed(openai_pair(*map(str, range(5_000)))[1:]),
    ],
    "bullets in bullets": [{"role": "user", "content": f"{HEADER}\n\n" + "- " * 99_999}, *talk(4)],
}


@pytest.mark.parametrize("mention_share", [0.0, MENTION_SHARE])
@pytest.mark.parametrize("name", HOSTILE)
def test_6_10_no_list_is_too_strange(name: str, mention_share: float) -> None:
    once = consolidated(HOSTILE[name], mention_share=mention_share)

    assert once[0][-4:] == HOSTILE[name][-4:]
    assert estimate(once[0][:1]) <= 7_500 or once[1] == ""
    assert consolidated(once[0], mention_share=mention_share) == once


def test_6_10_what_is_nested_too_deep_to_be_printed_says_nothing() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"in": deep}
    looped: list[Any] = ["/etc/hosts"]
    looped.append(looped)
    strange = [
        {"role": "user", "content": deep},
        {"role": "assistant", "tool_calls": [{"function": {"arguments": deep}}]},
        {"role": "assistant", "tool_calls": [{"function": {"name": "x", "arguments": looped}}]},
    ]

    _, summary = consolidated([*strange, *talk(4)], mention_share=MENTION_SHARE)

    assert summary == "- called tool\n- called x\n- mentioned: /etc/hosts"
