"""Write memory rows, read them by key or id, and find them by filter (``filters.py``)."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from memd.domain.enums import VISIBLE, MemoryState
from memd.store.access import changes, names
from memd.store.check import integrity
from memd.store.file.connect import Reading, Writing, keys_array
from memd.store.memory.filters import BoundFilter
from memd.store.memory.rows import MemoryRow, StoredMemory
from memd.store.search import caches

# The statements below are built from constants of the store only.
# ruff: noqa: S608
TIME_US_MAX = 2**62
"""Later than every time in the file: a page of a listing starts at it when there is no cursor."""

COLUMNS = """
       m.memory_key, m.memory_id, a.agent_id, s.session_id, p.project_id, m.namespace, m.category,
       m.level, m.origin, m.trust, m.speaker, m.content, m.caption, m.reference, m.ordinal, m.part,
       m.token_count, m.importance, m.confidence, m.created_at_us, m.occurred_at_us, m.state,
       m.updated_at_us, m.expires_at_us, m.session_key, m.is_summary,
       (SELECT json_group_array(t.tag ORDER BY t.ordinal)
          FROM memory_tag AS t WHERE t.memory_key = m.memory_key) AS tags,
       (SELECT q.kind FROM passing AS q WHERE q.memory_key = m.memory_key) AS passing
  FROM memory AS m
       JOIN agent AS a ON a.agent_key = m.agent_key
       LEFT JOIN session AS s ON s.session_key = m.session_key
       LEFT JOIN project AS p ON p.project_key = m.project_key
"""


def by_keys(conn: Reading, keys: Sequence[int]) -> dict[int, StoredMemory]:
    """Return the rows of *keys* that exist and match their hashes."""
    intact_keys = integrity.memories(conn, keys)
    if not intact_keys:
        return {}
    rows = conn.execute(
        f"SELECT {COLUMNS} WHERE m.memory_key IN (SELECT value FROM carray(:keys))",
        {"keys": keys_array(intact_keys)},
    )
    return {row[0]: StoredMemory._make(row) for row in rows}


def by_id(conn: Reading, agent_key: int | None, memory_id: str) -> StoredMemory | None:
    """Return the agent's memory in any state, None when the agent has none with this id.

    Raises DamagedError if the row does not match its hash.
    """
    key = key_of(conn, agent_key, memory_id)
    if key is None:
        return None
    rows = by_keys(conn, [key])
    if not rows:
        raise integrity.make_error(f"memory {memory_id}")
    return rows[key]


def of_agent(conn: Reading, agent_id: str, memory_id: str) -> StoredMemory | None:
    """Like :func:`by_id`, for the agent with a public id."""
    return by_id(conn, names.find_agent(conn, agent_id), memory_id)


def by_key(conn: Reading, key: int) -> StoredMemory:
    """Return a row that is known to exist; raises DamagedError when it does not match its hash."""
    rows = by_keys(conn, [key])
    if not rows:
        raise integrity.make_error("the memory")
    return rows[key]


def key_of(conn: Reading, agent_key: int | None, memory_id: str) -> int | None:
    """Return the key of the agent's memory, in any state, even when it is damaged."""
    key = conn.get_int(
        "SELECT memory_key FROM memory WHERE memory_id = :memory_id AND agent_key = :agent_key",
        {"memory_id": memory_id, "agent_key": agent_key},
    )
    if key is None:
        return None
    # The id was read from the index. A row with another id means that the index is damaged.
    id_matches = "SELECT memory_id = ? FROM memory WHERE memory_key = ?"
    if not conn.exists(id_matches, (memory_id, key)):
        integrity.report(conn, "file: the index of ids does not agree with the memories")
        raise integrity.make_error(f"memory {memory_id}")
    return key


def find_key(conn: Reading, memory_id: str | None) -> int | None:
    """Return the key of a memory by its id alone, of any agent and in any state."""
    return conn.get_int("SELECT memory_key FROM memory WHERE memory_id = ?", (memory_id,))


def find_keys(conn: Reading, condition: BoundFilter, limit: int) -> list[int]:
    """Return up to *limit* keys that match, in no particular order."""
    return conn.list_ints(
        f"SELECT m.memory_key FROM memory AS m WHERE {condition.where} LIMIT :limit",
        {**condition.params, "limit": limit},
    )


def find_in_period(
    conn: Reading, condition: BoundFilter, low_us: int, high_us: int, limit: int
) -> list[int]:
    """Return up to *limit* matching keys from *low_us* up to, not including, *high_us*.

    Compares the time of the event, or the time of creation where that is unknown.
    """
    return conn.list_ints(
        f"""
        SELECT m.memory_key
          FROM memory AS m
         WHERE {condition.where}
           AND (m.occurred_at_us >= :low_us AND m.occurred_at_us < :high_us
                OR m.occurred_at_us IS NULL
                   AND m.created_at_us >= :low_us AND m.created_at_us < :high_us)
         LIMIT :limit
        """,
        {**condition.params, "low_us": low_us, "high_us": high_us, "limit": limit},
    )


