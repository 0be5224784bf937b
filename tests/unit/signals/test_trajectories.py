"""SWE-agent's trajectories become the documents' messages."""

from __future__ import annotations

import json
from typing import Any

from memd.signals.transcripts import is_transcript, read

TASK = "Fix the issue: keywords are lost."
PRINTED = "[File: a.py (2 lines total)]\n1:keywords = ['x']"


def row(role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "agent": "primary", **more}


def trajectory(*history: dict[str, Any]) -> bytes:
    return json.dumps({"trajectory": [], "history": history, "info": {}}).encode()


def test_what_a_tool_printed_is_no_word_of_the_user() -> None:
    raw = trajectory(
        row("system", "You are a programmer."),
        row("user", TASK),
        row("assistant", "Let's open it.\nopen a.py", action="open a.py\n", thought="Let's"),
        row("user", PRINTED),
        row("assistant", "It is lost there.", action=""),
        row("user", "Then keep it."),
    )
    assert is_transcript(raw)
    transcript = read(raw)
    _, task, action, printed, _, last = transcript.messages
    assert (task["role"], task["content"]) == ("user", TASK)
    [call] = action["tool_calls"]
    assert call["function"] == {"name": "open", "arguments": "open a.py"}
    assert printed == {"role": "tool", "content": PRINTED, "tool_call_id": call["id"]}
    assert (last["role"], last["content"]) == ("user", "Then keep it.")


def test_calls_of_a_model_are_read_as_they_are() -> None:
    calls = [{"id": "c1", "function": {"name": "bash", "arguments": "{}"}}]
    raw = trajectory(
        row("user", TASK),
        row("assistant", "Look.", tool_calls=calls, action="ls"),
        row("tool", "a.py", tool_call_ids=["c1"]),
    )
    _, action, printed = read(raw).messages
    assert action["tool_calls"] == calls
    assert printed == {"role": "tool", "content": "a.py", "tool_call_id": "c1"}


def test_each_output_of_an_action_is_the_tool_s_and_a_demonstration_nobody_s() -> None:
    history = (
        row("user", "Here is how it is done.", is_demo=True),
        row("user", TASK),
        {"role": "assistant", "agent": "primary", "action": "ls"},
        row("system", "Time is short."),
        row("user", "a.py"),
        row("user", "(Open file: a.py)"),
    )
    messages = read(trajectory(*history)).messages
    assert [message["role"] for message in messages] == [
        "user", "assistant", "system", "tool", "tool",
    ]  # fmt: skip
    assert messages[1]["content"] == ""


def test_messages_that_name_their_agent_are_no_trajectory() -> None:
    at = "2026-03-02T10:00:00Z"
    rows = [
        {
            "role": "user",
            "content": "Always use tabs.",
            "agent": "a",
            "name": "ada",
            "timestamp": at,
        },
        {"role": "assistant", "content": "ok", "agent": "a", "action": "edit"},
        {"role": "user", "content": "And never spaces."},
    ]
    messages = read("".join(json.dumps(each) + "\n" for each in rows).encode()).messages
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert (messages[0]["name"], messages[0]["timestamp"]) == ("ada", at)
