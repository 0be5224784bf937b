"""Store runs of tuning and their results (table ``weights``): one row a run, at most one active.

A row's body is JSON: ``run`` is its progress and outcome; ``work`` the results of its stages (ids
and numbers, no text), deleted at the end of the run; ``tuned`` the parameters for recall.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from memd.domain.enums import Trust
from memd.store.file.connect import Reading, Writing
from memd.store.search import vectors

RUNS_MAX = 10
"""The number of runs that are kept besides the active one."""


class TuningRow(NamedTuple):
    """One run; *active* tells whether recall uses its result."""

    key: int
    run_id: str
    body: dict[str, Any]
    active: bool


class MemoryText(NamedTuple):
    """The text of a memory, and of the visible memory before it in its session, if any."""

    memory_key: int
    agent_id: str
    speaker: str | None
    content: str
    before_key: int | None
    before: str | None
    before_speaker: str | None


def read_active(conn: Reading) -> dict[str, Any] | None:
    """Return the tuning that recall uses, None without one."""
    text = conn.get_text("SELECT body -> 'tuned' FROM weights WHERE active = 1")
    return None if text is None else json.loads(text)


def put(conn: Writing, run_id: str, body: Mapping[str, Any], now_us: int) -> None:
    """Insert or update a run; an insert deletes inactive runs beyond the newest RUNS_MAX."""
    text = json.dumps(body)
    conn.execute(
        "UPDATE weights SET body = :body WHERE name = :name", {"body": text, "name": run_id}
    )
    if conn.changes():
        return
    conn.insert("weights", {"name": run_id, "body": text, "created_at_us": now_us})
    conn.execute(
        """
        DELETE FROM weights
         WHERE active = 0
           AND weights_key NOT IN (SELECT weights_key
                                     FROM weights
                                    ORDER BY weights_key DESC
                                    LIMIT :kept)
        """,
        {"kept": RUNS_MAX},
    )


def list_runs(conn: Reading) -> list[TuningRow]:
    """Return the runs, newest first."""
    rows = conn.execute(
        "SELECT weights_key, name, body, active FROM weights ORDER BY weights_key DESC"
    )
    return [TuningRow(key, name, json.loads(body), bool(used)) for key, name, body, used in rows]


def activate(conn: Writing, run_id: str | None) -> None:
    """Make recall use the result of run *run_id*, or memd's defaults for None."""
    conn.execute("UPDATE weights SET active = (name = coalesce(:name, ''))", {"name": run_id})


def list_texts(conn: Reading, limit: int) -> list[MemoryText]:
    """Return the latest *limit* searchable memories with a vector, oldest first.

    Left out are texts of tools, web pages and files: they do not show how the owner asks.
    """
    cache = vectors.current_cache(conn)
    if cache is None:
        return []
    rows = conn.list_rows(
        MemoryText,
        """
        SELECT m.memory_key, a.agent_id, m.speaker, m.content, b.memory_key, b.content, b.speaker
          FROM memory AS m
               JOIN cache_part AS p ON p.memory_key = m.memory_key AND p.part = 'a'
               JOIN agent AS a ON a.agent_key = m.agent_key
               JOIN embedding AS e
                 ON e.memory_key = m.memory_key AND e.model_key = :model AND e.kind = 'own'
               LEFT JOIN memory_context AS c ON c.memory_key = m.memory_key
               LEFT JOIN memory AS b
                 ON b.memory_key = c.before_key AND b.state IN ('pending', 'active')
         WHERE m.state = 'active' AND m.trust >= :least
         ORDER BY m.memory_key DESC
         LIMIT :limit
        """,
        {"model": cache.model_key, "least": int(Trust.ASSISTED), "limit": limit},
    )
    return rows[::-1]
