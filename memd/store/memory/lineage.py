"""Read lineage: which summaries were made from which sources.

Used to restore sources when their summary is removed, and by the synthesizer (SPEC 5.14).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memd.store.check import integrity
from memd.store.file.connect import Reading, keys_array


def find_lineage(conn: Reading, keys: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the memories derived from *keys* or among them, and the sources that they hide.

    A caller that removes one of *keys* must also remove these summaries, which contain its words,
    and restore the sources, which nothing else makes visible. A source that another summary hides
    as well is not returned: a session's summary may cover the sources of an extractive list. The
    reason in the archive equals a tag of the summary that hides the source.
    """
    if not keys:
        return [], []
    summaries = conn.list_ints(
        """
        SELECT d.to_key
          FROM carray(:keys) AS k
               CROSS JOIN derived AS d ON d.from_key = k.value
         UNION
        SELECT d.to_key
          FROM carray(:keys) AS k
               CROSS JOIN derived AS d ON d.to_key = k.value
         ORDER BY 1
        """,
        {"keys": keys_array(keys)},
    )
    if not summaries:
        return [], []
    sources = conn.list_ints(
        """
        SELECT DISTINCT d.from_key
          FROM carray(:summaries) AS k
               CROSS JOIN derived AS d ON d.to_key = k.value
               JOIN memory AS s ON s.memory_key = d.to_key AND s.is_summary
               JOIN behind AS b ON b.memory_key = d.from_key
               JOIN archive AS r ON r.memory_key = d.from_key
         WHERE NOT EXISTS (SELECT 1
                             FROM derived AS o
                                  JOIN memory AS n ON n.memory_key = o.to_key
                                  JOIN memory_tag AS g ON g.memory_key = n.memory_key
                            WHERE o.from_key = d.from_key AND g.tag = r.reason
                              AND n.is_summary AND n.state <> 'trashed'
                              AND n.memory_key NOT IN (SELECT value FROM carray(:summaries)))
         ORDER BY d.from_key
        """,
        {"summaries": keys_array(summaries)},
    )
    return summaries, sources


def list_sources(conn: Reading, key: int) -> list[int]:
    """Return the sources of a memory, without trashed and quarantined ones, in key order."""
    return conn.list_ints(
        """
        SELECT d.from_key
          FROM derived AS d
               JOIN memory AS m ON m.memory_key = d.from_key
         WHERE d.to_key = :key AND m.state NOT IN ('trashed', 'quarantined')
         ORDER BY d.from_key
        """,
        {"key": key},
    )


class SummaryRow(NamedTuple):
    """One visible summary."""

    memory_id: str
    content: str
    trust: int
    origin: str
    created_at_us: int


def list_latest(
    conn: Reading, agent_key: int, project_id: str | None, now_us: int, limit: int
) -> list[SummaryRow]:
    """Return the agent's newest visible summaries, without those that another summary includes.

    *project_id*, when given, excludes summaries of level project that belong to another project.
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
    return integrity.list_rows(conn, SummaryRow, rows, integrity.intact_ids)
