"""Select the memories that a night works on, in pages that an interrupted night can resume.

A consolidation summarises ordinary active memories that are old enough and not part of a summary
yet. Not ordinary are summaries, preferences, memories with a protected tag, those that a nap made,
turns in passing, and those that expire or end with their session.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memd.domain.enums import MemoryCategory
from memd.domain.sleep.consolidation import (
    COMPRESSED_EXPERIENCE_TAG,
    CONSOLIDATED_TAG,
    PROTECTED_TAGS,
)
from memd.domain.values import RESERVED_AGENT
from memd.store.file.connect import Reading
from memd.store.search.caches import text_of
from memd.store.session.slots import DIGEST

PROTECTED = json.dumps(sorted(PROTECTED_TAGS | {CONSOLIDATED_TAG, COMPRESSED_EXPERIENCE_TAG}))

# All SQL below is built from constants of this module.
# ruff: noqa: S608
_ORDINARY = """
       NOT m.is_summary
   AND m.expires_at_us IS NULL
   AND m.level IN ('persistent', 'project')
   AND NOT EXISTS (SELECT 1 FROM preference AS p WHERE p.memory_key = m.memory_key)
   AND NOT EXISTS (SELECT 1 FROM nap_slot AS z WHERE z.memory_key = m.memory_key)
   AND NOT EXISTS (SELECT 1 FROM passing AS q WHERE q.memory_key = m.memory_key)
   AND NOT EXISTS (SELECT 1
                     FROM memory_tag AS t
                    WHERE t.memory_key = m.memory_key
                      AND t.tag IN (SELECT value FROM json_each(:protected)))
"""
_UNSUMMARISED = f"""{_ORDINARY}
   AND NOT EXISTS (SELECT 1
                     FROM derived AS d
                          JOIN memory AS s ON s.memory_key = d.to_key
                    WHERE d.from_key = m.memory_key AND s.is_summary)
"""


_LOOSE = f"""
       m.agent_key = :agent_key AND m.session_key IS NULL AND m.state = 'active'
   AND m.created_at_us <= :before_us
   AND {_UNSUMMARISED}
"""
# Superseded by a night's consolidation, but not by a summary of its session yet.
_CONSOLIDATED = """
       m.state IN ('compressed', 'archived')
   AND EXISTS (SELECT 1 FROM behind AS b WHERE b.memory_key = m.memory_key)
   AND NOT EXISTS (SELECT 1
                     FROM derived AS d
                          JOIN memory AS s ON s.memory_key = d.to_key
                          JOIN memory_tag AS t ON t.memory_key = s.memory_key
                    WHERE d.from_key = m.memory_key AND s.state <> 'trashed'
                      AND t.tag = 'compressed')
"""
MEMBERS = f"""
SELECT m.memory_key, m.memory_id, m.row_hash, m.namespace, m.category, m.level, m.project_key,
       m.origin, m.trust, {text_of("m")}, m.ordinal, m.part, m.importance, m.created_at_us,
       m.occurred_at_us, m.state, m.reference
  FROM memory AS m
       JOIN cache_part AS p ON p.memory_key = m.memory_key
"""


class Due(NamedTuple):
    """The agent, latest creation time and minimum size of a consolidation's groups."""

    agent_key: int
    before_us: int
    threshold: int


class GroupKey(NamedTuple):
    """The columns in which memories must agree to be summarised together."""

    category: str
    namespace: str
    level: str
    project_key: int | None


class MemberRow(NamedTuple):
    """A memory that may be consolidated, with the columns that its summary is made from.

    *text* is its text without the context.
    """

    memory_key: int
    memory_id: str
    row_hash: bytes
    namespace: str
    category: str
    level: str
    project_key: int | None
    origin: str
    trust: int
    text: str
    ordinal: int | None
    part: int
    importance: float | None
    created_at_us: int
    occurred_at_us: int | None
    state: str
    reference: str | None = None


def list_agents(conn: Reading, after: int) -> list[tuple[int, str]]:
    """Return key and id of every agent after key *after*, except the reserved agent.

    Shared memories belong to the reserved agent, and no night summarises or hides them.
    """
    rows = conn.execute(
        """
        SELECT agent_key, agent_id
          FROM agent
         WHERE agent_key > :after AND agent_id <> :reserved
         ORDER BY agent_key
        """,
        {"after": after, "reserved": RESERVED_AGENT},
    )
    return [(key, agent_id) for key, agent_id in rows]


