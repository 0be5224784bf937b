"""Insert, replace, list, count, sum and delete rows of records.

The first write into a table creates it, in the same transaction; until then it reads as empty. A
violated constraint raises an error of SPEC 19.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apsw

from memd.base.errors import ConstraintViolationError, DuplicateRecordError
from memd.store.file.connect import Reading, Writing
from memd.store.records.shape import ensure, exists
from memd.store.records.table import PREFIX, RecordTable, quote

# The statements are built from names of declarations (table.py); values are bound.
# ruff: noqa: S608

Value = str | int | float | None
Row = tuple[Any, ...]
_DUPLICATES = frozenset({apsw.SQLITE_CONSTRAINT_PRIMARYKEY, apsw.SQLITE_CONSTRAINT_UNIQUE})


class Condition(NamedTuple):
    """``column op value``; *op* is one of ``= <> < <= >=``."""

    column: str
    op: str
    value: Value


def insert(conn: Writing, table: RecordTable, row: Mapping[str, Value]) -> None:
    """Add *row*; raises DuplicateRecordError or ConstraintViolationError."""
    ensure(conn, table)
    _run(conn, _insert(table, row), table, row)


def save(conn: Writing, table: RecordTable, row: Mapping[str, Value]) -> bool:
    """Add *row*, or replace the one with the same key; returns whether it was added."""
    ensure(conn, table)
    exists_already = get(conn, table, [row[name] for name in table.key]) is not None
    other_columns = [name for name in row if name not in table.key]
    changes = ", ".join(f'"{name}" = excluded."{name}"' for name in other_columns)
    _run(conn, f"{_insert(table, row)} ON CONFLICT DO UPDATE SET {changes}", table, row)
    return not exists_already


def get(conn: Reading, table: RecordTable, key: Sequence[Value]) -> Row | None:
    """Return the row with *key*, its columns in the declaration's order; None if there is none."""
    if not exists(conn, table):
        return None
    where = [Condition(name, "=", value) for name, value in zip(table.key, key, strict=True)]
    text, values = _where(where)
    return conn.execute(f"SELECT {_columns(table)} FROM {table.name}{text}", values).fetchone()


def list_page(
    conn: Reading,
    table: RecordTable,
    where: Sequence[Condition],
    *,
    limit: int = -1,
    offset: int = 0,
) -> list[Row]:
    """Return the rows that match *where*, in the table's order; a negative *limit* returns all."""
    return list(iter_rows(conn, table, where, limit=limit, offset=offset))


def iter_rows(
    conn: Reading,
    table: RecordTable,
    where: Sequence[Condition],
    *,
    after: Sequence[Value] | None = None,
    limit: int = -1,
    offset: int = 0,
) -> Iterator[Row]:
    """Yield the rows that :func:`list_page` returns, but only those after the position *after*.

    A position is a row's values of ``table.order + table.key``; that row need not exist any more.
    """
    if not exists(conn, table):
        return iter(())
    text, values = _where(where)
    order = table.order + table.key
    if after is not None:
        placeholders = ", ".join("?" for _ in order)
        keyword = " AND" if text else " WHERE"
        text += f"{keyword} ({quote(order)}) {'<' if table.newest_first else '>'} ({placeholders})"
        values += list(after)
    direction = " DESC" if table.newest_first else ""
    order_by = ", ".join(f'"{name}"{direction}' for name in order)
    return conn.execute(
        f"SELECT {_columns(table)} FROM {table.name}{text} ORDER BY {order_by} LIMIT ? OFFSET ?",
        [*values, limit, offset],
    )


def list_by_key(conn: Reading, table: RecordTable, after: Sequence[Value], limit: int) -> list[Row]:
    """Return up to *limit* rows in key order after key *after*; an empty *after* is the start."""
    if not exists(conn, table):
        return []
    key, placeholders = quote(table.key), ", ".join("?" for _ in after)
    where = f" WHERE ({key}) > ({placeholders})" if after else ""
    return conn.execute(
        f"SELECT {_columns(table)} FROM {table.name}{where} ORDER BY {key} LIMIT ?",
        [*after, limit],
    ).fetchall()


