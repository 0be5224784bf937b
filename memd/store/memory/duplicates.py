"""Find the memory that a new row would duplicate, within the transaction that stores the row.

Two writers of one text thus make one memory (SPEC D7). A damaged memory counts as none.
"""

from __future__ import annotations

import json

from memd.store.file.connect import Reading
from memd.store.memory import memories
from memd.store.memory.rows import MemoryRow, StoredMemory


def find_duplicate(conn: Reading, row: MemoryRow, now_us: int) -> StoredMemory | None:
    """Return the memory that *row* would duplicate, None for none.

    A duplicate has the same text, agent, namespace, category, session, source and speaker; if one
    of the two has level project, also the same project. It has not expired and is neither in the
    trash nor in quarantine. It may be below the importance threshold (SPEC D7).
    """
    key = conn.get_int(
        """
        SELECT m.memory_key
          FROM memory AS m
         WHERE m.agent_key = :agent_key AND m.content_hash = :content_hash
           AND m.namespace = :namespace AND m.category = :category
           AND m.session_key IS :session_key AND m.reference IS :reference
           AND m.speaker IS :speaker
           AND ('project' NOT IN (m.level, :level) OR m.project_key IS :project_key)
           AND m.state NOT IN ('trashed', 'stale', 'quarantined')
           AND (m.expires_at_us IS NULL OR m.expires_at_us > :now_us)
         ORDER BY m.memory_key
         LIMIT 1
        """,
        {**row._asdict(), "content_hash": row.content_hash, "now_us": now_us},
    )
    return _get(conn, key)


def find_alike(conn: Reading, row: MemoryRow, now_us: int) -> StoredMemory | None:
    """Return the visible memory with the text of *row* that is filed alike, None for none.

    It has the same agent, namespace, category, session, project and speaker, and all tags of *row*.
    """
    key = conn.get_int(
        """
        SELECT m.memory_key
          FROM memory AS m
         WHERE m.agent_key = :agent_key AND m.content_hash = :content_hash
           AND m.namespace = :namespace AND m.category = :category
           AND m.session_key IS :session_key AND m.project_key IS :project_key
           AND m.speaker IS :speaker
           AND m.state IN ('active', 'pending')
           AND (m.expires_at_us IS NULL OR m.expires_at_us > :now_us)
           AND NOT EXISTS (SELECT 1
                             FROM json_each(:tags) AS t
                            WHERE t.value NOT IN (SELECT tag
                                                    FROM memory_tag
                                                   WHERE memory_key = m.memory_key))
         ORDER BY m.memory_key
         LIMIT 1
        """,
        {
            **row._asdict(),
            "content_hash": row.content_hash,
            "now_us": now_us,
            "tags": json.dumps(row.tags),
        },
    )
    return _get(conn, key)


def find_in_session(conn: Reading, row: MemoryRow) -> StoredMemory | None:
    """Return the memory of the row's session with the same text, visible ones first, else None.

    Speaker, namespace and state may differ: a fact taken from a conversation is not new when the
    conversation itself was stored, even if it was deleted later.
    """
    key = conn.get_int(
        """
        SELECT memory_key
          FROM memory INDEXED BY memory_by_content
         WHERE agent_key = :agent_key AND content_hash = :content_hash
           AND session_key IS :session_key
         ORDER BY state IN ('active', 'pending') DESC, memory_key
         LIMIT 1
        """,
        {**row._asdict(), "content_hash": row.content_hash},
    )
    return _get(conn, key)


def find_quarantined(conn: Reading, row: MemoryRow) -> StoredMemory | None:
    """Return the quarantined memory that *row* would duplicate in quarantine, None for none."""
    key = conn.get_int(
        """
        SELECT memory_key
          FROM memory INDEXED BY memory_by_content
         WHERE agent_key = :agent_key AND content_hash = :content_hash
           AND state = 'quarantined'
           AND session_key IS :session_key AND reference IS :reference
           AND NOT :as_is
         ORDER BY memory_key
         LIMIT 1
        """,
        {**row._asdict(), "content_hash": row.content_hash},
    )
    return _get(conn, key)


def _get(conn: Reading, key: int | None) -> StoredMemory | None:
    return None if key is None else memories.by_keys(conn, [key]).get(key)
