"""Split the text of a section into the items of its bulleted lists and the text around them. Pure.

An item that states something answers a question without the others, and is corrected without them
(decision 0383). So each is a part of its own, with its nested items and code, and the line that
introduces the list. A list whose items make sense only together stays as it is: steps,
ingredients, names.

No line is lost: a line that only introduces a list becomes the innermost heading of its items.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from operator import itemgetter
from typing import NamedTuple

from memd.cli.notes.code import code_lines
from memd.text.words import sentences

LIST_ITEMS_MAX = 1_000
"""Items of a list; one with more is a log, and stays as it is."""

_ITEM = re.compile(r"([ \t]*)(?:([-*+\u2022])|\d{1,9}[.)])[ \t]+(?=\S)")
"""The beginning of an item, with a bullet or a number."""
_BREAK = re.compile(r"\s*([-*])(?:[ \t]*\1){2,}[ \t]*")
"""A thematic break such as ``* * *``, which is no item."""
_CODE_INDENT = 4
"""Spaces before a line that make it code, outside of an item."""
_ATOM = re.compile(r"`[^`\n]{1,300}`|\[[^\]\n]{0,300}\]\([^)\s]{0,500}\)|\bhttps?://\S+")
"""Code or a link, which counts as one word. Bounded: of a megabyte of ``[`` each may begin one."""
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{2}|[^\W_]+")
"""A word; Chinese and Japanese words mostly have two characters, and no spaces between them."""
_LABEL = re.compile(r"[^\s:](?:[:\uff1a][*_]*| [-\u2013\u2014=])\s+\S")
"""The end of a name and what is said of it: "Plumber: Ms Sowa", "`make` - builds"."""
_AMOUNT = re.compile(r"[~\u2248]?[\d\u00bc-\u00be]")
"""The beginning of an ingredient: "300 g lentils"."""
_WORDS_MIN, _AMOUNT_WORDS_MIN = 4, 7
"""Words of an item that states something, if it has no label, and if it begins with a number."""
_BOLD = re.compile(r"(\*\*|__)(\S.*?)\1[:\uff1a]?")
"""A line of bold words alone, which people use as a heading."""


class _Kind(Enum):
    """What some lines are: an item with a bullet, one with a number, or other text."""

    BULLET = auto()
    STEP = auto()
    TEXT = auto()


class ListPart(NamedTuple):
    """An item or other text, and the line that introduces the item's list, if any."""

    text: str
    introduction: tuple[str, ...] = ()


def split_lists(lines: Sequence[str]) -> Iterator[ListPart]:
    """Yield the parts of the text of *lines*, in order; without statements in lists it is one part.

    >>> list(split_lists(["Rules:", "- Bins go out on Monday", "- Shoes: off inside"]))[1]
    ListPart(text='- Shoes: off inside', introduction=('Rules',))
    """
    text: list[str] = []
    for kind, group in itertools.groupby(_runs(lines), itemgetter(0)):
        runs = [run for _, run in group]
        if kind is not _Kind.BULLET or not _are_statements(runs):
            text.extend(itertools.chain.from_iterable(runs))
            continue
        text, introduction = _split_introduction(text)
        yield from _parts([text])
        yield from _parts(runs, introduction)
        text = []
    yield from _parts([text])


def _parts(runs: Sequence[Sequence[str]], introduction: tuple[str, ...] = ()) -> Iterator[ListPart]:
    for run in runs:
        if any(line.strip() for line in run):
            yield ListPart("\n".join(run).strip("\n"), introduction)


def _runs(lines: Sequence[str]) -> Iterator[tuple[_Kind, list[str]]]:
    """Yield *lines* in order: each item of the outermost level, and the lines between items.

    An item ends before the next one, or before a line after a blank one that is not indented.
    """
    code = code_lines(lines)
    kind, indent, run = _Kind.TEXT, _CODE_INDENT - 1, list[str]()
    for number, line in enumerate(lines):
        is_in_code = number in code and number - 1 in code
        item = None if number in code or _BREAK.fullmatch(line) else _ITEM.match(line)
        if item and len(item[1]) <= indent:
            yield kind, run
            kind = _Kind.BULLET if item[2] else _Kind.STEP
            indent, run = len(item[1]), []
        elif kind is not _Kind.TEXT and not is_in_code and _ends_item(line, run, indent):
            yield kind, run
            kind, indent, run = _Kind.TEXT, _CODE_INDENT - 1, []
        run.append(line)
    yield kind, run


def _ends_item(line: str, run: Sequence[str], indent: int) -> bool:
    """Return whether *line*, which begins no item, is no part of the item whose lines are *run*."""
    return bool(line.strip()) and not run[-1].strip() and not line[indent : indent + 1].isspace()


def _are_statements(items: Sequence[Sequence[str]]) -> bool:
    """Return whether most of the *items* of a list state something."""
    if not 1 < len(items) <= LIST_ITEMS_MAX:
        return False
    return 2 * sum(map(_states_something, items)) > len(items)


def _states_something(item: Sequence[str]) -> bool:
    """Return whether an item says something of a thing, and does not only name it."""
    text = _ITEM.sub("", "\n".join(item), count=1)
    if _LABEL.search(item[0]):
        return True
    words = len(_WORD.findall(_ATOM.sub(" x ", text)))
    return words >= (_AMOUNT_WORDS_MIN if _AMOUNT.match(text) else _WORDS_MIN)


def _split_introduction(lines: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the lines of a text before a list, and the heading that they give to it, or none.

    It is their last sentence if it ends with a colon ("When you deploy:"), or a line of bold words.
    If they say nothing else in its paragraph, they are returned without it.
    """
    end = next((n for n in range(len(lines), 0, -1) if lines[n - 1].strip()), 0)
    start = next((n for n in range(end, 0, -1) if not lines[n - 1].strip()), 0)
    paragraph = " ".join(" ".join(lines[start:end]).split())
    bold = _BOLD.fullmatch(paragraph)
    if bold:
        return lines[:start], (bold[2].rstrip(":"),)
    if not paragraph.endswith((":", "\uff1a", ":**")):
        return lines, ()
    last = sentences(paragraph)[-1]
    heading = last.strip("*").rstrip(":\uff1a")
    return (lines[:start] if last == paragraph else lines), (heading,) if heading else ()
