"""Front matter of a note: title, date and tags, in YAML or TOML. Pure.

YAML values are read as strings, because a title may be ``No`` and a tag ``2024``. Problems are
reported, and the text of the note is imported without the front matter.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime, time
from typing import Any, NamedTuple

from memd.base.limits import NAME_CHARS_MAX, TAGS_MAX

FRONT_LINES_MAX = 500
TITLE_CHARS_MAX = 80  # a longer title is cut

_ENDS = {"---": ("---", "..."), "+++": ("+++",)}
_KEY = re.compile(r"""["']?[^\s"':#\[{-][^:]{0,60}:(\s|$)""")
_DATES = ("date", "created", "created_at", "date created")
_TAGS = ("tags", "tag", "keywords")
_DAY = re.compile(r"(\d{4})[-/._](\d{1,2})[-/._](\d{1,2})(?!\d)")
_GERMAN_DAY = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?!\d)")
_ZONE = re.compile(r"\s+(?=[+-]\d\d:?\d\d$)")


class FrontMatter(NamedTuple):
    """The front matter of a note, and the *text* below it."""

    text: str
    title: str | None = None
    occurred_at: datetime | None = None
    tags: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def front_matter(text: str) -> FrontMatter:
    r"""Split *text* into its front matter and the rest.

    Front matter has a key in its first line; otherwise the line is a thematic break.

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
    """Return the fields of a block, with lower-case keys, and its problem or None."""
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
    tags = tuple(dict.fromkeys(tag for key in _TAGS for tag in _tags(values.get(key))))
    if len(tags) > TAGS_MAX:
        problems.append(f"only the first {TAGS_MAX} of its tags are kept")
    return FrontMatter(
        below, words[:TITLE_CHARS_MAX] or None, occurred_at, tags[:TAGS_MAX], tuple(problems)
    )


def _tags(value: object) -> Iterator[str]:
    """Yield tags from a list, or from words separated by commas or spaces."""
    each: list[object] = []
    if isinstance(value, list):
        each = value
    elif isinstance(value, str):
        each = list(value.split(",") if "," in value else value.split())
    for tag in each:
        if isinstance(tag, (str, int, float)) and (words := str(tag).strip().lstrip("#").strip()):
            yield words[:NAME_CHARS_MAX]
