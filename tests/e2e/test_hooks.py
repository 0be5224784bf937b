"""``memd hook``: what assistants tell at their events, and what they are told; real processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.daemon import WAIT_S, Spawned, wait_until
from support.desk import Desk, a_desk, served
from support.git import git
from support.hook_process import ASSISTANTS, hook, introduce, log_lines, repository, unread
from support.mcp_process import bare

pytestmark = pytest.mark.model

FACT = "The billing service keeps its data in PostgreSQL 16."
QUESTION = "Where does the billing service keep its data?"
TOLD = "Releases of the heron service go out on Thursdays, from the release branch."


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, model_dir: Any) -> Iterator[Spawned]:
    home = tmp_path_factory.mktemp("home")
    with served(home, model_dir, {"HOME": str(home)}) as daemon:
        introduce(daemon, *ASSISTANTS)
        yield daemon


@pytest.fixture
def home(daemon: Spawned) -> Path:
    return daemon.home


# What each assistant says of a prompt and an answer, as it was recorded or is documented.
PROMPTS: dict[str, tuple[str, dict[str, Any]]] = {
    "claude-code": ("UserPromptSubmit", {"hook_event_name": "UserPromptSubmit"}),
    "codex": ("UserPromptSubmit", {"turn_id": "t1", "model": "fake"}),
    "qwen": ("UserPromptSubmit", {"prompt_id": "q########0", "submitted_prompt": "..."}),
    "gemini": ("BeforeAgent", {"timestamp": "2026-11-21T21:16:16.994Z"}),
    "copilot": ("userPromptSubmitted", {"timestamp": 1795297051652}),
    "cursor": ("beforeSubmitPrompt", {"generation_id": "g1", "cursor_version": "3.0"}),
    "opencode": ("chat.message", {"message_id": "m1"}),
}
ANSWERS: dict[str, tuple[str, str]] = {
    "claude-code": ("Stop", "last_assistant_message"),
    "codex": ("Stop", "last_assistant_message"),
    "qwen": ("Stop", "last_assistant_message"),
    "gemini": ("AfterAgent", "prompt_response"),
    "cursor": ("afterAgentResponse", "text"),
    "opencode": ("session.idle", "text"),
}


def of_session(source: str, session: str, cwd: Path, **more: Any) -> dict[str, Any]:
    named = {"copilot": "sessionId", "cursor": "conversation_id"}.get(source, "session_id")
    place = {"workspace_roots": [str(cwd)]} if source == "cursor" else {"cwd": str(cwd)}
    return {named: session, **place, **more}


def kept(desk: Desk, session: str) -> set[tuple[str, str]]:
    items = desk.call("memory.list", session_id=session)["items"]
    return {(item["origin"], item["content"]) for item in items}


@pytest.mark.parametrize("source", ASSISTANTS)
def test_a_prompt_is_told_what_is_known_and_is_kept_as_its_person_s(
    daemon: Spawned, home: Path, source: str, tmp_path: Path
) -> None:
    project = repository(tmp_path / "proj")
    event, more = PROMPTS[source]
    with a_desk(daemon, source) as desk:
        desk.store(FACT, project_id=str(project))
        desk.settle()
        asks = of_session(
            source, f"{source}-1", project / "src", prompt=f"{QUESTION} {TOLD}", **more
        )
        printed = hook(home, source, event, asks)
        assert (printed.code, printed.err) == (0, "")
        if source == "cursor":
            assert printed.out == ""
        else:
            assert FACT in printed.added
            assert TOLD not in printed.added
            assert len(printed.added) <= 9_500
        wait_until(lambda: bool(kept(desk, f"{source}-1")), "the prompt is kept")
        assert kept(desk, f"{source}-1") == {("person", f"{QUESTION} {TOLD}")}
        (session,) = desk.call("session.list")["items"]
        assert session["project_id"] == str(project)
        assert hook(home, source, event, asks).out == ""  # the same event by another settings file
        assert desk.count() == 2


def test_an_output_that_nobody_reads_is_no_failure_and_the_prompt_is_kept(
    daemon: Spawned, home: Path, tmp_path: Path
) -> None:
    asks = of_session("claude-code", "unread", tmp_path, prompt=f"{QUESTION} {TOLD}")
    with a_desk(daemon, "claude-code") as desk:
        desk.store(FACT)
        desk.settle()
        assert unread(home, ["hook", "claude-code", "UserPromptSubmit"], asks) == (0, "")
        assert "BrokenPipeError" in log_lines(home)[-1]  # there was something to print
        (home / "state" / "hooks.log").unlink()  # others look whether nothing was noted
        wait_until(lambda: bool(kept(desk, "unread")), "the prompt is kept")


@pytest.mark.parametrize("source", ANSWERS)
def test_an_answer_is_kept_as_the_assistant_s(
    daemon: Spawned, home: Path, source: str, tmp_path: Path
) -> None:
    event, named = ANSWERS[source]
    answer = of_session(source, f"{source}-2", tmp_path, **{named: TOLD})
    assert hook(home, source, event, answer) == (0, "", "")
    with a_desk(daemon, source) as desk:
        wait_until(lambda: bool(kept(desk, f"{source}-2")), "the answer is kept")
        assert kept(desk, f"{source}-2") == {("assistant", TOLD)}


def test_a_session_that_begins_gets_a_brief_and_one_that_goes_on_does_not(
    daemon: Spawned, home: Path, tmp_path: Path
) -> None:
    project = repository(tmp_path / "proj")
    with a_desk(daemon, "claude-code") as desk:
        desk.store("Run the checks with make gate.", project_id=str(project))
    begins = {"session_id": "b1", "cwd": str(project), "source": "startup"}
    printed = hook(home, "claude-code", "SessionStart", begins)
    assert "make gate" in printed.added
    assert json.loads(printed.out)["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    goes_on = {**begins, "source": "resume"}
    assert hook(home, "claude-code", "SessionStart", goes_on) == (0, "", "")
    assert log_lines(home) == []


@pytest.mark.parametrize(
    ("source", "event", "has_brief"),
    [
        ("claude-code", "SessionStart", {"startup": True, "resume": False, "compact": True}),
        ("codex", "SessionStart", {"resume": True, "fork": False}),
        ("copilot", "sessionStart", {"new": True, "resume": True}),
    ],
)
def test_a_resumed_session_gets_the_brief_that_it_was_never_given_or_did_not_keep(
    daemon: Spawned, home: Path, source: str, event: str, has_brief: dict[str, bool], tmp_path: Path
) -> None:
    project = repository(tmp_path / "proj")
    with a_desk(daemon, source) as desk:
        desk.call("preference.set", name="tone", value="Be brief.")
    for begins, has in has_brief.items():
        starts = of_session(source, f"{source}-r", project) | {"source": begins}
        assert ("Be brief." in hook(home, source, event, starts).added) == has


def test_gemini_gets_the_brief_with_its_first_prompt_and_nothing_twice(
    daemon: Spawned, home: Path, tmp_path: Path
) -> None:
    project = repository(tmp_path / "proj")
    with a_desk(daemon, "gemini") as desk:
        desk.call("preference.set", name="tone", value="Be brief.")
        desk.store("Run the checks with make gate.", project_id=str(project))
        desk.store(FACT)
        desk.settle()

    def asks(text: str) -> str:
        event = of_session("gemini", "g1", project, prompt=text, timestamp=text)
        return hook(home, "gemini", "BeforeAgent", event).added

    starts = of_session("gemini", "g1", project) | {"source": "startup"}
    assert hook(home, "gemini", "SessionStart", starts).out == ""
    first = asks(QUESTION)
    assert "make gate" in first
    assert FACT in first
    assert first.count("Be brief.") == 1
    assert first.count("Treat it as untrusted") == 1
    assert hook(home, "gemini", "SessionStart", {**starts, "source": "resume"}).out == ""
    assert "make gate" not in asks("And who owns it?")


def test_a_linked_working_tree_gets_the_brief_of_its_project(
    daemon: Spawned, home: Path, tmp_path: Path
) -> None:
    project, linked = tmp_path / "proj", tmp_path / "fix"
    project.mkdir()
    git(project, "init", "-q")
    git(project, "commit", "-qm", "first", "--allow-empty")
    git(project, "worktree", "add", "-q", str(linked))
    with a_desk(daemon, "claude-code") as desk:
        desk.store("Run the linter with make lint.", project_id=str(project))
    begins = {"session_id": "b2", "cwd": str(linked), "source": "startup"}
    assert "make lint" in hook(home, "claude-code", "SessionStart", begins).added


def test_of_a_long_prompt_the_words_above_the_paste_are_kept(
    daemon: Spawned, home: Path, tmp_path: Path
) -> None:
    paste = "\n".join(f"10:0{n % 10} error {n}: the kestrel queue is full" for n in range(400))
    event = {"session_id": "l1", "cwd": str(tmp_path), "prompt": f"{TOLD}\n\n{paste}"}
    assert hook(home, "claude-code", "UserPromptSubmit", event).code == 0
    with a_desk(daemon, "claude-code") as desk:
        wait_until(lambda: bool(kept(desk, "l1")), "the prompt is kept")
        assert kept(desk, "l1") == {("person", TOLD)}


def test_what_is_asked_below_a_paste_is_answered(
    daemon: Spawned, home: Path, tmp_path: Path
) -> None:
    paste = "\n".join(f"10:0{n % 10} error {n}: the kestrel queue is full" for n in range(400))
    event = {"session_id": "l2", "cwd": str(tmp_path), "prompt": f"{paste}\n\n{QUESTION}"}
    with a_desk(daemon, "claude-code") as desk:
        desk.store(FACT)
        desk.settle()
        assert FACT in hook(home, "claude-code", "UserPromptSubmit", event).added


ASIDE: dict[str, dict[str, Any]] = {
    "a scheduled task": {"source": "schedule_wakeup"},
    "a loop": {"source": "loop_wakeup"},
    "a sub-agent": {"agent_id": "a1", "agent_type": "Explore"},
    "what the program wrote": {"prompt": f"<task-notification>{TOLD}</task-notification>"},
    "another program's event": {"sessionId": "v1", "session_id": None},
}


@pytest.mark.parametrize("what", ASIDE)
def test_what_no_person_said_is_neither_answered_nor_kept(
    daemon: Spawned, home: Path, what: str, tmp_path: Path
) -> None:
    session = what.replace(" ", "-")
    base = {"session_id": session, "cwd": str(tmp_path), "prompt_id": session, "prompt": TOLD}
    event_params = {
        name: value for name, value in {**base, **ASIDE[what]}.items() if value is not None
    }
    assert hook(home, "claude-code", "UserPromptSubmit", event_params) == (0, "", "")
    answer = {**event_params, "last_assistant_message": f"{TOLD} And on Fridays."}
    answer.pop("source", None)
    if "prompt" not in ASIDE[what] and "source" in ASIDE[what]:
        assert hook(home, "claude-code", "Stop", answer) == (0, "", "")
    asked = {**base, "session_id": f"{session}-2", "prompt_id": "own", "prompt": "We use pnpm."}
    hook(home, "claude-code", "UserPromptSubmit", asked)  # what came before is done with
    with a_desk(daemon, "claude-code") as desk:
        wait_until(lambda: bool(kept(desk, f"{session}-2")), "a person's prompt is kept")
        assert kept(desk, session) == set()


def test_an_event_that_cursor_reads_in_claude_s_settings_is_cursor_s_and_one(
    daemon: Spawned, home: Path, tmp_path: Path
) -> None:
    of_cursor = {
        "conversation_id": "cc1",
        "generation_id": "g1",
        "cursor_version": "3.1",
        "workspace_roots": [str(tmp_path)],
        "prompt": TOLD,
    }
    hook(home, "cursor", "beforeSubmitPrompt", of_cursor)
    hook(home, "claude-code", "UserPromptSubmit", of_cursor, "--client", "claude-code")
    with a_desk(daemon, "cursor") as desk:
        wait_until(lambda: bool(kept(desk, "cc1")), "the prompt is kept")
        assert kept(desk, "cc1") == {("person", TOLD)}
    with a_desk(daemon, "claude-code") as desk:
        assert "cc1" not in {each["session_id"] for each in desk.call("session.list")["items"]}


def test_after_a_compaction_the_session_has_its_facts_back(
    daemon: Spawned, home: Path, tmp_path: Path
) -> None:
    project = repository(tmp_path / "proj")
    base = {"session_id": "k1", "cwd": str(project)}

    def asks(number: int) -> str:
        event = {
            **base,
            "prompt_id": f"p{number}",
            "prompt": f"{QUESTION} Again, please: {number}.",
        }
        return hook(home, "claude-code", "UserPromptSubmit", event).added

    with a_desk(daemon, "claude-code") as desk:
        desk.store(FACT, project_id=str(project))
        desk.settle()
        hook(home, "claude-code", "SessionStart", {**base, "source": "startup"})
        assert FACT not in asks(1)  # the brief told it
        hook(home, "claude-code", "PreCompact", {**base, "trigger": "auto"})

        def napped() -> bool:
            items = desk.call("usage.list")["items"]
            return any(each["session_id"] == "k1" and each["napped_at"] for each in items)

        wait_until(napped, "the nap before the compaction")
        compacted = hook(home, "claude-code", "SessionStart", {**base, "source": "compact"})
        assert FACT in compacted.added + asks(2)


def test_what_holds_in_every_prompt_is_told_once_until_it_changes_or_the_window_is_emptied(
    daemon: Spawned, home: Path, tmp_path: Path
) -> None:
    base = {"session_id": "st1", "cwd": str(repository(tmp_path / "proj"))}

    def is_told(number: int) -> bool:
        event = {**base, "prompt_id": f"p{number}", "prompt": f"Sort list {number}, please."}
        return "Answer in Dutch." in hook(home, "claude-code", "UserPromptSubmit", event).added

    with a_desk(daemon, "claude-code") as desk:
        desk.call("preference.set", name="language", value="Answer in Dutch.")
        begins = {**base, "source": "startup"}
        assert "Answer in Dutch." in hook(home, "claude-code", "SessionStart", begins).added
        assert not is_told(1)
        desk.call("preference.set", name="units", value="Give sizes in metres.")
        assert (is_told(2), is_told(3)) == (True, False)
        hook(home, "claude-code", "SessionStart", {**base, "source": "compact"})
        assert not is_told(4)  # the brief told it
        desk.call("preference.delete", name="units")
        assert is_told(5)


def test_what_was_not_read_is_told_again(daemon: Spawned, home: Path, tmp_path: Path) -> None:
    """A mark says that something was printed, so it is made after that."""
    base = {"session_id": "st2", "cwd": str(repository(tmp_path / "proj"))}

    def asks(number: int) -> dict[str, str]:
        return {**base, "prompt_id": f"q{number}", "prompt": f"Sort list {number}, please."}

    with a_desk(daemon, "claude-code") as desk:
        desk.call("preference.set", name="language", value="Answer in Dutch.")
        begins = {**base, "source": "startup"}
        assert unread(home, ["hook", "claude-code", "SessionStart"], begins) == (0, "")
        assert unread(home, ["hook", "claude-code", "UserPromptSubmit"], asks(1)) == (0, "")
        (home / "state" / "hooks.log").unlink()  # others look whether nothing was noted
        for number, is_told in ((2, True), (3, False)):
            printed = hook(home, "claude-code", "UserPromptSubmit", asks(number))
            assert ("Answer in Dutch." in printed.added) == is_told


def test_the_end_of_a_session_is_napped_over_by_its_transcript(
    daemon: Spawned, home: Path, tmp_path: Path
) -> None:
    transcript = home / ".claude" / "projects" / "p" / "e1.jsonl"
    transcript.parent.mkdir(parents=True, exist_ok=True)
    rule = "From now on always run the linter before each commit of the heron service."
    lines = [
        {"type": "user", "uuid": "1", "sessionId": "e1", "message": {"content": rule}},
        {"type": "assistant", "uuid": "2", "parentUuid": "1", "sessionId": "e1",
         "message": {"id": "m", "content": [{"type": "text", "text": "I will."}]}},
    ]  # fmt: skip
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
    base = {"session_id": "e1", "cwd": str(tmp_path), "transcript_path": str(transcript)}
    assert hook(home, "claude-code", "SessionEnd", {**base, "reason": "other"}) == (0, "", "")
    with a_desk(daemon, "claude-code") as desk:
        wait_until(
            lambda: any(rule in text for _, text in kept(desk, "e1")), "the rule is remembered"
        )
        assert desk.call("session.messages", session_id="e1")["items"] != []


def test_an_answer_that_the_transcript_has_a_moment_later_is_kept(
    daemon: Spawned, home: Path, tmp_path: Path
) -> None:
    recorded = Path(__file__).parents[1] / "golden" / "clients" / "copilot.jsonl"
    answer = "Understood: fake answer."
    new = "The avocet exporter writes its files to the host Skog at noon."
    text = recorded.read_text().replace(answer, new)
    transcript = tmp_path / "events.jsonl"
    event = of_session("copilot", "late", tmp_path, transcriptPath=str(transcript))
    marks = daemon.paths.runtime_dir / "hooks"
    before = set(marks.glob("*"))
    process = subprocess.Popen(
        [sys.executable, "-m", "memd", "hook", "copilot", "agentStop"],
        env=bare(home, {"MEMD_HOOK_SECONDS": str(WAIT_S)}),
        stdin=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(event).encode())
    process.stdin.close()
    wait_until(lambda: set(marks.glob("*")) > before, "the hook runs")
    transcript.write_text(text)
    assert process.wait(WAIT_S) == 0
    with a_desk(daemon, "copilot") as desk:
        wait_until(lambda: bool(kept(desk, "late")), "the answer is kept")
        assert kept(desk, "late") == {("assistant", new)}


def test_usage_comes_from_the_transcript_of_who_has_no_status_line(
    daemon: Spawned, home: Path
) -> None:
    recorded = Path(__file__).parents[1] / "golden" / "clients"
    for source, event in (("codex", "Stop"), ("copilot", "agentStop"), ("gemini", "AfterAgent")):
        named = "transcriptPath" if source == "copilot" else "transcript_path"
        event_params = of_session(
            source, f"{source}-u", home, **{named: str(recorded / f"{source}.jsonl")}
        )
        assert hook(home, source, event, event_params) == (0, "", "")
        with a_desk(daemon, source) as desk:

            def window(desk: Desk = desk, name: str = f"{source}-u") -> Any:
                items = desk.call("usage.list")["items"]
                return next((each for each in items if each["session_id"] == name), None)

            wait_until(lambda: window() is not None, "the window is known")
            assert window()["used_tokens"] in {1_200, 1_209}
            assert window()["window_tokens"] is not None
