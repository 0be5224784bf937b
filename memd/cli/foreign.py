"""SQLite files of other programs: read, never written, and nothing is left beside them."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from memd.base.errors import InvalidError

Tables = Mapping[str, frozenset[str]]
"""The columns of each table."""

_HEAD = b"SQLite format 3\0"


def is_one(path: Path) -> bool:
    """Return whether a file is one of SQLite's, by its beginning."""
    try:
        with path.open("rb") as stream:
            return stream.read(len(_HEAD)) == _HEAD
    except OSError:
        return False  # whoever reads it says why


@contextlib.contextmanager
def opened(path: Path) -> Iterator[tuple[sqlite3.Connection, Tables]]:
    """Open a file while its program may be using it; yields it with its tables.

    Raises InvalidError, also from within, for what SQLite cannot read.
    """
    # Without a log beside it nobody is writing; to look for one would make one.
    is_used = path.with_name(f"{path.name}-wal").exists()
    uri = f"file:{quote(str(path))}?mode=ro{'' if is_used else '&immutable=1'}"
    try:
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as conn:
            conn.text_factory = _text
            conn.row_factory = sqlite3.Row
            conn.execute("PRAGMA trusted_schema = OFF")
            yield conn, _tables(conn)
    except sqlite3.Error as error:
        raise InvalidError(f"cannot be read: {error}") from error


def values(row: sqlite3.Row) -> dict[str, Any]:
    """Return a row by its columns' names: which there are differs between versions."""
    return {name: row[name] for name in row.keys()}  # noqa: SIM118  # a row has values, not keys


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").replace("\0", "")


def _tables(conn: sqlite3.Connection) -> Tables:
    found: dict[str, set[str]] = {}
    for table, column in conn.execute(
        """
        SELECT m.name, c.name
          FROM sqlite_schema AS m, pragma_table_info(m.name) AS c
         WHERE m.type = 'table'
        """
    ):
        found.setdefault(table, set()).add(column)
    return {table: frozenset(columns) for table, columns in found.items()}
