"""What FTS5 keeps of a word whose last posting was deleted (P8).

With ``secure-delete`` FTS5 takes a word off its page when nothing has it any more. But
where a segment's page began with that word, the index of the segment's pages still names
it, or as much of it as tells it from the word before. Such a divider is replaced by the
next word that something still has: every search goes the same way by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import apsw

from memd.store.file.connect import Reading, Writing

# Table names are those of the schema; nothing else is ever put into the SQL.
# ruff: noqa: S608
_MAIN = b"0"  # how FTS5 marks the words of its main index
_BEHIND_ALL = b"0\xff"


def renew(conn: Writing) -> None:
    """Replace the dividers that name a word which no row has."""
    stale = [(table, *row) for table in _tables(conn) for row in _stale(conn, table)]
    if stale:
        _replace(conn, stale)


def _tables(conn: Reading) -> list[str]:
    rows = conn.execute(
        """
        SELECT name
          FROM sqlite_schema
         WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE % USING fts5(%'
        """
    )
    return [str(name) for (name,) in rows]


def _stale(conn: Writing, table: str) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield segment, divider and the divider to be, of those that name what is gone."""
    conn.execute(f"CREATE VIRTUAL TABLE temp.words_left USING fts5vocab(main, {table}, instance)")
    try:
        rows = conn.execute(f"SELECT segid, term FROM {table}_idx WHERE term <> x''").fetchall()
        dividers = cast("list[tuple[int, bytes]]", rows)
        for segment, divider in dividers:
            word = divider.removeprefix(_MAIN)
            following = _following(conn, word)
            if following is None or not following.startswith(word):
                yield segment, divider, _BEHIND_ALL if following is None else _MAIN + following
    finally:
        conn.execute("DROP TABLE temp.words_left")


def _following(conn: Reading, word: bytes) -> bytes | None:
    """Return the first word left that is not before *word*, which may be cut in a character."""
    rows = conn.execute(
        "SELECT term FROM temp.words_left WHERE term >= :word",
        {"word": word.decode("utf-8", "ignore")},
    )
    return next((term for (found,) in rows if (term := str(found).encode()) >= word), None)


def _replace(conn: Writing, stale: list[tuple[str, int, bytes, bytes]]) -> None:
    conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)  # which keeps everybody off FTS5's own tables
    try:
        for table, segment, before, after in stale:
            conn.execute(
                f"UPDATE OR REPLACE {table}_idx SET term = :after"
                " WHERE segid = :segment AND term = :before",
                {"after": after, "before": before, "segment": segment},
            )
    finally:
        conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
