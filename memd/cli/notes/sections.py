"""Split the Markdown of a note into sections, and read wiki links and inline tags. Pure.

Items of lists that state something are sections of their own (``lists.py``).

No line is lost: a heading without text is added to the text of a neighbouring section. A link of
Obsidian or basic-memory is replaced by its words, so that it can be searched and quoted. An inline
tag becomes a tag of its section. Code stays unchanged: ``[[ -f x ]]`` may be shell, and ``# x`` in
a code block is no heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memd.base.limits import HEADING_CHARS_MAX, NAME_CHARS_MAX, TAGS_MAX
from memd.cli.notes.code import code_lines
from memd.cli.notes.lists import split_lists

_ATX = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
"""A heading such as ``## Decision``."""
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*")
"""A line of ``===`` or ``---``, which makes the line above a heading."""
_NOT_TEXT = re.compile(r"\s*([-*+>|#]|\d+[.)]\s)|\s{4}|\t")
"""Beginnings of lines that an underline cannot make a heading: lists, quotes, tables, code."""


class NoteSection(NamedTuple):
    """A text and its headings, outermost first."""

    headings: tuple[str, ...]
    text: str


class _Block(NamedTuple):
    """A heading and the lines up to the next one; level 0 has no heading."""

    level: int
    title: str
    heading: str
    lines: list[str]

    @property
    def is_bare(self) -> bool:
        return not any(line.strip() for line in self.lines)


def sections(text: str) -> list[NoteSection]:
    r"""Return the non-empty sections of *text*, in order.

    >>> sections("# Billing\n\n## Decision\nPostgreSQL 16.")
    [NoteSection(headings=('Billing', 'Decision'), text='PostgreSQL 16.')]
    """
    section_list = _SectionList()
    path: list[tuple[int, str]] = []
    blocks = list(_blocks(text.split("\n")))
    for number, block in enumerate(blocks):
        path = [step for step in path if step[0] < block.level]
        above = tuple(title for _, title in path)
        if block.level:
            path.append((block.level, block.title))
        below = blocks[number + 1].level if number + 1 < len(blocks) else 0
        if not block.is_bare:
            headings = tuple(title for _, title in path)
            for part in split_lists(block.lines):
                section_list.add((*headings, *part.introduction), part.text)
        elif block.level and below <= block.level:
            section_list.add_bare(above, block.heading)
    return section_list.all()


class _SectionList:
    """The sections so far, and headings without text that wait for the next section."""

    def __init__(self) -> None:
        self._done: list[NoteSection] = []
        self._above: tuple[str, ...] = ()
        self._waiting: list[str] = []

    def add(self, headings: tuple[str, ...], text: str) -> None:
        """Add a section. Waiting headings go before its text if it has the same parents."""
        if self._waiting and headings[: len(self._above)] == self._above:
            text = "\n".join([*self._waiting, text])
            self._waiting = []
        self._flush()
        self._done.append(NoteSection(headings, text))

    def add_bare(self, above: tuple[str, ...], heading: str) -> None:
        """Add a heading without text, whose parents are *above*.

        It goes after the text of the previous section if that has the same parents; otherwise it
        waits for the next section.
        """
        if self._waiting and self._above != above:
            self._flush()
        last = self._done[-1] if self._done else None
        if not self._waiting and last is not None and last.headings[: len(above)] == above:
            self._done[-1] = NoteSection(last.headings, f"{last.text}\n\n{heading}")
            return
        self._above = above
        self._waiting.append(heading)

    def all(self) -> list[NoteSection]:
        self._flush()
        return self._done

    def _flush(self) -> None:
        """Make a section of its own from the waiting headings."""
        if self._waiting:
            self._done.append(NoteSection(self._above, "\n".join(self._waiting)))
            self._waiting = []


def _blocks(lines: Sequence[str]) -> Iterator[_Block]:
    code = code_lines(lines)
    block = _Block(0, "", "", [])
    for number, line in enumerate(lines):
        if number in code:
            block.lines.append(line)
            continue
        level, title = _atx(line)
        if level:
            yield block
            block = _Block(level, title, line, [])
        elif _UNDERLINE.fullmatch(line) and _may_be_heading(block.lines):
            above = block.lines.pop()
            yield block
            title = " ".join(above.split())
            block = _Block(1 if "=" in line else 2, title, f"{above}\n{line}", [])
        else:
            block.lines.append(line)
    yield block


