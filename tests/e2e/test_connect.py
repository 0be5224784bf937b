"""What ``memd connect NAME --print`` prints is what the file needs, and it starts a pump."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.daemon import Spawned, environment, spawned
from support.pumping import pumped


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spawned]:
    with spawned(tmp_path_factory.mktemp("home")) as daemon:
        yield daemon


def typed(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "memd", *words],
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )


def entry(name: str, printed: str) -> dict[str, Any]:
    if name == "codex":
        return dict(tomllib.loads(printed)["mcp_servers"]["memd"])
    return dict(json.loads(printed)["mcpServers"]["memd"])


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_what_is_printed_connects_the_assistant_as_itself(daemon: Spawned, name: str) -> None:
    home = daemon.log.parent
    shared = typed(home, "connect", name, "--print")
    assert entry(name, shared.stdout)["args"] == ["mcp"]
    assert f"memd client add {name} --agent {name}" in shared.stderr
    with daemon.client() as owner:
        owner.call("client.add", {"name": name, "agent_id": name})
    own = typed(home, "connect", name, "--print")
    found = entry(name, own.stdout)
    assert Path(found["command"]).is_absolute()
    assert found["env"] == {"MEMD_HOME": str(home)}
    assert "client add" not in own.stderr
    first, *more = found["args"]
    assert first == "mcp"
    bare = {**environment(home), **found["env"]}
    with pumped(home, *more, environ=bare) as pump:
        assert pump.tool("memory_status")["structuredContent"]["client"] == name


def test_what_memd_does_not_do_it_says(daemon: Spawned) -> None:
    home = daemon.log.parent
    unknown = typed(home, "connect", "eliza", "--print")
    assert unknown.returncode != 0
    assert "claude-code, codex" in unknown.stderr
    writing = typed(home, "connect", "codex")
    assert writing.returncode != 0
    assert "--print says what to add" in writing.stderr
