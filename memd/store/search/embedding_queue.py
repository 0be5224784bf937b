"""The embedding queue: the rows without a vector, so there is nothing to lose or to replay.

A row in state ``pending`` waits for its first vector. With ``importance`` NULL it also has yet to
pass the importance gate (SPEC D4). After a change of model every row, in any state, waits for a
vector of the new one, and one without token vectors for both anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memd.domain.encoding import Encoding
from memd.domain.enums import MemoryState
from memd.store.access import changes
from memd.store.check import integrity
from memd.store.file.connect import Reading, Writing, keys_array
from memd.store.memory.rows import hash_row, read_hashed, tags_of
from memd.store.search import centroids, vectors
from memd.store.search.caches import text_of


class PendingRow(NamedTuple):
    """A memory that waits for a vector, with the words that will be embedded."""

    memory_key: int
    agent_key: int
    state: str
    importance: float | None
    own: str
    content: str
    speaker: str | None
    memory_id: str
    is_summary: int
    """A summary says nothing new, so its vector is not added to the centroid."""
    agent_id: str
    created_at_us: int
    batch: str | None

    @property
    def call(self) -> tuple[int, int, str | None]:
        """The columns that the rows of one call have in common."""
        return self.agent_key, self.created_at_us, self.batch


# The statements below are built from this constant.
# ruff: noqa: S608
_COLUMNS = f"""
SELECT m.memory_key, m.agent_key, m.state, m.importance, {text_of("m")}, m.content, m.speaker,
       m.memory_id, m.is_summary, a.agent_id, m.created_at_us, m.batch
  FROM memory AS m
       JOIN cache_part AS p ON p.memory_key = m.memory_key
       JOIN agent AS a ON a.agent_key = m.agent_key
"""


def list_pending(conn: Reading, limit: int) -> list[PendingRow]:
    """Return up to *limit* pending memories: single texts before bulk, then in order of arrival.

    Without those that cannot be read; none only if no other is pending.
    """
    while True:
        keys = conn.list_ints(
            """
            SELECT memory_key
              FROM memory
             WHERE state = 'pending'
             ORDER BY batch IS NOT NULL, memory_key
             LIMIT :limit
            """,
            {"limit": limit},
        )
        rows = _of_keys(conn, keys)
        if rows or len(keys) < limit:
            return rows
        limit *= 2


def count_pending(conn: Reading) -> int:
    return conn.get_count("SELECT count(*) FROM memory WHERE state = 'pending'")


def list_missing(conn: Reading, model_key: int, after: int, limit: int) -> list[PendingRow]:
    """Return up to *limit* memories after key *after* that the model has yet to embed, in order.

    Without those that cannot be read; none only if no other is left.
    """
    while True:
        keys = conn.list_ints(
            """
            SELECT m.memory_key
              FROM memory AS m
                   JOIN cache_part AS p ON p.memory_key = m.memory_key
             WHERE m.memory_key > :after
               AND m.state <> 'pending'
               AND (NOT EXISTS (SELECT 1
                                  FROM embedding AS e
                                 WHERE e.memory_key = m.memory_key
                                   AND e.model_key = :model_key AND e.kind = 'own')
                    OR EXISTS (SELECT 1
                                 FROM embedding AS e
                                WHERE e.memory_key = m.memory_key
                                  AND e.model_key = :model_key AND e.tokens IS NULL))
             ORDER BY m.memory_key
             LIMIT :limit
            """,
            {"after": after, "model_key": model_key, "limit": limit},
        )
        rows = _of_keys(conn, keys)
        if rows or len(keys) < limit:
            return rows
        after = keys[-1]


def _of_keys(conn: Reading, keys: Sequence[int]) -> list[PendingRow]:
    """Return those of the memories *keys* that can be read, in the order of *keys*."""
    rows = conn.execute(
        f"{_COLUMNS} WHERE m.memory_key IN (SELECT value FROM carray(:keys))",
        {"keys": keys_array(keys)},
    )
    texts = integrity.skip_undecodable(conn, rows, "memory")
    by_key = {row.memory_key: row for row in map(PendingRow._make, texts)}
    return [by_key[key] for key in keys if key in by_key]


def list_same_call(conn: Reading, row: PendingRow) -> list[int]:
    """Return the memories that arrived by the same call as *row*, itself included."""
    agent_key, created_at_us, batch = row.call
    return conn.list_ints(
        """
        SELECT memory_key
          FROM memory
         WHERE agent_key = :agent_key AND created_at_us = :created_at_us AND batch IS :batch
        """,
        {"agent_key": agent_key, "created_at_us": created_at_us, "batch": batch},
    )


def find_unchanged(conn: Reading, rows: Sequence[PendingRow]) -> frozenset[int]:
    """Return the keys of those *rows* whose words are still the ones that were embedded.

    Others were erased, embedded meanwhile, or updated: their new words wait again.
    """
    current = conn.execute(
        f"""
        SELECT m.memory_key, m.state = 'pending', {text_of("m")}
          FROM carray(:keys) AS k
               CROSS JOIN memory AS m ON m.memory_key = k.value
               JOIN cache_part AS p ON p.memory_key = m.memory_key
        """,
        {"keys": keys_array([row.memory_key for row in rows])},
    )
    embedded = {(row.memory_key, row.state == MemoryState.PENDING, row.own) for row in rows}
    return frozenset(row[0] for row in current if row in embedded)


def store_vectors(conn: Writing, model_key: int, encoded: Sequence[tuple[int, Encoding]]) -> None:
    """Store vectors of memories, whatever their state is now; erased ones are ignored.

    A vector that is replaced is subtracted from the centroid; the caller adds the new one.
    """
    keys = conn.list_ints(
        "SELECT memory_key FROM memory WHERE memory_key IN (SELECT value FROM carray(?))",
        (keys_array([key for key, _ in encoded]),),
    )
    existing = [(key, encoding) for key, encoding in encoded if key in keys]
    centroids.subtract(conn, keys, model_key)
    vectors.unindex(conn, keys)
    vectors.store(conn, model_key, existing)
    vectors.index(conn, keys)


def set_importance(conn: Writing, key: int, importance: float) -> None:
    """Write a memory's importance, once, and the row hash that covers it."""
    conn.execute(
        "UPDATE memory SET importance = :importance WHERE memory_key = :key",
        {"importance": importance, "key": key},
    )
    rehash(conn, key)


def rehash(conn: Writing, key: int) -> None:
    """Write the hash of a row whose immutable columns have just been set."""
    row = read_hashed(conn, key)
    salt, row_hash = row.salt, hash_row(row.columns, tags_of(conn, key))
    conn.execute(
        "UPDATE memory SET row_hash = :row_hash WHERE memory_key = :key",
        {"row_hash": row_hash, "key": key},
    )
    changes.touch(conn, salt, row_hash)


def activate(conn: Writing, keys: Sequence[int]) -> None:
    """Move pending memories to active; both are visible, so the caches do not change."""
    conn.executemany(
        "UPDATE memory SET state = 'active' WHERE memory_key = ? AND state = 'pending'",
        ((key,) for key in keys),
    )
