"""Statements in a form of their own: arrows, ``Owner: Ann`` lines and wiki links.

``Billing -> depends_on -> Postgres`` and ``Billing | owned by | Ann`` say one
thing each. Lines of keys speak of the heading above them, or of the line that names
it (``Service: billing``). Two wiki links in one line, or a link under a heading, make
``links_to``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memd.domain.graph import ExtractedStatement
from memd.extract.things import CHARS_MAX, unwrapped
from memd.extract.verbs import FIELDS, relation

_LINE = re.compile(r"[^\n]+")
_ARROW = re.compile(r"\s*(?:--?>|=>|\u2192|--)\s*")
_PIPE = re.compile(r"\s*\|\s*")
_PARTS = 3
_LINE_CHARS_MIN = 3  # "# a", the shortest heading
_LINE_CHARS_MAX = 400
_HEADING = re.compile(r"#{1,6}\s+(?P<name>[^#\n]{1,80}?)\s*#*")
_FIELD = re.compile(
    r"\s*(?:[-*]\s+)?(?:\*\*)?(?P<key>[A-Za-z][a-z_ -]{2,20}?)(?:\*\*)?:(?:\*\*)?\s+"
    r"(?P<value>\S.{0,200})"
)
_SUBJECTS = frozenset(
    ("service", "project", "component", "team", "name", "repository", "system", "title")
)
_LINK = re.compile(r"\[\[(?P<name>[^\[\]|#\n]{1,80})(?:[|#][^\[\]\n]{0,80})?\]\]")
_BULLET = re.compile(r"^\s*(?:[-*]|\d{1,3}[.)])\s+")


def triples(text: str) -> Iterator[ExtractedStatement]:
    """Yield what *text* says in arrows, bars, keys and links, in order."""
    heading: str | None = None
    for match in _LINE.finditer(text):
        line = match.group()
        if not _LINE_CHARS_MIN <= len(line) <= _LINE_CHARS_MAX:
            continue
        title = _HEADING.fullmatch(line.strip())
        if title is not None:
            heading = title["name"]
            continue
        field = _FIELD.fullmatch(line.rstrip())
        if field is not None and field["key"].casefold() in _SUBJECTS:
            heading = field["value"].strip().removesuffix(".")[:CHARS_MAX]
            continue
        found = list(_explicit(line)) or list(_field(field, heading)) or list(_links(line, heading))
        start = match.start() + len(line) - len(line.lstrip())
        end = match.start() + len(line.rstrip())
        for one in found:
            if one[0] != one[2] and end > start:
                yield ExtractedStatement(one[0], one[1], one[2], start, end, qualifier=one[3])


_Edge = tuple[str, str, str, str | None]


def _explicit(line: str) -> Iterator[_Edge]:
    bare = _BULLET.sub("", line.strip())
    for shape in (_ARROW, _PIPE):
        parts = [part.strip() for part in shape.split(bare)]
        if len(parts) != _PARTS or not all(0 < len(part) <= CHARS_MAX for part in parts):
            continue
        one, words, other = (unwrapped(part) or part for part in parts)
        verb = relation(words)
        if verb is not None:
            yield (
                (other, verb.relation, one, None)
                if verb.turned
                else (
                    one,
                    verb.relation,
                    other,
                    None,
                )
            )
        elif shape is _ARROW:
            yield one, "related_to", other, words
        return


def _field(field: re.Match[str] | None, heading: str | None) -> Iterator[_Edge]:
    verb = FIELDS.get(field["key"].casefold().replace("_", " ")) if field else None
    if field is None or heading is None or verb is None:
        return
    for value in field["value"].split(","):
        thing = unwrapped(value) or value.strip().removesuffix(".")
        if 0 < len(thing) <= CHARS_MAX:
            one, other = (thing, heading) if verb.turned else (heading, thing)
            yield one, verb.relation, other, None


def _links(line: str, heading: str | None) -> Iterator[_Edge]:
    names = list(dict.fromkeys(match["name"].strip() for match in _LINK.finditer(line)))
    first = heading if heading is not None else (names.pop(0) if names else None)
    for other in names:
        if first is not None and other:
            yield first, "links_to", other, None
