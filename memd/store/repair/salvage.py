"""Verify the rows read from a damaged file, and insert the intact ones into a new file.

A memory whose text matches its hash is kept, even if other columns are damaged. Rows without a hash
are kept when the schema accepts them. Indexes, full-text indexes, the vector cache and contexts are
rebuilt instead (repair.py).
"""

from __future__ import annotations

import hashlib
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

import apsw

from memd.store.check.integrity import OPERATION, SEALED_TABLES, SealedTable
from memd.store.file.connect import Writing, hash_columns
from memd.store.records.shape import ensure
from memd.store.records.table import RecordTable
from memd.store.repair.pages import Cell, FilePages, Value
from memd.store.search import vectors

Row = dict[str, Value]

_NOT_SALVAGED = frozenset({"memory_context", "org_fact", "change"})
"""Tables that are rebuilt; the audit (``change``) is copied as a chain, not row by row."""
# Keys of table meta that describe caches, which the new file builds itself.
_CACHES = frozenset(
    {"words_generation", "words_build", "vector_cache", "vector_build", "session_words_filled"}
)
_TYPES: Mapping[str, tuple[type, ...]] = {
    "INTEGER": (int,), "REAL": (int, float), "TEXT": (str,), "BLOB": (bytes,),
    "ANY": (int, float, str, bytes),
}  # fmt: skip
# The statements below are built from names of the schema.
# ruff: noqa: S608


class SchemaColumn(NamedTuple):
    """A column of the schema."""

    name: str
    kind: str
    is_required: bool
    primary: int


class Table(NamedTuple):
    """A table of the schema; *columns* in the order of its records on disk."""

    name: str
    columns: tuple[SchemaColumn, ...]
    rowid_name: str | None
    """The column that is an alias of the rowid."""
    has_rowid: bool

    def row(self, cell: Cell) -> Row | None:
        """Return a cell as a row of this table, None when number or types of columns differ."""
        if len(cell.columns) > len(self.columns):
            return None
        row: Row = {}
        for column, value in zip(self.columns, cell.columns, strict=False):
            if column.name == self.rowid_name:
                if value is not None or cell.rowid < 1:
                    return None
                row[column.name] = cell.rowid
            elif value is None:
                if column.is_required:
                    return None
                row[column.name] = None
            elif isinstance(value, _TYPES[column.kind]):
                row[column.name] = value
            else:
                return None
        return row


class Salvage:
    """Copies the rows of *pages* into the new file of *conn*; counts kept rows, lists lost ones."""

    def __init__(
        self, conn: Writing, pages: FilePages, records: Sequence[RecordTable] = ()
    ) -> None:
        self._conn = conn
        self._pages = pages
        self._trees = self._roots()
        for table in records:  # created by a first write, so a new file has none
            if table.name in self._trees:
                ensure(conn, table)
        self.tables = {table.name: table for table in _tables(conn)}
        self.kept: Counter[str] = Counter()
        self.lost: list[str] = []
        self.links: dict[int, Row] = {}
        """The audit's chain, by number."""

    def run(self) -> None:
        """Copy everything that is readable, within the caller's transaction."""
        for name, root in self._trees.items():
            table = self.tables.get(name)
            if table is None or name == "memory_context":
                self._pages.mark(root)
                continue
            for cell in self._pages.tree(root):
                self._copy_row(table, cell)
        for cells in self._pages.orphans():
            table = self._find_table(cells)
            if table is not None:
                for cell in cells:
                    self._copy_row(table, cell)

    def _roots(self) -> dict[str, int]:
        """Return the root page of each table and index in readable rows of the schema table."""
        roots: dict[str, int] = {}
        for cell in self._pages.tree(1):
            if len(cell.columns) == _SCHEMA_COLUMNS and isinstance(cell.columns[3], int):
                roots[str(cell.columns[1])] = cell.columns[3]
        return {name: root for name, root in roots.items() if root}

    def _find_table(self, cells: Sequence[Cell]) -> Table | None:
        """Return the only table that all *cells* fit, None when none or several do."""
        candidates = [
            table
            for table in self.tables.values()
            if table.has_rowid and cells and all(_fits(table, cell) for cell in cells)
        ]
        return candidates[0] if len(candidates) == 1 else None

    def _copy_row(self, table: Table, cell: Cell) -> None:
        row = table.row(cell)
        if row is None:
            self.lost.append(f"{table.name}: a row that does not fit the table")
        elif table.name == "change":
            self.links.setdefault(cast("int", row["seq"]), row)
        elif table.name not in _NOT_SALVAGED and row.get("key") not in _CACHES:
            row_name = _VERIFIERS.get(table.name, _accept)(row)
            if table.name == "embedding":
                row["tokens"] = None  # not covered by the checksum; the queue computes them again
            if row_name is None:
                self._insert(table.name, row)
            else:
                self.lost.append(f"{table.name} {row_name}: it is not as it was written")

    def _insert(self, table: str, row: Row) -> None:
        names = ", ".join(f'"{name}"' for name in row)  # quoted: a column of records is called "to"
        places = ", ".join(f":{name}" for name in row)
        try:
            self._conn.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({places})", row)
        except (apsw.ConstraintError, apsw.MismatchError):
            self.lost.append(f"{table}: a row that the schema does not take")
            return
        self.kept[table] += self._conn.changes()


