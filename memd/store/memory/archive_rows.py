"""Read the archive: by archival id, by memory id, by words.

The archive has the hidden memories (compressed or archived), without those that have expired.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memd.base.limits import QUERY_TERMS_MAX
from memd.store.access import names
from memd.store.file.connect import Reading, keys_array
from memd.store.memory import memories
from memd.store.memory.filters import BoundFilter
from memd.store.memory.rows import StoredMemory
from memd.store.search import fulltext
from memd.store.search.fulltext import CachePart, owner_token

# The statements below are built from constants of this module.
# ruff: noqa: S608


class ArchivedRow(NamedTuple):
    """The archive row of a memory. *abstracted* is 1 when an abstractive summary was made of it."""

    memory_key: int
    archival_id: str
    reason: str
    archived_at_us: int
    abstracted: int


# Below the threshold: archived on arrival because of low importance.
_IN_ARCHIVE = """
          FROM archive AS r
               JOIN memory AS m ON m.memory_key = r.memory_key
         WHERE m.state IN ('archived', 'compressed')
           AND (m.expires_at_us IS NULL OR m.expires_at_us > :now_us)
"""
_BELOW_THRESHOLD = f"{_IN_ARCHIVE} AND r.reason = 'low_importance'"


def find(conn: Reading, agent_key: int | None, entry_id: str, now_us: int) -> int | None:
    """Return the key of the agent's archived memory with this archival id or memory id."""
    return conn.get_int(
        f"""
        SELECT r.memory_key
        {_IN_ARCHIVE}
           AND m.agent_key = :agent_key
           AND r.memory_key = coalesce(
                   (SELECT memory_key FROM archive WHERE archival_id = :entry_id),
                   (SELECT memory_key FROM memory WHERE memory_id = :entry_id))
        """,
        {"agent_key": agent_key, "entry_id": entry_id, "now_us": now_us},
    )


def rows_of(conn: Reading, keys: Sequence[int]) -> dict[int, ArchivedRow]:
    """Return the archive rows of *keys*, by key; keys without one are left out."""
    rows = conn.execute(
        """
        SELECT r.memory_key, r.archival_id, r.reason, r.archived_at_us,
               EXISTS (SELECT 1
                         FROM derived AS d
                              JOIN memory_tag AS t ON t.memory_key = d.to_key
                        WHERE d.from_key = r.memory_key AND t.tag = 'mode:abstractive')
          FROM archive AS r
         WHERE r.memory_key IN (SELECT value FROM carray(:keys))
        """,
        {"keys": keys_array(keys)},
    )
    return {row[0]: ArchivedRow._make(row) for row in rows}


def list_below_threshold(
    conn: Reading, agent_key: int | None, after: str | None, now_us: int, limit: int
) -> list[int]:
    """Return the keys of up to *limit* memories below the importance threshold, newest first.

    *agent_key* None means all agents. *after* is the memory id that the previous page ended with;
    InvalidError if it is not an id.
    """
    names.check_cursor(conn, after)
    return conn.list_ints(
        f"""
        SELECT r.memory_key
        {_BELOW_THRESHOLD}
           AND (:agent_key IS NULL OR m.agent_key = :agent_key)
           AND (:after IS NULL OR m.memory_id < :after)
         ORDER BY m.memory_id DESC
         LIMIT :limit
        """,
        {"agent_key": agent_key, "after": after, "now_us": now_us, "limit": limit},
    )


def count_archived(conn: Reading, agent_key: int | None, now_us: int) -> int:
    """Return how many of the agent's memories are in the archive."""
    return conn.get_count(
        f"SELECT count(*) {_IN_ARCHIVE} AND m.agent_key = :agent_key",
        {"agent_key": agent_key, "now_us": now_us},
    )


def count_below_threshold(conn: Reading, now_us: int) -> int:
    """Return how many memories of all agents are below the importance threshold."""
    return conn.get_count(f"SELECT count(*) {_BELOW_THRESHOLD}", {"now_us": now_us})


def search(
    conn: Reading, filters: BoundFilter, text: str | None, limit: int
) -> list[tuple[StoredMemory, ArchivedRow]]:
    """Return up to *limit* matching rows: the best matches of *text* first, or newest first.

    *filters* must be bound with ``only_hidden``.
    """
    rows = _search_rows(conn, filters, text, limit)
    archive_rows = rows_of(conn, [row.memory_key for row in rows])
    return [(row, archive_rows[row.memory_key]) for row in rows if row.memory_key in archive_rows]


def _search_rows(
    conn: Reading, filters: BoundFilter, text: str | None, limit: int
) -> list[StoredMemory]:
    if text is None:
        return memories.list_page(conn, filters, limit)
    terms = fulltext.stemmer(conn, fulltext.WORDS)(text)[:QUERY_TERMS_MAX]
    if not terms:
        return []
    owners = [owner_token(filters.agent_key, part) for part in CachePart]
    hits = fulltext.search(conn, fulltext.match_query(terms, owners), -1)
    best = memories.filter_keys(conn, filters, hits)[:limit]
    rows = memories.by_keys(conn, best)
    return [rows[key] for key in best if key in rows]
