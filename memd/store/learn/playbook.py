"""Store the playbook: patterns of tools and how often each led to success (SPEC 5a.2).

A pattern that is recorded again gets a new salt.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from memd.domain.sleep.consolidation import FIX_TAG, NAP_TAG
from memd.domain.trust import Screened
from memd.store.access import changes
from memd.store.check import integrity
from memd.store.file.connect import Reading, Writing
from memd.store.memory.filters import BoundFilter
from memd.store.memory.rows import hash_row

# All SQL below is built from constants of the store.
# ruff: noqa: S608
_COLUMNS = f"""
SELECT b.pattern_id, b.task_type, b.description, b.tool_sequence, b.prompt_template,
       b.success_count, b.promoted, b.created_at_us, b.updated_at_us,
       {integrity.PATTERN.select("b")}
  FROM playbook AS b
"""


class NewPattern(NamedTuple):
    """A success of a pattern, to be counted. *salt* keys the audit's hash of the row."""

    pattern_id: str
    task_type: str
    description: Screened
    tool_sequence: tuple[str, ...]
    prompt_template: Screened
    salt: bytes


class PatternRow(NamedTuple):
    """A pattern as it is read."""

    pattern_id: str
    task_type: str
    description: str
    tool_sequence: str
    prompt_template: str
    success_count: int
    promoted: int
    created_at_us: int
    updated_at_us: int


class FixRow(NamedTuple):
    """A memory of an error that was fixed, as it is read."""

    memory_id: str
    content: str
    memory_key: int
    session_id: str | None
    trust: int
    created_at_us: int


def put(conn: Writing, agent_key: int, new: NewPattern, now_us: int) -> None:
    """Count a success; the newest description and template replace the earlier ones."""
    conn.execute(
        """
        INSERT INTO playbook (agent_key, pattern_id, task_type, description, tool_sequence,
                              prompt_template, salt, created_at_us, updated_at_us)
        VALUES (:agent_key, :pattern_id, :task_type, :description, :tool_sequence,
                :prompt_template, :salt, :now_us, :now_us)
            ON CONFLICT (agent_key, pattern_id) DO UPDATE
           SET success_count = success_count + 1, description = excluded.description,
               prompt_template = excluded.prompt_template, salt = excluded.salt,
               updated_at_us = max(updated_at_us, excluded.updated_at_us)
        """,
        {
            **new._asdict(),
            "agent_key": agent_key,
            "tool_sequence": json.dumps(new.tool_sequence),
            "now_us": now_us,
        },
    )
    changes.touch(conn, new.salt, _hash(new.pattern_id, new.description, new.prompt_template))


def find(conn: Reading, agent_key: int, pattern_id: str) -> PatternRow | None:
    """Return one pattern of the agent, None when there is none."""
    rows = conn.execute(
        f"{_COLUMNS} WHERE agent_key = :agent_key AND pattern_id = :pattern_id",
        {"agent_key": agent_key, "pattern_id": pattern_id},
    )
    return next(iter(integrity.list_sealed(conn, PatternRow, rows, integrity.PATTERN)), None)


def list_patterns(
    conn: Reading, agent_key: int, task_type: str | None, limit: int, successes_min: int = 0
) -> list[PatternRow]:
    """Return the agent's patterns, of one task type or of all, most successes first.

    With *successes_min*, only patterns with at least that many that are not a skill yet.
    """
    rows = conn.execute(
        f"""
        {_COLUMNS}
         WHERE agent_key = :agent_key AND (:task_type IS NULL OR task_type = :task_type)
           AND (:successes_min = 0 OR (success_count >= :successes_min AND NOT promoted))
         ORDER BY success_count DESC, updated_at_us DESC, pattern_id
         LIMIT :limit
        """,
        {
            "agent_key": agent_key,
            "task_type": task_type,
            "limit": limit,
            "successes_min": successes_min,
        },
    )
    return integrity.list_sealed(conn, PatternRow, rows, integrity.PATTERN)


def list_fixes(conn: Reading, filters: BoundFilter, limit: int) -> list[FixRow]:
    """Return the newest memories of *filters* that naps made of fixes, newest first."""
    rows = conn.execute(
        f"""
        SELECT m.memory_id, m.content, m.memory_key, s.session_id, m.trust, m.created_at_us
          FROM memory_tag AS t
               CROSS JOIN memory AS m ON m.memory_key = t.memory_key
               LEFT JOIN session AS s ON s.session_key = m.session_key
         WHERE t.tag = :fix AND {filters.where}
           AND EXISTS (SELECT 1
                         FROM memory_tag AS n
                        WHERE n.memory_key = m.memory_key AND n.tag = :nap)
         ORDER BY m.created_at_us DESC, m.memory_key DESC
         LIMIT :limit
        """,
        {**filters.params, "fix": FIX_TAG, "nap": NAP_TAG, "limit": limit},
    )
    return integrity.list_rows(conn, FixRow, rows, integrity.intact_ids)


def mark_promoted(conn: Writing, agent_key: int, pattern_id: str) -> bool:
    """Mark a pattern as made into a skill; False when the agent has none with that id."""
    row = conn.execute(
        """
        UPDATE playbook
           SET promoted = 1
         WHERE agent_key = :agent_key AND pattern_id = :pattern_id
        RETURNING salt, description, prompt_template
        """,
        {"agent_key": agent_key, "pattern_id": pattern_id},
    ).fetchone()
    if row is None:
        return False
    salt, description, prompt_template = row
    changes.touch(conn, salt, _hash(pattern_id, description, prompt_template))
    return True


def _hash(pattern_id: str, description: str, prompt_template: str) -> bytes:
    return hash_row((pattern_id, description, prompt_template), ())
