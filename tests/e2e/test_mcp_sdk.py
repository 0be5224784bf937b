"""The official client of MCP drives tools, resources and prompts through the pump, in each mode.

The pump is the installed command, in an environment that is empty but for where this code is.
"""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from support.daemon import ROOT, environment, wait_until

from memd.assist.connection import sockets as socket_paths
from memd.base.errors import MemdError
from memd.client import Client
from memd.serve.mcp.calls import CALLS

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="pip install memd[dev]")

CALLED: dict[str, dict[str, Any]] = {
    "memory_add": {"text": "The otter build needs Node 22."},
    "memory_search": {"query": "What does the otter build need?"},
    "memory_get": {},
    "memory_list": {"limit": 5},
    "memory_update": {"text": "The otter build needs Node 24."},
    "search": {"query": "What does the otter build need?"},
    "fetch": {},
    "memory_delete": {},
    "memory_status": {},
    "memory": {"command": "view", "path": "/memories"},
}


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a daemon where an empty environment leads: its profile is all that is said of it."""
    home = tmp_path_factory.mktemp("home")
    name = f"sdk-{uuid.uuid4().hex[:8]}"
    known = {key: value for key, value in environment(home).items() if key != "MEMD_HOME"}
    started = {**known, "HOME": str(home)}
    started.pop("TMPDIR", None)
    sockets = [Path(path) for path in socket_paths(name, {})]
    process = subprocess.Popen(
        [sys.executable, "-m", "memd", "serve", "--profile", name],
        env=started, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_until(lambda: any(map(_answers, sockets)), "the daemon answers")
        yield name
    finally:
        process.terminate()
        process.wait(60)
        for left in (path for each in sockets for path in each.parent.glob(f"*{name}*")):
            left.rmdir() if left.is_dir() else left.unlink()


def _answers(socket: Path) -> bool:
    try:
        with Client(socket) as client:
            client.call("system.hello")
    except MemdError:
        return False
    return True


def pump(profile: str) -> Any:
    """Return how the installed pump is started, with nothing in its environment."""
    from mcp import StdioServerParameters

    script = Path(sys.executable).with_name("memd")
    installed = [str(script)] if script.exists() else [sys.executable, "-m", "memd"]
    words = ["-i", f"PYTHONPATH={ROOT}", *installed, "mcp", "--profile", profile]
    return StdioServerParameters(command="env", args=words)


def a_client(profile: str, mode: str) -> Any:
    """Return the official client; every worker would import it while it collects the tests."""
    import mcp

    return mcp.Client(pump(profile), mode=mode)


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
async def test_every_tool_works_for_the_official_client(profile: str, mode: str) -> None:
    assert set(CALLED) == set(CALLS)
    async with a_client(profile, mode) as client:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == list(CALLS)
        memory_id = None
        for name, arguments in CALLED.items():
            more: dict[str, Any] = (
                {"id": memory_id} if name.endswith(("get", "update", "delete", "fetch")) else {}
            )
            result = await client.call_tool(name, {**arguments, **more})
            assert not result.is_error, result
            if name == "memory_add":
                (memory_id,) = result.structured_content["stored"]


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
async def test_every_resource_and_prompt_works_for_it(profile: str, mode: str) -> None:
    async with a_client(profile, mode) as client:
        added = await client.call_tool("memory_add", {"text": f"The {mode} heron sleeps."})
        (memory_id,) = added.structured_content["stored"]
        uris = [str(each.uri) for each in (await client.list_resources()).resources]
        (template,) = (await client.list_resource_templates()).resource_templates
        for uri in (*uris, template.uri_template.replace("{id}", memory_id)):
            (content,) = (await client.read_resource(uri)).contents
            assert str(content.uri) == uri
            assert "brief" in uri or "heron sleeps" in content.text
        for prompt in (await client.list_prompts()).prompts:
            names = [each.name for each in prompt.arguments or ()]
            answer = await client.get_prompt(prompt.name, dict.fromkeys(names, "the heron"))
            assert answer.messages[0].content.text
