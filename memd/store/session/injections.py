"""Record which memories were injected into a session, so that they are not injected again.

An injected memory is in the session's context window until the window is emptied. A memory that was
edited since counts as new; the rows of an erased one are deleted with it. A prompt needs one lookup
for each of its candidates. Also counts how often an answer used an injected memory.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from memd.base.limits import SESSION_INJECTIONS_MAX, SESSION_TOLD_MAX
from memd.store.access import names
from memd.store.check import integrity
from memd.store.file.connect import Reading, Writing


class WindowKey(NamedTuple):
    """Identifies the window of a client in a session of an agent."""

    agent_id: str
    client_id: str
    session_id: str


class WindowContent(NamedTuple):
    """The ids of memories in a session's window: of its own texts, and injected ones."""

    own: frozenset[str] = frozenset()
    injected: frozenset[str] = frozenset()


def find_in_window(conn: Reading, place: WindowKey, ids: Sequence[str]) -> WindowContent:
    """Return which of *ids* are in the session's window since it was last emptied.

    Its own are those that this client stored in the session or that naps made of it, and memories
    of other sessions with the same text.
    """
    rows = conn.execute(
        """
        SELECT m.memory_id, 1
          FROM session AS s
               JOIN agent AS a ON a.agent_key = s.agent_key
               JOIN json_each(:ids) AS w
               JOIN memory AS m ON m.memory_id = w.value
               JOIN memory AS n INDEXED BY memory_by_content
                    ON n.agent_key = s.agent_key AND n.content_hash = m.content_hash
               LEFT JOIN session_window AS e ON e.session_key = s.session_key
               LEFT JOIN client AS c ON c.client_key = n.client_key
         WHERE a.agent_id = :agent_id AND s.session_id = :session_id
           AND n.session_key = s.session_key
           AND n.created_at_us > coalesce(e.emptied_at_us, 0)
           AND (c.client_id IS :client_id
                OR EXISTS (SELECT 1 FROM nap_slot AS t WHERE t.memory_key = n.memory_key))
         UNION ALL
        SELECT w.value, 0
          FROM session AS s
               JOIN agent AS a ON a.agent_key = s.agent_key
               JOIN client AS c ON c.client_id = :client_id
               JOIN json_each(:ids) AS w
               LEFT JOIN memory AS m ON m.memory_id = w.value
               LEFT JOIN memory AS n INDEXED BY memory_by_content
                    ON n.agent_key = m.agent_key AND n.content_hash = m.content_hash
               JOIN injection AS i ON i.session_key = s.session_key
                                  AND i.client_key = c.client_key
                                  AND i.item_id = coalesce(n.memory_id, w.value)
         WHERE a.agent_id = :agent_id AND s.session_id = :session_id
           AND NOT EXISTS (SELECT 1
                             FROM memory_version AS v
                            WHERE v.memory_key = i.memory_key AND v.replaced_at_us > i.at_us)
        """,
        {**place._asdict(), "ids": json.dumps(ids)},
    ).fetchall()
    return WindowContent(
        own=frozenset(str(item_id) for item_id, is_own in rows if is_own),
        injected=frozenset(str(item_id) for item_id, is_own in rows if not is_own),
    )


def list_texts(conn: Reading, agent_id: str, session_id: str) -> list[str]:
    """Return the texts injected into the session, newest first, and the agent's preferences.

    Texts that cannot be read are left out. Includes those of all clients: an assistant has one
    client for its tools, one for its hooks.
    """
    rows = conn.execute(
        """
        SELECT content
          FROM (SELECT m.content, i.at_us
                  FROM session AS s
                       JOIN agent AS a ON a.agent_key = s.agent_key
                       JOIN injection AS i ON i.session_key = s.session_key
                       JOIN memory AS m ON m.memory_key = i.memory_key
                 WHERE a.agent_id = :agent_id AND s.session_id = :session_id
                 ORDER BY i.at_us DESC
                 LIMIT :most)
         UNION ALL
        SELECT * FROM (SELECT p.value
                         FROM preference AS p
                              JOIN agent AS a ON a.agent_key = p.agent_key
                        WHERE a.agent_id = :agent_id
                        ORDER BY p.updated_at_us DESC
                        LIMIT :preferences)
        """,
        {
            "agent_id": agent_id,
            "session_id": session_id,
            "most": SESSION_TOLD_MAX,
            "preferences": SESSION_TOLD_MAX // 4,
        },
    )
    return [str(text) for (text,) in integrity.skip_undecodable(conn, rows, "memory")]


