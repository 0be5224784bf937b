"""What an imported file is made of: one part a request, found by rules that repeat.

Pure. Reading the same file again yields the same parts with the same references,
so the daemon recognises what it has already (SPEC D7) and an import that was
interrupted is simply run again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from memd.base.errors import InvalidError
from memd.base.limits import NAME_CHARS_MAX, TEXT_CHARS_MAX

EXPORT_VERSION = 1
HEADER = {"memd": "export", "v": EXPORT_VERSION}
PART_CHARS_MAX = 8_000
"""Characters of one part: small enough that a person can read where a memory came from."""

_HEADING = re.compile(r"^#{1,6}\s+\S")
_FENCE = re.compile(r"^\s{0,3}(```|~~~)")

assert PART_CHARS_MAX <= TEXT_CHARS_MAX


def text_parts(text: str, source: str) -> Iterator[dict[str, Any]]:
    """Yield the paragraphs of *text*, gathered into parts, as ingest requests."""
    for number, part in enumerate(_gathered(re.split(r"\n\s*\n", text)), start=1):
        yield {
            "text": part,
            "source": reference(source, number),
            "order": number,
            "origin": "import",
        }


def markdown_parts(text: str, source: str) -> Iterator[dict[str, Any]]:
    """Yield the sections of a Markdown *text*, each with its heading, as ingest requests.

    A line that looks like a heading inside fenced code is code.
    """
    number = 0
    for section in _sections(text.splitlines()):
        for part in _gathered(re.split(r"\n\s*\n", section)):
            number += 1
            yield {
                "text": part,
                "source": reference(source, number),
                "order": number,
                "origin": "import",
            }


def jsonl_parts(lines: Iterable[str], source: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSONL file; the first line may say what wrote it.

    Raises InvalidError, naming the line, for what is not a JSON object or comes
    from a newer memd.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise InvalidError(f"{source}, line {number}: not a JSON object", field="file")
        if number == 1 and "memd" in found:
            check_header(found, source)
            continue
        yield found


def check_header(found: dict[str, Any], source: str) -> None:
    """Raise InvalidError unless *found* is the header of an export that this memd can read."""
    if found.get("memd") != HEADER["memd"]:
        raise InvalidError(f"{source}: this is not an export of memories", field="file")
    version = found.get("v")
    if not isinstance(version, int) or version > EXPORT_VERSION:
        raise InvalidError(
            f"{source}: an export of version {version}; this memd reads {EXPORT_VERSION}",
            field="file",
            hint="upgrade memd",
        )


def reference(source: str, number: int) -> str:
    """Return the reference of part *number* of *source*, its end kept when it is too long.

    >>> reference("notes.md", 3)
    'notes.md#3'
    """
    return f"{source}#{number}"[-NAME_CHARS_MAX:]


def _sections(lines: Iterable[str]) -> Iterator[str]:
    section: list[str] = []
    fenced = False
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
        if not fenced and _HEADING.match(line) and section:
            yield "\n".join(section)
            section = []
        section.append(line)
    if section:
        yield "\n".join(section)


def _gathered(paragraphs: Iterable[str]) -> Iterator[str]:
    """Join paragraphs up to the limit of a part; a longer paragraph is cut into several."""
    part = ""
    for paragraph in (piece for text in paragraphs for piece in _cut(text.strip("\n"))):
        if not paragraph.strip():
            continue
        if part and len(part) + 2 + len(paragraph) > PART_CHARS_MAX:
            yield part
            part = ""
        part = f"{part}\n\n{paragraph}" if part else paragraph
    if part:
        yield part


def _cut(text: str) -> Iterator[str]:
    while len(text) > PART_CHARS_MAX:
        end = text.rfind(" ", 1, PART_CHARS_MAX) + 1 or PART_CHARS_MAX
        yield text[:end]
        text = text[end:]
    yield text
