"""The keys of agents, clients, sessions, projects and speakers by their public names.

Public ids are text; keys are integers and never leave the store. While writing, asking for a key
creates the row if there is none. An agent's row has its configuration, too (SPEC 7.14): level,
retention.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from memd.base.errors import MemoryStoreError, cursor_error
from memd.base.ids import is_id
from memd.domain.enums import MemoryLevel
from memd.domain.values import RESERVED_AGENT
from memd.store.file.connect import Reading, Writing

# Names of tables in the statements are constants of this module.
# ruff: noqa: S608


def find_agent(conn: Reading, agent_id: str) -> int | None:
    """Return the agent's key, None for an unknown agent."""
    return _find(conn, "agent", agent_id)


def agent_key(conn: Reading, agent_id: str) -> int:
    """Return the key by which the agent's rows are read: for an unknown agent 0, which none has."""
    return find_agent(conn, agent_id) or 0


def ensure_agent(conn: Writing, agent_id: str, now_us: int) -> int:
    """Return the agent's key, creating the agent if needed."""
    return _ensure(conn, "agent", agent_id, now_us)


def ensure_client(conn: Writing, client_id: str, now_us: int) -> int:
    """Return the client's key, creating the client if needed."""
    return _ensure(conn, "client", client_id, now_us)


def find_project(conn: Reading, project_id: str) -> int | None:
    """Return the project's key, None for an unknown project."""
    return _find(conn, "project", project_id)


def ensure_project(conn: Writing, project_id: str | None, now_us: int) -> int | None:
    """Return the project's key, creating the project if needed; None for None."""
    return None if project_id is None else _ensure(conn, "project", project_id, now_us)


def _find(conn: Reading, table: str, name: str) -> int | None:
    return conn.get_int(f"SELECT {table}_key FROM {table} WHERE {table}_id = ?", (name,))


def _ensure(conn: Writing, table: str, name: str, now_us: int) -> int:
    key = _find(conn, table, name)
    if key is not None:
        return key
    conn.insert(table, {f"{table}_id": name, "created_at_us": now_us})
    return conn.last_insert_rowid()


def find_session(conn: Reading, agent_key: int | None, session_id: str | None) -> int | None:
    """Return the key of an agent's session, None when there is none of this name."""
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

    A session id belongs to one agent: the same id of another agent is another session, so nobody
    can change another agent's counters (SPEC 1.8).
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
    """Add to the session's counters and move its last activity (SPEC 1.8)."""
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
    """Set whether the session has a compressed memory (SPEC 3.7)."""
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
    """Raise InvalidError for an *after* that is no place in a list of memories by their ids.

    One of memd's own ids is a place, also when its memory was erased since.
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
    """Add *turns* (negative to subtract) to the number of memories in which *name* speaks."""
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
    """Return those of *names* (casefolded) who speak in the agents' memories."""
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


# The configuration of agents.

LEVEL_IS_NONE = "the memory level is none: nothing is stored"


class AgentRow(NamedTuple):
    """One agent's configuration; None means the company's."""

    agent_id: str
    level: MemoryLevel | None
    retention_days: int | None
    retention_overrides: dict[str, int]


_AGENT_COLUMNS = "SELECT agent_id, level, retention_days, retention_overrides FROM agent"


def _agent_row(row: tuple[str, str | None, int | None, str]) -> AgentRow:
    agent_id, level, days, overrides = row
    return AgentRow(
        agent_id, None if level is None else MemoryLevel(level), days, json.loads(overrides)
    )


def level_of(conn: Reading, agent_id: str) -> MemoryLevel | None:
    """Return the agent's own level, None when the configuration decides."""
    own = conn.get_text("SELECT level FROM agent WHERE agent_id = ?", (agent_id,))
    return None if own is None else MemoryLevel(own)


def require_level(conn: Reading, agent_id: str, default: MemoryLevel) -> MemoryLevel:
    """Return the level at which the agent's memories are stored, its own or *default*.

    Raises MemoryStoreError for the reserved agent, and where nothing is stored.
    """
    if agent_id == RESERVED_AGENT:
        raise MemoryStoreError(f"{RESERVED_AGENT} is reserved", field="agent_id")
    own = level_of(conn, agent_id) or default
    if own is MemoryLevel.NONE:
        raise MemoryStoreError(LEVEL_IS_NONE, field="agent_id")
    return own


def find_configuration(conn: Reading, agent_id: str) -> AgentRow | None:
    """Return an agent's configuration, None for an unknown agent."""
    row = conn.execute(f"{_AGENT_COLUMNS} WHERE agent_id = ?", (agent_id,)).fetchone()
    return None if row is None else _agent_row(row)


def list_agents(conn: Reading, after: str | None, limit: int) -> list[AgentRow]:
    """Return agents by name after *after*, without the reserved one."""
    rows = conn.execute(
        f"""
        {_AGENT_COLUMNS}
         WHERE (:after IS NULL OR agent_id > :after) AND agent_id <> :reserved
         ORDER BY agent_id
         LIMIT :limit
        """,
        {"after": after, "limit": limit, "reserved": RESERVED_AGENT},
    )
    return [_agent_row(row) for row in rows]


def configure(conn: Writing, agent_key: int, new: AgentRow) -> None:
    """Set an agent's configuration as a whole."""
    conn.execute(
        """
        UPDATE agent
           SET level = :level,
               retention_days = :retention_days,
               retention_overrides = :retention_overrides
         WHERE agent_key = :agent_key
        """,
        {
            "agent_key": agent_key,
            "level": new.level,
            "retention_days": new.retention_days,
            "retention_overrides": json.dumps(new.retention_overrides, sort_keys=True),
        },
    )


def read_file_settings(conn: Reading) -> dict[str, dict[str, Any]]:
    """Return the agents' values last taken from the settings file: agent -> column -> value."""
    try:
        rules = json.loads(conn.get_meta("agents_of_file", str) or "{}")
    except ValueError:  # damaged: the settings file's present values count as new
        return {}
    return rules if isinstance(rules, dict) else {}


def record_file_settings(conn: Writing, settings: dict[str, dict[str, Any]]) -> None:
    """Record the values taken from the settings file, so that they can be reverted."""
    conn.set_meta("agents_of_file", json.dumps(settings, sort_keys=True))


def first_us(conn: Reading) -> int | None:
    """Return when the first agent came, with the first memory; None for an empty store."""
    return conn.get_int("SELECT min(created_at_us) FROM agent")
