"""Read, reopen and end sessions, and find the memories that end with them (SPEC 1.8, D2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memd.store.check import integrity
from memd.store.file.connect import Reading, Writing, keys_array
from memd.store.memory import memories, versions
from memd.store.session import injections

IDLE_US = 6 * 3_600_000_000
"""A session that is inactive for this time has ended (SPEC D2)."""
BEGINNING_US = 10_000_000
"""A start within this time after a session's first request does not empty its window: an assistant
may run the hooks of the start and of the first prompt at once, in any order."""


class SessionRow(NamedTuple):
    """A session. *memory_count* and *token_count* count its memories, *messages* those stored."""

    session_key: int
    session_id: str
    agent_id: str
    project_id: str | None
    started_at_us: int
    last_activity_us: int
    ended_at_us: int | None
    memory_count: int
    token_count: int
    messages: int
    compressed: int


class SessionSpan(NamedTuple):
    """A session of an agent, a time (*until_us* is exclusive), or both; None means no limit."""

    agent_key: int
    session_id: str | None
    since_us: int | None
    until_us: int | None


class SessionMemoryRow(NamedTuple):
    """A memory that was stored in the session, not one that a nap or summary derived."""

    memory_key: int
    ordinal: int | None
    content: str
    speaker: str | None
    origin: str
    at_us: int


_HAS_CONTENT = """
(EXISTS (SELECT 1 FROM session_message AS g WHERE g.session_key = s.session_key)
 OR EXISTS (SELECT 1 FROM memory AS m WHERE m.session_key = s.session_key))
"""
IS_LISTED = f"(s.heard = 0 OR s.client_key IS NOT NULL OR {_HAS_CONTENT})"
"""Whether the session *s* was not forgotten (:func:`erase_empty`)."""
_COLUMNS = """
SELECT s.session_key, s.session_id, a.agent_id, p.project_id, s.started_at_us, s.last_activity_us,
       s.ended_at_us, s.memory_count, s.token_count,
       (SELECT count(*) FROM session_message AS g WHERE g.session_key = s.session_key),
       s.compressed
  FROM session AS s
       JOIN agent AS a ON a.agent_key = s.agent_key
       LEFT JOIN project AS p ON p.project_key = s.project_key
"""


def find(conn: Reading, agent_key: int | None, session_id: str) -> SessionRow | None:
    """Return the agent's session, None when there is none of this name."""
    return conn.find_row(
        SessionRow,
        f"{_COLUMNS} WHERE s.agent_key = :agent_key AND s.session_id = :session_id",
        {"agent_key": agent_key, "session_id": session_id},
    )


def list_page(
    conn: Reading, agent_key: int | None, before: int | None, limit: int
) -> list[SessionRow]:
    """Return up to *limit* sessions of the agent with keys below *before*, the newest first.

    Without those that were forgotten (:func:`erase_empty`).
    """
    return conn.list_rows(
        SessionRow,
        f"""
        {_COLUMNS}
         WHERE s.agent_key = :agent_key AND (:before IS NULL OR s.session_key < :before)
           AND {IS_LISTED}
         ORDER BY s.session_key DESC
         LIMIT :limit
        """,
        {"agent_key": agent_key, "before": before, "limit": limit},
    )


def list_last_memories(conn: Reading, session_key: int, limit: int) -> list[SessionMemoryRow]:
    """Return the last *limit* memories stored in the session, in order.

    Includes hidden ones; leaves out trashed and damaged ones, summaries and those that naps made.
    """
    rows = conn.execute(
        """
        SELECT m.memory_key, m.ordinal, m.content, m.speaker, m.origin,
               coalesce(m.occurred_at_us, m.created_at_us)
          FROM memory AS m
         WHERE m.session_key = :session_key AND NOT m.is_summary
           AND m.state IN ('active', 'pending', 'compressed', 'archived')
           AND NOT EXISTS (SELECT 1 FROM run AS r WHERE r.run_id = m.batch AND r.kind = 'nap')
         ORDER BY m.ordinal DESC, m.part DESC, m.memory_key DESC
         LIMIT :limit
        """,
        {"session_key": session_key, "limit": limit},
    )
    return integrity.list_rows(conn, SessionMemoryRow, rows, integrity.memories)[::-1]


