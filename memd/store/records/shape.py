"""Create the tables of records, and migrate them when their declaration has changed.

A file may be older than this memd (decision 0202). A column that is new in the declaration is added
to the table, with its default. If the rule of a column changed, such as the values that a status
may have, the table is rebuilt with the same rows, in one transaction. A change that would lose or
alter rows (a removed column, another type or key, a row that the new rule forbids) raises
MigrationError and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import apsw

from memd.base.errors import MigrationError
from memd.store.file.connect import Reading, Writing
from memd.store.records.table import PREFIX, RecordColumn, RecordTable, quote

# As in rows.py, the statements are built from names and rules of declarations.
# ruff: noqa: S608

_OLD = "_before"
"""The suffix of a table's name while it is being rebuilt."""


class _Steps(NamedTuple):
    """The changes that bring a table to its declaration."""

    statements: Sequence[str] = ()
    rebuild: bool = False
    """Whether the table must be rebuilt; then there are no statements."""


def exists(conn: Reading, table: RecordTable) -> bool:
    """Return whether anything was ever written into *table*."""
    return _text(conn, table.name) is not None


def ensure(conn: Writing, table: RecordTable) -> None:
    """Create *table*, after the tables that it refers to, unless they exist."""
    for needed in table.needs:
        ensure(conn, needed)
    if not exists(conn, table):
        conn.execute(table.ddl)


def is_current(conn: Reading, table: RecordTable) -> bool:
    """Return whether *table* and those that it refers to match their declarations or do not exist.

    Raises MigrationError for a table that cannot be migrated.
    """
    if not all(is_current(conn, needed) for needed in table.needs):
        return False
    return _pending_steps(conn, table) == _Steps()


def migrate(conn: Writing, table: RecordTable) -> None:
    """Migrate *table*, after those that it refers to.

    Raises MigrationError, without changing *table*, when it cannot be migrated.
    """
    for needed in table.needs:
        migrate(conn, needed)
    steps = _pending_steps(conn, table)
    with conn:  # a savepoint
        if steps.rebuild:
            _rebuild(conn, table)
        for statement in steps.statements:
            conn.execute(statement)


def _pending_steps(conn: Reading, table: RecordTable) -> _Steps:
    """Return the steps that bring *table* to its declaration; none for one that does not exist."""
    text = _text(conn, table.name)
    if text is None:
        return _Steps()
    _require_same(conn, table)
    existing = _names(conn, table.name)
    defined = dict(_definitions(text))
    added = [column for column in table.columns if column.name not in existing]
    changed = [
        column
        for column in table.columns
        if column.name in existing
        and defined.get(column.name, "").partition(" DEFAULT ")[0] != column.ddl
    ]
    for column in added:
        if column.required and column.default is None:
            _refuse(table, f"has no {column.name}, and a record must have one")
    for column in changed:
        _require_allowed(conn, table, column)
    if changed:
        return _Steps(rebuild=True)
    return _Steps(
        [*(_add_column(table, column) for column in added), *_update_indexes(conn, table)]
    )


def _require_same(conn: Reading, table: RecordTable) -> None:
    """Raise MigrationError if the file's table has unknown columns, another type or another key."""
    types = {column.name: column.type for column in table.columns}
    info = conn.execute(f'PRAGMA table_info("{table.name}")').fetchall()
    unknown = sorted({str(row[1]) for row in info} - types.keys())
    if unknown:
        _refuse(table, f"has {', '.join(unknown)}, which this memd does not know")
    other = sorted(str(row[1]) for row in info if row[2] != types[str(row[1])])
    if other:
        _refuse(table, f"has another {', '.join(other)} than this memd")
    key = sorted((int(str(row[5])), str(row[1])) for row in info if row[5])
    if tuple(name for _, name in key) != table.key:
        _refuse(table, f"has another key than {', '.join(table.key)}")


def _require_allowed(conn: Reading, table: RecordTable, column: RecordColumn) -> None:
    """Raise MigrationError when a row has a value that *column* no longer allows."""
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


