"""The lines of an exported file: a header, then one memory each. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from memd.base.errors import InvalidError

EXPORT_VERSION = 1
HEADER = {"memd": "export", "v": EXPORT_VERSION}
WHOLE_VERSION = 3
WHOLE = {"memd": "export", "v": WHOLE_VERSION}
"""The header of an export of everything; version 1 is one agent's visible memories."""
END = "end"


def is_whole(header: dict[str, Any]) -> bool:
    """Return whether *header* is that of an export of everything, of this version or a later."""
    version = header.get("v")
    return header.get("memd") == WHOLE["memd"] and isinstance(version, int) and version > 1


def jsonl_parts(lines: Iterable[str], source: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSONL file; the first line may say what wrote it.

    Raises InvalidError, naming the line, for what is not a JSON object or comes
    from a newer memd.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except ValueError:
            item = None
        if not isinstance(item, dict):
            raise InvalidError(f"{source}, line {number}: not a JSON object", field="file")
        if number == 1 and "memd" in item:
            check_header(item, source)
            continue
        yield item


def check_header(header: dict[str, Any], source: str) -> None:
    """Raise InvalidError unless *header* is the header of an export that this memd can read."""
    if header.get("memd") != HEADER["memd"]:
        raise InvalidError(f"{source}: not an export of memories", field="file")
    version = header.get("v")
    if not isinstance(version, int) or version > WHOLE_VERSION:
        raise InvalidError(
            f"{source}: an export of version {version}; this memd reads up to {WHOLE_VERSION}",
            field="file",
            hint="upgrade memd",
        )