def list_last_statements(conn: Reading, agent_id: str, session_id: str) -> list[str]:
    """Return the texts of the session's last turn of a person that state something, in order.

    Empty if that turn is in passing. Texts that cannot be read are left out.
    """
    rows = conn.execute(
        """
        SELECT m.content
          FROM session AS s
               JOIN agent AS a ON a.agent_key = s.agent_key
               JOIN memory AS m ON m.session_key = s.session_key
         WHERE a.agent_id = :agent_id AND s.session_id = :session_id
           AND m.origin = 'person' AND m.state IN ('active', 'pending')
           AND NOT EXISTS (SELECT 1 FROM passing AS q WHERE q.memory_key = m.memory_key)
           AND m.ordinal = (SELECT l.ordinal
                              FROM memory AS l
                             WHERE l.session_key = s.session_key AND l.origin = 'person'
                             ORDER BY l.ordinal DESC
                             LIMIT 1)
         ORDER BY m.part, m.memory_key
        """,
        {"agent_id": agent_id, "session_id": session_id},
    )
    return [str(text) for (text,) in integrity.skip_undecodable(conn, rows, "memory")]


def list_last_turn(conn: Reading, session_key: int, client_key: int) -> list[int]:
    """Return the visible memories of the session since the last turn of a person, and of it.

    Only those that the client told; naps made none of them.
    """
    return conn.list_ints(
        """
        WITH told AS (
            SELECT m.memory_key, m.ordinal, m.origin, m.state
              FROM memory AS m
             WHERE m.session_key = :session_key AND m.client_key = :client_key
               AND NOT EXISTS (SELECT 1 FROM memory_turn AS t WHERE t.memory_key = m.memory_key)
        )
        SELECT memory_key
          FROM told
         WHERE state IN ('active', 'pending')
           AND ordinal >= (SELECT max(ordinal) FROM told WHERE origin = 'person')
        """,
        {"session_key": session_key, "client_key": client_key},
    )


def list_idle(conn: Reading, now_us: int, limit: int) -> list[tuple[int, str]]:
    """Return key and agent id of sessions that are inactive for IDLE_US and not ended yet."""
    rows = conn.execute(
        """
        SELECT s.session_key, a.agent_id
          FROM session AS s
               JOIN agent AS a ON a.agent_key = s.agent_key
         WHERE (s.ended_at_us IS NULL OR s.ended_at_us < s.last_activity_us)
           AND s.last_activity_us <= :before_us
         ORDER BY s.last_activity_us
         LIMIT :limit
        """,
        {"before_us": now_us - IDLE_US, "limit": limit},
    )
    return [(key, agent_id) for key, agent_id in rows]


def is_idle(conn: Reading, session_key: int, now_us: int) -> bool:
    """Return whether the session is inactive for IDLE_US."""
    return conn.exists(
        "SELECT 1 FROM session WHERE session_key = :session_key AND last_activity_us <= :before_us",
        {"session_key": session_key, "before_us": now_us - IDLE_US},
    )


def list_ending(conn: Reading, session_key: int, limit: int) -> list[int]:
    """Return up to *limit* memories that are trashed when their session ends (SPEC D2, D21).

    These are memories of level session, and working ones stored with ``memory.store``.
    """
    return conn.list_ints(
        """
        SELECT memory_key
          FROM memory
         WHERE session_key = :session_key AND state <> 'trashed'
           AND (level = 'session' OR (category = 'working' AND as_is))
         ORDER BY memory_key
         LIMIT :limit
        """,
        {"session_key": session_key, "limit": limit},
    )


def list_working(conn: Reading, session_key: int, limit: int) -> list[int]:
    """Return up to *limit* working memories that were ingested and outlive the session."""
    return conn.list_ints(
        """
        SELECT memory_key
          FROM memory
         WHERE session_key = :session_key AND state <> 'trashed'
           AND category = 'working' AND level <> 'session' AND NOT as_is
         ORDER BY memory_key
         LIMIT :limit
        """,
        {"session_key": session_key, "limit": limit},
    )


def filter_outliving(conn: Reading, keys: Sequence[int]) -> list[int]:
    """Return those of *keys* that become episodic instead of expiring (:func:`make_episodic`).

    These are ingested working memories of no session, with the default expiry of IDLE_US.
    """
    if not keys:
        return []
    return conn.list_ints(
        """
        SELECT memory_key
          FROM memory
         WHERE memory_key IN (SELECT value FROM carray(:keys))
           AND category = 'working' AND session_key IS NULL
           AND level <> 'session' AND NOT as_is
           AND expires_at_us = created_at_us + :idle_us
        """,
        {"keys": keys_array(keys), "idle_us": IDLE_US},
    )


