"""Whether a file has the shape that its version says: every table, column, index and view.

A file that somebody changed by hand, or an early memd wrote under the same version, would
fail in the middle of a write, in words of SQLite's. It is refused at the start instead, and
stays as it is. A trigger that is not memd's is refused, too: it would act on every write.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw

from memd.base.errors import DamagedError
from memd.store.file import page_sums
from memd.store.file.connect import SCHEMA_VERSION, Writing, schema_sql

_TOLD_MAX = 3
_OBJECTS = r"""
SELECT type, name
  FROM sqlite_schema
 WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name NOT LIKE 'fts\_%' ESCAPE '\'
   AND name NOT LIKE 'vec\_%' ESCAPE '\'
 UNION ALL
SELECT 'column', m.name || '.' || c.name
  FROM sqlite_schema AS m
       JOIN pragma_table_info(m.name) AS c
 WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\_%' ESCAPE '\'
   AND m.name NOT LIKE 'fts\_%' ESCAPE '\' AND m.name NOT LIKE 'vec\_%' ESCAPE '\'
"""


def check(conn: Writing) -> None:
    """Raise DamagedError for a file of another shape than ``schema.sql`` has.

    Where a page of its schema is damaged, as one that SQLite itself finds damaged.
    """
    found = list(_differences(conn))
    if not found:
        return
    more = "" if len(found) <= _TOLD_MAX else f", and {len(found) - _TOLD_MAX} more"
    error = DamagedError(
        f"the file is not of the shape of schema {SCHEMA_VERSION}: "
        f"{', '.join(found[:_TOLD_MAX])}{more}; it was left as it was",
        hint="run: memd repair, or restore a backup",
    )
    raise error from (apsw.CorruptError("a page of the schema") if _is_damaged(conn) else None)


def _differences(conn: Writing) -> Iterator[str]:
    with closing(apsw.Connection(":memory:")) as fresh:
        fresh.execute(schema_sql())
        wanted = set(fresh.execute(_OBJECTS))
    there = set(conn.execute(_OBJECTS))
    for kind, name in _whole(wanted - there):
        if kind != "trigger":  # a write without one is found by the hash it does not write
            yield f"{kind} {name} is missing"
    for kind, name in _whole(there - wanted):
        yield f"{kind} {name} is none of memd's"


def _whole(rows: set[tuple[apsw.SQLiteValue, ...]]) -> list[tuple[str, str]]:
    """Return objects in order, without the columns of those tables that are among them."""
    tables = {str(name) for kind, name in rows if kind == "table"}
    named = [(str(kind), str(name)) for kind, name in rows]
    return sorted(one for one in named if one[1].split(".")[0] not in tables or "." not in one[1])


def _is_damaged(conn: Writing) -> bool:
    pages = conn.execute("SELECT pageno FROM dbstat WHERE name = 'sqlite_schema'").fetchall()
    path = Path(conn.filename)
    return any(any(page_sums.damaged(conn, path, int(str(page)), 1)) for (page,) in pages)
