"""The methods of MCP, for clients with and without the ``initialize`` handshake.

No state is kept per client, so a connection may be replaced between any two requests. A client
of revision 2026-07-28 names the revision in each request; any other request gets an answer in
the older form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memd.base.errors import InvalidError
from memd.base.limits import PROJECT_CHARS_MAX
from memd.inject.tools.arguments import short_value
from memd.rpc import mcp_introduction
from memd.rpc.mcp_introduction import HANDSHAKES, INTRODUCTIONS, NEWEST, PRIVATE, complete
from memd.serve.mcp.calls import CALLS, Ask, McpCall, run
from memd.serve.mcp.resources import get_prompt, read_resource, read_rules

UNSUPPORTED: Final = -32022
"""MCP's error code for an unsupported revision."""

_PROJECT: Final = "memd/project"
"""The key under which ``memd mcp`` sends its client's project (``assist/pump.py``)."""
_PROJECT_METHODS: Final = frozenset({"memory.recall", "memory.ingest", "inject.brief"})
"""The methods that get the project."""
_TOOL_USE: Final = "claudecode/toolUseId"
_TOOLS_HINT: Final = "tools/list names all"


class Mcp:
    """Answers MCP requests."""

    async def answer(self, method: str, params: dict[str, Any], ask: Ask) -> dict[str, Any]:
        """Return ``{"result": ...}`` or ``{"error": ...}``; *ask* calls memd's own methods.

        Raises MemdError for an invalid request.
        """
        revision = mcp_introduction.revision_of(params)
        if not mcp_introduction.is_supported(revision):
            return _version_error(revision)
        meta = mcp_introduction.meta_of(params)
        project = meta.get(_PROJECT)
        if not isinstance(project, str) or not 0 < len(project) <= PROJECT_CHARS_MAX:
            project = None
        ask = _in_project(ask, project)
        if method == "tools/call":
            return {"result": complete(method, params, await _call(params, meta, ask), {})}
        if method == "prompts/get":
            return {"result": complete(method, params, await get_prompt(params, ask), {})}
        if method == "resources/read":
            return {"result": complete(method, params, await read_resource(params, ask), PRIVATE)}
        rules = await read_rules(ask, project) if method in INTRODUCTIONS else []
        return {"result": mcp_introduction.answer(method, params, rules)}


def _in_project(ask: Ask, project: str | None) -> Ask:
    """Return *ask* with *project* added to the params of methods that take one."""
    if project is None:
        return ask

    async def ask_in_project(name: str, params: dict[str, Any]) -> Any:
        if name in _PROJECT_METHODS:
            params = {**params, "project_id": project}
        return await ask(name, params)

    return ask_in_project


async def _call(params: Mapping[str, Any], meta: Mapping[str, Any], ask: Ask) -> dict[str, Any]:
    """Return the result of a tool call; most errors are in the result, for the model to read."""
    name = params.get("name")
    if not isinstance(name, str):
        raise InvalidError("name: must be a tool's name", field="name", hint=_TOOLS_HINT)
    if name not in CALLS:
        raise InvalidError(f"there is no tool {short_value(name)}", field="name", hint=_TOOLS_HINT)
    use = meta.get(_TOOL_USE)
    once = {"idempotency_key": f"mcp:{use}"[:256]} if isinstance(use, str) and use else {}
    answer = await run(McpCall(name, params.get("arguments"), ask, once))
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": answer.text}],
        "isError": answer.is_error,
    }
    if answer.structured is not None:
        result["structuredContent"] = answer.structured
    return result


def _version_error(version: Any) -> dict[str, Any]:
    return {
        "error": {
            "code": UNSUPPORTED,
            "message": "unsupported revision of MCP",
            "data": {"supported": [NEWEST, *HANDSHAKES], "requested": short_value(version)},
        }
    }
