"""X33: a failed task becomes a lesson in three tiers, and a skill; .49 is discarded, .5 is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.llm_endpoint import an_endpoint, settings_for
from support.setting_effects import a_stage

FAILED: dict[str, Any] = {
    "task_id": "t1",
    "task_title": "Deploy the shop",
    "error_message": "Error: lock held by pid 4711",
    "tool_calls_made": ["Bash"],
}


def lesson(confidence: float) -> dict[str, Any]:
    tiers = {name: f"The {name}." for name in ("discovery", "condition", "action", "rationale")}
    return {**tiers, "execution_steps": ["Remove the lock."], "confidence": confidence}


@pytest.mark.parametrize(("confidence", "is_kept"), [(0.49, False), (0.5, True)])
async def test_x33_a_failed_task_becomes_a_procedural_lesson_in_three_tiers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, confidence: float, is_kept: bool
) -> None:
    folder = tmp_path / "skills"
    with an_endpoint(lesson(confidence)) as stub:
        tree = {
            "llm": settings_for(stub, uses={"lessons": True}),
            "memory": {"procedural": {"skill_md_directory": str(folder)}},
        }
        async with a_stage(tmp_path / "home", monkeypatch, tree) as stage:
            made = await stage.call("learn.failure", **FAILED)
            items = (await stage.call("memory.list"))["items"]
            if not is_kept:
                assert (made["id"], items) == (None, [])
                assert made["why_not"] == "a confidence of 0.49 is below 0.50"
                return
            (entry,) = items
            assert entry["category"] == "procedural"
            assert entry["metadata"]["tags"][0] == "non-inferable"
            assert entry["metadata"]["source"] == "failure:t1"
            assert entry["content"] == "The discovery."
            whole = await stage.call("memory.get", id=entry["id"])
            assert whole["content"] == (
                "[DISCOVERY] The discovery.\n\n[CONDITION] The condition.\n\n"
                "[ACTION] The action.\n\n[RATIONALE] The rationale.\n\n"
                "[EXECUTION]\n  1. Remove the lock."
            )
            (file,) = folder.glob("*/SKILL.md")
            assert file.read_text("utf-8").startswith(f"---\nname: {file.parent.name}\n")


async def test_x33_a_skill_that_cannot_be_written_only_warns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "skills"
    folder.write_text("a file")
    tree = {"memory": {"procedural": {"skill_md_directory": str(folder)}}}
    async with a_stage(tmp_path / "home", monkeypatch, tree) as stage:
        made = await stage.call("learn.failure", **FAILED)
        assert made["id"]
        assert made["skill_path"] is None
    assert folder.read_text() == "a file"
