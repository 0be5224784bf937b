"""What memd says of itself to a client of MCP: revisions, instructions, tools, resources, prompts.

It is the same for all clients, but for the rules in the instructions. Used by the daemon, and by
``memd mcp`` while no daemon runs: a client that gets an error at its start asks no more. Standard
library only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from memd import __version__
from memd.rpc.mcp_tools import TOOLS
from memd.view.view import ENTRY_TAG, untrusted_content_directive

NEWEST: Final = "2026-07-28"
HANDSHAKES: Final = ("2025-11-25", "2025-06-18")
"""The older revisions, newest first. A client that asks for another one is offered the first."""

_META: Final = "io.modelcontextprotocol/"
PRIVATE: Final = {"ttlMs": 0, "cacheScope": "private"}
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

RECENT, BRIEF = "memory://recent", "memory://brief"
ITEM: Final = "memory://item/"
TEXT_TYPE: Final = "text/plain"

RESOURCES: Final[tuple[dict[str, Any], ...]] = (
    {
        "uri": BRIEF,
        "name": "brief",
        "title": "Brief",
        "description": "The brief that a session gets when it starts.",
        "mimeType": TEXT_TYPE,
    },
    {
        "uri": RECENT,
        "name": "recent",
        "title": "Newest memories",
        "description": "The twenty newest memories.",
        "mimeType": TEXT_TYPE,
    },
)
TEMPLATES: Final[tuple[dict[str, Any], ...]] = (
    {
        "uriTemplate": f"{ITEM}{{id}}",
        "name": "item",
        "title": "One memory",
        "description": "One memory whole, by its id.",
        "mimeType": TEXT_TYPE,
    },
)

_ABOUT: Final = {"name": "about", "description": "what it is about", "required": True}
PROMPTS: Final[tuple[dict[str, Any], ...]] = (
    {
        "name": "recall",
        "title": "Recall",
        "description": "Answer from what is remembered about something.",
        "arguments": [_ABOUT],
    },
    {
        "name": "remember",
        "title": "Remember",
        "description": "Have something kept for later sessions.",
        "arguments": [{**_ABOUT, "name": "what", "description": "what to keep"}],
    },
    {
        "name": "review",
        "title": "Review memories",
        "description": "Look through the newest memories for what is wrong or out of date.",
        "arguments": [],
    },
)

_LISTS: Final[Mapping[str, tuple[str, tuple[dict[str, Any], ...]]]] = {
    "tools/list": ("tools", TOOLS),
    "prompts/list": ("prompts", PROMPTS),
    "resources/list": ("resources", RESOURCES),
    "resources/templates/list": ("resourceTemplates", TEMPLATES),
}
"""The results of the listing methods: the same for all clients, complete in one page."""

INTRODUCTIONS: Final = ("initialize", "server/discover")


def meta_of(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a request, {} if there are none."""
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def revision_of(params: Mapping[str, Any]) -> Any:
    """Return the revision that a request names, None for a client with a handshake."""
    return meta_of(params).get(f"{_META}protocolVersion")


def is_supported(revision: Any) -> bool:
    """Return whether memd speaks this revision of MCP."""
    return revision is None or revision in (NEWEST, *HANDSHAKES)


def answer(
    method: str, params: Mapping[str, Any], rules: Sequence[str] = ()
) -> dict[str, Any] | None:
    """Return the result of a request about memd itself, None for any other.

    The instructions contain *rules*. The lists are complete in one page.
    """
    if not is_supported(revision_of(params)):
        return None
    if method in INTRODUCTIONS:
        return complete(method, params, _introduce(method, params, rules), PRIVATE)
    if method == "ping":
        return complete(method, params, {}, {})
    if method not in _LISTS:
        return None
    name, items = _LISTS[method]
    return complete(method, params, {name: list(items)}, _PUBLIC)


def complete(
    method: str, params: Mapping[str, Any], result: dict[str, Any], fresh: Mapping[str, Any]
) -> dict[str, Any]:
    """Return *result* with what the client's revision adds, such as how long it is *fresh*."""
    if revision_of(params) != NEWEST and method != "server/discover":
        return result
    serves = {f"{_META}serverInfo": SERVER}
    return {**result, **fresh, "resultType": "complete", "_meta": serves}


def _introduce(method: str, params: Mapping[str, Any], rules: Sequence[str]) -> dict[str, Any]:
    version = params.get("protocolVersion")
    agreed = version if version in HANDSHAKES else HANDSHAKES[0]
    revision = {"supportedVersions": [NEWEST]}
    return {
        **({"protocolVersion": agreed} if method == "initialize" else revision),
        "capabilities": CAPABILITIES,
        "serverInfo": SERVER,
        "instructions": "\n\n".join([INSTRUCTIONS, *rules]),
    }
