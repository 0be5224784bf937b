"""A failure becomes a lesson, is found again, and is a skill's file (SPEC 17), over a socket."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.llm_endpoint import Status, an_endpoint, settings_for
from support.rows import ran
from support.setting_effects import Stage, a_stage, shows, tree

FAILED: dict[str, Any] = {
    "task_id": "T-17/../x",
    "task_title": "Run the billing tests",
    "task_type": "development",
    "error_message": "redis.exceptions.ConnectionError: connection refused on port 6380",
    "termination_reason": "error",
    "turn_count": 4,
    "tool_calls_made": ["Bash", "Bash", "Bash"],
    "retry_count": 2,
    "max_retries": 3,
    "mended_by": "docker compose up -d redis",
}
TIERS = (
    "[DISCOVERY] ",
    "\n\n[CONDITION] ",
    "\n\n[ACTION] ",
    "\n\n[RATIONALE] ",
    "\n\n[EXECUTION]\n",
)


def skills_in(folder: Path) -> dict[str, str]:
    return {path.parent.name: path.read_text("utf-8") for path in folder.glob("*/SKILL.md")}


def with_folder(folder: Path) -> dict[str, Any]:
    return tree("memory.procedural.skill_md_directory", str(folder))


@shows("memory.procedural.skill_md_directory")
async def test_a_reported_failure_is_found_by_recall_told_in_tiers_and_written_as_a_skill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "skills"
    async with a_stage(tmp_path / "home", monkeypatch, with_folder(folder)) as stage:
        made = await stage.call("learn.failure", **FAILED)
        assert made["is_new"]
        assert made["why_not"] is None
        whole = await stage.call("memory.get", id=made["id"])
        assert whole["category"] == "procedural"
        assert whole["metadata"]["tags"][0] == "non-inferable"
        assert whole["metadata"]["source"] == "failure:T-17/../x"
        assert whole["metadata"]["confidence"] == made["proposal"]["confidence"]
        assert all(tier in whole["content"] for tier in TIERS)
        assert "\n  1. docker compose up -d redis\n" in whole["content"]

        answer = await stage.call("memory.retrieve", text="billing tests connection refused")
        assert [each["id"] for each in answer] == [made["id"]]
        assert answer[0]["content"] == made["proposal"]["discovery"]

        ((name, text),) = skills_in(folder).items()
        assert made["skill_path"] == str(folder / name / "SKILL.md")
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
        assert len(name) <= 64
        assert text.startswith(f'---\nname: {name}\ndescription: "')
        description = json.loads(text.split("\ndescription: ")[1].split("\n")[0])
        assert description.startswith(made["proposal"]["discovery"])
        assert len(description) <= 1024

        again = await stage.call("learn.failure", **FAILED)
        assert (again["id"], again["is_new"]) == (made["id"], False)
        await stage.call("memory.forget", ids=[made["id"]])
        assert skills_in(folder) == {}
        assert list(folder.iterdir()) == []


def cured(place: str) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": "run the tests"},
        *ran("a", "npm test", f"Exit code 1\nError: connect ECONNREFUSED {place}"),
        {"role": "assistant", "content": "The tests fail because Redis is missing there."},
        *ran("b", "docker compose up -d redis", "Started"),
        *ran("c", "npm test", "12 passing"),
        {"role": "assistant", "content": "All of them pass."},
    ]


async def ended(stage: Stage, session: str, place: str = "/run/redis.sock") -> str:
    """Have a session end that cured something, and return its nap."""
    params = {"source": "garden", "session_id": session, "event": "SessionEnd"}
    window = await stage.call("usage.report", messages=cured(place), **params)
    return str(window["consolidated"]["run_id"])


async def test_what_a_nap_saw_cured_is_a_lesson_once_and_a_skill_until_it_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "skills"
    async with a_stage(tmp_path / "home", monkeypatch, with_folder(folder)) as stage:
        run, _ = await ended(stage, "one", "/run/a.sock"), await ended(stage, "two", "/run/b.sock")
        listed = (await stage.call("memory.list"))["items"]
        (fix,) = [each for each in listed if "fix" in each["metadata"]["tags"]]
        (skill,) = (await stage.call("skill.list"))["items"]
        assert skill["id"] == fix["id"]
        assert skill["discovery"].startswith(
            "When npm test fails with: Error: connect ECONNREFUSED"
        )
        assert skill["discovery"].endswith("What cured it: run docker compose up -d redis.")
        assert ".sock" not in skill["discovery"]
        assert skill["confidence"] == 0.9
        assert skill["source"] == "failure:one"
        assert "non-inferable" in skill["tags"]
        page = await stage.call("skill.show", id=skill["id"])
        assert page["proposal"]["condition"].startswith("npm test fails. The error reads: Error:")
        steps = ["Run docker compose up -d redis.", "Run npm test."]
        assert page["proposal"]["execution_steps"] == steps
        await stage.call("skill.export")
        assert skills_in(folder) == {skill["name"]: page["skill_md"]}

        asked = "npm test fails: Error: connect ECONNREFUSED /run/c.sock"
        answer = await stage.call("inject.prepare", query=asked)
        told_text = "".join(each["content"] for each in answer["messages"])
        assert told_text.count("npm test failed: Error: connect ECONNREFUSED") == 1
        assert (await stage.call("memory.why", id=skill["id"]))["turns"]

        await stage.call("sleep.undo", run_id=run)
        assert (await stage.call("skill.list"))["items"] == []
        assert (await stage.call("skill.export"))["removed"] == 1
        assert skills_in(folder) == {}


async def test_a_cure_whose_nap_was_undone_is_told_by_the_next_session(stage: Stage) -> None:
    await stage.call("sleep.undo", run_id=await ended(stage, "one", "/run/a.sock"))
    await ended(stage, "two", "/run/b.sock")
    (skill,) = (await stage.call("skill.list"))["items"]
    assert skill["source"] == "failure:two"


async def in_two_projects(stage: Stage, place: Path) -> list[str]:
    """Have a session in each of two projects cure the same; return the ids of what tells it."""
    for project in ("garden", "field"):
        (folder := place / project / ".git").mkdir(parents=True)
        params = {"source": "test", "session_id": project, "event": "SessionEnd"}
        await stage.call("usage.report", messages=cured("/x"), cwd=str(folder.parent), **params)
        stage.clock.advance(minutes=1)
    listed = (await stage.call("memory.list"))["items"]
    ids = [each["id"] for each in listed if "fix" in each["metadata"]["tags"]]
    assert len(ids) == 2
    assert len((await stage.call("skill.list"))["items"]) == 1
    return ids


async def test_a_lesson_of_naps_in_two_projects_is_pruned_once(
    tmp_path: Path, stage: Stage
) -> None:
    ids = await in_two_projects(stage, tmp_path)
    stage.clock.advance(days=91)
    assert sorted((await stage.call("learn.prune"))["ids"]) == sorted(ids)
    assert (await stage.call("skill.list"))["items"] == []


async def test_a_surer_report_supersedes_a_lesson_of_naps_in_all_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sure = {
        "discovery": "Start redis before npm test.",
        "condition": "npm test fails. The error reads: Error: connect ECONNREFUSED [PATH].",
        "action": "Run docker compose up -d redis.",
        "rationale": "The tests do not start it.",
        "confidence": 0.95,
    }
    with an_endpoint(sure) as stub:
        settings = {"llm": settings_for(stub, uses={"lessons": True})}
        async with a_stage(tmp_path / "home", monkeypatch, settings) as stage:
            ids = await in_two_projects(stage, tmp_path)
            made = await stage.call("learn.failure", **FAILED)
            assert sorted(made["superseded"]) == sorted(ids)
            assert [one["id"] for one in (await stage.call("skill.list"))["items"]] == [made["id"]]


async def test_a_lesson_of_naps_is_compared_with_those_that_are_reported(stage: Stage) -> None:
    await ended(stage, "one")
    (skill,) = (await stage.call("skill.list"))["items"]
    reads = "Error: connect ECONNREFUSED /x/y.sock"
    other = {"task_title": "npm test", "mended_by": "use valkey", "error_message": reads}
    made = await stage.call("learn.failure", **{**FAILED, **other})
    assert made["conflicts"] == [skill["id"]]


@shows("memory.procedural.enabled")
async def test_switched_off_nothing_is_learnt_and_nothing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    off = tree("memory.procedural.enabled", False)
    async with a_stage(tmp_path / "home", monkeypatch, off) as stage:
        made = await stage.call("learn.failure", **FAILED)
        assert made["id"] is None
        assert made["why_not"] == "memory.procedural.enabled is false"
        assert (await stage.call("memory.list"))["items"] == []
        await ended(stage, "one")
        assert (await stage.call("skill.list"))["items"] == []


@shows("memory.procedural.min_confidence")
async def test_a_lesson_that_is_less_sure_than_the_settings_want_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sure = tree("memory.procedural.min_confidence", 0.95)
    async with a_stage(tmp_path / "home", monkeypatch, sure) as stage:
        made = await stage.call("learn.failure", **FAILED)
        assert made["why_not"] == "a confidence of 0.90 is below 0.95"
        await ended(stage, "one")
        assert (await stage.call("skill.list"))["items"] == []


ANSWER: dict[str, Any] = {
    "discovery": "Before the billing tests, start redis with docker compose.",
    "condition": "The billing tests find nobody on port 6380.",
    "action": "Run docker compose up -d redis.",
    "rationale": "The tests do not start it.",
    "execution_steps": ["docker compose up -d redis", "make test"],
    "confidence": 0.5,
    "tags": ["redis"],
}


@shows(
    "llm.uses.lessons",
    "memory.procedural.model",
    "memory.procedural.temperature",
    "memory.procedural.max_tokens",
)
async def test_a_language_model_proposes_where_the_settings_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {"model": "small", "temperature": 0.75, "max_tokens": 321}
    with an_endpoint(ANSWER) as stub:
        settings = {
            "llm": settings_for(stub, uses={"lessons": True}),
            "memory": {"procedural": config},
        }
        async with a_stage(tmp_path / "home", monkeypatch, settings) as stage:
            made = await stage.call("learn.failure", **FAILED)
            assert made["proposal"]["discovery"] == ANSWER["discovery"]
            whole = await stage.call("memory.get", id=made["id"])
            assert "  1. docker compose up -d redis\n  2. make test" in whole["content"]
            assert whole["metadata"]["tags"] == ["non-inferable", "redis"]
        (asked,) = stub.asked
        assert (asked["model"], asked["temperature"], asked["max_tokens"]) == ("small", 0.75, 321)
        (prompt,) = stub.prompts()
        assert prompt.startswith("<failed-task>\n")
        assert prompt.endswith("\n</failed-task>")
        assert "Tools: Bash, Bash, Bash\n" in prompt
        assert "Retries: 2/3\n" in prompt


@pytest.mark.parametrize(
    "answer",
    [
        *({**ANSWER, "confidence": 2}, {"a": 1}, "no JSON", "", "[1]", {**ANSWER, "action": " "}),
        *(Status(503), Status(401)),
    ],
)
async def test_an_answer_that_is_no_lesson_or_none_leaves_it_to_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    with an_endpoint(answer) as stub:
        settings = {"llm": settings_for(stub, uses={"lessons": True})}
        async with a_stage(tmp_path / "home", monkeypatch, settings) as stage:
            made = await stage.call("learn.failure", **FAILED)
        assert stub.asked
    assert made["id"]
    assert made["proposal"]["tags"] == ["connection", "development"]


async def test_the_first_fence_of_an_answer_is_the_lesson(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = {**ANSWER, "discovery": "Something else."}
    fenced = "\n".join(f"```json\n{json.dumps(each)}\n```" for each in (ANSWER, other))
    with an_endpoint(f"Here it is:\n{fenced}") as stub:
        settings = {"llm": settings_for(stub, uses={"lessons": True})}
        async with a_stage(tmp_path / "home", monkeypatch, settings) as stage:
            made = await stage.call("learn.failure", **FAILED)
    assert made["proposal"]["discovery"] == ANSWER["discovery"]


async def test_a_lesson_that_cannot_be_stored_does_not_fail_the_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_stage(tmp_path / "home", monkeypatch, {"memory": {"level": "none"}}) as stage:
        made = await stage.call("learn.failure", **FAILED)
    assert (made["id"], made["is_new"]) == (None, False)
    assert made["why_not"]
