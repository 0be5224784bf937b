"""``inject.brief`` and ``memd brief``: what to know before the first question."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.daemon import spawned
from support.notes_folder import Desk

from memd.base.errors import InvalidError

RULE = "We never push on Fridays, because the pipeline needs a day to settle."
QUESTION = "Do we push on Fridays?"
SAID = (
    ("user", RULE),
    ("assistant", "Understood: there are no pushes on Fridays."),
    ("user", "Please move the staging server to port 8443."),
    ("assistant", "Done: the staging server listens on port 8443 now."),
)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with spawned(tmp_path, {"MEMD_MODEL_DIR": str(tmp_path / "none")}) as daemon:
        yield Desk(tmp_path, daemon)


def recorded(
    cwd: Path, turns: tuple[tuple[str, str], ...] = SAID, *, session: str = "one", day: int = 2
) -> str:
    lines = [
        {
            "type": role,
            "uuid": f"u-{session}-{number}",
            "sessionId": session,
            "cwd": str(cwd),
            "timestamp": f"2026-03-{day:02}T10:0{number}:00Z",
            "message": {"role": role, "content": text},
        }
        for number, (role, text) in enumerate(turns)
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def test_the_next_session_of_a_project_is_told_what_the_last_one_left(desk: Desk) -> None:
    empty = desk("brief")
    assert (empty.code, empty.out) == (0, "")
    assert "memd list --category" not in desk("preference", "list").err
    project = desk.notes.parent / "hives"
    (project / ".git").mkdir(parents=True)
    desk.write("one.jsonl", recorded(project))
    assert desk("import", "one.jsonl").code == 0

    with desk.daemon.client() as client:
        place = {"session_id": "two", "project_id": str(project)}
        brief: dict[str, Any] = client.call("inject.brief", place)
        again = client.call("inject.prepare", {"query": QUESTION, **place})
        elsewhere = client.call(
            "inject.prepare", {**place, "query": QUESTION, "session_id": "three"}
        )
        other = client.call("inject.brief", {**place, "project_id": "/home/ada/other"})

    directive, fenced = brief["messages"]
    assert "<memory-entry>" in directive["content"]
    assert "never push on Fridays" in fenced["content"]
    assert 0 < brief["tokens_used"] <= 800
    assert "preference" in {item["label"] for item in brief["items"]}
    given = {item["id"] for item in brief["items"]}
    assert not given & {memory["id"] for memory in again["memories"]}
    assert given & {memory["id"] for memory in elsewhere["memories"]}
    assert other["items"] == []
    shown = desk("brief", "--project", str(project))
    assert shown.code == 0
    assert "never push on Fridays" in shown.out
    answer = desk("brief", "--project", str(project), "--json").json
    assert {item["id"] for item in answer["items"]} == given
    assert desk("brief", cwd=project / ".git").out == shown.out
    assert "memd list --category preference" in desk("preference", "list").err
    assert RULE in desk("list", "--category", "preference").out


def test_where_the_work_stopped_is_told_by_the_digest_of_the_projects_last_session(
    desk: Desk,
) -> None:
    for name, session, day in (("hives", "one", 2), ("hives", "two", 5), ("lamps", "three", 9)):
        project = desk.notes.parent / name
        (project / ".git").mkdir(parents=True, exist_ok=True)
        ending = ("assistant", f"Summary: staging is moved, step {day} is done and tested.")
        desk.write(f"{session}.jsonl", recorded(project, (*SAID, ending), session=session, day=day))
        assert desk("import", f"{session}.jsonl").code == 0

    def answer(*words: str) -> list[str]:
        memories = desk("search", "--json", *words).json["memories"]
        assert all("Ended with" in memory["content"] for memory in memories)
        return [memory["session_id"] for memory in memories]

    for question in ("Where did we leave off?", "what is still to do", "Wo waren wir?"):
        assert answer(question, "--project", "hives") == ["two"]
        assert answer(question) == ["three", "two", "one"]
    assert answer("Where did we leave the keys?", "--project", "hives") == []


@pytest.mark.parametrize("query", ["", "  \n"])
def test_a_prompt_without_a_question_is_told_of_the_brief(desk: Desk, query: str) -> None:
    with (
        desk.daemon.client() as client,
        pytest.raises(InvalidError, match=r"query: .*inject\.brief") as refused,
    ):
        client.call("inject.prepare", {"query": query})
    assert refused.value.field == "query"


def test_a_brief_tells_where_a_thing_has_moved_and_not_where_it_was(desk: Desk) -> None:
    project = desk.notes.parent / "hives"
    (project / ".git").mkdir(parents=True)
    before = (
        ("user", "Please deploy to staging."),
        ("assistant", "I deployed to stage1.example.org."),
        ("user", "No, staging is stage2.example.org, not stage1."),
        ("assistant", "Understood."),
    )
    after = (
        ("user", "Please add vitest to the frontend."),
        ("assistant", "I added vitest and a first test of the form."),
        ("user", "Actually we moved staging again, it is stage3.example.org since today."),
        ("assistant", "Understood."),
    )
    desk.write("one.jsonl", recorded(project, before))
    desk.write("two.jsonl", recorded(project, after, session="two", day=3))
    assert desk("import", "one.jsonl").code == 0
    with desk.daemon.client() as client:
        place = {"session_id": "three", "project_id": str(project)}
        first = client.call("inject.brief", place)
        assert desk("import", "two.jsonl").code == 0
        brief = client.call("inject.brief", {**place, "session_id": "four"})
    shown = [line for line in first["messages"][1]["content"].splitlines() if "stage2" in line]
    assert shown
    lines = brief["messages"][1]["content"].splitlines()
    assert any("stage3.example.org" in line for line in lines)
    stale = [line for line in lines if "stage2.example.org" in line]
    assert all("superseded" in line for line in stale)
