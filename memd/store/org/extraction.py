"""Track the extraction of statements: from memories, and from the log of facts.

The backlog is the memories whose statements are still to be extracted. Keys of memories only grow,
so a mark in table ``meta`` records the last memory read. Memories before the mark that were
rewritten are recorded one by one. Summaries are not read, but their sources are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memd.base.limits import STATEMENTS_CHARS_MAX
from memd.store.check import integrity
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


def list_after(conn: Reading, key: int, limit: int) -> list[int]:
    """Return up to *limit* memories after *key*, in order."""
    return conn.list_ints(
        """
        SELECT memory_key
          FROM memory
         WHERE memory_key > :key AND NOT is_summary
         ORDER BY memory_key
         LIMIT :limit
        """,
        {"key": key, "limit": limit},
    )


def list_rewritten(conn: Reading, limit: int) -> list[int]:
    """Return memories that were rewritten after they were read."""
    return conn.list_ints(
        """
        SELECT m.memory_key
          FROM meta AS n
               JOIN memory AS m ON m.memory_key = n.value
         WHERE n.key >= :first AND n.key < :last
         LIMIT :limit
        """,
        {"first": _AGAIN, "last": _AGAIN_END, "limit": limit},
    )


def of_keys(conn: Reading, keys: Sequence[int]) -> list[BacklogRow]:
    """Return those of the memories *keys* that are intact, with the part of the text to read."""
    return conn.list_rows(
        BacklogRow,
        f"""
        {_COLUMNS}
          FROM memory AS m
         WHERE m.memory_key IN (SELECT value FROM carray(:keys))
        """,  # noqa: S608  # a constant of this module
        {"keys": keys_array(integrity.memories(conn, keys)), "chars": STATEMENTS_CHARS_MAX},
    )


def by_id(conn: Reading, agent_id: str, memory_id: str) -> BacklogRow | None:
    """Return the agent's memory for extraction, None when there is none or it is damaged."""
    key = conn.get_int(
        """
        SELECT m.memory_key
          FROM memory AS m
               JOIN agent AS a ON a.agent_key = m.agent_key
         WHERE m.memory_id = :memory_id AND a.agent_id = :agent_id
        """,
        {"memory_id": memory_id, "agent_id": agent_id},
    )
    return None if key is None else next(iter(of_keys(conn, [key])), None)


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


def filter_unchanged(conn: Reading, rows: Sequence[BacklogRow]) -> list[BacklogRow]:
    """Return those of *rows* that have not changed since they were read."""
    current = frozenset(of_keys(conn, [row.memory_key for row in rows]))
    return [row for row in rows if row in current]


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
