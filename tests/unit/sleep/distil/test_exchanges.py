"""A session is read as its exchanges: a message of the user up to the next."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.sleep.distil.agent.calls import command, edited_path
from memd.sleep.distil.exchanges import AgentText, ToolRun, split_exchanges
from memd.sleep.distil.language.failures import has_failed
from memd.sleep.transcript.facts import HEADER


def _say(role: str, text: str) -> dict[str, object]:
    return {"role": role, "content": text}


def test_an_exchange_is_what_the_user_wrote_and_what_the_agent_did_until_they_wrote_again() -> None:
    call = {"id": "7", "function": {"name": "Bash", "arguments": '{"command": "make"}'}}
    messages = [
        _say("user", "build it"),
        {**_say("assistant", "I build it."), "tool_calls": [call]},
        {**_say("tool", "Exit code 2"), "tool_call_id": "7"},
        _say("assistant", "The compiler is missing."),
        _say("user", "install it then"),
    ]
    one, other = split_exchanges(messages)
    assert (one.place, one.end, one.user) == (0, 3, "build it")
    assert one.texts == [AgentText(1, "I build it."), AgentText(3, "The compiler is missing.")]
    (run,) = one.runs
    assert (run.place, run.tool, run.arguments, run.result) == (
        1,
        "Bash",
        {"command": "make"},
        "Exit code 2",
    )
    assert other.before == tuple(one.texts)


def test_what_instructs_the_model_and_an_earlier_summary_are_in_no_exchange() -> None:
    messages = [
        _say("system", "You are an agent. Always end with FINISHED."),
        _say("developer", "Use tabs."),
        _say("user", f"{HEADER}\n\n- a fact"),
        _say("user", "hello"),
    ]
    (only,) = split_exchanges(messages)
    assert (only.user, only.texts, only.place) == ("hello", [], 3)


def test_what_an_agent_only_thought_is_none_of_its_texts() -> None:
    """Some recorders write thoughts down as the agent's text."""
    answers = ["The user table is `guest`.", "The users want two things, see `todo.md`."]
    thoughts = [
        "The user wants to add a filter. I should look at the list first.",
        "Okay, the user is getting an error about `id`. The issue is likely `to_param`.",
        "The user has\nasked twice.",
    ]
    texts = [_say("assistant", text) for text in (*thoughts, *answers)]
    (only,) = split_exchanges([_say("user", "Where are the guests?"), *texts])
    assert [each.text for each in only.texts] == answers
    assert only.end == len(texts)


OUTPUT = "ship: no route to host kite-7"


def _answer(text: object, name: str = "Bash", **fields: object) -> ToolRun:
    """Return the call of a tool that a message of role tool answers."""
    call = {"id": "7", "function": {"name": name, "arguments": '{"command": "make ship"}'}}
    answer = {"role": "tool", "tool_call_id": "7", "content": text, **fields}
    ((run,),) = [each.runs for each in split_exchanges([{"tool_calls": [call]}, answer])]
    return run


def _block_answer(text: object, **fields: object) -> ToolRun:
    """Return the call of a tool that a block of a message answers."""
    call = {"type": "tool_use", "id": "7", "name": "Bash", "input": {"command": "make ship"}}
    block = {"type": "tool_result", "tool_use_id": "7", "content": text, **fields}
    messages = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [block]}]
    ((run,),) = [each.runs for each in split_exchanges(messages)]
    return run


@pytest.mark.parametrize("answer", [_answer, _block_answer])
@pytest.mark.parametrize(
    ("fields", "is_failure"),
    [
        ({"is_error": True}, True),
        ({"isError": True}, True),
        ({"exit_code": 2}, True),
        ({"exitCode": -9}, True),
        ({"exit_code": 0, "is_error": True}, True),
        ({"status": "error"}, True),
        ({"status": "success"}, False),
        ({"status": ["error"]}, False),
        ({"is_error": False}, False),
        ({"exit_code": 0}, False),
        ({"exit_code": None, "is_error": "no"}, False),
        ({"exit_code": True, "is_error": 1}, False),
    ],
)
def test_a_field_of_a_result_tells_that_a_tool_failed(
    answer: Callable[..., ToolRun], fields: dict[str, object], *, is_failure: bool
) -> None:
    assert has_failed(answer(OUTPUT, **fields)) is is_failure
    assert has_failed(answer([{"type": "text", "text": OUTPUT}], **fields)) is is_failure


def test_an_exit_code_counts_more_than_what_was_printed() -> None:
    assert has_failed(_answer("FAILED is only quoted"))
    assert not has_failed(_answer("FAILED is only quoted", exit_code=0))
    assert has_failed(_answer("the exit code 0 is only quoted", exit_code=1))
    assert has_failed(_answer("FAILED", is_error=False)), "what printed FAILED did not end well"


@pytest.mark.parametrize(
    ("text", "is_failure"),
    [
        (f"{OUTPUT}\n[exit code 2]", True),
        (f"{OUTPUT}\n[exit code: 2]\n", True),
        (f"{OUTPUT}\nexit code: 2", True),
        (f"{OUTPUT}\n(Exit Code 130)", True),
        (f"{OUTPUT}\nexit_code=2", True),
        ("FAILED is only quoted\n[exit code 0]", False),
        (f"[exit code 2] is told below\n{OUTPUT}", False),
        ({"stdout": OUTPUT, "exit_code": 2}, True),
        ({"stdout": "FAILED is only quoted", "exitCode": 0}, False),
        ('{"exitCode": 2, "stdout": "' + "x" * 900 + '"}', True),
        ('{"stdout": "' + "x" * 900 + '", "exitCode":2}', True),
        ('[{"exitCode": 2}]', False),
    ],
)
def test_an_exit_code_within_a_result_tells_that_a_tool_failed(
    text: object, *, is_failure: bool
) -> None:
    assert has_failed(_answer(text)) is is_failure
    assert has_failed(_block_answer(text)) is is_failure


def test_the_exit_code_stands_at_the_head_once() -> None:
    assert _answer("Exit code 2\nno rule", is_error=True).result == "Exit code 2\nno rule"
    assert _answer("no rule", is_error=True).result == "Exit code 1\nno rule"
    assert _answer("no rule", is_error=False).result == "no rule"


def test_a_file_is_written_by_an_edit_that_did_not_fail() -> None:
    def edit(**fields: object) -> str:
        given = {"file_path": "a.py", "new_string": "1"}
        return edited_path(_answer("done", "Edit", **fields)._replace(arguments=given))

    assert edit() == edit(exit_code=0) == edit(is_error=False) == "a.py"
    assert edit(exit_code=1) == edit(is_error=True) == ""


@given(st.text(), st.integers() | st.floats() | st.none() | st.booleans() | st.text())
def test_no_result_and_no_field_is_an_error(text: str, value: object) -> None:
    result = _answer(text, exit_code=value, is_error=value).result
    assert result is not None
    assert result.endswith(text)


@pytest.mark.parametrize(
    "text",
    [
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        "The user doesn't want to take this action right now. STOP what you are doing.",
        "Permission to use Bash with command make ship has been denied.",
        "Claude requested permissions to use Bash, but you haven't granted it yet.",
    ],
)
def test_a_call_that_was_refused_did_nothing(text: str) -> None:
    run = _block_answer(text, is_error=True)
    assert (command(run), edited_path(run)) == (None, "")
    assert command(_block_answer(f"log: {text}")) is not None
