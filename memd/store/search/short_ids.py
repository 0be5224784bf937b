"""Lookup of public ids by their ends, which a person types from a list of shortened ids.

The ends of ids are random (``base/ids.py``), their beginnings are times and alike. No index begins
with an end, so each of these functions scans one: an index of ids alone, never the table's rows.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from memd.base.ids import is_id
from memd.domain.enums import OrgFactCategory
from memd.store.file.connect import Reading

# The statements below are built from constants of this module.
# ruff: noqa: S608
END_CHARS = 6
"""How many characters of an end are compared in SQL; callers pass no fewer."""


def find_memories(conn: Reading, agents: Collection[str], ends: Sequence[str]) -> list[str]:
    """Return the ids of memories of *agents*, in any state, that end in one of *ends*."""
    source = """
          FROM memory AS m
         WHERE m.agent_key IN (SELECT agent_key FROM agent
                                WHERE agent_id IN (SELECT value FROM json_each(:agents)))
    """
    return _find(conn, ends, "m.memory_id", source, {"agents": json.dumps(sorted(agents))})


def find_archived(conn: Reading, agent_id: str, ends: Sequence[str]) -> list[str]:
    """Return the archival ids of the agent's memories that end in one of *ends*."""
    source = """
          FROM archive AS r
               JOIN memory AS m ON m.memory_key = r.memory_key
               JOIN agent AS a ON a.agent_key = m.agent_key
         WHERE a.agent_id = :agent_id
    """
    return _find(conn, ends, "r.archival_id", source, {"agent_id": agent_id})


def find_lessons(conn: Reading, agent_id: str, ends: Sequence[str]) -> list[str]:
    """Return the ids of the agent's lessons that end in one of *ends*."""
    source = """
          FROM learning AS l
               JOIN agent AS a ON a.agent_key = l.agent_key
         WHERE a.agent_id = :agent_id
    """
    return _find(conn, ends, "l.learning_id", source, {"agent_id": agent_id})


def find_in_all_agents(conn: Reading, ends: Sequence[str]) -> list[tuple[str, str]]:
    """Return agent and id of each memory, of any agent, that ends in one of *ends*."""
    rows = conn.execute(
        f"""
        SELECT a.agent_id, m.memory_id
          FROM memory AS m
               JOIN agent AS a ON a.agent_key = m.agent_key
         WHERE {_ENDS.format(column="m.memory_id")}
        """,
        _end_params(ends),
    )
    suffixes = tuple(ends)
    return [(agent_id, memory_id) for agent_id, memory_id in rows if memory_id.endswith(suffixes)]


def find_facts(
    conn: Reading, categories: Collection[OrgFactCategory], ends: Sequence[str]
) -> list[str]:
    """Return the ids of facts of *categories*, retracted ones too, that end in one of *ends*."""
    source = """
          FROM org_fact AS f
         WHERE f.category IN (SELECT value FROM json_each(:categories))
    """
    return _find(conn, ends, "f.fact_id", source, {"categories": json.dumps(sorted(categories))})


def find_sessions(conn: Reading, agent_id: str, ends: Sequence[str]) -> list[str]:
    """Return the ids of the agent's sessions that end in one of *ends*, if they are UUIDs.

    A name that somebody chose is never meant by its end.
    """
    source = """
          FROM session AS s
         WHERE s.agent_key = (SELECT agent_key FROM agent WHERE agent_id = :agent_id)
    """
    ids = _find(conn, ends, "s.session_id", source, {"agent_id": agent_id})
    return [session_id for session_id in ids if is_id(session_id) or session_id in ends]


def find_runs(conn: Reading, ends: Sequence[str]) -> list[str]:
    """Return the ids of runs that end in one of *ends*."""
    return _find(conn, ends, "run_id", "FROM run WHERE true", {})


_ENDS = "substr({column}, -:chars) IN (SELECT value FROM json_each(:ends))"


def _end_params(ends: Iterable[str]) -> dict[str, str | int]:
    return {"chars": END_CHARS, "ends": json.dumps([end[-END_CHARS:] for end in ends])}


def _find(
    conn: Reading, ends: Sequence[str], column: str, source: str, params: Mapping[str, str]
) -> list[str]:
    """Return the ids in *column* of the rows of *source* that end in one of *ends*."""
    ids = conn.list_texts(
        f"SELECT {column} {source} AND {_ENDS.format(column=column)}",
        {**params, **_end_params(ends)},
    )
    return [full_id for full_id in ids if full_id.endswith(tuple(ends))]
