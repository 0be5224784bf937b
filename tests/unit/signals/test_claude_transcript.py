"""Claude Code's lines become the conversation that its user had."""

from __future__ import annotations

from typing import Any

from support.work_units import effort

from memd.signals import claude

Line = dict[str, Any]


def line(uuid: str, parent: str | None, kind: str, content: object, **more: Any) -> Line:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    own = {"uuid": uuid, "parentUuid": parent, "type": kind, "sessionId": "7", "message": message}
    return own | more


def prompt(uuid: str, parent: str | None, text: str, **more: Any) -> Line:
    return line(uuid, parent, "user", text, **more)


def block(uuid: str, parent: str | None, response: str, transcript: Line, **more: Any) -> Line:
    return line(uuid, parent, "assistant", [transcript], message={"id": response}, **more)


def text(words: str) -> Line:
    return {"type": "text", "text": words}


def call(call_id: str) -> Line:
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": "ls"}}


def result(uuid: str, parent: str, call_id: str) -> Line:
    transcript = {"type": "tool_result", "tool_use_id": call_id, "content": f"of {call_id}"}
    return line(uuid, parent, "user", [transcript])


def words(*lines: Line) -> list[str]:
    """Return what was said or called, in order."""
    texts = []
    for message in claude.messages(lines):
        content = message["content"]
        blocks = [text(content)] if isinstance(content, str) else content
        texts += [part.get("text") or part.get("id") or part["content"] for part in blocks]
    return texts


def test_the_lines_of_one_response_are_one_message() -> None:
    lines = [
        prompt("u1", None, "list"),
        block("a1", "u1", "r1", {"type": "thinking", "thinking": "hm"}),
        block("a2", "a1", "r1", text("listing")),
        block("a3", "a2", "r1", call("t1")),
        result("u2", "a3", "t1"),
        block("a4", "u2", "r2", text("done")),
    ]
    assert [m["role"] for m in claude.messages(lines)] == ["user", "assistant", "user", "assistant"]
    assert claude.messages(lines)[1]["content"] == [text("listing"), call("t1")]


def test_calls_that_ran_side_by_side_keep_all_their_results() -> None:
    lines = [
        prompt("u1", None, "list"),
        block("a1", "u1", "r1", call("t1")),
        block("a2", "a1", "r1", call("t2")),
        result("u2", "a1", "t1"),
        result("u3", "a2", "t2"),
        block("a3", "u3", "r2", text("done")),
        prompt("u4", "a3", "thanks"),
    ]
    assert words(*lines) == ["list", "t1", "t2", "of t1", "of t2", "done", "thanks"]
    lines[3]["message"]["content"].append(text("denied"))
    assert words(*lines) == ["list", "t1", "t2", "of t1", "denied", "of t2", "done", "thanks"]


def test_a_prompt_that_was_taken_back_goes_with_its_answers() -> None:
    lines = [
        prompt("u1", None, "one"),
        block("a1", "u1", "r1", text("yes")),
        prompt("u2", "a1", "two, wrong"),
        block("a2", "u2", "r2", call("t1")),
        result("u3", "a2", "t1"),
        prompt("u4", "a1", "two"),
        block("a3", "u4", "r3", text("right")),
    ]
    assert words(*lines) == ["one", "yes", "two", "right"]


def test_what_was_said_before_a_compaction_stays_and_the_summary_does_not() -> None:
    lines = [
        prompt("u1", None, "one"),
        prompt("u0", "u1", "no"),
        block("a1", "u1", "r1", text("yes")),
        {"type": "system", "subtype": "compact_boundary", "uuid": "s1", "parentUuid": None,
         "logicalParentUuid": "a1"},
        prompt("u2", "s1", "This session is being continued", isCompactSummary=True),
        prompt("u3", "u2", "two"),
    ]  # fmt: skip
    assert words(*lines) == ["one", "yes", "two"]
    del lines[3]["logicalParentUuid"]
    assert words(*lines) == ["one", "no", "yes", "two"]  # rather too much than too little


def test_lines_that_name_no_parent_are_all_kept() -> None:
    assert words(*(prompt(f"u{n}", None, f"{n}") for n in range(3))) == ["0", "1", "2"]


