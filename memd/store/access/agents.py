"""Read and set the configuration of agents: level and retention (SPEC 7.14)."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from memd.base.errors import MemoryStoreError
from memd.domain.enums import MemoryLevel
from memd.domain.values import RESERVED_AGENT
from memd.store.file.connect import Reading, Writing

LEVEL_IS_NONE = "the memory level is none: nothing is stored"


class AgentRow(NamedTuple):
    """The configuration of an agent; None means the default of the settings."""

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


def key_and_level(conn: Reading, agent_id: str) -> tuple[int | None, MemoryLevel | None]:
    """Return the key of an agent (None if unknown) and its level as :func:`level_of` does."""
    row = conn.execute("SELECT agent_key, level FROM agent WHERE agent_id = ?", (agent_id,)).get
    key, level = row or (None, None)
    return key, None if level is None else MemoryLevel(level)


def level_of(conn: Reading, agent_id: str) -> MemoryLevel | None:
    """Return the level configured for the agent, None when the default applies."""
    level = conn.get_text("SELECT level FROM agent WHERE agent_id = ?", (agent_id,))
    return None if level is None else MemoryLevel(level)


def require_level(conn: Reading, agent_id: str, default: MemoryLevel) -> MemoryLevel:
    """Return the level at which the agent's memories are stored: the agent's or *default*.

    Raises MemoryStoreError for the reserved agent, and when the level is none.
    """
    if agent_id == RESERVED_AGENT:
        raise MemoryStoreError(f"{RESERVED_AGENT} is reserved", field="agent_id")
    level = level_of(conn, agent_id) or default
    if level is MemoryLevel.NONE:
        raise MemoryStoreError(LEVEL_IS_NONE, field="agent_id")
    return level


def find_configuration(conn: Reading, agent_id: str) -> AgentRow | None:
    """Return an agent's configuration, None for an unknown agent."""
    row = conn.execute(f"{_AGENT_COLUMNS} WHERE agent_id = ?", (agent_id,)).fetchone()
    return None if row is None else _agent_row(row)


def list_agents(conn: Reading, after: str | None, limit: int) -> list[AgentRow]:
    """Return up to *limit* agents with ids after *after*, by id, without the reserved one."""
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
    """Replace the whole configuration of an agent."""
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
    """Return the values last taken from the settings file, by agent id and column."""
    try:
        settings = json.loads(conn.get_meta("agents_of_file", str) or "{}")
    except ValueError:  # damaged: all values of the settings file count as new
        return {}
    return settings if isinstance(settings, dict) else {}


def record_file_settings(conn: Writing, settings: dict[str, dict[str, Any]]) -> None:
    """Record the values taken from the settings file, so that they can be reverted."""
    conn.set_meta("agents_of_file", json.dumps(settings, sort_keys=True))


def first_us(conn: Reading) -> int | None:
    """Return when the first agent was created, with the first memory; None for an empty store."""
    return conn.get_int("SELECT min(created_at_us) FROM agent")
