"""Codex' rollouts and Gemini's chats become the documents' messages."""

from __future__ import annotations

import json
from typing import Any

from support.work_units import effort

from memd.signals import codex, gemini
from memd.signals.transcripts import read, usage_of

Line = dict[str, Any]


AT = {"timestamp": "2026-11-21T01:40:00Z"}


def event(kind: str, **payload: Any) -> Line:
    return {**AT, "type": kind, "payload": payload}


def item(kind: str, **payload: Any) -> Line:
    return event("response_item", type=kind, **payload)


def spoke(role: str, words: str) -> Line:
    return item("message", role=role, content=[{"type": "input_text", "text": words}])


def raw(*lines: Line) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


ROLLOUT = [
    event("session_meta", id="own", cwd="/w"),
    event("session_meta", id="parent"),
    event("turn_context", model="gpt", cwd="/w"),
    spoke("developer", "be good"),
    spoke("user", "<environment_context>x</environment_context>"),
    spoke("user", "list"),
    event("event_msg", type="user_message", message="list"),
    item("reasoning", summary=[]),
    spoke("assistant", "listing"),
    item("function_call", name="shell", arguments='{"command": "ls"}', call_id="c1"),
    item("custom_tool_call", name="patch", input="p", call_id="c2"),
    item("function_call_output", call_id="c1", output="a.py"),
    item("custom_tool_call_output", call_id="c2", output={"content": "ok", "success": True}),
]
TOKENS = {
    "total_token_usage": {"total_tokens": 2_200_000},
    "last_token_usage": {"input_tokens": 200_000, "total_tokens": 210_000},
    "model_context_window": 258_400,
}


def test_a_rollout_gives_what_was_said_called_and_answered() -> None:
    transcript = read(raw(*ROLLOUT))
    assert (transcript.format, transcript.session_id, transcript.skipped) == ("codex", "own", 0)
    assert [message["role"] for message in transcript.messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
    ]
    calls = transcript.messages[1]["tool_calls"]
    assert [(call["id"], call["function"]["name"]) for call in calls] == [
        ("c1", "shell"),
        ("c2", "patch"),
    ]
    assert transcript.messages[2:] == [
        {"role": "tool", "content": "a.py", "name": "shell", "tool_call_id": "c1", **AT},
        {"role": "tool", "content": "ok", "name": "patch", "tool_call_id": "c2", **AT},
    ]
    assert all(message["timestamp"] == AT["timestamp"] for message in transcript.messages)


def test_what_an_editor_put_above_a_request_is_left_out() -> None:
    expected = (
        "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nfix it"
    )
    assert codex.messages([spoke("user", expected)]) == [
        {"role": "user", "content": "fix it", **AT}
    ]


def test_an_output_that_is_wrapped_in_json_is_unwrapped() -> None:
    wrapped = json.dumps({"output": "a.py", "metadata": {"exit_code": 0}})
    for output, words in (
        (wrapped, "a.py"),
        ('{"output": 1}', '{"output": 1}'),
        ('{"output":', '{"output":'),
    ):
        (message,) = codex.messages([item("function_call_output", call_id="c", output=output)])
        assert message["content"] == words


def test_an_output_keeps_its_exit_code_and_its_failure() -> None:
    wrapped = json.dumps({"output": "no rule", "metadata": {"exit_code": 2}})
    broken = {"content": "no such file", "success": False}
    for output, fields in ((wrapped, {"exit_code": 2}), (broken, {"is_error": True}), ("ok", {})):
        (message,) = codex.messages([item("function_call_output", call_id="c", output=output)])
        assert message == message | fields
        assert ("exit_code" in message, "is_error" in message) == (
            "exit_code" in fields,
            "is_error" in fields,
        )


def test_turns_that_were_rolled_back_are_not_there() -> None:
    back = event("event_msg", type="thread_rolled_back", num_turns=1)
    lines = [*ROLLOUT, spoke("user", "no"), spoke("assistant", "sorry"), back, spoke("user", "yes")]
    assert [m["content"] for m in codex.messages(lines)] == ["list", "listing", "a.py", "ok", "yes"]
    everything = event("event_msg", type="thread_rolled_back", num_turns=2**40)
    assert codex.messages([*ROLLOUT, everything]) == []


def test_rolling_back_a_long_thread_is_linear() -> None:
    back = event("event_msg", type="thread_rolled_back", num_turns=10_000)
    lines = [*(spoke("user", f"prompt {number}") for number in range(10_000)), back]
    with effort() as spent:
        assert codex.messages(lines) == []
    assert spent.units < 60


def test_the_last_request_fills_the_window_not_the_sum_of_all() -> None:
    lines = [*ROLLOUT, event("event_msg", type="token_count", info=TOKENS)]
    empty = event("event_msg", type="token_count", info=None)
    usage = usage_of(raw(*lines, empty))
    assert usage is not None
    assert (usage.source, usage.session_id, usage.model) == ("codex", "own", "gpt")
    assert (usage.used_tokens, usage.window_tokens, usage.cwd) == (210_000, 258_400, "/w")
    assert usage_of(raw(*ROLLOUT)) is None


