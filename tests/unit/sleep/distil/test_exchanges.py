"""A session is read as its exchanges: a message of the user up to the next."""

from __future__ import annotations

from memd.sleep.distil.exchanges import AgentText, split_exchanges
from memd.sleep.nap.facts import HEADER


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
    assert (run.place, run.tool, run.given, run.result) == (
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
