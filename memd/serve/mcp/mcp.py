"""The methods of MCP, for clients of both eras: those that shake hands and those that do not.

Nothing is kept of a client: which revision it speaks is in each request (2026-07-28), or it
has shaken hands and gets the older shape. So a connection may break and be made anew
between any two requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memd import __version__
from memd.base.errors import InvalidError
from memd.inject.tools.arguments import short_value
from memd.serve.mcp.calls import CALLS, Ask, McpCall, run
from memd.serve.mcp.shown import PROMPTS, RESOURCES, TEMPLATES, prompt, read
from memd.serve.mcp.tools import TOOLS
from memd.view.view import ENTRY_TAG, untrusted_content_directive

NEWEST: Final = "2026-07-28"
HANDSHAKES: Final = ("2025-11-25", "2025-06-18")
"""The older revisions, the newest of them first: it is offered to who names none of them."""

UNSUPPORTED: Final = -32022
"""MCP's own code for a revision that is not spoken here."""

_META: Final = "io.modelcontextprotocol/"
_VERSION: Final = f"{_META}protocolVersion"
_TOOL_USE: Final = "claudecode/toolUseId"
_FRESH_MS: Final = 300_000

SERVER: Final = {"name": "memd", "title": "memd", "version": __version__}
CAPABILITIES: Final = {
    "tools": {"listChanged": False},
    "resources": {"listChanged": False},
    "prompts": {"listChanged": False},
}
INSTRUCTIONS: Final = (
    "memd keeps what was said, decided and learnt in earlier sessions. Search it before asking the "
    "user for something they may have said before, and before relying on a convention or a "
    "preference. Add what a later session will need, when you learn it. "
    + untrusted_content_directive((ENTRY_TAG,))
)

_LISTS: Final[Mapping[str, tuple[str, tuple[dict[str, Any], ...]]]] = {
    "tools/list": ("tools", TOOLS),
    "prompts/list": ("prompts", PROMPTS),
    "resources/list": ("resources", RESOURCES),
    "resources/templates/list": ("resourceTemplates", TEMPLATES),
}
"""The same for everybody, whole: there is no second page."""


class Mcp:
    """Answers MCP's requests."""

    async def answer(self, method: str, params: dict[str, Any], ask: Ask) -> dict[str, Any]:
        """Return ``{"result": ...}`` or ``{"error": ...}``; *ask* calls memd's own methods.

        Raises MemdError for what is wrong with the request itself.
        """
        meta = params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        version = meta.get(_VERSION)
        if version is not None and version not in (NEWEST, *HANDSHAKES):
            return _unsupported(version)
        modern = version == NEWEST or method == "server/discover"
        if method == "tools/call":
            result = await _call(params, meta, ask)
        elif method == "prompts/get":
            result = await prompt(params, ask)
        elif method == "resources/read":
            result = await read(params, ask)
            if modern:
                result |= {"ttlMs": 0, "cacheScope": "private"}
        else:
            result = _common(method, params)
            if modern and method != "ping":
                result |= {"ttlMs": _FRESH_MS, "cacheScope": "public"}
        if modern:
            result |= {"resultType": "complete", "_meta": {f"{_META}serverInfo": SERVER}}
        return {"result": result}


def _common(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is the same for everybody."""
    if method == "initialize":
        version = params.get("protocolVersion")
        spoken = version if version in HANDSHAKES else HANDSHAKES[0]
        return {"protocolVersion": spoken, **_introduction()}
    if method == "server/discover":
        return {"supportedVersions": [NEWEST], **_introduction()}
    if method in _LISTS:
        name, items = _LISTS[method]
        return {name: list(items)}
    return {}


def _introduction() -> dict[str, Any]:
    return {"capabilities": CAPABILITIES, "serverInfo": SERVER, "instructions": INSTRUCTIONS}


async def _call(params: Mapping[str, Any], meta: Mapping[str, Any], ask: Ask) -> dict[str, Any]:
    """Return the result of a tool; what the model can mend is told it in the result."""
    name = params.get("name")
    if not isinstance(name, str) or name not in CALLS:
        raise InvalidError(
            f"there is no tool {short_value(name)}", field="name", hint="tools/list names all"
        )
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


def _unsupported(version: Any) -> dict[str, Any]:
    return {
        "error": {
            "code": UNSUPPORTED,
            "message": "this revision of MCP is not spoken here",
            "data": {"supported": [NEWEST, *HANDSHAKES], "requested": short_value(version)},
        }
    }