def list_sessions(conn: Reading, agent_key: int, start: int, limit: int) -> list[int]:
    """Return up to *limit* sessions of the agent from key *start* on."""
    return conn.list_ints(
        """
        SELECT session_key
          FROM session
         WHERE agent_key = :agent_key AND session_key >= :start
         ORDER BY session_key
         LIMIT :limit
        """,
        {"agent_key": agent_key, "start": start, "limit": limit},
    )


def list_members(conn: Reading, session_key: int, before_us: int) -> list[MemberRow]:
    """Return the session's memories that may be consolidated, in the order of the session."""
    return conn.list_rows(
        MemberRow,
        f"""
        {MEMBERS}
         WHERE m.session_key = :session_key AND m.state = 'active'
           AND m.created_at_us <= :before_us AND {_UNSUMMARISED}
         ORDER BY m.ordinal, m.part, m.memory_key
        """,
        {
            "session_key": session_key,
            "before_us": before_us,
            "protected": PROTECTED,
        },
    )


def list_loose_groups(conn: Reading, due: Due) -> list[GroupKey]:
    """Return the groups with at least ``due.threshold`` memories of no session, sorted."""
    return conn.list_rows(
        GroupKey,
        f"""
        SELECT m.category, m.namespace, m.level, m.project_key
          FROM memory AS m
         WHERE {_LOOSE}
         GROUP BY m.category, m.namespace, m.level, m.project_key
        HAVING count(*) >= :threshold
         ORDER BY m.category, m.namespace, m.level, coalesce(m.project_key, 0)
        """,
        {**due._asdict(), "protected": PROTECTED},
    )


def list_loose_members(
    conn: Reading, due: Due, group: GroupKey, after: tuple[int, str], limit: int
) -> list[MemberRow]:
    """Return up to *limit* members of *group* that belong to no session, in order of arrival.

    *after* is created_at_us and id of the last member of the previous page.
    """
    after_us, after_id = after
    return conn.list_rows(
        MemberRow,
        f"""
        {MEMBERS}
         WHERE {_LOOSE}
           AND m.category = :category AND m.namespace = :namespace AND m.level = :level
           AND m.project_key IS :project_key
           AND m.created_at_us >= :after_us
           AND (m.created_at_us > :after_us OR m.memory_id > :after_id)
         ORDER BY m.created_at_us, m.memory_id
         LIMIT :limit
        """,
        {
            **due._asdict(),
            "protected": PROTECTED,
            "after_us": after_us,
            "after_id": after_id,
            "limit": limit,
            **group._asdict(),
        },
    )


def list_past_retention(
    conn: Reading, agent_key: int, cutoffs_us: Mapping[MemoryCategory, int], after: int, limit: int
) -> list[int]:
    """Return up to *limit* keys after *after* of memories past their retention, in order.

    *cutoffs_us* has the earliest creation time that each category keeps.
    """
    return conn.list_ints(
        """
        SELECT m.memory_key
          FROM json_each(:cutoffs) AS c
               JOIN memory AS m ON m.category = c.key AND m.created_at_us < c.value
         WHERE m.agent_key = :agent_key AND m.memory_key > :after AND m.state <> 'trashed'
           AND NOT m.is_summary
         ORDER BY m.memory_key
         LIMIT :limit
        """,
        {
            "cutoffs": json.dumps(cutoffs_us),
            "agent_key": agent_key,
            "after": after,
            "limit": limit,
        },
    )


def list_due_for_archive(
    conn: Reading, agent_key: int, before_us: int, after: int, limit: int
) -> list[int]:
    """Return up to *limit* keys after *after* of compressed memories created before *before_us*."""
    return conn.list_ints(
        """
        SELECT m.memory_key
          FROM archive AS r
               JOIN memory AS m ON m.memory_key = r.memory_key
         WHERE r.memory_key > :after AND m.state = 'compressed'
           AND m.agent_key = :agent_key AND m.created_at_us < :before_us
         ORDER BY r.memory_key
         LIMIT :limit
        """,
        {"agent_key": agent_key, "before_us": before_us, "after": after, "limit": limit},
    )