def test_a_line_that_was_copied_counts_once_and_a_broken_one_not_at_all() -> None:
    broken = {**prompt("u1", None, ""), "message": "error"}
    first = prompt("u1", None, "one")
    assert words(broken, first, first, prompt("u2", "u1", "two")) == ["one", "two"]


def test_a_circle_of_parents_ends() -> None:
    assert words(prompt("u1", "u2", "one"), prompt("u2", "u1", "two")) == ["one", "two"]


def test_side_chains_and_what_the_program_wrote_in_its_users_name_are_left_out() -> None:
    lines = [
        prompt("u1", None, "one"),
        prompt("x1", None, "look into it", isSidechain=True),
        prompt("u2", "u1", "Caveat", isMeta=True),
        prompt("u3", "u2", "<command-name>/clear</command-name>"),
        prompt("u4", "u3", "<local-command-stdout>ok</local-command-stdout>"),
        line("u5", "u4", "user", [text("<system-reminder>be good</system-reminder>"), text("two")]),
        line("a1", "u5", "assistant", [text("API Error")], message={"model": "<synthetic>"}),
        prompt("u6", "a1", "three"),
    ]
    assert words(*lines) == ["one", "two", "three"]


def test_a_prompt_that_was_typed_while_the_assistant_worked_is_not_lost() -> None:
    queued = {"type": "queued_command", "prompt": "use port 81", "commandMode": "prompt"}
    note = {
        "type": "queued_command",
        "prompt": "task 1 is done",
        "commandMode": "task-notification",
    }
    lines = [
        prompt("u1", None, "one"),
        {"type": "attachment", "uuid": "q1", "parentUuid": "u1", "attachment": queued},
        {"type": "attachment", "uuid": "q2", "parentUuid": "q1", "attachment": note},
        prompt("u2", "q2", "two"),
    ]
    assert words(*lines) == ["one", "use port 81", "two"]


def test_images_are_left_out_of_results_and_prompts() -> None:
    image = {"type": "image", "source": {"data": "AAAA"}}
    shown = {"type": "tool_result", "tool_use_id": "t1", "content": [image, text("a chart")]}
    (message,) = claude.messages([line("u1", None, "user", [image, shown])])
    assert message["content"] == [
        {"type": "tool_result", "tool_use_id": "t1", "content": [text("a chart")]}
    ]


def test_a_result_says_that_its_tool_failed() -> None:
    failed = {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True}
    (message,) = claude.messages([line("u1", None, "user", [failed])])
    assert message["content"] == [failed]


def test_the_last_response_tells_how_much_is_used_without_what_it_wrote() -> None:
    usage_fields = {"input_tokens": 2, "cache_read_input_tokens": 100, "output_tokens": 50}
    lines = [
        line("a1", None, "assistant", [], message={"usage": {"input_tokens": 9}}),
        line("a2", "a1", "assistant", [], message={"usage": usage_fields, "model": "opus"}),
        line("x", None, "assistant", [], message={"usage": {"input_tokens": 1}}, isSidechain=True),
        line("s", None, "assistant", [], message={"usage": usage_fields, "model": "<synthetic>"}),
    ]
    usage = claude.usage(lines)
    assert usage is not None
    assert (usage.used_tokens, usage.window_tokens, usage.model) == (102, None, "opus")
    assert claude.usage(lines[:0]) is None
    assert claude.session(lines) == "7"


def test_a_response_was_given_when_its_first_line_was() -> None:
    transcript = claude.messages(
        [
            prompt("u", None, "list", timestamp="2026-11-21T01:40:00Z"),
            block("a", "u", "r", text("Let me."), timestamp="2026-11-21T01:40:05Z"),
            block("b", "a", "r", call("c"), timestamp="2026-11-21T01:40:09Z"),
        ]
    )
    assert [message["timestamp"][-3:-1] for message in transcript] == ["00", "05"]


def test_a_response_of_many_lines_is_joined_in_linear_time() -> None:
    lines = [block(f"a{n}", f"a{n - 1}", "r", text(f"part {n % 9_000}")) for n in range(10_000)]
    with effort() as spent:
        (message,) = claude.messages(lines)
    assert len(message["content"]) == 9_000
    assert spent.units < 100
