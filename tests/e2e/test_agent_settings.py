"""What one agent does differently, by the settings file and by command (SPEC 7.14)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import forked
from support.daemon import environment, running, spawned
from support.setting_effects import shows

from memd.base.errors import InvalidStateError, MemoryStoreError
from memd.client import AsyncClient
from memd.domain.settings.settings import Settings

FILE = {"ada": {"level": "none"}, "bob": {"retention_days": 30}}


def _settings(agents: dict[str, Any]) -> Settings:
    return Settings.model_validate({"memory": {"agents": agents}})


def _memory(agent_id: str) -> dict[str, Any]:
    return {"agent_id": agent_id, "content": "the boat lies at pier 7", "category": "semantic"}


@shows("memory.agents.type")
async def test_what_the_file_says_of_an_agent_holds_and_of_others_nothing(tmp_path: Path) -> None:
    async with (
        running(tmp_path, settings=_settings(FILE)) as paths,
        AsyncClient(paths.socket) as client,
    ):
        with pytest.raises(MemoryStoreError):
            await client.call("memory.store", _memory("ada"))
        await client.call("memory.store", _memory("eve"))
        answer = await client.call("agent.get", {"agent_id": "bob"})

    assert answer["settings"]["retention_days"] == 30
    assert answer["settings"]["type"] == "persistent"
    assert answer["origins"] == {
        "type": "default",
        "retention_days": "file",
        "retention_overrides": "default",
    }


async def test_what_stands_in_the_file_is_changed_there_and_the_rest_by_call(
    tmp_path: Path,
) -> None:
    async with (
        running(tmp_path, settings=_settings(FILE)) as paths,
        AsyncClient(paths.socket) as client,
    ):
        with pytest.raises(InvalidStateError, match=r"memory\.agents\.ada\.level"):
            await client.call("agent.set", {"agent_id": "ada", "level": "session"})
        answer = await client.call("agent.set", {"agent_id": "bob", "level": "project"})

    assert answer["origins"]["type"] == "call"


async def test_what_leaves_the_file_is_as_it_was_before(tmp_path: Path) -> None:
    for agents, level, origin in (
        (FILE, "none", "file"),
        (FILE, "none", "file"),
        ({}, "persistent", "default"),
    ):
        async with (
            running(tmp_path, settings=_settings(agents)) as paths,
            AsyncClient(paths.socket) as client,
        ):
            answer = await client.call("agent.get", {"agent_id": "ada"})
        assert (answer["settings"]["type"], answer["origins"]["type"]) == (level, origin)


def test_a_person_sets_looks_and_lists(tmp_path: Path) -> None:
    def memd(*words: str) -> subprocess.CompletedProcess[str]:
        return forked.run(["agent", *words], env=environment(tmp_path))

    (tmp_path / "config").mkdir()
    file = tmp_path / "config" / "config.yaml"
    file.write_text("memory: {agents: {bob: {level: session}}}\n", encoding="utf-8")
    with spawned(tmp_path):
        changed = memd("set", "ada", "--retention-days", "90", "--retain", "social=365", "--json")
        shown = memd("show", "bob")
        listed = memd("list", "--json")
        refused = memd("set", "bob", "--level", "none")
        wrong = [
            memd("set", "ada", "--retain", "social"),
            memd("set", "ada", "--retain", "chair=forever"),
            memd("set", "ada", "--retention-days", "soon"),
            memd("set", "ada"),
        ]
        day = memd("set", "ada", "--retention-days", "1")
        both = ("--retention-days", "forever", "--retain", "social=forever", "--json")
        forever = memd("set", "ada", *both)

    answer = json.loads(changed.stdout)
    assert answer["settings"]["retention_days"] == 90
    assert answer["settings"]["retention_overrides"] == [
        {"category": "social", "retention_days": 365}
    ]
    assert answer["origins"]["retention_days"] == "call"
    assert shown.stdout.splitlines()[1].split() == ["level:", "session", "the", "settings", "file"]
    assert [item["agent_id"] for item in json.loads(listed.stdout)["items"]] == ["ada", "bob"]
    assert refused.returncode != 0
    assert "memory.agents.bob.level" in refused.stderr
    assert [each.returncode for each in wrong] == [2, 2, 2, 2]
    assert day.stdout.splitlines()[2].split()[:3] == ["kept:", "1", "day"]
    answer = json.loads(forever.stdout)
    assert answer["settings"]["retention_days"] is None
    assert answer["settings"]["retention_overrides"] == []
    assert answer["origins"]["retention_overrides"] == "default"
