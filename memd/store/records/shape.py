"""A table of records is made when it is first written, and follows its declaration.

A file may be older than this memd (decision 0202). A column that the declaration has gained is
added to its table, with the value that a record without it has. A rule of a column that has
changed, such as which words a status may be, makes the table anew around the same rows, in one
transaction. What would lose or change what is stored (a column that is gone, another type or
key, a row that the new rule forbids) is refused in words, and nothing is touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import apsw

from memd.base.record_errors import MigrationError
from memd.store.file.connect import Reading, Writing
from memd.store.records.table import PREFIX, RecordColumn, RecordTable, quoted

# As in rows.py: the statements are put together from names and rules of declarations.
# ruff: noqa: S608

_BEFORE = "_before"
"""What the name of a table ends in while another is made in its place."""


class _Steps(NamedTuple):
    """What brings a table to its declaration."""

    statements: Sequence[str] = ()
    anew: bool = False
    """Whether the table must be made anew; the statements are of no use then."""


def exists(conn: Reading, table: RecordTable) -> bool:
    """Return whether anything was ever written into *table*."""
    return _text(conn, table.name) is not None


def make(conn: Writing, table: RecordTable) -> None:
    """Make *table*, and before it those that it refers to, as far as they are not there."""
    for needed in table.needs:
        make(conn, needed)
    if not exists(conn, table):
        conn.execute(table.ddl)


def is_current(conn: Reading, table: RecordTable) -> bool:
    """Return whether *table* is as declared, or not there yet, and all that it refers to.

    Raises MigrationError when it cannot become so.
    """
    if not all(is_current(conn, needed) for needed in table.needs):
        return False
    return _behind(conn, table) == _Steps()


def follow(conn: Writing, table: RecordTable) -> None:
    """Bring *table* to its declaration; raises MigrationError, with nothing done, where it cannot.

    Before it, those that it refers to.
    """
    for needed in table.needs:
        follow(conn, needed)
    steps = _behind(conn, table)
    with conn:  # a savepoint
        if steps.anew:
            _make_anew(conn, table)
        for statement in steps.statements:
            conn.execute(statement)


def _behind(conn: Reading, table: RecordTable) -> _Steps:
    """Return what brings *table* to its declaration; nothing for one that is not there."""
    text = _text(conn, table.name)
    if text is None:
        return _Steps()
    _require_same(conn, table)
    there = _names(conn, table.name)
    defined = dict(_definitions(text))
    added = [column for column in table.columns if column.name not in there]
    changed = [
        column
        for column in table.columns
        if column.name in there
        and defined.get(column.name, "").partition(" DEFAULT ")[0] != column.ddl
    ]
    for column in added:
        if column.required and column.default is None:
            _refuse(table, f"has no {column.name}, and a record must have one")
    for column in changed:
        _require_kept(conn, table, column)
    if changed:
        return _Steps(anew=True)
    return _Steps([*(_adding(table, column) for column in added), *_indexing(conn, table)])


def _require_same(conn: Reading, table: RecordTable) -> None:
    """Raise MigrationError for columns that are gone or of another type, or another key."""
    types = {column.name: column.type for column in table.columns}
    info = conn.execute(f'PRAGMA table_info("{table.name}")').fetchall()
    gone = sorted({str(row[1]) for row in info} - types.keys())
    if gone:
        _refuse(table, f"has {', '.join(gone)}, which this memd does not know")
    other = sorted(str(row[1]) for row in info if row[2] != types[str(row[1])])
    if other:
        _refuse(table, f"has another {', '.join(other)} than this memd")
    key = sorted((int(str(row[5])), str(row[1])) for row in info if row[5])
    if tuple(name for _, name in key) != table.key:
        _refuse(table, f"has another key than {', '.join(table.key)}")


def _require_kept(conn: Reading, table: RecordTable, column: RecordColumn) -> None:
    """Raise MigrationError where a row holds what *column* may not hold any more."""
    rules = [f"NOT ({column.check})"] if column.check else []
    if column.required:
        rules.append(f'"{column.name}" IS NULL')
    if (
        rules
        and conn.execute(
            f"SELECT 1 FROM {table.name} WHERE {' OR '.join(rules)} LIMIT 1"
        ).fetchone()
    ):
        _refuse(table, f"has a {column.name} that this memd does not allow")


def _adding(table: RecordTable, column: RecordColumn) -> str:
    value = "" if column.default is None else f" DEFAULT {column.default}"
    return f"ALTER TABLE {table.name} ADD COLUMN {column.ddl}{value}"


def _indexing(conn: Reading, table: RecordTable) -> Iterator[str]:
    """Yield what drops indexes that are not declared, or otherwise, and makes those that are."""
    there = _indexes(conn, table.name)
    declared = {index.name: index.ddl for index in table.index_ddls}
    for name, text in there.items():
        if declared.get(name) != text:
            yield f'DROP INDEX "{name}"'
    for name, text in declared.items():
        if there.get(name) != text:
            yield text


def _make_anew(conn: Writing, table: RecordTable) -> None:
    """Make *table* by its declaration, with the rows that it has.

    Tables that refer to it are made again, too, as they are: a foreign key points to a table
    and not to a name.
    """
    referring = list(_referring(conn, table.name))
    texts = {name: [_text(conn, name), *_indexes(conn, name).values()] for name in referring}
    columns = {name: _names(conn, name) for name in (table.name, *referring)}
    for name in columns:
        for index in _indexes(conn, name):
            conn.execute(f'DROP INDEX "{index}"')
        conn.execute(f"ALTER TABLE {name} RENAME TO {name}{_BEFORE}")
    conn.execute(table.ddl)
    for statements in texts.values():
        for statement in statements:
            conn.execute(str(statement))
    try:
        _copy(conn, table.name, columns[table.name], table)
        for name in referring:
            _copy(conn, name, columns[name])
    except apsw.ConstraintError:
        _refuse(table, "has a row that this memd does not allow")
    for name in reversed(columns):
        conn.execute(f"DROP TABLE {name}{_BEFORE}")


def _copy(
    conn: Writing, name: str, there: tuple[str, ...], declared: RecordTable | None = None
) -> None:
    """Copy the rows of the table before; what it had not has its default."""
    added = [c for c in declared.columns if c.name not in there] if declared else []
    values = ", ".join([quoted(there), *(column.default or "NULL" for column in added)])
    names = quoted((*there, *(column.name for column in added)))
    conn.execute(f"INSERT INTO {name} ({names}) SELECT {values} FROM {name}{_BEFORE}")


def _referring(conn: Reading, name: str) -> Iterator[str]:
    """Yield the tables of records that refer to *name*, and those that refer to them."""
    tables = conn.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB ? ORDER BY name",
        (PREFIX + "*",),
    ).fetchall()
    for (other,) in tables:
        keys = conn.execute(f'PRAGMA foreign_key_list("{other}")').fetchall()
        if other != name and any(row[2] == name for row in keys):
            yield str(other)
            yield from _referring(conn, str(other))


def _names(conn: Reading, name: str) -> tuple[str, ...]:
    return tuple(str(row[1]) for row in conn.execute(f'PRAGMA table_info("{name}")'))


def _definitions(text: str) -> Iterator[tuple[str, str]]:
    """Yield each column's name with how *text*, a table's, defines it.

    >>> dict(_definitions('CREATE TABLE a ("b" REAL CHECK ("b" IN (1, 2)), "c" TEXT)'))
    {'b': '"b" REAL CHECK ("b" IN (1, 2))', 'c': '"c" TEXT'}
    """
    depth, begun, quote = 0, 0, ""
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
            continue
        quote = letter if letter in "'\"" else ""
        if letter == "(":
            depth += 1
            begun = at + 1 if depth == 1 else begun
        elif (letter == "," and depth == 1) or (letter == ")" and depth == 1):
            definition = text[begun:at].strip()
            if definition.startswith('"'):
                yield definition.split('"')[1], definition
            begun = at + 1
        depth -= letter == ")"


def _refuse(table: RecordTable, what: str) -> None:
    name = table.name.removeprefix(PREFIX)
    raise MigrationError(
        f"the file's table of {name} {what}",
        hint="use the memd that wrote it, or export the records with it: memd records "
        f"{name} export",
    )


def _text(conn: Reading, name: str) -> str | None:
    text = conn.execute(
        "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", (name,)
    ).get
    return None if text is None else str(text)


def _indexes(conn: Reading, name: str) -> dict[str, str]:
    """Return the indexes of the table *name* that somebody made, with their texts."""
    rows = conn.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?"
        " AND sql IS NOT NULL",
        (name,),
    ).fetchall()
    return {str(index): str(text) for index, text in rows}
