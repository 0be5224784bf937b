"""What an agent's row holds beside its name: its level and its retention (SPEC 7.14)."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from memd.base.errors import MemoryStoreError
from memd.domain.enums import MemoryLevel
from memd.domain.values import RESERVED_AGENT
from memd.store.file.connect import Reading, Writing

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


def key_and_level(conn: Reading, agent_id: str) -> tuple[int | None, MemoryLevel | None]:
    """Return the key of an agent, None for an unknown one, and what :func:`level_of` does."""
    row = conn.execute("SELECT agent_key, level FROM agent WHERE agent_id = ?", (agent_id,)).get
    key, own = row or (None, None)
    return key, None if own is None else MemoryLevel(own)


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
