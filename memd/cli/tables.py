"""Lists: for a person within the width of the terminal, for a pipe whole and always alike.

On a terminal the text comes first and takes what the rest leaves, then short ids, words and
local times. In a pipe every row is one line of the same columns in the order in which the
command names them, between tabs, nothing shortened: whole ids, whole texts in one line, times
in UTC as RFC 3339. No line of headings.

A row that begins with what somebody stored, a text or a name, cannot pass for a line of memd's
(``say.begun``).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from memd.cli import say

ID_CHARS = 8
"""What a list shows of an id: its end, which is random (docs/decisions/0088)."""

TEXT_CELLS_MIN = 20
WORD_CELLS_MAX = 16
"""How long a word may be where the columns would leave the text too little."""

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_GAP = "  "


class ColumnKind(Enum):
    """What a column holds, in the order in which a terminal shows the columns."""

    TEXT = 0
    ID = 1
    WORD = 2
    TIME = 3


class Column(NamedTuple):
    """A column. One of a table may be the *text*, which is cut to what is left."""

    head: str
    kind: ColumnKind = ColumnKind.WORD
    in_place: bool = False
    """A text that stays where the command names it, and so does the rest."""
    whole: bool = False
    """A word that is never shortened."""
    stored: bool = False
    """What somebody chose, not memd."""


def text_column(head: str, *, in_place: bool = False) -> Column:
    """Return the column that gets the room that is left."""
    return Column(head, ColumnKind.TEXT, in_place, stored=True)


def an_id(head: str = "ID") -> Column:
    """Return a column of ids."""
    return Column(head, ColumnKind.ID)


def word(head: str, *, whole: bool = False, stored: bool = False) -> Column:
    """Return a column of names and numbers; a long name is cut where room is short.

    Of names that somebody chose say *stored*.
    """
    return Column(head, whole=whole, stored=stored)


def time(head: str) -> Column:
    """Return a column of times of the wire."""
    return Column(head, ColumnKind.TIME)


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    """Write *rows*, as the wire has them, for whoever reads: a person, or a pipe."""
    if not sys.stdout.isatty():
        for row in rows:
            say.out(say.begun("\t".join(map(_piped, row))))
        return
    if not (rows := list(rows)):
        return  # a command says in words that there is nothing
    shown = [[_shown(each, cell) for each, cell in zip(columns, row, strict=True)] for row in rows]
    _write(columns, shown)


def short(public_id: str) -> str:
    """Return what a list on a terminal shows of an id; what is no id of memd's is left whole.

    >>> short("0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11"), short("config:3")
    ('6f2f9b11', 'config:3')
    """
    return public_id[-ID_CHARS:] if _UUID.fullmatch(public_id) else public_id


def id_for_reader(public_id: str) -> str:
    """Return an id as whoever reads stdout wants it: short on a terminal, whole in a pipe.

    A preference's id holds its name, which anybody may have chosen.
    """
    return short(say.line(public_id)) if sys.stdout.isatty() else say.line(public_id)


def _piped(cell: str) -> str:
    return say.line(cell).replace("\t", " ")


def _shown(column: Column, cell: str) -> str:
    if column.kind is ColumnKind.ID:
        return short(_piped(cell))
    if column.kind is ColumnKind.TIME:
        return say.moment(cell)
    return _piped(cell)


def _write(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    from memd.view.cells import cut, padded

    order = list(range(len(columns)))
    if not any(column.in_place for column in columns):
        order.sort(key=lambda place: columns[place].kind.value)
    columns = [columns[place] for place in order]
    lines = [[row[place] for place in order] for row in rows]
    widths = _widths(columns, [[column.head for column in columns], *lines])
    barred = columns[0].stored

    def line(row: Sequence[str]) -> str:
        cells = (padded(cut(cell, room), room) for cell, room in zip(row, widths, strict=True))
        return cut(_GAP.join(cells).rstrip(), say.width() - len(say.BAR) * barred)

    margin = " " * len(say.BAR) * barred
    say.out(say.dim(margin + line([column.head for column in columns])))
    for row in lines:
        say.out(say.begun(line(row)) if barred else line(row))


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return how many cells each column gets: what it needs, the text what is left."""
    from memd.view.cells import width

    needs = [max(width(row[place]) for row in rows) for place in range(len(columns))]
    texts = [place for place, column in enumerate(columns) if column.kind is ColumnKind.TEXT]
    if not texts:
        return needs
    left = say.width() - len(_GAP) * (len(columns) - 1) - len(say.BAR) * columns[0].stored
    wide = min(TEXT_CELLS_MIN, needs[texts[0]])
    if left - sum(needs) + needs[texts[0]] < wide:
        needs = [
            min(need, WORD_CELLS_MAX)
            if column.kind is ColumnKind.WORD and not column.whole
            else need
            for need, column in zip(needs, columns, strict=True)
        ]
    rest = left - sum(needs) + needs[texts[0]]
    needs[texts[0]] = max(min(rest, needs[texts[0]]), wide)
    return needs