def _atx(line: str) -> tuple[int, str]:
    """Return level and title of a heading such as ``## Decision ##``; (0, "") for other lines."""
    match = _ATX.fullmatch(line)
    if match is None:
        return 0, ""
    words = match[2].rstrip()
    bare = words.rstrip("#")
    if not bare or bare[-1] in " \t":
        words = bare
    title = " ".join(words.split())
    return (len(match[1]), title) if 0 < len(title) <= HEADING_CHARS_MAX else (0, "")


def _may_be_heading(lines: Sequence[str]) -> bool:
    """Return whether the last line is a paragraph of one line, which may be a heading."""
    if not lines or not lines[-1].strip() or (len(lines) > 1 and lines[-2].strip()):
        return False
    return len(lines[-1].strip()) <= HEADING_CHARS_MAX and not _NOT_TEXT.match(lines[-1])


_LINK = re.compile(r"!?\[\[(?! )([^\[\]|\n]{1,300})(?:\|([^\[\]\n]{1,300}))?\]\]")
"""``[[target]]`` or ``[[target|label]]``; with ``!`` in front it embeds the target."""
_BLOCK_NAME = re.compile(r"(?<=\S) \^[\w-]{1,100}$")
"""The name of a paragraph for links, at its end: `` ^b1``."""
_TAG = re.compile(r"(?<!\S)#([^\W\d_][\w/-]{0,199})")
"""``#finance/ledger``; a tag begins with a letter."""
_COLOUR = re.compile(r"[0-9a-fA-F]{3}(?:[0-9a-fA-F]{3})?")
"""What follows ``#`` in a colour such as ``#ff8800``."""
_CODE = re.compile(r"(`+)[^`\n]{1,1000}\1(?!`)")
"""Inline code between equally many backquotes."""


def read_links(text: str) -> str:
    """Replace the links in *text* by their words, and remove block names.

    >>> read_links("See [[notes/Ledger#Design]], [[PostgreSQL 16|Postgres]]. ^b1")
    'See Ledger > Design, Postgres (PostgreSQL 16).'
    """
    if "[[" not in text and " ^" not in text:
        return text
    lines = text.split("\n")
    code = code_lines(lines)
    return "\n".join(
        line if number in code else _BLOCK_NAME.sub("", _outside_code(line))
        for number, line in enumerate(lines)
    )


def inline_tags(text: str) -> tuple[str, ...]:
    """Return the inline tags in *text*, without duplicates and colours.

    >>> inline_tags("Paid late #invoices #finance/ledger, shown in #ff8800; issue #12.")
    ('invoices', 'finance/ledger')
    """
    if "#" not in text:
        return ()
    lines = text.split("\n")
    code = code_lines(lines)
    plain = (_CODE.sub("", line) for number, line in enumerate(lines) if number not in code)
    matches = (match[1].rstrip("-/") for line in plain for match in _TAG.finditer(line))
    tags = (tag for tag in matches if not _COLOUR.fullmatch(tag) and len(tag) <= NAME_CHARS_MAX)
    return tuple(dict.fromkeys(tags))[:TAGS_MAX]


def _outside_code(line: str) -> str:
    """Replace the links in *line*, except in inline code."""
    if "[[" not in line:
        return line
    parts: list[str] = []
    end = 0
    for code in _CODE.finditer(line):
        parts += [_LINK.sub(_words, line[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, _LINK.sub(_words, line[end:])])


def _words(link: re.Match[str]) -> str:
    """Return the words of a link: its label followed by its target, or its target."""
    page, _, heading = link[1].partition("#")
    name = page.rsplit("/", 1)[-1].strip()
    heading = "" if heading.startswith("^") else heading.replace("#", " > ").strip()
    target = " > ".join(part for part in (name, heading) if part)
    label = (link[2] or "").strip()
    if not label or not target or label.casefold() == target.casefold():
        return label or target or link[0]
    return f"{label} ({target})"
