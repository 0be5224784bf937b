"""Read the material of a brief: what a new session should know of a project's last sessions.

One read, no search by vector: the memories that naps made of the latest sessions, memories stored
since then outside of any session, and those that were superseded since. Flagged memories that
nobody released are left out. The number of sessions and memories that are read is limited, so a
brief takes the same time in a large store.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from memd.base.limits import (
    BRIEF_ELSEWHERE_MAX,
    BRIEF_HARMS_MAX,
    BRIEF_LATEST_ITEMS_MAX,
    BRIEF_RULES_MAX,
    BRIEF_SESSIONS_MAX,
)
from memd.domain.sleep.consolidation import COMPOSED_TAGS, EVERYWHERE_TAG, WISH_TAG
from memd.store.access import names
from memd.store.check import integrity
from memd.store.file.connect import Reading, keys_array
from memd.store.search import fulltext
from memd.store.search.fulltext import CachePart, owner_token
from memd.store.session.project_notes import filter_related
from memd.text.harms import HARM_BEGINNINGS, HARMS

RULE_KINDS = frozenset({WISH_TAG, "constraint"})
"""Tags of wishes and constraints, which a brief includes however old they are."""


class BriefRow(NamedTuple):
    """A memory of a brief.

    *kind* is the tag that a nap gave it (or, of a stored memory, the tag of a rule), None for none.
    *purpose* is the purpose of the commands in it, such as "test". *is_as_written* tells that a nap
    composed it and nobody has rewritten it since. *project_id* is None for the brief's own project.
    """

    memory_id: str
    kind: str | None
    category: str
    content: str
    origin: str
    trust: int
    session_key: int | None
    at_us: int
    purpose: str | None
    is_as_written: bool = False
    project_id: str | None = None


class BriefMaterial(NamedTuple):
    """The material of a brief.

    *own_key* is the session that requests the brief, *since_us* the start of the last other one.
    *superseded* are texts that are no longer valid, the latest first. *elsewhere* are memories of
    other projects that apply everywhere.
    """

    rows: tuple[BriefRow, ...] = ()
    elsewhere: tuple[BriefRow, ...] = ()
    superseded: tuple[str, ...] = ()
    own_key: int | None = None
    since_us: int = 0


class BriefScope(NamedTuple):
    """The agent, session and project that a brief is for."""

    agent_id: str
    session_id: str | None
    project_id: str | None


def read_material(conn: Reading, request: BriefScope, now_us: int) -> BriefMaterial:
    """Return the material for *request*: that of its project, else of its session's project.

    Without a project, that of sessions without one, or of all projects if there are none. Empty for
    an unknown agent. For an unknown project, only what concerns it of what belongs to no project.
    """
    agent_key = names.agent_key(conn, request.agent_id)
    own_key, project_id = _session(conn, agent_key, request.session_id)
    if request.project_id is not None:
        project_id = request.project_id
    project_key = None  # 0 matches no project
    if project_id is not None:
        project_key = names.find_project(conn, project_id) or 0
    params = {"agent_key": agent_key, "project_key": project_key, "of_all": False, "now_us": now_us}
    harms = keys_array(_find_harms(conn, agent_key))
    latest = _sessions(conn, params)
    if project_key is None and not latest:
        params["of_all"] = True
        latest = _sessions(conn, params)
    keys = [key for key, _ in latest]
    since_us = max((at_us for key, at_us in latest if key != own_key), default=0)
    params |= {"harms": harms, "rules": keys_array(_find_rules(conn, params))}
    notes = [] if project_id is None else _find_notes(conn, params, project_id, since_us)
    return BriefMaterial(
        (
            *_list_composed(conn, params, keys),
            *_list_stored(conn, params | {"notes": keys_array(notes)}),
        ),
        tuple(_list_elsewhere(conn, params)),
        _list_superseded(conn, keys, since_us),
        own_key,
        since_us,
    )


def _session(
    conn: Reading, agent_key: int, session_id: str | None
) -> tuple[int | None, str | None]:
    row = conn.execute(
        """
        SELECT session_key, project_id
          FROM session
               LEFT JOIN project USING (project_key)
         WHERE agent_key = :agent_key AND session_id = :session_id
        """,
        {"agent_key": agent_key, "session_id": session_id},
    ).fetchone()
    return (None, None) if row is None else (row[0], row[1])


def _sessions(conn: Reading, params: dict[str, Any]) -> list[tuple[int, int]]:
    """Return key and start of the latest sessions that a nap made memories of.

    Ordered by the time of their digest: a recorded session may be imported years after it ended.
    """
    rows = conn.execute(
        """
        SELECT s.session_key, s.started_at_us
          FROM session AS s
               LEFT JOIN nap_slot AS d ON d.session_key = s.session_key AND d.slot = 'digest'
               LEFT JOIN memory AS m ON m.memory_key = d.memory_key
         WHERE s.agent_key = :agent_key
           AND (:of_all OR s.project_key IS :project_key)
           AND EXISTS (SELECT 1
                         FROM nap_slot AS t
                        WHERE t.session_key = s.session_key AND t.memory_key IS NOT NULL)
         ORDER BY coalesce(m.occurred_at_us, s.last_activity_us) DESC, s.session_key DESC
         LIMIT :most
        """,
        {**params, "most": BRIEF_SESSIONS_MAX},
    )
    return [(key, at_us) for key, at_us in rows]


def _list_composed(conn: Reading, params: dict[str, Any], keys: Sequence[int]) -> list[BriefRow]:
    """Return the memories that naps made of the sessions, and the project's commands and rules.

    Harms are included, too. CROSS JOIN makes SQLite read the slots first: few of an agent's many
    memories are of these sessions. Slots of commands are named
    ``env:commands:PURPOSE``; ``;`` is the character after ``:``.
    """
    if not keys:
        return []
    rows = conn.execute(
        """
        SELECT m.memory_id,
               (SELECT g.tag
                  FROM memory_tag AS g
                 WHERE g.memory_key = m.memory_key
                   AND g.tag IN (SELECT value FROM json_each(:kinds))
                 LIMIT 1),
               m.category, m.content, m.origin, m.trust, m.session_key,
               coalesce(m.occurred_at_us, m.created_at_us),
               iif(substr(t.slot, 1, 13) = 'env:commands:', substr(t.slot, 14), NULL),
               t.row_hash IS m.row_hash, p.project_id
          FROM nap_slot AS t
               CROSS JOIN memory AS m ON m.memory_key = t.memory_key
               LEFT JOIN project AS p
                 ON p.project_key = m.project_key AND m.project_key IS NOT :project_key
         WHERE t.slot_key IN (SELECT slot_key
                                FROM nap_slot
                               WHERE session_key IN (SELECT value FROM carray(:keys))
                               UNION
                              SELECT slot_key
                                FROM nap_slot
                               WHERE slot >= 'env:commands:' AND slot < 'env:commands;'
                               UNION
                              SELECT slot_key
                                FROM nap_slot
                               WHERE memory_key IN (SELECT value FROM carray(:rules)
                                                     UNION ALL
                                                    SELECT value FROM carray(:harms)))
           AND (t.session_key IN (SELECT value FROM carray(:keys))
                OR (NOT :of_all AND m.project_key IS :project_key))
           AND m.agent_key = :agent_key AND m.state IN ('active', 'pending')
           AND (m.expires_at_us IS NULL OR m.expires_at_us > :now_us)
           AND (m.level <> 'project' OR m.project_key IS :project_key)
           AND NOT EXISTS (SELECT 1
                             FROM flagged AS x
                            WHERE x.memory_key = m.memory_key AND x.released_at_us IS NULL)
        """,
        {
            **params,
            "keys": keys_array(keys),
            "kinds": json.dumps(sorted(COMPOSED_TAGS)),
        },
    )
    return integrity.list_rows(conn, BriefRow, rows, integrity.intact_ids)


def _find_harms(conn: Reading, agent_key: int) -> list[int]:
    """Return the keys of the latest memories about what harms somebody (an allergy), of any age."""
    owner = owner_token(agent_key, CachePart.SEARCHED)
    keys = fulltext.find_latest(conn, HARM_BEGINNINGS, owner, BRIEF_HARMS_MAX)
    rows = conn.execute(
        """
        SELECT memory_key, content
          FROM memory
         WHERE memory_key IN (SELECT value FROM carray(:keys))
        """,
        {"keys": keys_array(keys)},
    )
    return [key for key, content in rows if isinstance(content, str) and HARMS.search(content)]


def _find_rules(conn: Reading, params: dict[str, Any]) -> list[int]:
    """Return the keys of the latest rules of the project, none for a brief of all projects."""
    return conn.list_ints(
        """
        SELECT m.memory_key
          FROM memory_tag AS g
               CROSS JOIN memory AS m ON m.memory_key = g.memory_key
         WHERE g.tag IN (SELECT value FROM json_each(:kinds))
           AND m.agent_key = :agent_key AND NOT :of_all AND m.project_key IS :project_key
           AND m.state IN ('active', 'pending')
         GROUP BY m.memory_key
         ORDER BY coalesce(m.occurred_at_us, m.created_at_us) DESC, m.memory_key DESC
         LIMIT :most
        """,
        {**params, "kinds": json.dumps(sorted(RULE_KINDS)), "most": BRIEF_RULES_MAX},
    )


def _list_elsewhere(conn: Reading, params: dict[str, Any]) -> list[BriefRow]:
    """Return the latest memories of other projects that apply everywhere.

    These are wishes and statements of users about themselves. Only memories that a nap wrote count:
    a client's tag must not bring a text into other projects. Empty for a brief of all projects.
    CROSS JOIN makes SQLite read the tags first: few of an agent's memories have this one.
    """
    rows = conn.execute(
        """
        SELECT m.memory_id,
               (SELECT k.tag
                  FROM memory_tag AS k
                 WHERE k.memory_key = m.memory_key
                   AND k.tag IN (SELECT value FROM json_each(:kinds))
                 LIMIT 1),
               m.category, m.content, m.origin, m.trust, m.session_key,
               coalesce(m.occurred_at_us, m.created_at_us), NULL, FALSE, p.project_id
          FROM memory_tag AS g
               CROSS JOIN memory AS m ON m.memory_key = g.memory_key
               LEFT JOIN project AS p ON p.project_key = m.project_key
         WHERE g.tag = :everywhere
           AND NOT :of_all AND m.project_key IS NOT :project_key
           AND m.agent_key = :agent_key AND m.origin = 'person'
           AND m.level = 'persistent' AND m.state IN ('active', 'pending')
           AND EXISTS (SELECT 1
                         FROM nap_slot AS t
                        WHERE t.memory_key = m.memory_key AND t.row_hash IS m.row_hash)
           AND (m.expires_at_us IS NULL OR m.expires_at_us > :now_us)
           AND NOT EXISTS (SELECT 1
                             FROM flagged AS x
                            WHERE x.memory_key = m.memory_key AND x.released_at_us IS NULL)
         ORDER BY coalesce(m.occurred_at_us, m.created_at_us) DESC, m.memory_key DESC
         LIMIT :most
        """,
        {
            **params,
            "everywhere": EVERYWHERE_TAG,
            "kinds": json.dumps(sorted(COMPOSED_TAGS)),
            "most": BRIEF_ELSEWHERE_MAX,
        },
    )
    return integrity.list_rows(conn, BriefRow, rows, integrity.intact_ids)


def _find_notes(conn: Reading, params: dict[str, Any], project_id: str, since_us: int) -> list[int]:
    """Return the keys of the memories of no project that a brief of *project_id* has.

    They were stored at or after *since_us* and concern it. Rules and harms concern every project.
    """
    rows: list[Any] = conn.execute(
        """
        SELECT m.memory_key,
               m.memory_key IN (SELECT value FROM carray(:harms))
               OR EXISTS (SELECT 1
                            FROM memory_tag AS g
                           WHERE g.memory_key = m.memory_key
                             AND g.tag IN (SELECT value FROM json_each(:kinds)))
          FROM (SELECT memory_key
                  FROM memory
                 WHERE agent_key = :agent_key AND created_at_us >= :since_us
                 ORDER BY created_at_us DESC, memory_id
                 LIMIT :most) AS w
               JOIN memory AS m ON m.memory_key = w.memory_key
         WHERE m.project_key IS NULL AND (m.as_is OR m.session_key IS NULL)
           AND m.origin IN ('person', 'assistant')
        """,
        {
            **params,
            "kinds": json.dumps(sorted(RULE_KINDS)),
            "since_us": since_us,
            "most": BRIEF_LATEST_ITEMS_MAX,
        },
    ).fetchall()
    everywhere = [key for key, is_everywhere in rows if is_everywhere]
    others = [key for key, is_everywhere in rows if not is_everywhere]
    return [*everywhere, *filter_related(conn, params["agent_key"], project_id, others)]


def _list_stored(conn: Reading, params: dict[str, Any]) -> list[BriefRow]:
    """Return the latest memories that were stored on purpose or outside of any session.

    For a project, its own ones, and the notes that a brief of it has. Harms and rules are included
    however old they are.
    """
    rows = conn.execute(
        """
        SELECT m.memory_id,
               (SELECT g.tag
                  FROM memory_tag AS g
                 WHERE g.memory_key = m.memory_key
                   AND g.tag IN (SELECT value FROM json_each(:kinds))
                 LIMIT 1),
               m.category, m.content, m.origin, m.trust, m.session_key,
               coalesce(m.occurred_at_us, m.created_at_us), NULL, FALSE, p.project_id
          FROM (SELECT memory_key
                  FROM (SELECT memory_key
                          FROM memory
                         WHERE agent_key = :agent_key
                         ORDER BY created_at_us DESC, memory_id
                         LIMIT :most)
                 UNION
                SELECT value FROM carray(:harms)
                 UNION
                SELECT value FROM carray(:rules)) AS w
               JOIN memory AS m ON m.memory_key = w.memory_key
               LEFT JOIN project AS p
                 ON p.project_key = m.project_key AND m.project_key IS NOT :project_key
         WHERE (m.as_is OR m.session_key IS NULL)
           AND m.origin IN ('person', 'assistant') AND m.category <> 'working'
           AND m.state IN ('active', 'pending') AND NOT m.is_summary
           AND (m.expires_at_us IS NULL OR m.expires_at_us > :now_us)
           AND (:of_all OR m.project_key IS :project_key
                OR m.memory_key IN (SELECT value FROM carray(:notes)))
           AND (m.level <> 'project' OR m.project_key IS :project_key)
           AND NOT EXISTS (SELECT 1 FROM passing AS q WHERE q.memory_key = m.memory_key)
           AND NOT EXISTS (SELECT 1 FROM nap_slot AS t WHERE t.memory_key = m.memory_key)
           AND NOT EXISTS (SELECT 1 FROM preference AS f WHERE f.memory_key = m.memory_key)
           AND NOT EXISTS (SELECT 1
                             FROM flagged AS x
                            WHERE x.memory_key = m.memory_key AND x.released_at_us IS NULL)
        """,
        {**params, "kinds": json.dumps(sorted(RULE_KINDS)), "most": BRIEF_LATEST_ITEMS_MAX},
    )
    return integrity.list_rows(conn, BriefRow, rows, integrity.intact_ids)


def _list_superseded(conn: Reading, keys: Sequence[int], since_us: int) -> tuple[str, ...]:
    """Return the texts of decisions, corrections and rules superseded since *since_us*."""
    if not keys:
        return ()
    rows = conn.execute(
        """
        SELECT m.memory_id, m.content
          FROM nap_slot AS t
               JOIN memory AS m ON m.memory_key = t.memory_key
               JOIN archive AS r ON r.memory_key = m.memory_key
         WHERE t.session_key IN (SELECT value FROM carray(:keys))
           AND m.state = 'archived' AND r.reason = 'superseded' AND r.archived_at_us >= :since_us
           AND EXISTS (SELECT 1
                         FROM memory_tag AS g
                        WHERE g.memory_key = m.memory_key
                          AND g.tag IN ('decision', 'correction', 'preference', 'constraint'))
           AND NOT EXISTS (SELECT 1
                             FROM flagged AS x
                            WHERE x.memory_key = m.memory_key AND x.released_at_us IS NULL)
         ORDER BY r.archived_at_us DESC, m.memory_key DESC
        """,
        {"keys": keys_array(keys), "since_us": since_us},
    )
    return tuple(
        row.content for row in integrity.list_rows(conn, _SupersededRow, rows, integrity.intact_ids)
    )


class _SupersededRow(NamedTuple):
    memory_id: str
    content: str