_SCHEMA_COLUMNS = 5


def _fits(table: Table, cell: Cell) -> bool:
    return len(cell.columns) == len(table.columns) and table.row(cell) is not None


def _tables(conn: Writing) -> Iterator[Table]:
    names = conn.execute(
        """
        SELECT name, wr
          FROM pragma_table_list
         WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'
           AND name NOT LIKE 'fts\\_%' ESCAPE '\\' AND name NOT LIKE 'org_fts%'
         ORDER BY name
        """
    ).fetchall()
    for name, without_rowid in names:
        rows = conn.execute(
            'SELECT name, type, "notnull", pk FROM pragma_table_info(:name) ORDER BY cid',
            {"name": name},
        )
        columns = [SchemaColumn(str(n), str(t), bool(r), int(p)) for n, t, r, p in rows]
        primary_key = [column for column in columns if column.primary]
        rowid = (
            primary_key[0].name
            if len(primary_key) == 1 and primary_key[0].kind == "INTEGER"
            else None
        )
        if without_rowid:  # on disk, such a row begins with the columns of the primary key
            rowid = None
            columns.sort(key=lambda column: (not column.primary, column.primary))
        yield Table(str(name), tuple(columns), rowid, not without_rowid)


Verifier = Callable[[Row], str | None]
"""Returns None for an intact row, else the name of the damaged row."""


def _accept(row: Row) -> str | None:
    del row
    return None


def _verify_memory(row: Row) -> str | None:
    content = cast("str", row["content"])
    is_intact = hashlib.sha256(content.encode()).digest() == row["content_hash"]
    return None if is_intact else str(row["memory_id"])


def _verify_embedding(row: Row) -> str | None:
    is_intact = vectors.checksum(cast("bytes", row["vector"])) == row["checksum"]
    return None if is_intact else f"of row {row['memory_key']!r}"


def _verify_source(row: Row) -> str | None:
    try:
        text = zlib.decompress(cast("bytes", row["zlib"]))
    except zlib.error:
        text = b""
    is_intact = hashlib.sha256(text).digest() == row["sha256"]
    return None if is_intact else str(row["source_key"])


def _verify_hash(table: SealedTable) -> Verifier:
    def verify(row: Row) -> str | None:
        covered = [row.get(column) for column in table.columns]
        return None if hash_columns(*covered) == row.get("row_hash") else str(row[table.id_column])

    return verify


_VERIFIERS: Mapping[str, Verifier] = {
    "memory": _verify_memory,
    "embedding": _verify_embedding,
    "source": _verify_source,
    **{table.name: _verify_hash(table) for table in (*SEALED_TABLES, OPERATION)},
}
