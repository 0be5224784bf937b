"""Format of an exported file: a header line, then one record per line. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from memd.base.errors import InvalidError

EXPORT_VERSION = 1
HEADER = {"memd": "export", "v": EXPORT_VERSION}
WHOLE_VERSION = 3
WHOLE = {"memd": "export", "v": WHOLE_VERSION}
"""Header of a full export; version 1 has one agent's visible memories."""
END = "end"


def is_whole(header: dict[str, Any]) -> bool:
    """Return whether *header* is that of a full export, of any version."""
    version = header.get("v")
    return header.get("memd") == WHOLE["memd"] and isinstance(version, int) and version > 1


def jsonl_parts(lines: Iterable[str], source: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSONL file, skipping the header line of an export.

    Raises InvalidError, with the line number, for a line that is not a JSON object, and for an
    export of a newer memd.
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
    """Raise InvalidError unless *header* is that of an export which this memd can read."""
    if header.get("memd") != HEADER["memd"]:
        raise InvalidError(f"{source}: not an export of memories", field="file")
    version = header.get("v")
    if not isinstance(version, int) or version > WHOLE_VERSION:
        raise InvalidError(
            f"{source}: an export of version {version}; this memd reads up to {WHOLE_VERSION}",
            field="file",
            hint="upgrade memd",
        )
