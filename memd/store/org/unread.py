"""Which memories' statements are still to be read, and how far that is.

Keys of memories only grow, so a mark says how far reading is; what was rewritten
since lies behind the mark and is noted by itself. Summaries are never read: what
they were made from is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple, cast

from memd.store.file.connect import Reading, Writing
from memd.store.file.keys import keys_array
from memd.store.org import statements

# The statements below are put together from constants of the store only.


class Unread(NamedTuple):
    """A memory to be read. *said_at_us*: relative times count from it."""

    memory_key: int
    memory_id: str
    content: str
    content_hash: bytes
    speaker: str | None
    said_at_us: int
    known_us: int
    agent_id: str


class Mark(NamedTuple):
    """How far memories were read, by which way of reading."""

    version: int
    memory_key: int


_MARK = "statements of memories"
_AGAIN = "statements again "
_AGAIN_END = "statements again!"

_COLUMNS = """
SELECT m.memory_key, m.memory_id,
       iif(m.state = 'quarantined', '', substr(m.content, 1, :chars)), -- says nothing there
       m.content_hash, m.speaker,
       coalesce(m.occurred_at_us, m.created_at_us),
       coalesce((SELECT max(v.replaced_at_us)
                   FROM memory_version AS v
                  WHERE v.memory_key = m.memory_key), m.created_at_us),
       (SELECT a.agent_id
          FROM agent AS a
         WHERE a.agent_key = m.agent_key)
"""


def mark(conn: Reading) -> Mark | None:
    """Return how far memories were read, None when none ever was."""
    value = conn.execute("SELECT value FROM meta WHERE key = :key", {"key": _MARK}).get
    return None if value is None else Mark(*json.loads(str(value)))


def set_mark(conn: Writing, position: Mark) -> None:
    """Note how far memories were read."""
    conn.execute(
        """
        INSERT INTO meta (key, value)
        VALUES (:key, :value)
            ON CONFLICT (key) DO UPDATE SET value = excluded.value
        """,
        {"key": _MARK, "value": json.dumps(position)},
    )


def after(conn: Reading, key: int, limit: int, chars: int) -> list[Unread]:
    """Return the first *chars* characters of memories after *key*, in order of arrival."""
    rows = conn.execute(
        f"""
        {_COLUMNS}
          FROM memory AS m
         WHERE m.memory_key > :key AND NOT m.is_summary
         ORDER BY m.memory_key
         LIMIT :limit
        """,
        {"key": key, "limit": limit, "chars": chars},
    )
    return [Unread._make(row) for row in rows]


def rewritten(conn: Reading, limit: int, chars: int) -> list[Unread]:
    """Return memories that were read and rewritten since."""
    rows = conn.execute(
        f"""
        {_COLUMNS}
          FROM meta AS n
               JOIN memory AS m ON m.memory_key = n.value
         WHERE n.key >= :first AND n.key < :last
         LIMIT :limit
        """,
        {"first": _AGAIN, "last": _AGAIN_END, "limit": limit, "chars": chars},
    )
    return [Unread._make(row) for row in rows]


def by_id(conn: Reading, agent_id: str, memory_id: str, chars: int) -> Unread | None:
    """Return the agent's memory as it is to be read, None when there is none."""
    row = conn.execute(
        f"""
        {_COLUMNS}
          FROM memory AS m
               JOIN agent AS a ON a.agent_key = m.agent_key
         WHERE m.memory_id = :memory_id AND a.agent_id = :agent_id
        """,
        {"memory_id": memory_id, "agent_id": agent_id, "chars": chars},
    ).fetchone()
    return None if row is None else Unread._make(row)


def is_any(conn: Reading) -> bool:
    """Return whether any memory is still to be read."""
    newest = conn.execute("SELECT max(memory_key) FROM memory").get or 0
    done = mark(conn)
    if done is None or int(str(newest)) > done.memory_key:
        return bool(newest)
    again = conn.execute(
        "SELECT 1 FROM meta WHERE key >= :first AND key < :last LIMIT 1",
        {"first": _AGAIN, "last": _AGAIN_END},
    ).get
    return again is not None


def unchanged(conn: Reading, rows: Iterable[Unread]) -> list[Unread]:
    """Return those of *rows* that still are as they were read."""
    rows = list(rows)
    if not rows:
        return []
    now = conn.execute(
        """
        SELECT m.memory_key, m.content_hash
          FROM carray(:keys) AS k
               CROSS JOIN memory AS m ON m.memory_key = k.value
        """,
        {"keys": keys_array([row.memory_key for row in rows])},
    )
    there = dict(cast("list[tuple[int, bytes]]", now.fetchall()))
    return [row for row in rows if there.get(row.memory_key) == row.content_hash]


def read_again(conn: Writing, key: int) -> None:
    """Erase what a memory said and have it read again: its text was rewritten."""
    before = statements.things_of(conn, [key])
    conn.execute("DELETE FROM statement WHERE memory_key = :key", {"key": key})
    statements.drop_unused(conn, before)
    conn.execute(
        "INSERT OR REPLACE INTO meta (key, value) VALUES (:again || :key, :key)",
        {"again": _AGAIN, "key": key},
    )


def read(conn: Writing, keys: Iterable[int]) -> None:
    """Say of rewritten memories that they were read; of those that went, that none waits."""
    conn.executemany(
        "DELETE FROM meta WHERE key = :again || :key",
        ({"again": _AGAIN, "key": key} for key in keys),
    )
    conn.execute(
        """
        DELETE FROM meta
         WHERE key >= :first AND key < :last
           AND NOT EXISTS (SELECT 1 FROM memory AS m WHERE m.memory_key = meta.value)
        """,
        {"first": _AGAIN, "last": _AGAIN_END},
    )
