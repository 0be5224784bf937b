"""The memories that were brought in bulk from one source: what a later import compares with."""

from __future__ import annotations

import json
from typing import NamedTuple

from memd.store.file.connect import Reading


class SourceRow(NamedTuple):
    """One memory of a source. *reason* is why it is in the archive, None when it is not."""

    memory_key: int
    memory_id: str
    content_hash: bytes
    namespace: str
    occurred_at_us: int | None
    state: str
    reason: str | None
    tags: tuple[str, ...]


def of_source(conn: Reading, agent_key: int, source: str, now_us: int) -> list[SourceRow]:
    """Return what was brought from *source* or its parts (``notes.md#3``), the visible ones first.

    What lies in the trash or has expired is not there; what is quarantined is. A memory
    that only names the source, as an assistant's remark on a file does, was not brought.
    """
    rows = conn.execute(
        """
        SELECT m.memory_key, m.memory_id, m.content_hash, m.namespace, m.occurred_at_us,
               m.state, r.reason,
               (SELECT json_group_array(t.tag ORDER BY t.ordinal)
                  FROM memory_tag AS t WHERE t.memory_key = m.memory_key)
          FROM (SELECT memory_key
                  FROM memory
                 WHERE agent_key = :agent_key AND reference = :source
                 UNION ALL
                SELECT memory_key
                  FROM memory
                 WHERE agent_key = :agent_key
                   AND reference >= :source || '#' AND reference < :source || '$'
                   AND substr(reference, length(:source) + 2) NOT GLOB '*[^0-9]*') AS k
               CROSS JOIN memory AS m ON m.memory_key = k.memory_key
               LEFT JOIN archive AS r ON r.memory_key = m.memory_key
         WHERE m.batch IS NOT NULL AND NOT m.is_summary
           AND m.state NOT IN ('trashed', 'stale')
           AND (m.expires_at_us IS NULL OR m.expires_at_us > :now_us)
         ORDER BY m.state IN ('active', 'pending') DESC, m.memory_key
        """,
        {"agent_key": agent_key, "source": source, "now_us": now_us},
    )
    return [SourceRow._make((*row[:-1], tuple(json.loads(row[-1])))) for row in rows]