def _add_column(table: RecordTable, column: RecordColumn) -> str:
    value = "" if column.default is None else f" DEFAULT {column.default}"
    return f"ALTER TABLE {table.name} ADD COLUMN {column.ddl}{value}"


def _update_indexes(conn: Reading, table: RecordTable) -> Iterator[str]:
    """Yield the statements that drop undeclared or changed indexes and create the declared ones."""
    existing = _indexes(conn, table.name)
    declared = table.index_ddls
    for name, text in existing.items():
        if declared.get(name) != text:
            yield f'DROP INDEX "{name}"'
    for name, text in declared.items():
        if existing.get(name) != text:
            yield text


def _rebuild(conn: Writing, table: RecordTable) -> None:
    """Rebuild *table* by its declaration, with the rows that it has.

    Tables that refer to it are rebuilt unchanged: RENAME makes their foreign keys follow the old
    table.
    """
    referring = list(_iter_referring(conn, table.name))
    texts = {name: [_text(conn, name), *_indexes(conn, name).values()] for name in referring}
    columns = {name: _names(conn, name) for name in (table.name, *referring)}
    for name in columns:
        for index in _indexes(conn, name):
            conn.execute(f'DROP INDEX "{index}"')
        conn.execute(f"ALTER TABLE {name} RENAME TO {name}{_OLD}")
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
        conn.execute(f"DROP TABLE {name}{_OLD}")


def _copy(
    conn: Writing, name: str, existing: tuple[str, ...], declared: RecordTable | None = None
) -> None:
    """Copy the rows of the old table; new columns get their default."""
    added = [c for c in declared.columns if c.name not in existing] if declared else []
    values = ", ".join([quote(existing), *(column.default or "NULL" for column in added)])
    names = quote((*existing, *(column.name for column in added)))
    conn.execute(f"INSERT INTO {name} ({names}) SELECT {values} FROM {name}{_OLD}")


def _iter_referring(conn: Reading, name: str) -> Iterator[str]:
    """Yield the tables of records that refer to *name*, and those that refer to them."""
    tables = conn.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB ? ORDER BY name",
        (PREFIX + "*",),
    ).fetchall()
    for (other,) in tables:
        keys = conn.execute(f'PRAGMA foreign_key_list("{other}")').fetchall()
        if other != name and any(row[2] == name for row in keys):
            yield str(other)
            yield from _iter_referring(conn, str(other))


def _names(conn: Reading, name: str) -> tuple[str, ...]:
    return tuple(str(row[1]) for row in conn.execute(f'PRAGMA table_info("{name}")'))


def _definitions(text: str) -> Iterator[tuple[str, str]]:
    """Yield each column's name and its definition in *text*, a table's statement.

    >>> dict(_definitions('CREATE TABLE a ("b" REAL CHECK ("b" IN (1, 2)), "c" TEXT)'))
    {'b': '"b" REAL CHECK ("b" IN (1, 2))', 'c': '"c" TEXT'}
    """
    depth, start, open_quote = 0, 0, ""
    for at, letter in enumerate(text):
        if open_quote:
            open_quote = "" if letter == open_quote else open_quote
            continue
        open_quote = letter if letter in "'\"" else ""
        if letter == "(":
            depth += 1
            start = at + 1 if depth == 1 else start
        elif (letter == "," and depth == 1) or (letter == ")" and depth == 1):
            definition = text[start:at].strip()
            if definition.startswith('"'):
                yield definition.split('"')[1], definition
            start = at + 1
        depth -= letter == ")"


def _refuse(table: RecordTable, what: str) -> None:
    name = table.name.removeprefix(PREFIX)
    raise MigrationError(
        f"the file's table of {name} {what}",
        hint="use the memd that wrote it, or export the records with it: memd records "
        f"{name} export",
    )


def _text(conn: Reading, name: str) -> str | None:
    return conn.get_text("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", (name,))


def _indexes(conn: Reading, name: str) -> dict[str, str]:
    """Return the explicitly created indexes of the table *name*, with their statements."""
    rows = conn.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?"
        " AND sql IS NOT NULL",
        (name,),
    ).fetchall()
    return {str(index): str(text) for index, text in rows}
