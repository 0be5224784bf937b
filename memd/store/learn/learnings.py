"""Store learnings from tasks (SPEC 5a.1), one row a task, and read memories that are lessons.

The salt keys the audit's hash of a learning: once the row is erased, the hash proves nothing. The
content of a failure's lesson is its discovery tier, which is ranked, listed and injected. The text
with all tiers is the memory's source, so that forgetting, exports and repairs include both.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from memd.domain.enums import LearningOutcome, Trust
from memd.domain.learn import FAILURE_SOURCE, SUCCESS_SOURCE
from memd.domain.settings.retrieval import NON_INFERABLE_TAG
from memd.domain.sleep.consolidation import FIX_TAG
from memd.domain.trust import Screened
from memd.store.access import changes, deletions
from memd.store.check import integrity
from memd.store.file.connect import Reading, Writing
from memd.store.memory.filters import BoundFilter
from memd.store.memory.rows import hash_row

_COLUMNS = f"""
        SELECT l.learning_id, l.task_type, l.approach, l.outcome, l.lesson, l.at_us,
               {integrity.LEARNING.select("l")}
          FROM learning AS l
"""
# The statements below are built from constants of the store only.
# ruff: noqa: S608


class NewLearning(NamedTuple):
    """A learning to be stored. *approach* are the names of the tools that the task used."""

    learning_id: str
    task_type: str
    approach: tuple[str, ...]
    outcome: LearningOutcome
    lesson: Screened
    salt: bytes


class LearningRow(NamedTuple):
    """A learning as it is read."""

    learning_id: str
    task_type: str
    approach: str
    outcome: str
    lesson: str
    at_us: int


class TrustedLessonRow(NamedTuple):
    """A memory that is a lesson, as it is read."""

    memory_id: str
    content: str
    created_at_us: int


class LessonRow(NamedTuple):
    """A visible lesson; *text* has all tiers. *of_nap* tells that a nap made it, from a fix."""

    memory_key: int
    memory_id: str
    discovery: str
    text: str
    source: str
    confidence: float
    trust: int
    created_at_us: int
    of_nap: bool = False


class _PackedLessonRow(NamedTuple):
    """A lesson as it is read, with the compressed text and the hash of its source."""

    memory_id: str
    memory_key: int
    discovery: str
    source_key: int
    zlib: bytes
    sha256: bytes
    source: str
    confidence: float
    trust: int
    created_at_us: int


class Proof(NamedTuple):
    """The public id and the hash of a row that is about to be erased."""

    public_id: str
    row_hash: bytes


def put(conn: Writing, agent_key: int, new: NewLearning, now_us: int) -> None:
    approach = json.dumps(new.approach)
    conn.insert(
        "learning",
        {**new._asdict(), "agent_key": agent_key, "approach": approach, "at_us": now_us},
    )
    changes.touch(conn, new.salt, hash_row((new.learning_id, new.lesson), ()))


def find(conn: Reading, agent_key: int, learning_id: str) -> LearningRow | None:
    """Return one learning of the agent, None when there is none."""
    rows = conn.execute(
        f"{_COLUMNS} WHERE agent_key = :agent_key AND learning_id = :learning_id",
        {"agent_key": agent_key, "learning_id": learning_id},
    )
    return next(iter(integrity.list_sealed(conn, LearningRow, rows, integrity.LEARNING)), None)


def list_latest(conn: Reading, agent_key: int, limit: int) -> list[LearningRow]:
    """Return the agent's newest learnings, newest first."""
    rows = conn.execute(
        f"""
        {_COLUMNS}
         WHERE agent_key = :agent_key
         ORDER BY at_us DESC, learning_key DESC
         LIMIT :limit
        """,
        {"agent_key": agent_key, "limit": limit},
    )
    return integrity.list_sealed(conn, LearningRow, rows, integrity.LEARNING)


def list_trusted_lessons(
    conn: Reading, filters: BoundFilter, tag: str, limit: int
) -> list[TrustedLessonRow]:
    """Return the newest trusted memories of *filters* with *tag*, newest first.

    Texts of tools and web pages are untrusted and cannot be lessons.
    """
    rows = conn.execute(
        f"""
        SELECT m.memory_id, m.content, m.created_at_us
          FROM memory_tag AS t
               CROSS JOIN memory AS m ON m.memory_key = t.memory_key
         WHERE t.tag = :tag AND {filters.where} AND NOT m.is_summary AND m.trust > :untrusted
         ORDER BY m.created_at_us DESC, m.memory_key DESC
         LIMIT :limit
        """,  # the filter's own constants
        {**filters.params, "tag": tag, "untrusted": Trust.UNTRUSTED, "limit": limit},
    )
    return integrity.list_rows(conn, TrustedLessonRow, rows, integrity.intact_ids)


