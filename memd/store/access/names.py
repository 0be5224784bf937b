"""Look up the keys of agents, clients, sessions, projects and speakers by their public ids.

Public ids are text; keys are integers and never leave the store. The ``ensure_*`` functions create
the row if it does not exist.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from memd.base.errors import cursor_error
from memd.base.ids import is_id
from memd.domain.values import RESERVED_AGENT
from memd.store.file.connect import Reading, Writing

# Names of tables in the statements are constants of this module.
# ruff: noqa: S608


def find_agent(conn: Reading, agent_id: str) -> int | None:
    """Return the agent's key, None for an unknown agent."""
    return conn.get_int("SELECT agent_key FROM agent WHERE agent_id = ?", (agent_id,))


def agent_key(conn: Reading, agent_id: str) -> int:
    """Return the agent's key, for reads: 0 for an unknown agent, which matches no row."""
    return find_agent(conn, agent_id) or 0


def find_shared_agent(conn: Reading) -> int | None:
    """Return the reserved agent's key; None if there are no shared memories to read."""
    return conn.get_int(
        """
        SELECT agent_key
          FROM agent
         WHERE agent_id = :reserved AND EXISTS (SELECT 1 FROM shared)
        """,
        {"reserved": RESERVED_AGENT},
    )


def has_published(conn: Reading, agent_key: int) -> bool:
    """Return whether there is a memory that the agent published."""
    return conn.exists("SELECT 1 FROM shared WHERE publisher_key = ?", (agent_key,))


def ensure_agent(conn: Writing, agent_id: str, now_us: int) -> int:
    """Return the agent's key, creating the agent if needed."""
    return _ensure(conn, "agent", agent_id, now_us)


def ensure_client(conn: Writing, client_id: str, now_us: int) -> int:
    """Return the client's key, creating the client if needed."""
    return _ensure(conn, "client", client_id, now_us)


def find_project(conn: Reading, project_id: str) -> int | None:
    """Return the project's key, None for an unknown project."""
    return conn.get_int("SELECT project_key FROM project WHERE project_id = ?", (project_id,))


def ensure_project(conn: Writing, project_id: str | None, now_us: int) -> int | None:
    """Return the project's key, creating the project if needed; None for None."""
    return None if project_id is None else _ensure(conn, "project", project_id, now_us)


def _ensure(conn: Writing, table: str, name: str, now_us: int) -> int:
    key = conn.get_int(f"SELECT {table}_key FROM {table} WHERE {table}_id = ?", (name,))
    if key is not None:
        return key
    conn.insert(table, {f"{table}_id": name, "created_at_us": now_us})
    return conn.last_insert_rowid()


def find_session(conn: Reading, agent_key: int | None, session_id: str | None) -> int | None:
    """Return the key of an agent's session, None when there is none with this id."""
    return conn.get_int(
        "SELECT session_key FROM session WHERE agent_key = :agent_key AND session_id = :session_id",
        {"agent_key": agent_key, "session_id": session_id},
    )


def ensure_session(
    conn: Writing,
    session_id: str | None,
    *,
    agent_key: int,
    client_key: int | None,
    project_key: int | None,
    now_us: int,
) -> int | None:
    """Return the session's key, creating the session if needed; None for None.

    A session belongs to one agent: the same id of another agent is another session, so that no
    agent can change the counters of another (SPEC 1.8).
    """
    if session_id is None:
        return None
    key = find_session(conn, agent_key, session_id)
    if key is not None:
        return key
    conn.insert(
        "session",
        {
            "session_id": session_id,
            "agent_key": agent_key,
            "client_key": client_key,
            "project_key": project_key,
            "started_at_us": now_us,
            "last_activity_us": now_us,
        },
    )
    return conn.last_insert_rowid()


def count_session(conn: Writing, session_key: int, memories: int, tokens: int, now_us: int) -> None:
    """Add *memories* and *tokens* to the session's counters, and update its last activity.

    Negative numbers subtract; *now_us* 0 leaves the last activity unchanged (SPEC 1.8).
    """
    conn.execute(
        """
        UPDATE session
           SET memory_count = max(0, memory_count + :memories),
               token_count = max(0, token_count + :tokens),
               last_activity_us = max(last_activity_us, :now_us)
         WHERE session_key = :session_key
        """,
        {"session_key": session_key, "memories": memories, "tokens": tokens, "now_us": now_us},
    )


def set_compressed(conn: Writing, session_key: int) -> None:
    """Update the session's flag that it has a compressed memory (SPEC 3.7)."""
    conn.execute(
        """
        UPDATE session
           SET compressed = EXISTS (SELECT 1
                                      FROM memory AS m
                                           JOIN archive AS r ON r.memory_key = m.memory_key
                                     WHERE m.session_key = :session_key
                                       AND r.reason = 'compressed')
         WHERE session_key = :session_key
        """,
        {"session_key": session_key},
    )


def is_compressed(conn: Reading, session_key: int | None) -> bool:
    """Return whether the session has a compressed memory, False for no session."""
    return conn.exists("SELECT compressed FROM session WHERE session_key = ?", (session_key,))


def check_cursor(conn: Reading, after: str | None) -> None:
    """Raise InvalidError unless *after* can be the cursor of a list of memories ordered by id.

    An id in memd's format is valid even if its memory was erased; any other must exist.
    """
    if after is None or is_id(after):
        return
    if not conn.exists("SELECT 1 FROM memory WHERE memory_id = ?", (after,)):
        raise cursor_error()


def next_ordinal(conn: Reading, session_key: int) -> int:
    """Return the ordinal after the session's last memory."""
    return conn.get_count(
        "SELECT coalesce(max(ordinal) + 1, 0) FROM memory WHERE session_key = :session_key",
        {"session_key": session_key},
    )


def count_speaker(conn: Writing, agent_key: int, name: str, turns: int) -> None:
    """Add *turns* (negative to subtract) to the number of memories with the speaker *name*."""
    conn.execute(
        """
        INSERT INTO speaker (agent_key, name, turns)
        VALUES (:agent_key, :name, max(0, :turns))
            ON CONFLICT (agent_key, name) DO UPDATE SET turns = max(0, turns + :turns)
        """,
        {"agent_key": agent_key, "name": name.casefold(), "turns": turns},
    )
    if turns < 0:  # a name without memories must not remain
        conn.execute(
            "DELETE FROM speaker WHERE agent_key = :agent_key AND name = :name AND turns = 0",
            {"agent_key": agent_key, "name": name.casefold()},
        )


def find_speakers(conn: Reading, agent_keys: Sequence[int], names: Iterable[str]) -> frozenset[str]:
    """Return those of *names* (casefolded) that are speakers of the agents' memories."""
    lookup = json.dumps(list(names))
    return frozenset(
        name
        for agent_key in agent_keys
        for (name,) in conn.execute(
            """
            SELECT s.name
              FROM json_each(:names) AS n
                   CROSS JOIN speaker AS s ON s.agent_key = :agent_key AND s.name = n.value
             WHERE s.turns > 0
            """,
            {"agent_key": agent_key, "names": lookup},
        )
    )