def record(
    conn: Writing, place: WindowKey, project_id: str | None, ids: Sequence[str], now_us: int
) -> None:
    """Record that *ids* were in a prompt of the session, which is created if it does not exist.

    Does nothing if its window was emptied after *now_us*. Deletes the oldest injections beyond
    SESSION_INJECTIONS_MAX.
    """
    agent_key = names.ensure_agent(conn, place.agent_id, now_us)
    client_key = names.ensure_client(conn, place.client_id, now_us)
    session_key = names.ensure_session(
        conn,
        place.session_id,
        agent_key=agent_key,
        client_key=client_key,
        project_key=names.ensure_project(conn, project_id, now_us),
        now_us=now_us,
    )
    assert session_key is not None
    params = {"session_key": session_key, "client_key": client_key, "now": now_us}
    conn.execute(
        """
        INSERT OR REPLACE INTO injection (session_key, client_key, item_id, memory_key, at_us)
        SELECT :session_key, :client_key, w.value, m.memory_key, :now
          FROM json_each(:ids) AS w
               LEFT JOIN memory AS m ON m.memory_id = w.value
         WHERE NOT EXISTS (SELECT 1 FROM forgotten AS f WHERE f.memory_id = w.value)
           AND NOT EXISTS (SELECT 1
                             FROM session_window AS e
                            WHERE e.session_key = :session_key AND e.emptied_at_us > :now)
        """,
        {**params, "ids": json.dumps(ids)},
    )
    conn.execute(
        """
        DELETE FROM injection
         WHERE session_key = :session_key
           AND (client_key, item_id) IN (SELECT client_key, item_id
                                           FROM injection
                                          WHERE session_key = :session_key
                                          ORDER BY at_us DESC, item_id
                                          LIMIT -1 OFFSET :most)
        """,
        {"session_key": session_key, "most": SESSION_INJECTIONS_MAX},
    )
    names.count_session(conn, session_key, 0, 0, now_us)


def mark_emptied(conn: Writing, session_key: int, now_us: int, *, announced: bool = False) -> None:
    """Record that the session's window was emptied at *now_us*, and delete its injections.

    *announced* tells that the assistant reported it before the window shrank.
    """
    conn.execute(
        """
        INSERT INTO session_window (session_key, emptied_at_us, announced)
        VALUES (:session_key, :now_us, :announced)
            ON CONFLICT (session_key) DO UPDATE
           SET emptied_at_us = max(emptied_at_us, excluded.emptied_at_us),
               announced = excluded.announced
        """,
        {"session_key": session_key, "now_us": now_us, "announced": int(announced)},
    )
    clear(conn, session_key)


def mark_shrunk(conn: Writing, session_key: int, now_us: int) -> None:
    """Record that the window shrank, which means that it was emptied.

    If that was announced (:func:`mark_emptied`), only the announcement is cleared.
    """
    conn.execute(
        """
        UPDATE session_window SET announced = 0
         WHERE session_key = :session_key AND announced = 1
        """,
        {"session_key": session_key},
    )
    if not conn.changes():
        mark_emptied(conn, session_key, now_us)


def clear(conn: Writing, session_key: int) -> None:
    """Delete the session's injections: its window is empty, or it has ended."""
    conn.execute(
        "DELETE FROM injection WHERE session_key = :session_key", {"session_key": session_key}
    )


def texts_of(conn: Reading, ids: Sequence[str]) -> dict[str, str]:
    """Return the texts of the memories *ids*, by id, without erased and unreadable ones."""
    rows = conn.execute(
        """
        SELECT m.memory_id, m.content
          FROM json_each(:ids) AS w
               JOIN memory AS m ON m.memory_id = w.value
        """,
        {"ids": json.dumps(ids)},
    )
    texts = integrity.skip_undecodable(conn, rows, "memory")
    return {str(memory_id): str(content) for memory_id, content in texts}


def count_uses(conn: Writing, ids: Sequence[str], now_us: int) -> None:
    """Count one use of each of the memories *ids*; ids of erased memories are ignored."""
    conn.execute(
        """
        INSERT INTO memory_use (memory_key, access_count, last_access_us)
        SELECT m.memory_key, 1, :now_us
          FROM json_each(:ids) AS w
               JOIN memory AS m ON m.memory_id = w.value
         WHERE true
            ON CONFLICT (memory_key) DO UPDATE
           SET access_count = access_count + 1,
               last_access_us = max(coalesce(last_access_us, 0), excluded.last_access_us)
        """,
        {"ids": json.dumps(ids), "now_us": now_us},
    )
