"""The official client of MCP drives every tool through the installed pump, in each of its modes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from support.daemon import Spawned, spawned
from support.pumping import bare

from memd.serve.mcp.calls import CALLS

mcp = pytest.importorskip("mcp", reason="pip install memd[dev]")

CALLED: dict[str, dict[str, Any]] = {
    "memory_add": {"text": "The otter build needs Node 22."},
    "memory_search": {"query": "What does the otter build need?"},
    "memory_get": {},
    "memory_list": {"limit": 5},
    "memory_update": {"text": "The otter build needs Node 24."},
    "memory_delete": {},
    "memory_status": {},
    "memory": {"command": "view", "path": "/memories"},
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spawned]:
    with spawned(tmp_path_factory.mktemp("home")) as daemon:
        yield daemon


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
async def test_every_tool_works_for_the_official_client(daemon: Spawned, mode: str) -> None:
    assert set(CALLED) == set(CALLS)
    started = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "memd", "mcp"], env=bare(daemon.log.parent)
    )
    async with mcp.Client(started, mode=mode) as client:
        listed = await client.list_tools()
        assert [tool.name for tool in listed.tools] == list(CALLS)
        memory_id = None
        for name, arguments in CALLED.items():
            more: dict[str, Any] = (
                {"id": memory_id} if name.endswith(("get", "update", "delete")) else {}
            )
            result = await client.call_tool(name, {**arguments, **more})
            assert not result.is_error, result
            if name == "memory_add":
                (memory_id,) = result.structured_content["stored"]
