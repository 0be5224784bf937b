"""Find the notes, memories of no project, that concern a project.

A person notes things outside of projects: where the spare key is, and that the staging host has
moved. Nobody says which project a note is about, so it concerns each one that has a memory near to
it in meaning, that it names, or in whose folder the file is from which it was imported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from memd.base.limits import BRIEF_LATEST_ITEMS_MAX, BRIEF_SESSIONS_MAX, PROJECT_NEAR_ITEMS_MAX
from memd.domain.values import names_project
from memd.store.access import names
from memd.store.file.connect import Reading, keys_array
from memd.store.search import vectors

NEAR = 0.35
"""Cosine with a memory of the project from which a note concerns it."""


def filter_related(
    conn: Reading, agent_key: int, project_id: str, keys: Sequence[int]
) -> frozenset[int]:
    """Return those of *keys* that concern the project, and those without a vector.

    Each is compared with the latest PROJECT_NEAR_ITEMS_MAX memories of the project, of its latest
    sessions and among the agent's latest memories.
    """
    rows = conn.execute(
        """
        SELECT memory_key, content, coalesce(substr(reference, 1, length(:folder)) = :folder, FALSE)
          FROM memory
         WHERE memory_key IN (SELECT value FROM carray(:keys))
        """,
        {"keys": keys_array(keys), "folder": f"{project_id.rstrip('/')}/"},
    )
    related = {
        key
        for key, content, is_in_folder in rows
        if is_in_folder or (isinstance(content, str) and names_project(content, project_id))
    }
    others = [key for key in keys if key not in related]
    return frozenset(related | _filter_near(conn, agent_key, project_id, others))


def _filter_near(conn: Reading, agent_key: int, project_id: str, keys: Sequence[int]) -> set[int]:
    """Return those of *keys* that are near to a memory of the project, or have no vector.

    Without vectors in the store that is all of them.
    """
    cache = vectors.current_cache(conn)
    if cache is None or not keys:
        return set(keys)
    near = conn.list_ints(
        """
        WITH work AS MATERIALIZED (
            SELECT vector
              FROM (SELECT memory_key
                      FROM memory
                     WHERE session_key IN (SELECT session_key
                                             FROM session
                                            WHERE agent_key = :agent_key
                                              AND project_key = :project_key
                                            ORDER BY last_activity_us DESC
                                            LIMIT :sessions)
                     UNION
                    SELECT memory_key
                      FROM (SELECT memory_key, project_key
                              FROM memory
                             WHERE agent_key = :agent_key
                             ORDER BY created_at_us DESC, memory_id
                             LIMIT :latest)
                     WHERE project_key = :project_key
                     ORDER BY memory_key DESC
                     LIMIT :most)
                   JOIN embedding USING (memory_key)
             WHERE model_key = :model_key AND kind = 'own')
        SELECT value
          FROM carray(:keys)
               LEFT JOIN embedding AS e
                 ON e.memory_key = value AND e.model_key = :model_key AND e.kind = 'own'
         WHERE e.vector IS NULL
            OR EXISTS (SELECT 1
                         FROM work
                        WHERE vec_distance_L2(work.vector, e.vector) <= :distance)
        """,
        {
            "agent_key": agent_key,
            "project_key": names.find_project(conn, project_id),
            "model_key": cache.model_key,
            "sessions": BRIEF_SESSIONS_MAX,
            "latest": BRIEF_LATEST_ITEMS_MAX,
            "most": PROJECT_NEAR_ITEMS_MAX,
            "keys": keys_array(keys),
            "distance": math.sqrt(2 - 2 * NEAR),
        },
    )
    return set(near)
