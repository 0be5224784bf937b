"""Print tables: fitted to the width of a terminal, complete and machine-readable in a pipe.

On a terminal the text column comes first and gets the remaining width, followed by short ids,
words and local times. In a pipe each row is one line of tab-separated columns in the order of
the command, without headings: full ids, full texts in one line, times in UTC (RFC 3339).

A row that begins with stored text is marked, so that it cannot pass for a line of memd's
(``console.mark_line``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from memd.base.ids import is_id
from memd.cli import console, options

ID_CHARS = 8
"""Characters of a short id: the end of an id, which is random (docs/decisions/0088)."""

TEXT_CELLS_MIN = 20
WORD_CELLS_MAX = 16
"""Maximum width of a word if the text column would become narrower than TEXT_CELLS_MIN."""

_GAP = "  "


class ColumnKind(Enum):
    """Kinds of columns, in the order in which a terminal shows them."""

    TEXT = 0
    ID = 1
    WORD = 2
    TIME = 3


class Column(NamedTuple):
    """A column of a table: its heading, and how to get its cell from an item.

    A table has one text column at most. It is cut to the width that remains.
    """

    head: str
    cell: str | Callable[[Any], Any]
    """The field of an item, or a function of it."""
    kind: ColumnKind = ColumnKind.WORD
    keeps_order: bool = False
    """Whether a terminal shows the columns in the order of the command, not of their kinds."""
    is_uncut: bool = False
    """Whether the cells are never shortened."""
    is_stored_text: bool = False
    """Whether the cells are stored text, which must not be mistaken for memd's own words."""

    def of(self, item: Any) -> str:
        """Return the cell of *item*, empty for None."""
        value = self.cell(item) if callable(self.cell) else item[self.cell]
        return "" if value is None else str(value)


def text_column(head: str, cell: str | Callable[[Any], Any], *, in_place: bool = False) -> Column:
    """Return the column of texts, which gets the remaining width."""
    return Column(head, cell, ColumnKind.TEXT, in_place, is_stored_text=True)


def id_column(head: str = "ID", cell: str | Callable[[Any], Any] = "id") -> Column:
    return Column(head, cell, ColumnKind.ID)


def word_column(
    head: str, cell: str | Callable[[Any], Any], *, whole: bool = False, stored: bool = False
) -> Column:
    """Return a column of names or numbers; long names are cut where space is short.

    *stored* marks names that users or programs chose.
    """
    return Column(head, cell, is_uncut=whole, is_stored_text=stored)


def time_column(head: str, cell: str | Callable[[Any], Any]) -> Column:
    """Return a column of times in RFC 3339."""
    return Column(head, cell, ColumnKind.TIME)


def table(columns: Sequence[Column], items: Iterable[Any]) -> None:
    """Print *items* of the API, a row each, formatted for a terminal or for a pipe."""
    rows = ([column.of(item) for column in columns] for item in items)
    if not sys.stdout.isatty():
        for row in rows:
            console.out(console.mark_line("\t".join(map(_pipe_cell, row))))
        return
    cells = [list(map(_terminal_cell, columns, row)) for row in rows]
    if cells:  # the command itself reports that there is nothing
        _write(columns, cells)


def print_items(
    answer: Mapping[str, Any],
    columns: Sequence[Column],
    *,
    nothing: str,
    limit: int | None = None,
) -> None:
    """Print the items of *answer*, as JSON or as a table; *nothing* to stderr if there are none.

    Reports how to get the next page. If there are exactly *limit* items, reports that there may be
    more.
    """
    if console.print_if_json(answer):
        return
    table(columns, answer["items"])
    if not answer["items"]:
        console.note(nothing)
    elif len(answer["items"]) == limit:
        console.note(f"the first {limit}; a higher --limit shows more")
    report_next(answer)


def report_next(page: Mapping[str, Any], **changes: Any) -> None:
    """Report the command line for the page after *page*, if any, with *changes* of arguments."""
    if page.get("next") is not None:
        console.note(f"next page: {options.running(after=page['next'], **changes)}")


def short(public_id: str) -> str:
    """Return the short form of an id; text that is not a UUID is returned unchanged.

    >>> short("0199f3a1-5c1e-7b32-9d1a-3f0f6f2f9b11"), short("config:3")
    ('6f2f9b11', 'config:3')
    """
    return public_id[-ID_CHARS:] if is_id(public_id) else public_id


def id_for_reader(public_id: str) -> str:
    """Return an id for stdout: short on a terminal, whole in a pipe.

    It is escaped, because a preference's id contains its name, which is stored text.
    """
    return short(console.line(public_id)) if sys.stdout.isatty() else console.line(public_id)


def _pipe_cell(cell: str) -> str:
    return console.line(cell).replace("\t", " ")


def _terminal_cell(column: Column, cell: str) -> str:
    if column.kind is ColumnKind.ID:
        return short(_pipe_cell(cell))
    if column.kind is ColumnKind.TIME:
        return console.local_time(cell)
    return _pipe_cell(cell)


def _write(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    from memd.view.cells import cut, pad

    order = list(range(len(columns)))
    if not any(column.keeps_order for column in columns):
        order.sort(key=lambda place: columns[place].kind.value)
    columns = [columns[place] for place in order]
    lines = [[row[place] for place in order] for row in rows]
    widths = _widths(columns, [[column.head for column in columns], *lines])
    is_marked = columns[0].is_stored_text

    def line(row: Sequence[str]) -> str:
        cells = (pad(cut(cell, room), room) for cell, room in zip(row, widths, strict=True))
        return cut(_GAP.join(cells).rstrip(), console.width() - len(console.BAR) * is_marked)

    margin = " " * len(console.BAR) * is_marked
    console.out(console.dim(margin + line([column.head for column in columns])))
    for row in lines:
        console.out(console.mark_line(line(row)) if is_marked else line(row))


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of each column: what its cells need, for the text column what remains."""
    from memd.view.cells import width

    needs = [max(width(row[place]) for row in rows) for place in range(len(columns))]
    texts = [place for place, column in enumerate(columns) if column.kind is ColumnKind.TEXT]
    if not texts:
        return needs
    available = (
        console.width()
        - len(_GAP) * (len(columns) - 1)
        - len(console.BAR) * columns[0].is_stored_text
    )
    minimum = min(TEXT_CELLS_MIN, needs[texts[0]])
    if available - sum(needs) + needs[texts[0]] < minimum:
        needs = [
            min(need, WORD_CELLS_MAX)
            if column.kind is ColumnKind.WORD and not column.is_uncut
            else need
            for need, column in zip(needs, columns, strict=True)
        ]
    remaining = available - sum(needs) + needs[texts[0]]
    needs[texts[0]] = max(min(remaining, needs[texts[0]]), minimum)
    return needs
