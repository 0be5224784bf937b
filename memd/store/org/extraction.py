"""Track the extraction of statements: from memories, and from the log of facts.

The backlog is the memories whose statements are still to be extracted. Keys of memories only grow,
so a mark in table ``meta`` records the last memory read. Memories before the mark that were
rewritten are recorded one by one. Summaries are not read, but their sources are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from memd.store.file.connect import Reading, Writing, keys_array
from memd.store.org import statements


class BacklogRow(NamedTuple):
    """A memory to extract from. Relative dates in it ("yesterday") refer to *said_at_us*."""

    memory_key: int
    memory_id: str
    content: str
    content_hash: bytes
    speaker: str | None
    said_at_us: int
    known_us: int
    agent_id: str


class BacklogMark(NamedTuple):
    """The version of the extraction rules, and the key of the last memory read."""

    version: int
    memory_key: int


class ExtractionProgress(NamedTuple):
    """The version of the extraction rules, and the key of the last operation read.

    *upto* None: all operations, including future ones, which are read when they are written. -1:
    the statements of an earlier version are being erased.
    """

    version: int
    upto: int | None


_PROGRESS = "statements"
_MARK = "statements of memories"
_AGAIN = "statements again "  # followed by the memory's key
_AGAIN_END = "statements again!"  # "!" is the character after the space

_COLUMNS = """
SELECT m.memory_key, m.memory_id,
       iif(m.state = 'quarantined', '', substr(m.content, 1, :chars)), -- quarantined: no statements
       m.content_hash, m.speaker,
       coalesce(m.occurred_at_us, m.created_at_us),
       coalesce((SELECT max(v.replaced_at_us)
                   FROM memory_version AS v
                  WHERE v.memory_key = m.memory_key), m.created_at_us),
       (SELECT a.agent_id
          FROM agent AS a
         WHERE a.agent_key = m.agent_key)
"""


def get_mark(conn: Reading) -> BacklogMark | None:
    """Return the mark of the last memory read, None before the first."""
    value = conn.get_meta(_MARK, str)
    return None if value is None else BacklogMark(*json.loads(value))


def set_mark(conn: Writing, mark: BacklogMark) -> None:
    conn.set_meta(_MARK, json.dumps(mark))


def list_after(conn: Reading, key: int, limit: int, chars: int) -> list[BacklogRow]:
    """Return up to *limit* memories after *key* with their first *chars* characters, in order."""
    return conn.list_rows(
        BacklogRow,
        f"""
        {_COLUMNS}
          FROM memory AS m
         WHERE m.memory_key > :key AND NOT m.is_summary
         ORDER BY m.memory_key
         LIMIT :limit
        """,
        {"key": key, "limit": limit, "chars": chars},
    )


def list_rewritten(conn: Reading, limit: int, chars: int) -> list[BacklogRow]:
    """Return memories that were rewritten after they were read."""
    return conn.list_rows(
        BacklogRow,
        f"""
        {_COLUMNS}
          FROM meta AS n
               JOIN memory AS m ON m.memory_key = n.value
         WHERE n.key >= :first AND n.key < :last
         LIMIT :limit
        """,
        {"first": _AGAIN, "last": _AGAIN_END, "limit": limit, "chars": chars},
    )


def by_id(conn: Reading, agent_id: str, memory_id: str, chars: int) -> BacklogRow | None:
    """Return the agent's memory for extraction, None when there is none."""
    return conn.find_row(
        BacklogRow,
        f"""
        {_COLUMNS}
          FROM memory AS m
               JOIN agent AS a ON a.agent_key = m.agent_key
         WHERE m.memory_id = :memory_id AND a.agent_id = :agent_id
        """,
        {"memory_id": memory_id, "agent_id": agent_id, "chars": chars},
    )


def has_backlog(conn: Reading) -> bool:
    """Return whether any memory is still to be read."""
    newest = conn.get_int("SELECT max(memory_key) FROM memory") or 0
    done = get_mark(conn)
    if done is None or newest > done.memory_key:
        return bool(newest)
    return conn.exists(
        "SELECT 1 FROM meta WHERE key >= :first AND key < :last LIMIT 1",
        {"first": _AGAIN, "last": _AGAIN_END},
    )


def filter_unchanged(conn: Reading, rows: Iterable[BacklogRow]) -> list[BacklogRow]:
    """Return those of *rows* whose text has not changed since they were read."""
    rows = list(rows)
    if not rows:
        return []
    current = conn.execute(
        """
        SELECT m.memory_key, m.content_hash
          FROM carray(:keys) AS k
               CROSS JOIN memory AS m ON m.memory_key = k.value
        """,
        {"keys": keys_array([row.memory_key for row in rows])},
    )
    hashes = dict(current)
    return [row for row in rows if hashes.get(row.memory_key) == row.content_hash]


def requeue(conn: Writing, key: int) -> None:
    """Erase a memory's statements and queue it for extraction, since its text or state changed."""
    old_things = statements.things_of(conn, [key])
    conn.execute("DELETE FROM statement WHERE memory_key = :key", {"key": key})
    statements.drop_unused(conn, old_things)
    conn.set_meta(f"{_AGAIN}{key}", key)


def mark_read(conn: Writing, keys: Iterable[int]) -> None:
    """Remove rewritten memories from the queue, since they were read, and erased ones."""
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


def get_progress(conn: Reading) -> ExtractionProgress | None:
    """Return the progress of extraction from the log, None before the first."""
    value = conn.get_meta(_PROGRESS, str)
    return None if value is None else ExtractionProgress(*json.loads(value))


def set_progress(conn: Writing, progress: ExtractionProgress) -> None:
    conn.set_meta(_PROGRESS, json.dumps(progress))