def count(conn: Reading, table: RecordTable, where: Sequence[Condition] = ()) -> int:
    if not exists(conn, table):
        return 0
    text, values = _where(where)
    return conn.get_count(f"SELECT count(*) FROM {table.name}{text}", values)


def delete(
    conn: Writing, table: RecordTable, where: Sequence[Condition], *, limit: int | None = None
) -> int:
    """Delete the rows that match *where*, at most *limit*; returns how many.

    Raises ConstraintViolationError when other records refer to one of them.
    """
    if not exists(conn, table):
        return 0
    text, values = _where(where)
    if limit is not None:
        key = quote(table.key)
        text = f" WHERE ({key}) IN (SELECT {key} FROM {table.name}{text} LIMIT ?)"
        values.append(limit)
    try:
        conn.execute(f"DELETE FROM {table.name}{text}", values)
    except apsw.ConstraintError:
        raise ConstraintViolationError("other records refer to it") from None
    return conn.changes()


def list_currencies(conn: Reading, table: RecordTable, where: Sequence[Condition]) -> list[str]:
    """Return the distinct currencies, in order.

    Needs one index lookup for each currency; SELECT DISTINCT would scan the index.
    """
    if not exists(conn, table):
        return []
    names: list[str] = []
    last = ""
    while True:
        text, values = _where([*where, Condition("currency", ">", last)])
        row = conn.execute(f"SELECT min(currency) FROM {table.name}{text}", values).fetchone()
        assert row is not None
        if row[0] is None:
            return names
        last = str(row[0])
        names.append(last)


def total(conn: Reading, table: RecordTable, column: str, where: Sequence[Condition]) -> float:
    """Return the sum of *column*, 0.0 for no rows."""
    if not exists(conn, table):
        return 0.0
    text, values = _where(where)
    # total() returns 0.0 for no rows, where sum() returns NULL.
    amount = conn.execute(f'SELECT total("{column}") FROM {table.name}{text}', values).get
    return float(str(amount))


def count_all(conn: Reading) -> dict[str, int]:
    """Return the number of records of each entity that has any; needs no declarations."""
    tables = conn.list_texts(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB ? ORDER BY name",
        (PREFIX + "*",),
    )
    numbers = {
        name.removeprefix(PREFIX): conn.get_count(f'SELECT count(*) FROM "{name}"')
        for name in tables
    }
    return {name: number for name, number in numbers.items() if number}


def _columns(table: RecordTable) -> str:
    return quote(tuple(column.name for column in table.columns))


def _where(conditions: Sequence[Condition]) -> tuple[str, list[Value]]:
    text = " AND ".join(f'"{condition.column}" {condition.op} ?' for condition in conditions)
    return f" WHERE {text}" if text else "", [condition.value for condition in conditions]


def _insert(table: RecordTable, row: Mapping[str, Value]) -> str:
    placeholders = ", ".join("?" for _ in row)
    return f"INSERT INTO {table.name} ({quote(tuple(row))}) VALUES ({placeholders})"


def _run(conn: Writing, text: str, table: RecordTable, row: Mapping[str, Value]) -> None:
    try:
        conn.execute(text, tuple(row.values()))
    except apsw.ConstraintError as error:
        code = int(getattr(error, "extendedresult", 0))
        if code in _DUPLICATES:
            raise DuplicateRecordError("there is one with this id already", field="id") from None
        if code == apsw.SQLITE_CONSTRAINT_FOREIGNKEY:
            raise _missing_error(conn, table, row) from None
        raise ConstraintViolationError("a column may not hold this value") from None


def _missing_error(
    conn: Reading, table: RecordTable, row: Mapping[str, Value]
) -> ConstraintViolationError:
    """Return the error for *row*, which refers to a record that does not exist."""
    tables = {need.name: need for need in table.needs}
    for column in table.columns:
        need, value = tables.get(column.references or ""), row.get(column.name)
        if need is not None and value is not None and get(conn, need, [value]) is None:
            entity = need.name.removeprefix(PREFIX)
            return ConstraintViolationError(
                f"{column.name}: there is no such record in {entity}",
                field=f"record.{column.name}",
                hint=f"save that record first: records.{entity}.save",
            )
    return ConstraintViolationError("it refers to a record that does not exist")
