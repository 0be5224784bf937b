"""How long the texts of sessions are kept: what is old goes, what was remembered of it stays."""

from __future__ import annotations

import hashlib

from memd.store.access import changes
from memd.store.file.connect import Reading, Writing
from memd.store.memory import sources


def any_kept(conn: Reading, agent_key: int) -> bool:
    """Return whether a message of any of the agent's sessions is kept."""
    exists = conn.execute(
        """
        SELECT EXISTS (SELECT 1
                         FROM session AS s
                              JOIN session_message AS g ON g.session_key = s.session_key
                        WHERE s.agent_key = :agent_key)
        """,
        {"agent_key": agent_key},
    ).get
    return bool(exists)


def drop_old(conn: Writing, before_us: int, limit: int) -> int:
    """Drop up to *limit* messages of a session last heard of before then; returns how many.

    A session goes from its first message to its last, one after the other, and its numbers
    are not given again: what was napped over once is not learnt anew. The text goes with
    its last message. It stays as long as a session that is younger has said it, too, and
    where a memory was made of it that is no nap's: an original is never lost by age.
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
    through = {"session_key": session_key, "last": last}
    keys = [key for (key,) in conn.execute(_SAID_NOWHERE_ELSE, through)]
    with sources.releasing(conn, keys):
        conn.execute(
            """
            DELETE FROM session_message
             WHERE session_key = :session_key AND ordinal <= :last
            """,
            through,
        )
    payload = f"old messages:{session_key}:{last}".encode()  # what was done, and no word of a text
    changes.touch(conn, b"", hashlib.sha256(payload).digest())
    return count


_SAID_NOWHERE_ELSE = """
SELECT DISTINCT g.source_key
  FROM session_message AS g
 WHERE g.session_key = :session_key AND g.ordinal <= :last
   AND NOT EXISTS (SELECT 1
                     FROM session_message AS o
                    WHERE o.source_key = g.source_key
                      AND (o.session_key <> :session_key OR o.ordinal > :last))
"""