def find_in_any_state(conn: Reading, condition: BoundFilter) -> list[int]:
    """Return the keys that match the filter in any state, expired and trashed ones included."""
    return conn.list_ints(
        f"SELECT m.memory_key FROM memory AS m WHERE {condition.condition}", condition.params
    )


def filter_keys(conn: Reading, condition: BoundFilter, keys: Sequence[int]) -> list[int]:
    """Return those of *keys* that match, in their order."""
    return conn.list_ints(
        f"""
        SELECT m.memory_key
          FROM carray(:keys) AS k
               CROSS JOIN memory AS m ON m.memory_key = k.value
         WHERE {condition.where}
        """,
        {**condition.params, "keys": keys_array(keys)},
    )


def list_page(
    conn: Reading,
    condition: BoundFilter,
    limit: int,
    after: tuple[int, str] | None = None,
    *,
    by_event: bool = False,
) -> list[StoredMemory]:
    """Return up to *limit* matching rows, newest first; a negative *limit* returns all.

    *after* is (time, id) of the last row of the previous page. Rows are ordered by creation time;
    rows of the same time by ascending id. With *by_event* the order is by the time of the event
    where it is known, since a text imported today may have been said long ago; rows of the same
    time are then ordered by descending id, which puts the last part of a message first. Damaged
    rows are skipped without counting towards *limit*.
    """
    later, order = ("<", "DESC") if by_event else (">", "ASC")
    created = "m.created_at_us"
    # Two branches instead of coalesce(occurred, created), so that each reads a page from an index.
    branches = [("m.occurred_at_us", "TRUE"), (created, "m.occurred_at_us IS NULL")]
    if not by_event:
        branches = [(created, "TRUE")]
    ordered = " UNION ALL ".join(
        f"""
        SELECT *
          FROM (SELECT m.memory_key, m.memory_id, {time_us} AS time_us
                  FROM memory AS m
                 WHERE {condition.where} AND {branch} AND {time_us} <= :after_us
                   AND ({time_us} < :after_us OR m.memory_id {later} :after_id)
                 ORDER BY {time_us} DESC, m.memory_id {order}
                 LIMIT :up_to)
        """
        for time_us, branch in branches
    )
    after_us, after_id = after if after is not None else (TIME_US_MAX, "")
    place = {**condition.params, "after_us": after_us, "after_id": after_id}
    memories: list[StoredMemory] = []
    skip = 0
    while limit < 0 or len(memories) < limit:
        lacking = limit if limit < 0 else limit - len(memories)
        rows = conn.execute(
            f"""
            SELECT memory_key
              FROM ({ordered})
             ORDER BY time_us DESC, memory_id {order}
             LIMIT :lacking OFFSET :skip
            """,
            {**place, "lacking": lacking, "skip": skip, "up_to": lacking + skip},
        )
        keys = [key for (key,) in rows]
        intact_rows = by_keys(conn, keys)
        memories += [intact_rows[key] for key in keys if key in intact_rows]
        skip += len(keys)
        if limit < 0 or len(keys) < lacking:
            break
    return memories


def count(conn: Reading, condition: BoundFilter) -> int:
    sql = f"SELECT count(*) FROM memory AS m WHERE {condition.where}"
    return conn.get_count(sql, condition.params)


def insert_bare(conn: Writing, rows: Sequence[MemoryRow], now_us: int) -> list[int]:
    """Insert rows with their tags and update the counters; returns the keys.

    The caller then stores vectors, if any, and calls :func:`index_new` in the same transaction.
    """
    keys: list[int] = []
    for row in rows:
        row_hash = row.row_hash
        columns = {**row._asdict(), "content_hash": row.content_hash, "row_hash": row_hash}
        del columns["tags"], columns["passing"]
        conn.insert("memory", columns)
        key = conn.last_insert_rowid()
        conn.executemany(
            "INSERT INTO memory_tag (tag, memory_key, ordinal) VALUES (?, ?, ?)",
            ((tag, key, place) for place, tag in enumerate(row.tags)),
        )
        if row.passing is not None:
            conn.insert("passing", {"memory_key": key, "kind": row.passing})
        if row.session_key is not None and not row.is_summary:  # counters leave out summaries
            names.count_session(conn, row.session_key, 1, row.token_count, now_us)
        if row.speaker is not None and not row.is_summary:
            names.count_speaker(conn, row.agent_key, row.speaker, 1)
        changes.touch(conn, row.salt, row_hash)
        keys.append(key)
    return keys


