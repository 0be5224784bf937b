"""A table of records is made when it is first written, and follows its declaration.

A file may be older than this memd: a column that the declaration has gained is added to its
table, with the value that a record without it has. What would lose or change what is stored
(a column that is gone, or of another type or rule) is refused in words, and nothing is
touched.
"""

from __future__ import annotations

from memd.base.record_errors import MigrationError
from memd.store.file.connect import Reading, Writing
from memd.store.records.table import RecordColumn, RecordTable


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
    return all(is_current(conn, needed) for needed in table.needs) and not _behind(conn, table)


def follow(conn: Writing, table: RecordTable) -> None:
    """Add to *table* what its declaration has gained; raises MigrationError when that is not all.

    Before it, those that it refers to.
    """
    for needed in table.needs:
        follow(conn, needed)
    for statement in _behind(conn, table):
        conn.execute(statement)


def _behind(conn: Reading, table: RecordTable) -> list[str]:
    """Return the statements that bring *table* to its declaration; none for one not there."""
    text = _text(conn, table.name)
    if text is None:
        return []
    there = {str(row[1]) for row in conn.execute(f'PRAGMA table_info("{table.name}")')}
    declared = {column.name: column for column in table.columns}
    gone = sorted(there - declared.keys())
    if gone:
        _refuse(table, f"has {', '.join(gone)}, which this memd does not know")
    changed = [name for name in sorted(there) if declared[name].ddl not in text]
    if changed:
        _refuse(table, f"has another {', '.join(changed)} than this memd")
    added = [column for column in table.columns if column.name not in there]
    indexes = {str(row[1]) for row in conn.execute(f'PRAGMA index_list("{table.name}")')}
    return [
        *(_adding(table, column) for column in added),
        *(index.ddl for index in table.index_ddls if index.name not in indexes),
    ]


def _adding(table: RecordTable, column: RecordColumn) -> str:
    if column.required and column.default is None:
        _refuse(table, f"has no {column.name}, and a record must have one")
    value = "" if column.default is None else f" DEFAULT {column.default}"
    return f"ALTER TABLE {table.name} ADD COLUMN {column.ddl}{value}"


def _refuse(table: RecordTable, what: str) -> None:
    name = table.name.removeprefix("record_")
    raise MigrationError(
        f"the file's table of {name} {what}",
        hint="use the memd that wrote it, or export the records with it: memd records "
        f"{name} export",
    )


def _text(conn: Reading, name: str) -> str | None:
    found = conn.execute(
        "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", (name,)
    ).get
    return None if found is None else str(found)
