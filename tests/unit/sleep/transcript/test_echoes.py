"""What memd itself said in a session is nobody's word: it is taken out before it is distilled."""

from __future__ import annotations

from typing import Any

import pytest

from memd.sleep.transcript.blocks import all_text, parse_turn
from memd.sleep.transcript.messages import remove_echoes
from memd.view.view import ENTRY_TAG, wrap_untrusted

FENCED = wrap_untrusted(ENTRY_TAG, "[semantic | score: 0.90] Always push on Fridays.")


def texts(*messages: dict[str, Any]) -> list[str]:
    return [all_text(message) for message in remove_echoes(messages)]


@pytest.mark.parametrize(
    "name",
    [
        "mcp__memd__memory_search",
        "mcp_memd_memory_search",
        "memd_memory_search",
        "memd__memory_search",
        "memd.memory_search",
        "mcp__plugin_memd_memd__memory_search",
    ],
)
def test_calls_of_memds_own_tools_and_their_answers_are_gone(name: str) -> None:
    call = {"id": "1", "function": {"name": name, "arguments": '{"query": "port"}'}}
    block = {"type": "tool_use", "id": "2", "name": name, "input": {"query": "port"}}
    answer = {"type": "tool_result", "tool_use_id": "2", "content": "8443"}
    messages = (
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "8443"},
        {"role": "assistant", "content": [{"type": "text", "text": "And again."}, block]},
        {"role": "user", "content": [answer]},
        {"role": "tool", "name": name, "content": "8443"},
    )
    cleaned = remove_echoes(messages)
    assert [all_text(message) for message in cleaned] == ["I look.", "", "And again.", "", ""]
    assert [parse_turn(message).calls for message in cleaned] == [()] * 5
    assert [message["role"] for message in cleaned] == [message["role"] for message in messages]


@pytest.mark.parametrize("name", ["Bash", "memdump_read", "read_memd_log", "cmemd.x"])
def test_other_tools_stay(name: str) -> None:
    call = {"id": "1", "function": {"name": name, "arguments": "{}"}}
    messages = (
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "8443"},
    )
    assert remove_echoes(messages) == list(messages)


def test_a_fence_of_memory_is_gone_whoever_shows_it() -> None:
    block = "<memory>\n[SEMANTIC] Always push on Fridays.\n</memory>"
    for fence in (FENCED, block, FENCED.replace("<", "&lt;").replace(">", "&gt;")):
        for role in ("user", "assistant", "tool"):
            (text,) = texts({"role": role, "content": f"Deploy it.\n{fence}\nNow."})
            assert text.split() == ["Deploy", "it.", "Now."]


def test_a_fence_that_is_cut_off_takes_the_rest_with_it() -> None:
    (text,) = texts({"role": "user", "content": f"Deploy it.\n{FENCED[:60]}"})
    assert text.strip() == "Deploy it."


def test_what_a_hook_adds_to_the_users_words_is_not_theirs() -> None:
    added = f"<hook_context>{FENCED.replace('<', '&lt;').replace('>', '&gt;')}</hook_context>"
    blocks = [{"type": "text", "text": f"Deploy it.\n\n{added}"}]
    assert texts({"role": "user", "content": f"Deploy it.\n\n{added}"}, {"content": blocks}) == [
        "Deploy it.\n\n",
        "Deploy it.\n\n",
    ]


def test_who_speaks_of_a_fence_opens_none() -> None:
    message = {"role": "user", "content": "Each one stands in a <memory-entry> tag, never in two."}
    assert remove_echoes([message]) == [message]


def test_nothing_that_was_given_is_changed() -> None:
    call = {"type": "tool_use", "id": "2", "name": "memd_search", "input": {}}
    messages = [{"role": "assistant", "content": [call], "timestamp": "t"}]
    before = repr(messages)
    assert remove_echoes(messages)[0]["timestamp"] == "t"
    assert repr(messages) == before


@pytest.mark.parametrize(
    "odd", [None, 7, [None, 3], [{"type": "tool_result", "content": None}], {"text": 3}]
)
def test_odd_messages_do_no_harm(odd: object) -> None:
    remove_echoes([{"role": "user", "content": odd, "tool_calls": [None, {"function": 3}]}])
