"""What the three full-text indexes do alike: memories', facts' and sessions'.

Each is an FTS5 table with external content: a view has the rows as they are to be indexed, so an
integrity check compares word for word, and a row is removed with the words that it was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import apsw

from memd.store.file.connect import Reading, Writing, keys_array
from memd.store.search.cjk_bigrams import has_sign_at, split_signs

# Names of tables and columns are the store's own; nothing else is ever put into the SQL.
# ruff: noqa: S608


class FtsTable(NamedTuple):
    """An FTS5 table, the *view* with its content, and that view's *key* and *columns*.

    So are the indexes of memories, facts and sessions. A view has the rows as they are to be
    indexed, so an integrity check compares word for word, and a row is removed with the words that
    it was given.
    """

    name: str
    view: str
    key: str
    columns: str

    def add(self, conn: Writing, keys: Sequence[int]) -> None:
        """Add rows as they are now."""
        conn.execute(
            f"""
            INSERT INTO {self.name} (rowid, {self.columns})
            SELECT {self.key}, {self.columns}
              FROM {self.view}
             WHERE {self.key} IN (SELECT value FROM carray(:keys))
            """,
            {"keys": keys_array(keys)},
        )

    def remove(self, conn: Writing, keys: Sequence[int]) -> None:
        """Remove rows, before they change: FTS5 needs the words it was given."""
        conn.execute(
            f"""
            INSERT INTO {self.name} ({self.name}, rowid, {self.columns})
            SELECT 'delete', {self.key}, {self.columns}
              FROM {self.view}
             WHERE {self.key} IN (SELECT value FROM carray(:keys))
            """,
            {"keys": keys_array(keys)},
        )

    def fill(self, conn: Writing, source: str, after: int, rows: int) -> int | None:
        """Add the next *rows* keys of the table *source* after *after*; returns the last, if any.

        They are added in order, without a list of keys: so a segment is written once.
        """
        last = conn.get_int(
            f"""
            SELECT max({self.key})
              FROM (SELECT DISTINCT {self.key}
                      FROM {source}
                     WHERE {self.key} > :after
                     ORDER BY {self.key}
                     LIMIT :rows)
            """,
            {"after": after, "rows": rows},
        )
        conn.execute(
            f"""
            INSERT INTO {self.name} (rowid, {self.columns})
            SELECT {self.key}, {self.columns}
              FROM {self.view}
             WHERE {self.key} > :after AND {self.key} <= :last
            """,
            {"after": after, "last": last},
        )
        return last

    def refresh(self, conn: Reading) -> None:
        """Query the index, so that FTS5 notices what other connections wrote.

        Any query does, SQLite's integrity check does not: without this ``PRAGMA integrity_check``
        reads segments that were merged since this connection last searched, and calls a sound file
        corrupt.
        """
        conn.execute(f"SELECT rowid FROM {self.name} WHERE rowid = 0").fetchall()

    def is_intact(self, conn: Writing) -> bool:
        """Return whether the index agrees with its content, word for word."""
        try:
            conn.execute(
                f"INSERT INTO {self.name} ({self.name}, rank) VALUES ('integrity-check', 1)"
            )
        except apsw.CorruptError:
            return False
        return True


def quote(word: str) -> str:
    """Return *word* for an FTS5 query: quoted, its syntax is words like any other (H26).

    Several signs of Chinese, Japanese or Korean are a phrase of pairs, a single one begins a pair.

    >>> quote('a"b'), quote("名前は"), quote("猫")
    ('"a""b"', '"名前 は"', '"猫"*')
    """
    if len(word) == 1 and has_sign_at(word, 0):
        return f'"{word}"*'
    return '"' + split_signs(word).replace('"', '""') + '"'