def count_visible(conn: Reading, agent_key: int) -> int:
    """Return how many memories of the agent count against the cap."""
    return conn.get_count(
        """
        SELECT count(*)
          FROM memory
         WHERE agent_key = :agent_key AND state IN ('active', 'pending')
        """,
        {"agent_key": agent_key},
    )


def list_oldest(conn: Reading, agent_key: int, limit: int) -> list[int]:
    """Return the oldest memories that the cap may archive, turns in passing first.

    Preferences and core memories are left out (SPEC 16.3.7-8).
    """
    return conn.list_ints(
        """
        SELECT m.memory_key
          FROM memory AS m
         WHERE m.agent_key = :agent_key AND m.state IN ('active', 'pending')
           AND NOT EXISTS (SELECT 1 FROM preference AS p WHERE p.memory_key = m.memory_key)
           AND NOT EXISTS (SELECT 1
                             FROM memory_tag AS t
                            WHERE t.memory_key = m.memory_key AND t.tag = 'core')
         ORDER BY NOT EXISTS (SELECT 1 FROM passing AS q WHERE q.memory_key = m.memory_key),
                  m.created_at_us, m.memory_id
         LIMIT :limit
        """,
        {"agent_key": agent_key, "limit": limit},
    )


def list_uncompressed(
    conn: Reading, agent_key: int, idle_before_us: int, skipped: Sequence[int]
) -> list[int]:
    """Return the sessions with uncompressed episodic memories, earliest first (SPEC 3.1-3.2).

    Left out are sessions active since *idle_before_us*, those in *skipped*, and those that a
    summary would only repeat: sessions with a single memory, or with a visible digest.
    """
    return conn.list_ints(
        f"""
        SELECT left_over.session_key
          FROM (SELECT m.session_key, m.namespace, m.level, m.project_key, count(*) AS memories
                  FROM session AS s
                       JOIN memory AS m ON m.session_key = s.session_key
                 WHERE s.agent_key = :agent_key AND s.last_activity_us < :idle_before_us
                   AND m.category = 'episodic' AND m.state = 'active' AND {_ORDINARY}
                   AND s.session_key NOT IN (SELECT value FROM json_each(:skipped))
                   AND NOT EXISTS (SELECT 1
                                     FROM nap_slot AS z
                                          JOIN memory AS d ON d.memory_key = z.memory_key
                                    WHERE z.session_key = s.session_key AND z.slot = :digest
                                      AND d.state IN ('active', 'pending'))
                 GROUP BY m.session_key, m.namespace, m.level, m.project_key) AS left_over
               JOIN memory AS o ON o.session_key = left_over.session_key
                               AND o.category = 'episodic' AND NOT o.is_summary
         WHERE left_over.memories > 1
            OR EXISTS (SELECT 1
                         FROM memory AS m
                        WHERE m.session_key = left_over.session_key
                          AND m.namespace = left_over.namespace AND m.level = left_over.level
                          AND m.project_key IS left_over.project_key
                          AND m.category = 'episodic' AND {_CONSOLIDATED})
         GROUP BY left_over.session_key
         ORDER BY min(o.created_at_us), left_over.session_key
        """,
        {
            "agent_key": agent_key,
            "idle_before_us": idle_before_us,
            "skipped": json.dumps(skipped),
            "digest": DIGEST,
            "protected": PROTECTED,
        },
    )


def list_episodes(conn: Reading, session_key: int) -> list[MemberRow]:
    """Return the episodic memories that a summary of the session would replace, oldest first.

    Includes those that a night's consolidation superseded.
    """
    return conn.list_rows(
        MemberRow,
        f"""
        {MEMBERS}
         WHERE m.session_key = :session_key AND m.category = 'episodic' AND {_ORDINARY}
           AND (m.state = 'active' OR ({_CONSOLIDATED}))
         ORDER BY m.created_at_us, m.ordinal, m.part, m.memory_key
        """,
        {"session_key": session_key, "protected": PROTECTED},
    )


def newest_texts(conn: Reading, agent_key: int, tag: str, limit: int) -> list[str]:
    """Return the texts of the newest visible memories with *tag*."""
    return conn.list_texts(
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


def next_experience(conn: Reading, agent_key: int, after: int) -> MemberRow | None:
    """Return the next detailed experience after key *after* that is not compressed yet."""
    return conn.find_row(
        MemberRow,
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
    )
