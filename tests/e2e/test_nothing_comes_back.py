"""What memd tells an assistant never comes back as new: not by answers, naps or transcripts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pytest
from support.daemon import Spawned, wait_until
from support.desk import Desk, a_desk, served
from support.hook_process import ASSISTANTS, hook, introduce, repository

pytestmark = pytest.mark.model

ROUNDS, ROUNDS_LONG = 6, 10  # each question twice at least
FACTS = (
    ("The billing service keeps its data in PostgreSQL 16.", "person"),
    ("The release archives are uploaded to the Fjord bucket every Thursday.", "web"),
    ("The staging cluster runs in Frankfurt, on four small machines.", "assistant"),
)
QUESTIONS = (
    "Where does the billing service keep its data?",
    "Where are the release archives uploaded to?",
    "Where does the staging cluster run?",
)
ANSWERS = (
    "As noted earlier, the billing service keeps its data in PostgreSQL 16.",
    "The release archives are uploaded to the Fjord bucket every Thursday.",
    "According to memory: the staging cluster runs in Frankfurt, on four small machines.",
)


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def daemon(home: Path, model_dir: Any) -> Iterator[Spawned]:
    with served(home, model_dir, {"HOME": str(home)}) as daemon:
        introduce(daemon, *ASSISTANTS)
        yield daemon


def claude(path: Path, session: str, question: str, context: str, answer: str) -> None:
    """Write a transcript as Claude Code does: what a hook adds is an attachment."""
    each: dict[str, Any] = {"sessionId": session, "isSidechain": False}
    lines: list[dict[str, Any]] = [
        {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"content": question}},
        {"type": "attachment", "uuid": "u2", "parentUuid": "u1",
         "attachment": {"type": "hook_additional_context", "content": [context]}},
        {"type": "assistant", "uuid": "u3", "parentUuid": "u2",
         "message": {"id": "m1", "content": [
             {"type": "text", "text": "Let me look."},
             {"type": "tool_use", "id": "c1", "name": "mcp__memd__memory_search", "input": {}}]}},
        {"type": "user", "uuid": "u4", "parentUuid": "u3", "message": {"content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": context}]}},
        {"type": "assistant", "uuid": "u5", "parentUuid": "u4",
         "message": {"id": "m2", "content": [{"type": "text", "text": answer}]}},
    ]  # fmt: skip
    path.write_text("".join(json.dumps({**each, **line}) + "\n" for line in lines))


def gemini(path: Path, session: str, question: str, context: str, answer: str) -> None:
    """Write a chat as Gemini CLI does: what a hook adds stands in the user's own message."""
    added = f"<hook_context>{escape(context, quote=False)}</hook_context>"
    lines: list[dict[str, Any]] = [
        {"sessionId": session, "kind": "main"},
        {"id": "1", "type": "user", "content": [{"text": question}, {"text": added}]},
        {"id": "2", "type": "gemini", "content": answer},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def codex(path: Path, session: str, question: str, context: str, answer: str) -> None:
    """Write a rollout as Codex does: what a hook adds is a message of the developer."""

    def message(role: str, text: str) -> dict[str, Any]:
        content = [{"type": "input_text", "text": text}]
        return {
            "type": "response_item",
            "payload": {"type": "message", "role": role, "content": content},
        }

    lines = [
        {"type": "session_meta", "payload": {"id": session}},
        message("user", question),
        message("developer", context),
        message("assistant", answer),
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


NAMES = ("UserPromptSubmit", "Stop", "SessionEnd")
WAYS = {
    "claude-code": (".claude/projects/p", claude, NAMES),
    "gemini": (".gemini/tmp/p/chats", gemini, ("BeforeAgent", "AfterAgent", "SessionEnd")),
    "codex": (".codex/sessions/1", codex, (*NAMES[:2], "PreCompact")),
}


def known(desk: Desk) -> dict[str, tuple[str, int]]:
    """Return what a prompt may hold: every memory with its origin and trust."""
    items = desk.call("memory.list", limit=1_000)["items"]
    return {
        item["content"]: (item["origin"], item["trust"]) for item in items if not item["passing"]
    }


@pytest.mark.parametrize("rounds", [ROUNDS, pytest.param(ROUNDS_LONG, marks=pytest.mark.long)])
@pytest.mark.parametrize("source", WAYS)
def test_told_answered_and_napped_again_and_again_nothing_is_new(
    daemon: Spawned, home: Path, source: str, rounds: int
) -> None:
    folder, write, (ask, stop, end) = WAYS[source]
    (home / folder).mkdir(parents=True)
    project = repository(home / "proj")
    with a_desk(daemon, source) as desk:
        for content, origin in FACTS:
            desk.store(content, origin=origin, project_id=str(project))
        desk.settle()
        before = known(desk)
        assert len(before) == len(FACTS)
        for turn in range(rounds):
            session = f"s{turn}"
            question, answer = (texts[turn % len(texts)] for texts in (QUESTIONS, ANSWERS))
            path = home / folder / f"{session}.jsonl"
            base = {"session_id": session, "cwd": str(project), "transcript_path": str(path)}
            added = hook(home, source, "SessionStart", {**base, "source": "startup"}).added
            added += hook(home, source, ask, {**base, "prompt": question}).added
            assert FACTS[turn % len(FACTS)][0] in added
            write(path, session, question, added, answer)
            answers = {"last_assistant_message": answer, "prompt_response": answer}
            hook(home, source, stop, {**base, **answers})
            hook(home, source, end, base)
            wait_until(lambda name=session: napped(desk, name), "the nap")  # type: ignore[misc]
            desk.settle()
        assert known(desk) == before


def napped(desk: Desk, session: str) -> bool:
    windows = desk.call("usage.list")["items"]
    return any(each["session_id"] == session and each["napped_at"] for each in windows)
