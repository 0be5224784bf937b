"""The methods of MCP, for clients with and without the ``initialize`` handshake.

No state is kept per client, so a connection may be replaced between any two requests. A client
of revision 2026-07-28 names the revision in each request; any other request gets an answer in
the older form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memd import __version__
from memd.base.errors import InvalidError
from memd.base.limits import PROJECT_CHARS_MAX
from memd.inject.tools.arguments import short_value
from memd.serve.mcp.calls import CALLS, Ask, McpCall, run
from memd.serve.mcp.resources import (
    PROMPTS,
    RESOURCES,
    TEMPLATES,
    get_prompt,
    read_resource,
    read_rules,
)
from memd.serve.mcp.tools import TOOLS
from memd.view.view import ENTRY_TAG, untrusted_content_directive

NEWEST: Final = "2026-07-28"
HANDSHAKES: Final = ("2025-11-25", "2025-06-18")
"""The older revisions, newest first. A client that asks for another one is offered the first."""

UNSUPPORTED: Final = -32022
"""MCP's error code for an unsupported revision."""

_META: Final = "io.modelcontextprotocol/"
_VERSION: Final = f"{_META}protocolVersion"
_PROJECT: Final = "memd/project"
"""The key under which ``memd mcp`` sends its client's project (``assist/pump.py``)."""
_PROJECT_METHODS: Final = frozenset({"memory.recall", "memory.ingest", "inject.brief"})
"""The methods that get the project."""
_TOOL_USE: Final = "claudecode/toolUseId"
_TOOLS_HINT: Final = "tools/list names all"
_PRIVATE: Final = {"ttlMs": 0, "cacheScope": "private"}
_PUBLIC: Final = {"ttlMs": 300_000, "cacheScope": "public"}

SERVER: Final = {"name": "memd", "title": "memd", "version": __version__}
CAPABILITIES: Final = {
    "tools": {"listChanged": False},
    "resources": {"listChanged": False},
    "prompts": {"listChanged": False},
}
INSTRUCTIONS: Final = (
    "memd keeps what was said, decided and learnt in earlier sessions. Search it when a "
    'conversation begins without a brief of memd, for its subject and for "preferences"; '
    "before asking the user for something they may have said before; and before relying on a "
    "convention. Add what a later session will need, when you learn it. "
    + untrusted_content_directive((ENTRY_TAG,))
)

_LISTS: Final[Mapping[str, tuple[str, tuple[dict[str, Any], ...]]]] = {
    "tools/list": ("tools", TOOLS),
    "prompts/list": ("prompts", PROMPTS),
    "resources/list": ("resources", RESOURCES),
    "resources/templates/list": ("resourceTemplates", TEMPLATES),
}
"""The results of the listing methods: the same for all clients, complete in one page."""


class Mcp:
    """Answers MCP requests."""

    async def answer(self, method: str, params: dict[str, Any], ask: Ask) -> dict[str, Any]:
        """Return ``{"result": ...}`` or ``{"error": ...}``; *ask* calls memd's own methods.

        Raises MemdError for an invalid request.
        """
        meta = params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        version = meta.get(_VERSION)
        if version is not None and version not in (NEWEST, *HANDSHAKES):
            return _version_error(version)
        project = meta.get(_PROJECT)
        if not isinstance(project, str) or not 0 < len(project) <= PROJECT_CHARS_MAX:
            project = None
        ask = _in_project(ask, project)
        fresh: Mapping[str, Any] = {}
        if method == "tools/call":
            result = await _call(params, meta, ask)
        elif method == "prompts/get":
            result = await get_prompt(params, ask)
        elif method == "resources/read":
            result, fresh = await read_resource(params, ask), _PRIVATE
        elif method in {"initialize", "server/discover"}:
            rules = await read_rules(ask, project)
            result, fresh = _introduce(method, params, rules), _PRIVATE
        else:
            result, fresh = _listing(method)
        if version == NEWEST or method == "server/discover":
            serves = {f"{_META}serverInfo": SERVER}
            result |= {**fresh, "resultType": "complete", "_meta": serves}
        return {"result": result}


def _in_project(ask: Ask, project: str | None) -> Ask:
    """Return *ask* with *project* added to the params of methods that take one."""
    if project is None:
        return ask

    async def ask_in_project(name: str, params: dict[str, Any]) -> Any:
        if name in _PROJECT_METHODS:
            params = {**params, "project_id": project}
        return await ask(name, params)

    return ask_in_project


def _introduce(method: str, params: Mapping[str, Any], rules: list[str]) -> dict[str, Any]:
    """Return memd's introduction to a client; its instructions include *rules*."""
    version = params.get("protocolVersion")
    agreed = version if version in HANDSHAKES else HANDSHAKES[0]
    revision = {"supportedVersions": [NEWEST]}
    return {
        **({"protocolVersion": agreed} if method == "initialize" else revision),
        "capabilities": CAPABILITIES,
        "serverInfo": SERVER,
        "instructions": "\n\n".join([INSTRUCTIONS, *rules]),
    }


def _listing(method: str) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Return the result of a listing method, and how a client may cache it; {} for a ping."""
    if method not in _LISTS:
        return {}, {} if method == "ping" else _PUBLIC
    name, items = _LISTS[method]
    return {name: list(items)}, _PUBLIC


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
