"""Memories that a night finds by one of memd's own tags: distillations and detailed experiences."""

from __future__ import annotations

from memd.store.file.connect import Reading
from memd.store.memory.groups import MEMBERS, MemberRow

# All SQL is built from constants.
# ruff: noqa: S608


def newest_texts(conn: Reading, agent_key: int, tag: str, limit: int) -> list[str]:
    """Return the texts of the newest visible memories with *tag*."""
    rows = conn.execute(
        """
        SELECT m.content
          FROM memory_tag AS t
               JOIN memory AS m ON m.memory_key = t.memory_key
         WHERE t.tag = :tag AND m.agent_key = :agent_key AND m.state IN ('active', 'pending')
         ORDER BY m.created_at_us DESC, m.memory_key DESC
         LIMIT :limit
        """,
        {"agent_key": agent_key, "tag": tag, "limit": limit},
    )
    return [str(content) for (content,) in rows]


def next_experience(conn: Reading, agent_key: int, after: int) -> MemberRow | None:
    """Return the next detailed experience after key *after* that is not compressed yet."""
    row = conn.execute(
        f"""
        {MEMBERS}
         WHERE m.agent_key = :agent_key AND m.memory_key > :after AND m.state = 'active'
           AND EXISTS (SELECT 1
                         FROM memory_tag AS t
                        WHERE t.memory_key = m.memory_key AND t.tag = 'detailed_experience')
           AND NOT EXISTS (SELECT 1
                             FROM derived AS d
                                  JOIN memory AS s ON s.memory_key = d.to_key
                                  JOIN memory_tag AS c ON c.memory_key = s.memory_key
                            WHERE d.from_key = m.memory_key AND c.tag = 'compressed_experience'
                              AND s.state <> 'trashed')
         ORDER BY m.memory_key
         LIMIT 1
        """,
        {"agent_key": agent_key, "after": after},
    ).fetchone()
    return None if row is None else MemberRow._make(row)