def index_new(conn: Writing, keys: Sequence[int]) -> None:
    """Write the contexts of new rows and of their neighbours, and add the rows to the caches."""
    in_session = caches.filter_in_session(conn, keys)
    if in_session:
        neighbours = caches.neighbours(conn, in_session)
        with caches.reindexing_words(conn, neighbours):
            caches.write_contexts(conn, [*in_session, *neighbours])
    caches.index(conn, keys)


def set_state(conn: Writing, keys: Sequence[int], state: MemoryState, now_us: int) -> None:
    """Set the state of memories; updates the contexts of their neighbours and the caches.

    A memory that becomes hidden keeps its context: its neighbours may be hidden with it.
    """
    if not keys:
        return
    neighbours = caches.neighbours(conn, keys)
    with caches.reindexing_words(conn, neighbours):
        with caches.reindexing(conn, keys):
            set_state_unindexed(conn, keys, state, now_us)
            if state in VISIBLE:
                caches.write_contexts(conn, keys)
        caches.write_contexts(conn, neighbours)


def set_state_unindexed(
    conn: Writing, keys: Sequence[int], state: MemoryState, now_us: int
) -> None:
    """Set the state of memories without updating contexts and caches; the caller must do so."""
    rows = conn.execute(
        """
        UPDATE memory
           SET state = :state, updated_at_us = max(:now_us, created_at_us)
         WHERE memory_key IN (SELECT value FROM carray(:keys))
        RETURNING salt, row_hash
        """,
        {"state": state, "now_us": now_us, "keys": keys_array(keys)},
    )
    changes.touch_all(conn, rows)


def filter_states(conn: Reading, keys: Sequence[int], states: Collection[MemoryState]) -> list[int]:
    """Return those of *keys* that are in one of *states*, in order of arrival."""
    return conn.list_ints(
        """
        SELECT memory_key
          FROM memory
         WHERE memory_key IN (SELECT value FROM carray(:keys))
           AND state IN (SELECT value FROM json_each(:states))
         ORDER BY memory_key
        """,
        {"keys": keys_array(keys), "states": json.dumps(sorted(states))},
    )


def bump(conn: Writing, key: int, now_us: int, expires_at_us: int | None) -> None:
    """Update a memory that was stored again: sets ``updated_at``, keeps the later expiry."""
    rows = conn.execute(
        """
        UPDATE memory
           SET updated_at_us = max(:now_us, created_at_us),
               expires_at_us = max(expires_at_us, :expires_at_us)  -- NULL (never) if one is NULL
         WHERE memory_key = :memory_key
        RETURNING salt, row_hash
        """,
        {"now_us": now_us, "expires_at_us": expires_at_us, "memory_key": key},
    )
    changes.touch_all(conn, rows)


def touch(conn: Writing, keys: Sequence[int]) -> None:
    """Add these rows to the transaction's audit row."""
    rows = conn.execute(
        "SELECT salt, row_hash FROM memory WHERE memory_key IN (SELECT value FROM carray(:keys))",
        {"keys": keys_array(keys)},
    )
    changes.touch_all(conn, rows)


def find_by_reference(conn: Reading, agent_key: int, reference: str) -> list[int]:
    """Return every memory of the agent that came from the source *reference*, in any state.

    ``notes.md`` includes its parts ``notes.md#1``, ``notes.md#2``; a folder includes the files
    below it. Both are ranges of the index: ``$`` follows ``#`` in ASCII, and ``0`` follows ``/``.
    """
    return conn.list_ints(
        """
        SELECT memory_key
          FROM memory
         WHERE agent_key = :agent_key AND reference = :reference
         UNION ALL
        SELECT memory_key
          FROM memory
         WHERE agent_key = :agent_key
           AND reference >= :reference || '#' AND reference < :reference || '$'
         UNION ALL
        SELECT memory_key
          FROM memory
         WHERE agent_key = :agent_key
           AND reference >= :reference || '/' AND reference < :reference || '0'
        """,
        {"agent_key": agent_key, "reference": reference.rstrip("/") or reference},
    )


def row_hashes(conn: Reading, keys: Sequence[int]) -> list[tuple[int, str, bytes]]:
    """Return key, id and row hash of *keys*, in order of arrival."""
    rows = conn.execute(
        """
        SELECT memory_key, memory_id, row_hash
          FROM memory
         WHERE memory_key IN (SELECT value FROM carray(:keys))
         ORDER BY memory_key
        """,
        {"keys": keys_array(keys)},
    )
    return list(rows)
