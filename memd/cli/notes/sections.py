"""A Markdown text in its sections: each text with the headings that it stands under. Pure.

No line is lost: a heading is in the headings of what stands below it, or, where nothing
does, in the text of a section beside it. Code is never a heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memd.base.limits import HEADING_CHARS_MAX

_ATX = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_NOT_TEXT = re.compile(r"\s*([-*+>|#]|\d+[.)]\s)|\s{4}|\t")
"""How a line begins that no underline makes a heading: a list, a quote, a table, code."""


class NoteSection(NamedTuple):
    """A text and the headings that it stands under, the outermost first."""

    headings: tuple[str, ...]
    text: str


class _Block(NamedTuple):
    """A heading as it was written, and the lines up to the next one; level 0 has no heading."""

    level: int
    title: str
    heading: str
    lines: list[str]

    @property
    def is_bare(self) -> bool:
        return not any(line.strip() for line in self.lines)


def sections(text: str) -> list[NoteSection]:
    r"""Return the sections of *text* that say something, in order.

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
            section_list.add(headings, "\n".join(block.lines).strip("\n"))
        elif block.level and below <= block.level:
            section_list.add_bare(above, block.heading)
    return section_list.all()


class _SectionList:
    """The sections so far, and the headings without a text that wait for one beside them."""

    def __init__(self) -> None:
        self._done: list[NoteSection] = []
        self._above: tuple[str, ...] = ()
        self._waiting: list[str] = []

    def add(self, headings: tuple[str, ...], text: str) -> None:
        if self._waiting and headings[: len(self._above)] == self._above:
            text = "\n".join([*self._waiting, text])
            self._waiting = []
        self._flush()
        self._done.append(NoteSection(headings, text))

    def add_bare(self, above: tuple[str, ...], heading: str) -> None:
        """Put a heading that nothing stands below to the section before it, or let it wait."""
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
        """Let what waits in vain stand by itself, under the headings above it."""
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
        elif _is_underline(line) and _may_be_heading(block.lines):
            above = block.lines.pop()
            yield block
            title = " ".join(above.split())
            block = _Block(1 if "=" in line else 2, title, f"{above}\n{line}", [])
        else:
            block.lines.append(line)
    yield block


def _atx(line: str) -> tuple[int, str]:
    """Return level and words of a heading such as ``## Decision ##``, (0, "") for another line."""
    marked = _ATX.fullmatch(line)
    if marked is None:
        return 0, ""
    words = marked[2].rstrip()
    bare = words.rstrip("#")
    if not bare or bare[-1] in " \t":
        words = bare
    title = " ".join(words.split())
    return (len(marked[1]), title) if 0 < len(title) <= HEADING_CHARS_MAX else (0, "")


def _is_underline(line: str) -> bool:
    return _UNDERLINE.fullmatch(line) is not None


def _may_be_heading(lines: Sequence[str]) -> bool:
    """Return whether the last line stands alone, so that a line under it makes it a heading."""
    if not lines or not lines[-1].strip() or (len(lines) > 1 and lines[-2].strip()):
        return False
    return len(lines[-1].strip()) <= HEADING_CHARS_MAX and not _NOT_TEXT.match(lines[-1])


def code_lines(lines: Sequence[str]) -> frozenset[int]:
    """Return which lines are fenced code. A fence that is never closed is ordinary text."""
    code: set[int] = set()
    opened: tuple[int, str] | None = None
    for number, line in enumerate(lines):
        fence = _FENCE.fullmatch(line)
        if fence is None:
            continue
        marks, rest = fence[1], fence[2]
        if opened is None:
            if not (marks[0] == "`" and "`" in rest):  # that would be code within a line
                opened = number, marks
        elif marks[0] == opened[1][0] and len(marks) >= len(opened[1]) and not rest.strip():
            code.update(range(opened[0], number + 1))
            opened = None
    return frozenset(code)
