"""The summaries that stand for others: what the synthesizer reads of them (SPEC 5.14)."""

from __future__ import annotations

from typing import NamedTuple

from memd.store.check import intact
from memd.store.file.connect import Reading


class SummaryRow(NamedTuple):
    """One summary, newest first."""

    memory_id: str
    content: str
    trust: int
    origin: str
    created_at_us: int


def latest(
    conn: Reading, agent_key: int, project_id: str | None, now_us: int, limit: int
) -> list[SummaryRow]:
    """Return the agent's newest visible summaries, those alone that are behind no other one.

    *project_id*, when given, hides those of level project of another.
    """
    rows = conn.execute(
        """
        SELECT m.memory_id, m.content, m.trust, m.origin, m.created_at_us
          FROM memory AS m
               LEFT JOIN project AS p ON p.project_key = m.project_key
         WHERE m.agent_key = :agent_key AND m.is_summary AND m.state IN ('active', 'pending')
           AND (m.expires_at_us IS NULL OR m.expires_at_us > :now_us)
           AND (:project_id IS NULL OR m.level <> 'project' OR p.project_id = :project_id)
           AND NOT EXISTS (SELECT 1
                             FROM derived AS d
                                  JOIN memory AS s ON s.memory_key = d.to_key
                            WHERE d.from_key = m.memory_key AND s.is_summary
                              AND s.state IN ('active', 'pending'))
         ORDER BY m.created_at_us DESC, m.memory_id
         LIMIT :limit
        """,
        {"agent_key": agent_key, "project_id": project_id, "now_us": now_us, "limit": limit},
    )
    found = [SummaryRow._make(row) for row in intact.readable(conn, rows, "memory")]
    sound = intact.named(conn, [row.memory_id for row in found])
    return [row for row in found if row.memory_id in sound]