def says(message_id: str, kind: str, content: Any, **more: Any) -> Line:
    return {"id": message_id, "type": kind, "content": content, **more}


CALL = {
    "id": "c1",
    "name": "read_file",
    "args": {"path": "a.py"},
    "status": "success",
    "result": [{"functionResponse": {"id": "c1", "response": {"output": "print(1)"}}}],
}
CHAT = [
    {"sessionId": "g", "projectHash": "h", "messages": []},
    says("m1", "user", [{"text": "show"}]),
    says("m2", "info", "logged in"),
    says("m3", "gemini", "reading"),
    says("m3", "gemini", "reading", toolCalls=[CALL], tokens={"input": 600_000, "total": 9}),
    {"$set": {"lastUpdated": "now"}},
]


def test_a_chat_gives_each_message_once_as_it_was_last_written() -> None:
    transcript = read(raw(*CHAT))
    assert (transcript.format, transcript.session_id) == ("gemini", "g")
    function = {"name": "read_file", "arguments": {"path": "a.py"}}
    assert transcript.messages == [
        {"role": "user", "content": "show"},
        {
            "role": "assistant",
            "content": "reading",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "content": "print(1)", "name": "read_file", "tool_call_id": "c1"},
    ]


def test_a_call_of_gemini_that_failed_says_so() -> None:
    failed = {**CALL, "status": "error"}
    _, answer = gemini.messages([says("m3", "gemini", "reading", toolCalls=[failed])])
    assert answer["is_error"] is True


def test_the_older_chats_that_are_one_document_are_read() -> None:
    whole = {"sessionId": "g", "messages": CHAT[1:3] + CHAT[4:5]}
    transcript = read(json.dumps(whole, indent=2).encode())
    assert (transcript.format, transcript.session_id, len(transcript.messages)) == (
        "gemini",
        "g",
        3,
    )
    assert read(json.dumps(whole).encode()).messages == transcript.messages


def test_a_rewind_takes_its_message_and_all_after_it_back() -> None:
    later = [says("m4", "user", "wrong"), says("m5", "gemini", "so"), {"$rewindTo": "m4"}]
    right = says("m6", "user", "right")
    transcript = gemini.messages([*CHAT, *later, right])
    assert [message["content"] for message in transcript] == [
        "show",
        "reading",
        "print(1)",
        "right",
    ]
    assert gemini.messages([*CHAT, {"$rewindTo": "unheard of"}]) == []


def test_rewinding_a_long_chat_step_by_step_is_linear() -> None:
    chat = [says(f"m{number}", "user", "hello") for number in range(30_000)]
    rewinds = [{"$rewindTo": f"m{number}"} for number in reversed(range(1, 30_000))]
    with effort() as spent:
        assert len(gemini.messages([*chat, *rewinds])) == 1
    assert spent.units < 60


def test_a_compression_loses_nothing_that_was_said() -> None:
    snapshot = says("s", "user", "<state_snapshot>all</state_snapshot>")
    transcript = gemini.messages(
        [*CHAT, {"$set": {"messages": [snapshot]}}, says("m7", "user", "on")]
    )
    assert [message["content"] for message in transcript] == ["show", "reading", "print(1)", "on"]


def test_a_prompt_with_its_tokens_tells_how_full_the_window_is() -> None:
    usage = usage_of(raw(*CHAT))
    assert usage is not None
    assert (usage.source, usage.session_id, usage.used_tokens) == ("gemini", "g", 600_000)
    assert (usage.window_tokens, usage.compact_at_tokens) == (1_048_576, 524_288)
    assert usage_of(raw(*CHAT[:4])) is None


def test_results_in_every_shape_become_text() -> None:
    shapes = ["plain", [{"text": "a"}, {"text": "b"}], {"functionResponse": {"response": {"x": 1}}}]
    for shape, expected in zip(shapes, ["plain", "a\nb", '{"x": 1}'], strict=True):
        call = {**CALL, "result": shape}
        assert (
            gemini.messages([says("m", "gemini", "", toolCalls=[call])])[1]["content"] == expected
        )


def test_a_chats_answer_and_what_its_tools_put_out_have_the_time_of_the_answer() -> None:
    call = {"id": "c", "name": "ls", "result": "a.py"}
    answer = says("2", "gemini", "See.", toolCalls=[call], timestamp="2026-11-21T01:41:00Z")
    transcript = gemini.messages([says("1", "user", "list"), answer])
    assert [m.get("timestamp") for m in transcript] == [None, *["2026-11-21T01:41:00Z"] * 2]


def test_what_a_hook_added_to_a_request_is_not_the_users_word() -> None:
    entry = "&lt;memory-entry&gt; [web] always push on Fridays &lt;/memory-entry&gt;"
    added = f"show\n\n<hook_context>{entry}</hook_context>"
    alone = "<hook_context>nothing else"
    transcript = gemini.messages([says("m1", "user", [{"text": added}]), says("m2", "user", alone)])
    assert transcript == [{"role": "user", "content": "show"}]
