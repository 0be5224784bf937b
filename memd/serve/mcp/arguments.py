"""Parsing the arguments of a tool call as language models write them. Pure.

Common mistakes are accepted: other names of arguments, numbers in quotes, a single value in
place of a list. Anything else is refused with a sentence that says what to send instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from memd.inject.tools.arguments import (
    BadArgumentError,
    categories_of,
    limit_of,
    short_value,
    text_of,
)
from memd.rpc.mcp_tools import TOOLS

_ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "query": ("q", "question", "search", "searchquery", "text", "prompt"),
    "limit": ("topk", "k", "n", "max", "maxresults", "numresults", "count"),
    "categories": ("category", "types", "type", "memorytypes"),
    "category": ("type", "memorytype", "kind"),
    "text": ("content", "memory", "fact", "note", "value", "newtext", "newcontent", "data"),
    "tags": ("tag", "labels"),
    "id": ("memoryid", "ids", "uuid"),
    "since": ("from", "start"),
    "until": ("to", "before", "end"),
    "after": ("cursor", "next"),
    "dry_run": ("preview",),
    "file_text": ("content", "text"),
    "path": ("filepath", "file"),
}
"""Other names that models use for an argument, in lower case without separators."""

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    tool["name"]: tuple(tool["inputSchema"]["properties"]) for tool in TOOLS
}


def parse_arguments(tool: str, raw: Any) -> dict[str, Any]:
    """Return the arguments of *tool* under their declared names, without nulls.

    >>> parse_arguments("memory_search", {"Q": "tea", "topK": 3})
    {'query': 'tea', 'limit': 3}
    """
    if raw is None:
        raw = {}
    if not isinstance(raw, dict):
        raise BadArgumentError(f"arguments must be an object, not {short_value(raw)}")
    names = NAMES[tool]
    by_name = {_plain(name): name for name in names}
    by_alias = {alias: name for name in names for alias in _ALIASES.get(name, ())}
    arguments: dict[str, Any] = {}
    for key, value in raw.items():
        name = by_name.get(_plain(key)) or by_alias.get(_plain(key))
        if name is None:
            takes = f"it takes {', '.join(names)}" if names else "it takes none"
            raise BadArgumentError(f"{tool} takes no argument {short_value(key)}; {takes}")
        if value is None:
            continue
        if name in arguments and arguments[name] != value:
            raise BadArgumentError(f"{name} is given twice")
        arguments[name] = value
    return arguments


def text(arguments: Mapping[str, Any], name: str) -> str:
    """Return a required text; a list of one text counts as the text."""
    value = arguments.get(name)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return text_of({name: value}, name)


def limit(arguments: Mapping[str, Any], default: int, most: int) -> int:
    """Return the limit, at most *most*; *default* without one.

    Raises BadArgumentError if it is not a number.
    """
    value = arguments.get("limit")
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value.strip()[:9])  # nine digits are above any limit, and fast to convert
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise BadArgumentError(f"limit must be a number, not {short_value(value)}")
    return limit_of({"limit": value}, default, most)


def categories(arguments: Mapping[str, Any]) -> list[str] | None:
    """Return the categories to search, None for all; a single one need not be a list."""
    value = arguments.get("categories")
    known = categories_of({"categories": [value] if isinstance(value, str) else value}).known
    return None if known is None else sorted(known)


def tags(arguments: Mapping[str, Any]) -> list[str]:
    """Return the tags; a single one need not be a list."""
    value = arguments.get("tags", [])
    value = [value] if isinstance(value, str) else value
    if not isinstance(value, list) or not all(isinstance(tag, str) for tag in value):
        raise BadArgumentError("tags must be a list of texts")
    return value


def flag(arguments: Mapping[str, Any], name: str) -> bool:
    """Return the boolean *name*, False without one. Raises BadArgumentError for anything else."""
    value = arguments.get(name, False)
    if isinstance(value, str) and value.strip().lower() in {"true", "false"}:
        value = value.strip().lower() == "true"
    if not isinstance(value, bool):
        raise BadArgumentError(f"{name} must be true or false, not {short_value(value)}")
    return value


def moment(arguments: Mapping[str, Any], name: str) -> str | None:
    """Return a time with its zone, by default this computer's zone.

    >>> moment({"since": "2026-11-01T10:00:00+00:00"}, "since")
    '2026-11-01T10:00:00+00:00'
    """
    value = arguments.get(name)
    if value is None:
        return None
    try:
        time = datetime.fromisoformat(value.strip())
        return (time if time.tzinfo is not None else time.astimezone()).isoformat()
    except (AttributeError, TypeError, ValueError, OverflowError, OSError):
        raise BadArgumentError(
            f"{name} must be a date such as 2026-11-01 or 2026-11-01T09:30, not "
            f"{short_value(value)}"
        ) from None


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")
