"""Parsing of one note into ingest items with headings, tags and a date. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import PurePath
from typing import Any, NamedTuple

from memd.base.limits import HEADING_CHARS_MAX, NAME_CHARS_MAX, TAGS_MAX, TEXT_CHARS_MAX
from memd.cli.notes.front_matter import FrontMatter, front_matter, leading_day
from memd.cli.notes.sections import NoteSection, sections
from memd.cli.notes.wiki_links import inline_tags, read_links

TEXT_PART_CHARS = 64_000
"""Maximum characters of one item: as JSON at most half a frame, for any characters."""

_NAMELESS = frozenset({"readme", "index", "note", "notes", "untitled"})
"""File names that do not describe the content."""

assert TEXT_PART_CHARS <= TEXT_CHARS_MAX


class Note(NamedTuple):
    """The ingest items of a note, and the problems of its front matter."""

    items: list[dict[str, Any]]
    problems: tuple[str, ...]


def parse_note(text: str, path: PurePath, *, markdown: bool) -> Note:
    """Parse the note at *path*. The same text always gives the same items."""
    front = front_matter(text) if markdown else FrontMatter(text)
    parts = sections(read_links(front.text)) if markdown else [NoteSection((), front.text)]
    outermost = _outermost(front, parts, path.stem)
    occurred_at = front.occurred_at or leading_day(path.stem)
    items = [
        _item(heading, part, tags, occurred_at)
        for section in parts
        for tags in [merge_tags([*front.tags], _tags(section) if markdown else [])]
        for heading, body in [_with_headings(outermost, section)]
        for part in _parts(body)
    ]
    return Note(items, front.problems)


def source_name(path: PurePath) -> str:
    """Return the source name of *path*: the path, or a digest and the end of a long one.

    >>> source_name(PurePath("/home/ada/notes.md"))
    '/home/ada/notes.md'
    """
    whole = str(path)
    if len(whole) <= NAME_CHARS_MAX:
        return whole
    digest = hashlib.sha256(whole.encode(errors="surrogateescape")).hexdigest()[:16]
    return f"{digest}…{whole[17 - NAME_CHARS_MAX :]}"


def merge_tags(tags: list[str], more: list[str]) -> list[str]:
    """Return *tags* and *more* without duplicates, up to the limit of a memory."""
    return list(dict.fromkeys([*tags, *more]))[:TAGS_MAX]


def _tags(section: NoteSection) -> list[str]:
    """Return the inline tags in a section and its headings."""
    return [*inline_tags("\n".join([*section.headings, section.text]))]


def _outermost(front: FrontMatter, parts: list[NoteSection], stem: str) -> str | None:
    """Return the title of the note, or None if its first heading is the title."""
    if front.title:
        return front.title
    tops = {section.headings[:1] for section in parts}
    has_one = len(tops) == 1 and tops != {()} and front.text.lstrip().startswith(("# ", "#\t"))
    if has_one or stem.casefold() in _NAMELESS:
        return None
    return " ".join(stem.split())[:HEADING_CHARS_MAX] or None


def _with_headings(outermost: str | None, section: NoteSection) -> tuple[str | None, str]:
    """Return the headings of a section as one line, and its text with those that do not fit."""
    path = [*([outermost] if outermost else []), *section.headings]
    path = [each for n, each in enumerate(path) if n == 0 or not _same_heading(each, path[n - 1])]
    overflow: list[str] = []
    while len(" > ".join(path)) > HEADING_CHARS_MAX:
        overflow.append(path.pop(1 if len(path) > 2 else 0))  # noqa: PLR2004  # keep the first and the last
    return " > ".join(path) or None, "\n".join([*overflow, section.text])


def _same_heading(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


def _item(
    heading: str | None, text: str, tags: list[str], occurred_at: datetime | None
) -> dict[str, Any]:
    item: dict[str, Any] = {"text": text, "origin": "import"}
    if heading:
        item["heading"] = heading
    if tags:
        item["tags"] = tags
    if occurred_at is not None:
        item["occurred_at"] = occurred_at.isoformat()
    return item


def _parts(text: str) -> Iterator[str]:
    """Yield a text, split between paragraphs if it is very long."""
    part = ""
    for paragraph in re.split(r"\n\s*\n", text) if len(text) > TEXT_PART_CHARS else [text]:
        for piece in _cut(paragraph):
            if part and len(part) + 2 + len(piece) > TEXT_PART_CHARS:
                yield part
                part = ""
            part = f"{part}\n\n{piece}" if part else piece
    if part.strip():
        yield part


def _cut(text: str) -> Iterator[str]:
    while len(text) > TEXT_PART_CHARS:
        end = text.rfind(" ", 1, TEXT_PART_CHARS) + 1 or TEXT_PART_CHARS
        yield text[:end]
        text = text[end:]
    if text.strip():
        yield text
