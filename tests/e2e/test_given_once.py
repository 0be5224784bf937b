"""One session is told a thing once, until its window is emptied: over the socket, as hooks ask."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.daemon import Spawned, wait_until
from support.desk import Desk, a_desk

pytestmark = pytest.mark.model

QUESTIONS = (
    "Where does the billing service keep its data?",
    "Which database does billing use?",
    "What is the database of the billing service?",
    "Tell me about the database of billing.",
)
FACT = "The billing service keeps its data in PostgreSQL 16."
PROSE = "There are several ways to do this, each with costs of its own, as is well known. " * 4


@pytest.fixture
def desk(daemon: Spawned, request: pytest.FixtureRequest) -> Iterator[Desk]:
    with a_desk(daemon, request.node.name.replace("[", "-").replace("]", "")) as desk:
        yield desk


def given(desk: Desk, question: str, session: str = "s") -> list[str]:
    prompt = desk.prompt(question, session_id=session)
    return [memory["id"] for memory in prompt["memories"]]


def test_a_memory_is_given_once_and_the_prompt_says_what_it_leaves_out(desk: Desk) -> None:
    fact = desk.store(FACT)
    desk.settle()
    assert given(desk, QUESTIONS[0]) == [fact]
    prompt = desk.prompt(QUESTIONS[1], session_id="s")
    assert (prompt["memories"], prompt["in_window"]) == ([], [fact])
    assert prompt["left_out"]["in_window"] == 1
    assert desk.recall(QUESTIONS[1], session_id=None)["memories"][0]["id"] == fact
    assert given(desk, QUESTIONS[1], session="t") == [fact]


def test_a_question_that_is_sent_again_is_answered_again(desk: Desk) -> None:
    fact = desk.store(FACT)
    desk.settle()
    assert given(desk, QUESTIONS[0]) == [fact] == given(desk, QUESTIONS[0])


def test_what_was_given_comes_again_after_a_compaction_and_only_then(desk: Desk) -> None:
    fact = desk.store(FACT)
    desk.settle()
    report = {"source": "editor", "session_id": "s", "window_tokens": 200_000}
    desk.call("usage.report", **report, used_tokens=150_000)
    assert given(desk, QUESTIONS[0]) == [fact]
    desk.call("usage.report", **report, used_tokens=151_000, event="PreCompact")
    wait_until(lambda: given(desk, QUESTIONS[1]) == [fact], "the window to be emptied")
    desk.call("usage.report", **report, used_tokens=30_000)  # the compaction that was announced
    assert given(desk, QUESTIONS[2]) == []
    desk.call("usage.report", **report, used_tokens=90_000)
    desk.call("usage.report", **report, used_tokens=20_000)  # one that was not
    wait_until(lambda: given(desk, QUESTIONS[3]) == [fact], "the window to be emptied again")


def test_what_a_nap_learnt_of_a_session_comes_back_when_its_list_is_swapped(desk: Desk) -> None:
    rule = "We always check the nginx config before restarting"
    answers = [{"role": "assistant", "content": f"{PROSE} Part {n}."} for n in range(4)]
    messages = [{"role": "user", "content": rule}, *answers]
    question = "What do we check before restarting nginx?"
    desk.call("sleep.consolidate", messages=messages, session_id="s")
    desk.settle()
    assert given(desk, question, session="t")
    assert given(desk, question)
    desk.ingest("Nginx was restarted, we checked its config before.", session_id="s")
    desk.settle()
    own = desk.prompt(question, session_id="s")
    assert own["left_out"]["in_window"] >= 1


def test_a_list_that_is_swapped_for_a_shorter_one_is_an_emptied_window(desk: Desk) -> None:
    fact = desk.store(FACT)
    desk.settle()
    assert given(desk, QUESTIONS[0]) == [fact]
    messages = [{"role": "assistant", "content": f"{PROSE} Part {n}."} for n in range(30)]
    report = {"source": "editor", "session_id": "s", "window_tokens": 30_000}
    desk.call("usage.report", **report, used_tokens=20_000, messages=messages)
    assert given(desk, QUESTIONS[1]) == []
    full = desk.call("usage.report", **report, used_tokens=25_000, messages=messages)
    assert full["consolidated"]["detail"]["messages_removed"] > 0
    assert given(desk, QUESTIONS[2]) == [fact]
    desk.call("usage.report", **report, used_tokens=5_000)
    assert given(desk, QUESTIONS[3]) == []


@pytest.mark.parametrize("project", ["/home/ada/" + "deep/" * 200 + "end"])
def test_a_long_path_is_a_project(desk: Desk, project: str) -> None:
    desk.ingest("The deep project builds with make.", session_id="s")
    assert desk.call("session.start", session_id="s", project_id=project)["project_id"] == project
    desk.store("The deep project is tested with pytest.", project_id=project)
    desk.settle()
    prompt = desk.prompt("How is it tested?", project_id=project)
    assert prompt["memories"]


def test_who_only_acknowledges_asks_nothing_and_is_told_nothing_new(desk: Desk) -> None:
    desk.store("yes")
    desk.store(FACT)
    desk.settle()
    for acknowledgement in ("yes", "ok, thanks", "go on", "1"):
        prompt = desk.prompt(acknowledgement, session_id="s")
        assert (prompt["memories"], prompt["messages"]) == ([], [])
    assert given(desk, QUESTIONS[0])
