"""Which salvaged rows are as they were written, and how they come into a new file.

A text whose hash is right is kept, whatever else of its row is lost. Rows without a hash
are kept when the schema takes them. Indexes, words, vectors' caches and contexts are not
salvaged: they are made anew (repair.py).
"""

from __future__ import annotations

import hashlib
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

import apsw

from memd.store.file.connect import Writing, hash_columns
from memd.store.records.shape import make
from memd.store.records.table import RecordTable
from memd.store.repairing.pages import Cell, FilePages, Value
from memd.store.search import vectors

Row = dict[str, Value]

_NOT_SALVAGED = frozenset({"memory_context", "org_fact", "change"})
"""Made anew, or looked at as a whole."""
_CACHES = frozenset(
    {"words_generation", "words_build", "vector_cache", "vector_build", "session_words_filled"}
)
_TYPES: Mapping[str, tuple[type, ...]] = {
    "INTEGER": (int,), "REAL": (int, float), "TEXT": (str,), "BLOB": (bytes,),
    "ANY": (int, float, str, bytes),
}  # fmt: skip
# The statements below are put together from the names of the schema only.
# ruff: noqa: S608


class SchemaColumn(NamedTuple):
    """One column, as the schema says it."""

    name: str
    kind: str
    is_required: bool
    primary: int


class Table(NamedTuple):
    """A table of the schema; *columns* in the order in which its records hold them."""

    name: str
    columns: tuple[SchemaColumn, ...]
    rowid_name: str | None
    """The column that the rowid is."""
    has_rowid: bool

    def row(self, cell: Cell) -> Row | None:
        """Return a cell as a row of this table, None when it cannot be one."""
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
    """Brings the rows of *pages* into the new file behind *conn*."""

    def __init__(
        self, conn: Writing, pages: FilePages, records: Sequence[RecordTable] = ()
    ) -> None:
        self._conn = conn
        self._pages = pages
        self._trees = self._roots()
        for table in records:  # made by a first write, so a new file has none
            if table.name in self._trees:
                make(conn, table)
        self.tables = {table.name: table for table in _tables(conn)}
        self.kept: Counter[str] = Counter()
        self.lost: list[str] = []
        self.links: dict[int, Row] = {}
        """The audit's chain, by number."""

    def run(self) -> None:
        """Bring over everything that is readable; one transaction of the caller's."""
        for name, root in self._trees.items():
            table = self.tables.get(name)
            if table is None or name == "memory_context":
                self._pages.mark(root)
                continue
            for cell in self._pages.tree(root):
                self._take(table, cell)
        for cells in self._pages.orphans():
            table = self._shaped(cells)
            if table is not None:
                for cell in cells:
                    self._take(table, cell)

    def _roots(self) -> dict[str, int]:
        """Return where the trees of tables and indexes begin, as far as the file still tells."""
        roots: dict[str, int] = {}
        for cell in self._pages.tree(1):
            if len(cell.columns) == _SCHEMA_COLUMNS and isinstance(cell.columns[3], int):
                roots[str(cell.columns[1])] = cell.columns[3]
        return {name: root for name, root in roots.items() if root}

    def _shaped(self, cells: Sequence[Cell]) -> Table | None:
        """Return the one table whose rows *cells* can be."""
        fit = [
            table
            for table in self.tables.values()
            if table.has_rowid and cells and all(_fits(table, cell) for cell in cells)
        ]
        return fit[0] if len(fit) == 1 else None

    def _take(self, table: Table, cell: Cell) -> None:
        row = table.row(cell)
        if row is None:
            self.lost.append(f"{table.name}: a row that is none of its own")
        elif table.name == "change":
            self.links.setdefault(cast("int", row["seq"]), row)
        elif table.name not in _NOT_SALVAGED and row.get("key") not in _CACHES:
            why = _JUDGES.get(table.name, _any)(row)
            if why is None:
                self._insert(table.name, row)
            else:
                self.lost.append(f"{table.name} {why}: it is not as it was written")

    def _insert(self, table: str, row: Row) -> None:
        names = ", ".join(f'"{name}"' for name in row)  # one of records is called "to"
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
        columns = [
            SchemaColumn(str(n), str(t), bool(r), int(cast("int", p))) for n, t, r, p in rows
        ]
        alone = [one for one in columns if one.primary]
        rowid = alone[0].name if len(alone) == 1 and alone[0].kind == "INTEGER" else None
        if without_rowid:  # its records begin with the primary key
            rowid = None
            columns.sort(key=lambda one: (not one.primary, one.primary))
        yield Table(str(name), tuple(columns), rowid, not without_rowid)


# What says that a row is as it was written: None, or what names it.

Judge = Callable[[Row], str | None]


def _any(row: Row) -> str | None:
    del row
    return None


def _memory(row: Row) -> str | None:
    content = cast("str", row["content"])
    is_whole = hashlib.sha256(content.encode()).digest() == row["content_hash"]
    return None if is_whole else str(row["memory_id"])


def _embedding(row: Row) -> str | None:
    is_whole = vectors.checksum(cast("bytes", row["vector"])) == row["checksum"]
    return None if is_whole else f"of row {row['memory_key']!r}"


def _source(row: Row) -> str | None:
    try:
        text = zlib.decompress(cast("bytes", row["zlib"]))
    except zlib.error:
        text = b""
    is_whole = hashlib.sha256(text).digest() == row["sha256"]
    return None if is_whole else str(row["source_key"])


def _by_seal(name: str, *columns: str) -> Judge:
    def judge(row: Row) -> str | None:
        covered = [row.get(column) for column in columns]
        return None if hash_columns(*covered) == row.get("row_hash") else str(row[name])

    return judge


_JUDGES: Mapping[str, Judge] = {
    "memory": _memory,
    "embedding": _embedding,
    "source": _source,
    "client": _by_seal(
        "client_id", "client_id", "agent_key", "key_hash", "seniority", "autonomy_level", "scopes",
        "revoked_at_us",
    ),
    "preference": _by_seal("name", "agent_key", "name", "value", "origin", "confirmed_at_us"),
    "learning": _by_seal(
        "learning_id", "learning_id", "agent_key", "task_type", "approach", "outcome", "lesson",
        "at_us",
    ),
    "playbook": _by_seal(
        "pattern_id", "agent_key", "pattern_id", "task_type", "description", "tool_sequence",
        "prompt_template",
    ),
    "org_operation": _by_seal(
        "fact_id", "operation_id", "fact_id", "version", "kind", "category", "content", "tags",
        "is_human", "author_id", "seniority", "autonomy_level", "client", "signature", "at_us",
        "valid_from_us", "valid_to_us",
    ),
}  # fmt: skip
