"""Parse one note into ingest items with headings, tags and a date. Pure.

Front matter is YAML or TOML. YAML values are read as strings, because a title may be ``No`` and a
tag ``2024``. If the front matter cannot be read, that is reported and only the text is imported.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime, time
from pathlib import PurePath
from typing import Any, NamedTuple

from memd.base.limits import HEADING_CHARS_MAX, NAME_CHARS_MAX, TAGS_MAX, TEXT_CHARS_MAX
from memd.cli.notes.sections import NoteSection, inline_tags, read_links, sections

FRONT_LINES_MAX = 500
TITLE_CHARS_MAX = 80  # a longer title is cut

_ENDS = {"---": ("---", "..."), "+++": ("+++",)}
"""The first line of front matter, YAML or TOML, and the lines that end it."""
_KEY = re.compile(r"""["']?[^\s"':#\[{-][^:]{0,60}:(\s|$)""")
"""A line that begins with a YAML key, such as ``title: Lake`` or ``"date created": 2026``."""
_DATES = ("date", "created", "created_at", "date created")
_TAGS = ("tags", "tag", "keywords")
_DAY = re.compile(r"(\d{4})[-/._](\d{1,2})[-/._](\d{1,2})(?!\d)")
"""``2026-11-21``, also with slashes, dots or underscores."""
_GERMAN_DAY = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)")
"""``21.11.2026``."""
_ZONE = re.compile(r"\s+(?=[+-]\d\d:?\d\d$)")
"""The blank before a zone, as in ``2026-11-21 09:30 +0100``; ``fromisoformat`` refuses it."""


class FrontMatter(NamedTuple):
    """The front matter of a note, and the *text* below it."""

    text: str
    title: str | None = None
    occurred_at: datetime | None = None
    tags: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def front_matter(text: str) -> FrontMatter:
    r"""Split *text* into its front matter and the text below.

    Front matter has a key in its first line. Otherwise ``---`` is a thematic break of Markdown.

    >>> front_matter("---\ntags: [a, b]\n---\nThe text.")[3]
    ('a', 'b')
    """
    lines = text.split("\n", FRONT_LINES_MAX)
    mark = lines[0].rstrip()
    ends = _ENDS.get(mark, ())
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() in ends), None)
    if end is None:
        return FrontMatter(text)
    block = lines[1:end]
    below = "\n".join(lines[end + 1 :])
    first = next((line for line in block if line.strip() and line.lstrip()[0] != "#"), "")
    if mark == "---" and first and not _KEY.match(first):
        return FrontMatter(text)
    fields, problem = _read("\n".join(block), toml=mark == "+++")
    if problem:
        return FrontMatter(below, problems=(f"its front matter cannot be read ({problem})",))
    return _interpret(fields, below)


def moment(value: object) -> datetime | None:
    """Parse a date or time, in local time if it has no zone; return None if it is neither.

    A day without a time becomes noon, so that it is the same day in other zones.

    >>> moment("21.11.2026").strftime("%d %H:%M")
    '21 12:00'
    """
    with suppress(ValueError, OverflowError, OSError):
        if isinstance(value, datetime):
            return value if value.tzinfo else value.astimezone()
        if isinstance(value, date):
            return datetime.combine(value, time(12)).astimezone()
        words = _ZONE.sub("", str(value).strip().strip("[]\"'"))
        day = day_of(words)
        if day is not None:
            return moment(day)
        return moment(datetime.fromisoformat(words.replace("/", "-")))
    return None


def day_of(words: str) -> date | None:
    """Parse a day such as ``2026-11-21`` or ``21.11.2026``; return None for other text."""
    if match := _DAY.fullmatch(words):
        return date(int(match[1]), int(match[2]), int(match[3]))
    if match := _GERMAN_DAY.fullmatch(words):
        return date(int(match[3]), int(match[2]), int(match[1]))
    return None


def leading_day(name: str) -> datetime | None:
    """Return the day at the beginning of a file name, or None.

    >>> leading_day("2026_11_21 Lake").strftime("%d %H:%M")
    '21 12:00'
    """
    day = _DAY.match(name)
    return moment(day[0]) if day else None


def _read(block: str, *, toml: bool) -> tuple[Mapping[str, Any], str | None]:
    """Return the fields of a block, with lower-case keys, and the problem or None."""
    try:
        values = tomllib.loads(block) if toml else _yaml(block)
    except (ValueError, RecursionError) as error:
        return {}, str(error).splitlines()[0] if str(error) else "it is nested too deeply"
    if not isinstance(values, Mapping):
        return {}, None if values is None or values == "" else "it has no keys"
    return {str(key).strip().lower(): value for key, value in values.items()}, None


def _yaml(block: str) -> Any:
    import yaml

    try:
        return yaml.load(block, Loader=yaml.BaseLoader)  # noqa: S506  # it creates only strings
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 2}: " if mark is not None else ""
        raise ValueError(f"{where}{getattr(error, 'problem', None) or 'not YAML'}") from error


def _interpret(values: Mapping[str, Any], below: str) -> FrontMatter:
    problems: list[str] = []
    date_value = next((values[key] for key in _DATES if values.get(key)), None)
    occurred_at = None if date_value is None else moment(date_value)
    if date_value is not None and occurred_at is None:
        problems.append("its date cannot be read")
    title = values.get("title")
    words = " ".join(str(title).split()) if isinstance(title, (str, int, float, date)) else ""
    tags = tuple(dict.fromkeys(tag for key in _TAGS for tag in _front_tags(values.get(key))))
    if len(tags) > TAGS_MAX:
        problems.append(f"only the first {TAGS_MAX} of its tags are kept")
    return FrontMatter(
        below, words[:TITLE_CHARS_MAX] or None, occurred_at, tags[:TAGS_MAX], tuple(problems)
    )


def _front_tags(value: object) -> Iterator[str]:
    """Yield the tags in a list, or in a text that separates them by commas or spaces."""
    tags: list[object] = []
    if isinstance(value, list):
        tags = value
    elif isinstance(value, str):
        tags = list(value.split(",") if "," in value else value.split())
    for tag in tags:
        if isinstance(tag, (str, int, float)) and (words := str(tag).strip().lstrip("#").strip()):
            yield words[:NAME_CHARS_MAX]


TEXT_PART_CHARS = 64_000
"""Maximum characters of one item. As JSON (6 bytes a character or less) it fits into a frame."""

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


def merge_tags(tags: list[str], others: list[str]) -> list[str]:
    """Return *tags* and *others* without duplicates, at most TAGS_MAX."""
    return list(dict.fromkeys([*tags, *others]))[:TAGS_MAX]


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
    """Return the headings of a section as one line, and its text.

    Headings that do not fit into the line are put before the text. A heading that repeats the one
    above is dropped.
    """
    path = [*([outermost] if outermost else []), *section.headings]
    path = [
        heading
        for n, heading in enumerate(path)
        if n == 0 or heading.casefold() != path[n - 1].casefold()
    ]
    overflow: list[str] = []
    while len(" > ".join(path)) > HEADING_CHARS_MAX:
        overflow.append(path.pop(1 if len(path) > 2 else 0))  # noqa: PLR2004  # first and last stay
    return " > ".join(path) or None, "\n".join([*overflow, section.text])


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
    """Yield a paragraph, cut at spaces if it is too long for one item."""
    while len(text) > TEXT_PART_CHARS:
        end = text.rfind(" ", 1, TEXT_PART_CHARS) + 1 or TEXT_PART_CHARS
        yield text[:end]
        text = text[end:]
    if text.strip():
        yield text
