"""What assistants are shown of memd: short, complete, the same each time."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from memd.rpc.mcp_tools import TOOLS
from memd.serve.mcp.arguments import NAMES
from memd.serve.mcp.calls import CALLS

CHARS_MAX = 4_000


def test_all_that_stands_in_every_prompt_is_short() -> None:
    rendered = [(tool["name"], tool["description"], tool["inputSchema"]) for tool in TOOLS]
    written = [len(n) + len(d) + len(json.dumps(s, separators=(",", ":"))) for n, d, s in rendered]
    assert sum(written) <= CHARS_MAX


def test_each_tool_has_a_call_and_each_call_a_tool() -> None:
    assert [tool["name"] for tool in TOOLS] == list(CALLS) == list(NAMES)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: str(tool["name"]))
def test_a_tool_says_when_to_use_it_first_and_what_it_may_do(tool: dict[str, Any]) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", tool["name"])
    assert re.match(r"Use (when|before|to|memory_\w+ instead) ?", tool["description"])
    hints = {"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    assert set(tool["annotations"]) == hints
    assert not (tool["annotations"]["readOnlyHint"] and tool["annotations"]["destructiveHint"])
    schema = tool["inputSchema"]
    assert set(schema.get("required", ())) <= set(schema["properties"])


def test_what_a_model_must_see_is_never_hidden() -> None:
    marked = {tool["name"] for tool in TOOLS if "_meta" in tool}
    assert marked == {"memory_search", "memory_add"}
