"""Lessons of failures in the store: a memory, and its whole text as its source.

The memory's content is the discovery tier, which is ranked, listed and told. The text with all
tiers is its source, so forgetting, exports and repairs include both.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from memd.domain.learn import FAILURE_SOURCE, NON_INFERABLE_TAG, SUCCESS_SOURCE
from memd.domain.sleep.consolidation import FIX_TAG
from memd.store.file.connect import Reading
from memd.store.memory.filters import BoundFilter


class LessonRow(NamedTuple):
    """A visible lesson; *text* has all tiers. With *of_nap* it is the memory of a fix."""

    memory_key: int
    memory_id: str
    discovery: str
    text: str
    source: str
    confidence: float
    trust: int
    created_at_us: int
    of_nap: bool = False


def list_lessons(
    conn: Reading, filters: BoundFilter, limit: int, memory_id: str | None = None
) -> list[LessonRow]:
    """Return the newest lessons of *filters*, or the one with this id, newest first."""
    rows = conn.execute(
        f"""
        SELECT m.memory_key, m.memory_id, m.content, o.zlib, m.reference, m.confidence, m.trust,
               m.created_at_us
          FROM memory_tag AS t
               CROSS JOIN memory AS m ON m.memory_key = t.memory_key
               JOIN source AS o ON o.source_key = m.source_key
         WHERE t.tag = :tag AND {filters.where} AND m.category = 'procedural'
           AND (m.reference GLOB :failure OR m.reference GLOB :success)
           AND (:memory_id IS NULL OR m.memory_id = :memory_id)
         ORDER BY m.created_at_us DESC, m.memory_key DESC
         LIMIT :limit
        """,  # noqa: S608  # the filter's own constants
        {
            **filters.params,
            "tag": NON_INFERABLE_TAG,
            "failure": f"{FAILURE_SOURCE}*",
            "success": f"{SUCCESS_SOURCE}*",
            "memory_id": memory_id,
            "limit": limit,
        },
    )
    return [
        LessonRow(key, public, content, zlib.decompress(packed).decode(), *columns)
        for key, public, content, packed, *columns in rows
    ]


def agents_with_lessons(conn: Reading) -> dict[str, bool]:
    """Return for each agent of the store whether it may have a lesson, in any state."""
    rows = conn.execute(
        """
        SELECT a.agent_id,
               a.agent_key IN (SELECT m.agent_key
                                 FROM memory_tag AS t
                                      CROSS JOIN memory AS m ON m.memory_key = t.memory_key
                                WHERE t.tag IN (:tag, :fix))
          FROM agent AS a
         ORDER BY a.agent_id
        """,
        {"tag": NON_INFERABLE_TAG, "fix": FIX_TAG},
    )
    return {str(agent_id): bool(may_have) for agent_id, may_have in rows}