def make_episodic(conn: Writing, key: int, now_us: int) -> None:
    """Make a working memory that outlives its task an episodic one without expiry.

    A damaged memory keeps its category, but loses its expiry as well.
    """
    versions.make_episodic(conn, key, now_us)
    memories.bump(conn, key, now_us, None)


def reopen(conn: Writing, session_key: int, now_us: int, project_key: int | None = None) -> None:
    """Record that the session continues, in this project if given, with an empty window.

    A session that began less than ``BEGINNING_US`` ago keeps its window.
    """
    [(started_at_us,)] = conn.execute(
        """
        UPDATE session
           SET ended_at_us = NULL, last_activity_us = max(last_activity_us, :now_us),
               project_key = coalesce(:project_key, project_key)
         WHERE session_key = :session_key
        RETURNING started_at_us
        """,
        {"session_key": session_key, "now_us": now_us, "project_key": project_key},
    )
    if now_us - started_at_us >= BEGINNING_US:
        injections.mark_emptied(conn, session_key, now_us)


def end(conn: Writing, session_key: int, now_us: int) -> None:
    """Record the end of the session; keeps an earlier end, unless it was active since."""
    injections.clear(conn, session_key)
    conn.execute(
        """
        UPDATE session
           SET ended_at_us = max(:now_us, last_activity_us)
         WHERE session_key = :session_key
           AND (ended_at_us IS NULL OR ended_at_us < last_activity_us)
        """,
        {"session_key": session_key, "now_us": now_us},
    )


def erase_empty(conn: Writing, span: SessionSpan) -> bool:
    """Erase the sessions and windows in *span* of which no message and no memory is left.

    Of a session that had messages, id, times and the number of its messages stay, so that a nap
    over its transcript does not store them again. Returns whether anything was erased.
    """
    erased = 0
    for statement in (_ERASE_WINDOWS, _ERASE_UNHEARD, _ERASE_ORIGIN):
        conn.execute(statement, span._asdict())
        erased += conn.changes()
    return erased > 0


_ERASE_WINDOWS = f"""
DELETE FROM usage_window AS w
 WHERE w.agent_key = :agent_key
   AND (:session_id IS NULL OR w.session_id = :session_id)
   AND (:since_us IS NULL OR w.seen_at_us >= :since_us)
   AND (:until_us IS NULL OR w.seen_at_us < :until_us)
   AND NOT EXISTS (SELECT 1
                     FROM session AS s
                    WHERE s.agent_key = w.agent_key AND s.session_id = w.session_id
                      AND {_HAS_CONTENT})
"""  # noqa: S608  # a constant
_IS_EMPTY = f"""
s.agent_key = :agent_key
AND (:session_id IS NULL OR s.session_id = :session_id)
AND (:since_us IS NULL OR s.started_at_us >= :since_us)
AND (:until_us IS NULL OR s.last_activity_us < :until_us)
AND NOT {_HAS_CONTENT}
"""
_ERASE_UNHEARD = f"DELETE FROM session AS s WHERE s.heard = 0 AND {_IS_EMPTY}"  # noqa: S608
_ERASE_ORIGIN = f"""
UPDATE session AS s
   SET client_key = NULL, project_key = NULL
 WHERE (s.client_key IS NOT NULL OR s.project_key IS NOT NULL) AND {_IS_EMPTY}
"""  # noqa: S608  # a constant


def memory_hashes(conn: Reading, session_key: int, limit: int) -> frozenset[bytes]:
    """Return the content hashes of the session's latest *limit* memories, in any state."""
    rows = conn.execute(
        """
        SELECT content_hash
          FROM memory
         WHERE session_key = :session_key
         ORDER BY ordinal DESC, part DESC, memory_key DESC
         LIMIT :limit
        """,
        {"session_key": session_key, "limit": limit},
    )
    return frozenset(content_hash for (content_hash,) in rows)


def record_derived(conn: Writing, from_key: int, memory_ids: Sequence[str]) -> None:
    """Record in the lineage that these memories were derived from *from_key*."""
    conn.executemany(
        """
        INSERT OR IGNORE INTO derived (from_key, to_key)
        SELECT :from_key, memory_key FROM memory WHERE memory_id = :memory_id
        """,
        ({"from_key": from_key, "memory_id": memory_id} for memory_id in memory_ids),
    )
