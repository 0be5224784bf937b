"""Naps keep a statement for what stands around it: the agent repeats it, or it takes one back."""

from __future__ import annotations

import pytest
from support.distilled_memories import without_digest

from memd.sleep.transcript.messages import Message


def _kept(*texts: str) -> list[str]:
    """Return the memories of a talk, in which the user and the agent take turns."""
    roles = ("user", "assistant")
    messages: list[Message] = [
        {"role": roles[at % 2], "content": text} for at, text in enumerate(texts)
    ]
    return [memory.text for memory in without_digest(messages)]


@pytest.mark.parametrize(
    ("user", "agent"),
    [
        (
            "default temperature 0.3 for the tool agent, 0.8 for chat",
            "0.3 for tools, 0.8 for chat.",
        ),
        ("the lease ends 1 dec", "Noted: lease until 1 December."),
        ("abholung erst um 9", "Abholung um 9 Uhr."),
        ("en Femke wil alles als pdf", "Femke krijgt pdf's."),
        ("she hates leek", "No leek. Carrot and ginger then."),
    ],
)
def test_what_the_agent_repeats_is_kept_with_its_words(user: str, agent: str) -> None:
    assert _kept("hello there", "Hello!", user, agent) == [f"{user}\nOutcome: {agent}"]


@pytest.mark.parametrize(
    ("user", "agent"),
    [
        ("how thick is the insulation", "The insulation is 20 mm thick."),
        ("is htop or btop the one with the graphs", "btop has the graphs."),
        ("translate good night to dutch", "Good night in Dutch is goedenacht."),
        ("off to work, client call at 10", "Good luck with the call!"),
        ("good night", "Good night."),
        ("ok commit chore(PAY-1510)", "Committed."),
        ("commit perf(PAY-1515). I'm off friday btw", "Committed 4c1d2aa."),
        ("commit test(PAY-1520), I'll remove the worktree after merge", "Committed."),
        ("merge it after lunch then", "Merged."),
        ("the hall is cold, take a jumper", "Which hall is cold?"),
        ("boiler shows E9 and no hot water", "Check the pressure; low pressure causes it."),
    ],
)
def test_an_answer_or_a_wish_back_repeats_nothing(user: str, agent: str) -> None:
    assert not _kept("hello there", "Hello!", user, agent)


def test_after_a_call_of_a_tool_the_agent_only_reports() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "set", "arguments": "{}"}}
    messages: list[Message] = [
        {"role": "user", "content": "living room lights at 40%"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "ok"},
        {"role": "assistant", "content": "Living room lights at 40 %."},
    ]
    assert not without_digest(messages)


def test_a_choice_that_is_given_up_takes_its_place() -> None:
    offer = "I would use redis, or a postgres table."
    given_up = "drop redis again, it lost two jobs on restart. use the postgres table"
    talk = ("where do we keep the queue?", offer, "redis then", "Redis it is.", "write it", "Done.")
    assert _kept(*talk) == [f"User: redis then\nIn answer to: where do we keep the queue? {offer}"]
    assert [text.split("\n")[0] for text in _kept(*talk, given_up, "Switched.")] == [
        f"User: {given_up}"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "No more errors, thanks",
        "no more test failures. it compiles now, two warnings left",
        "no more coffee, thanks",
        "no more migrations today pls",
        "I changed my mind about the green, go back to what it was.",
        "i've changed my mind on the second paragraph, keep it",
    ],
)
def test_a_report_of_the_moment_takes_nothing_back(text: str) -> None:
    assert not _kept("hello there", "Hello!", text, "Sure.")


@pytest.mark.parametrize("text", ["I came around to tofu", "i switched from tabs to spaces"])
def test_what_takes_back_a_preference_is_kept(text: str) -> None:
    assert _kept("hello there", "Hello!", text, "Sure.") == [text]
