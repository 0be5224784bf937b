"""Retention of the messages of sessions: old ones are deleted, the memories made of them stay."""

from __future__ import annotations

import hashlib

from memd.store.access import changes
from memd.store.file.connect import Reading, Writing
from memd.store.session import message_index


def has_messages(conn: Reading, agent_key: int) -> bool:
    """Return whether any message of the agent's sessions is stored."""
    return conn.exists(
        """
        SELECT EXISTS (SELECT 1
                         FROM session AS s
                              JOIN session_message AS g ON g.session_key = s.session_key
                        WHERE s.agent_key = :agent_key)
        """,
        {"agent_key": agent_key},
    )


def delete_old(conn: Writing, before_us: int, limit: int) -> int:
    """Delete up to *limit* messages of a session inactive since *before_us*; returns how many.

    A session is deleted from its first message to its last, and its ordinals are not reused:
    messages that a nap has read are not learnt again. A text goes with the last message that
    contains it. It stays as long as a younger session has it, too, or a memory other than a nap's
    was made of it: an original is never lost by age.
    """
    row = conn.execute(
        """
        SELECT g.session_key, max(g.ordinal), count(*)
          FROM (SELECT session_key, ordinal
                  FROM session_message
                 WHERE session_key = (SELECT s.session_key
                                        FROM session AS s
                                       WHERE s.last_activity_us < :before_us
                                         AND EXISTS (SELECT 1
                                                       FROM session_message AS m
                                                      WHERE m.session_key = s.session_key)
                                       ORDER BY s.last_activity_us, s.session_key
                                       LIMIT 1)
                 ORDER BY ordinal
                 LIMIT :limit) AS g
        """,
        {"before_us": before_us, "limit": limit},
    ).fetchone()
    assert row is not None
    session_key, last, count = row
    if not isinstance(count, int) or not count:
        return 0
    params = {"session_key": session_key, "last": last}
    keys = conn.list_ints(_ONLY_IN_THESE, params)
    message_index.unindex(conn, keys)
    conn.execute(
        "DELETE FROM session_message WHERE session_key = :session_key AND ordinal <= :last", params
    )
    conn.executemany(_DELETE_UNUSED, ({"key": key} for key in keys))
    payload = f"old messages:{session_key}:{last}".encode()  # what was done, without any text
    changes.touch(conn, b"", hashlib.sha256(payload).digest())
    return count


# A memory distilled by a nap has its own text; one that was stored from this text needs it.
_DELETE_UNUSED = """
DELETE FROM source
 WHERE source_key = :key
   AND NOT EXISTS (SELECT 1
                     FROM memory AS m
                    WHERE m.source_key = :key
                      AND NOT EXISTS (SELECT 1
                                        FROM memory_turn AS t
                                       WHERE t.memory_key = m.memory_key))
"""
_ONLY_IN_THESE = """
SELECT DISTINCT g.source_key
  FROM session_message AS g
 WHERE g.session_key = :session_key AND g.ordinal <= :last
   AND NOT EXISTS (SELECT 1
                     FROM session_message AS o
                    WHERE o.source_key = g.source_key
                      AND (o.session_key <> :session_key OR o.ordinal > :last))
"""