def list_lessons(
    conn: Reading, filters: BoundFilter, limit: int, memory_id: str | None = None
) -> list[LessonRow]:
    """Return the newest lessons of *filters*, or the one with this id, newest first.

    Without those of which the memory or its source is damaged.
    """
    rows = conn.execute(
        f"""
        SELECT m.memory_id, m.memory_key, m.content, o.source_key, o.zlib, o.sha256,
               m.reference, m.confidence, m.trust, m.created_at_us
          FROM memory_tag AS t
               CROSS JOIN memory AS m ON m.memory_key = t.memory_key
               JOIN source AS o ON o.source_key = m.source_key
         WHERE t.tag = :tag AND {filters.where} AND m.category = 'procedural'
           AND (m.reference GLOB :failure OR m.reference GLOB :success)
           AND (:memory_id IS NULL OR m.memory_id = :memory_id)
         ORDER BY m.created_at_us DESC, m.memory_key DESC
         LIMIT :limit
        """,  # the filter's own constants
        {
            **filters.params,
            "tag": NON_INFERABLE_TAG,
            "failure": f"{FAILURE_SOURCE}*",
            "success": f"{SUCCESS_SOURCE}*",
            "memory_id": memory_id,
            "limit": limit,
        },
    )
    packed = integrity.list_rows(conn, _PackedLessonRow, rows, integrity.intact_ids)
    return [row for row in (_unpack(conn, row) for row in packed) if row is not None]


def _unpack(conn: Reading, row: _PackedLessonRow) -> LessonRow | None:
    text = integrity.read_source(conn, row.source_key, row.zlib, row.sha256)
    if text is None:
        return None
    return LessonRow(
        row.memory_key,
        row.memory_id,
        row.discovery,
        text,
        row.source,
        row.confidence,
        row.trust,
        row.created_at_us,
    )


def agents_with_lessons(conn: Reading) -> dict[str, bool]:
    """Return for each agent id whether the agent may have a lesson, in any state."""
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


class ErasableTable(NamedTuple):
    """A table whose rows can be erased; *texts* are the columns that a proof covers with the id."""

    name: str
    id_column: str
    texts: str
    time_column: str
    order: str


LEARNINGS = ErasableTable("learning", "learning_id", "lesson", "at_us", "learning_key")
PATTERNS = ErasableTable(
    "playbook", "pattern_id", "description, prompt_template", "updated_at_us", "pattern_id"
)


def list_proofs(
    conn: Reading,
    table: ErasableTable,
    agent_key: int,
    ids: Sequence[str],
    since_us: int | None,
    until_us: int | None,
) -> list[Proof]:
    """Return proofs of the agent's rows with these *ids*, and of those in the period.

    The period goes from *since_us* up to, not including, *until_us*. None leaves that end open; if
    both are None, there is no period and only *ids* count.
    """
    rows = conn.execute(
        f"""
        SELECT {table.id_column}, {table.texts}
          FROM {table.name}
         WHERE agent_key = :agent_key
           AND ({table.id_column} IN (SELECT value FROM json_each(:ids))
                OR (:since_us IS NOT NULL OR :until_us IS NOT NULL)
                   AND (:since_us IS NULL OR {table.time_column} >= :since_us)
                   AND (:until_us IS NULL OR {table.time_column} < :until_us))
         ORDER BY {table.order}
        """,
        {
            "agent_key": agent_key,
            "ids": json.dumps(list(ids)),
            "since_us": since_us,
            "until_us": until_us,
        },
    )
    return [Proof(row[0], hash_row(row, ())) for row in rows]


def erase(
    conn: Writing, table: ErasableTable, agent_key: int, ids: Sequence[str], now_us: int
) -> None:
    """Delete rows for good, and record them in the audit. Imports leave them deleted."""
    rows = conn.execute(
        f"""
        DELETE FROM {table.name}
         WHERE agent_key = :agent_key
           AND {table.id_column} IN (SELECT value FROM json_each(:ids))
        RETURNING salt, {table.id_column}, {table.texts}
        """,
        {"agent_key": agent_key, "ids": json.dumps(list(ids))},
    )
    erased = list(rows)
    for salt, *columns in erased:
        changes.touch(conn, salt, hash_row(tuple(columns), ()))
    deletions.record(conn, table.name, [(agent_key, row[1]) for row in erased], now_us)
