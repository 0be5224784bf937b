"""Read facts: the current ones, their log, and all facts as they were at a given time.

``org.py`` writes them. Only ``history`` and ``snapshot_at`` return retracted facts.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import NamedTuple, cast

from memd.base.errors import OrgMemoryQueryError
from memd.domain.enums import AutonomyLevel, OrgFactCategory, SeniorityLevel
from memd.domain.org.org import OrgFactAuthor
from memd.store.check import integrity
from memd.store.file.connect import Reading

# The statements below are built from a constant of this module.
# ruff: noqa: S608


class FactRow(NamedTuple):
    """A current fact with its author."""

    fact_key: int
    fact_id: str
    version: int
    category: str
    content: str
    tags: str
    created_at_us: int
    valid_from_us: int | None
    valid_to_us: int | None
    is_human: int
    author_id: str | None
    seniority: str | None
    autonomy_level: str | None
    operation_key: int


_FACT = """
        SELECT f.fact_key, f.fact_id, o.version, o.category, o.content, o.tags, f.created_at_us,
               o.valid_from_us, o.valid_to_us, o.is_human, o.author_id, o.seniority,
               o.autonomy_level, o.operation_key
"""
_CURRENT = """
          FROM org_fact AS f
               JOIN org_operation AS o ON o.operation_key = f.operation_key
         WHERE f.retracted_at_us IS NULL
"""
# The last version that has begun by :at_us, if it has not ended, as their authors claim.
_VALID = """
          FROM org_fact AS f
               JOIN org_operation AS o
                 ON o.operation_key = (SELECT v.operation_key
                                         FROM org_operation AS v
                                        WHERE v.fact_id = f.fact_id
                                          AND coalesce(v.valid_from_us, :at_us) <= :at_us
                                        ORDER BY v.version DESC
                                        LIMIT 1)
         WHERE f.retracted_at_us IS NULL AND o.kind = 'PUBLISH'
           AND coalesce(o.valid_to_us, :at_us + 1) > :at_us
"""


class OperationRow(NamedTuple):
    """One row of the log. *until_us* is the time of the next version, None for the last.

    *proposed_by* is the agent whose proposal the operation approved.
    """

    operation_id: str
    fact_id: str
    version: int
    kind: str
    category: str
    content: str | None
    tags: str
    at_us: int
    valid_from_us: int | None
    valid_to_us: int | None
    is_human: int
    author_id: str | None
    seniority: str | None
    autonomy_level: str | None
    until_us: int | None
    proposed_by: str | None


class SnapshotRow(NamedTuple):
    """A fact at a given time; *content* is the last one published, even if it was retracted."""

    fact_id: str
    content: str
    category: str
    tags: str
    created_at_us: int
    retracted_at_us: int | None
    version: int


def get(conn: Reading, fact_id: str) -> FactRow | None:
    """Return a fact, None when there is none or it is retracted (SPEC 15.5.4).

    Raises OrgMemoryQueryError for a damaged one (SPEC 15.5.11).
    """
    row = conn.find_row(
        FactRow,
        f"{_FACT} {_CURRENT} AND f.fact_id = :fact_id",
        {"fact_id": fact_id},
    )
    if row is not None and row.fact_key not in integrity.facts(conn, [row.fact_key]):
        raise OrgMemoryQueryError(f"fact {fact_id} cannot be read", hint=integrity.HINT)
    return row


def list_newest(
    conn: Reading,
    categories: Collection[OrgFactCategory],
    limit: int,
    offset: int = 0,
    *,
    at_us: int | None = None,
) -> list[FactRow]:
    """Return facts of *categories*, newest first; a negative *limit* returns all.

    With *at_us*, only facts that are valid at that time according to their author, each in the
    version that is; one whose category was another than now is left out.
    """
    rows = conn.execute(
        f"""
        {_FACT} {_CURRENT if at_us is None else _VALID}
           AND f.category IN (SELECT value FROM json_each(:categories))
           AND o.category = f.category
         ORDER BY f.created_at_us DESC, f.fact_key DESC
         LIMIT :limit OFFSET :offset
        """,
        {
            "categories": json.dumps(sorted(categories)),
            "limit": limit,
            "offset": offset,
            "at_us": at_us,
        },
    )
    facts = integrity.list_rows(conn, FactRow, rows, integrity.facts)
    if at_us is None:
        return facts
    intact_keys = integrity.operations(conn, [row.operation_key for row in facts])
    return [row for row in facts if row.operation_key in intact_keys]


def by_ids(
    conn: Reading, fact_ids: Collection[str], categories: Collection[OrgFactCategory]
) -> list[FactRow]:
    """Return those of the facts with *fact_ids* that are in *categories*, in any order."""
    rows = conn.execute(
        f"""
        {_FACT} {_CURRENT}
           AND f.fact_id IN (SELECT value FROM json_each(:fact_ids))
           AND f.category IN (SELECT value FROM json_each(:categories))
        """,
        {"fact_ids": json.dumps(list(fact_ids)), "categories": json.dumps(sorted(categories))},
    )
    return integrity.list_rows(conn, FactRow, rows, integrity.facts)


def by_keys(conn: Reading, keys: Collection[int]) -> list[FactRow]:
    """Return the facts with *keys*, in the order of *keys*."""
    rows = conn.execute(
        f"""
        {_FACT}
          FROM json_each(:keys) AS k
               JOIN org_fact AS f ON f.fact_key = k.value
               JOIN org_operation AS o ON o.operation_key = f.operation_key
         ORDER BY k.key
        """,
        {"keys": json.dumps(list(keys))},
    )
    return integrity.list_rows(conn, FactRow, rows, integrity.facts)


def count(
    conn: Reading, category: OrgFactCategory | None = None, *, at_us: int | None = None
) -> int:
    """Return how many facts :func:`list_newest` returns for *category* (None for all)."""
    return conn.get_count(
        f"""
        SELECT count(*) {_CURRENT if at_us is None else _VALID}
           AND (:category IS NULL OR f.category = :category) AND o.category = f.category
        """,
        {"category": category, "at_us": at_us},
    )


_OPERATION = """
        SELECT o.operation_key, o.operation_id, o.fact_id, o.version, o.kind, o.category,
               o.content, o.tags, o.at_us, o.valid_from_us, o.valid_to_us, o.is_human,
               o.author_id, o.seniority, o.autonomy_level,
               (SELECT min(n.at_us)
                  FROM org_operation AS n
                 WHERE n.fact_id = o.fact_id AND n.version > o.version),
               p.author_id
          FROM org_operation AS o
               LEFT JOIN (SELECT operation_id, author_id, min(proposal_key)
                            FROM org_proposal
                           WHERE operation_id IS NOT NULL
                           GROUP BY operation_id) AS p ON p.operation_id = o.operation_id
"""


def history(conn: Reading, fact_id: str) -> list[OperationRow]:
    """Return every operation on a fact, the first version first."""
    rows = conn.execute(
        f"{_OPERATION} WHERE o.fact_id = :fact_id ORDER BY o.version", {"fact_id": fact_id}
    )
    return _intact_operations(conn, rows, f"fact {fact_id}")


def changes(
    conn: Reading,
    since_us: int,
    categories: Collection[OrgFactCategory],
    before_key: int | None,
    limit: int,
) -> list[OperationRow]:
    """Return up to *limit* operations at or after *since_us*, the last first.

    *before_key* is the key of the operation that the previous page ended with.
    """
    rows = conn.execute(
        f"""
        {_OPERATION}
         WHERE o.at_us >= :since_us AND (:before_key IS NULL OR o.operation_key < :before_key)
           AND o.category IN (SELECT value FROM json_each(:categories))
         ORDER BY o.operation_key DESC
         LIMIT :limit
        """,
        {
            "since_us": since_us,
            "categories": json.dumps(sorted(categories)),
            "before_key": before_key,
            "limit": limit,
        },
    )
    return _intact_operations(conn, rows, "fact")


def _intact_operations(
    conn: Reading, rows: Iterator[tuple[object, ...]], name: str
) -> list[OperationRow]:
    """Return the operations of *rows* that can be read; *name* says in the log what they are."""
    operations = list(integrity.skip_undecodable(conn, rows, name))
    intact_keys = integrity.operations(conn, [cast("int", row[0]) for row in operations])
    return [OperationRow._make(row[1:]) for row in operations if row[0] in intact_keys]


def snapshot_at(
    conn: Reading, at_us: int, after: str | None = None, limit: int = -1
) -> list[SnapshotRow]:
    """Return every fact as it was at *at_us*, retracted ones included, by fact id (SPEC 15.5.7).

    *after* is the fact id that the previous page ended with; a negative *limit* returns all.
    """
    rows = conn.execute(
        """
        WITH stood AS (
            SELECT fact_id, max(version) AS version, min(at_us) AS created_at_us,
                   max(CASE WHEN kind = 'PUBLISH' THEN version END) AS published
              FROM org_operation
             WHERE at_us <= :at_us AND (:after IS NULL OR fact_id > :after)
             GROUP BY fact_id
             ORDER BY fact_id
             LIMIT :limit
        )
        SELECT s.fact_id, p.content, o.category, o.tags, s.created_at_us,
               CASE WHEN o.kind = 'RETRACT' THEN o.at_us END, s.version
          FROM stood AS s
               JOIN org_operation AS o ON o.fact_id = s.fact_id AND o.version = s.version
               JOIN org_operation AS p ON p.fact_id = s.fact_id AND p.version = s.published
         ORDER BY s.fact_id
        """,
        {"at_us": at_us, "after": after, "limit": limit},
    )
    return integrity.list_rows(conn, SnapshotRow, rows, integrity.logs)


def build_author(
    is_human: int | None, agent_id: str | None, seniority: str | None, autonomy_level: str | None
) -> OrgFactAuthor:
    """Return the author from a row's columns; raises ValueError for invalid ones."""
    return OrgFactAuthor(
        is_human=bool(is_human),
        agent_id=agent_id,
        seniority=SeniorityLevel(seniority) if seniority else None,
        autonomy_level=AutonomyLevel(autonomy_level) if autonomy_level else None,
    )
