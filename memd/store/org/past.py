"""Facts and statements as they were known at one time and held at another: reads only."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

from memd.base.limits import QUOTE_CHARS_MAX
from memd.store.check import intact
from memd.store.file.connect import Reading
from memd.store.file.keys import keys_array

# The statements below are put together from constants of this module only.
# ruff: noqa: S608


class ThenRow(NamedTuple):
    """A version of a fact that stood at a moment, with who wrote it."""

    operation_key: int
    operation_id: str
    fact_id: str
    version: int
    category: str
    content: str
    tags: str
    at_us: int
    created_at_us: int
    valid_from_us: int | None
    valid_to_us: int | None
    is_human: int
    author_id: str | None
    seniority: str | None
    autonomy_level: str | None


@dataclass(frozen=True, slots=True)
class FactFilter:
    """Which facts: known at a moment, of categories, about a thing, with *text* literally in them.

    *before_key* goes on after a page.
    """

    known_us: int
    categories: Collection[str]
    limit: int
    text: str | None = None
    thing_key: int | None = None
    before_key: int | None = None


class StretchRow(NamedTuple):
    """A statement of an operation, with who said it and who ended it."""

    operation_key: int
    statement_id: str
    subject: str
    relation: str
    object: str
    negated: int
    qualifier: str | None
    valid_from_us: int | None
    valid_to_us: int | None
    known_from_us: int
    known_to_us: int | None
    fact_id: str
    version: int
    span_from: int
    quote: str
    category: str
    said_at_us: int
    is_human: int
    author_id: str | None
    seniority: str | None
    autonomy_level: str | None
    ended_at_us: int | None
    ended_human: int | None
    ended_id: str | None
    ended_seniority: str | None
    ended_autonomy: str | None


def standing(conn: Reading, filters: FactFilter) -> list[ThenRow]:
    """Return versions of facts that stood at a moment, those written last first."""
    rows = conn.execute(
        _STANDING if filters.thing_key is None else _STANDING_ABOUT,
        {
            "known_us": filters.known_us,
            "categories": json.dumps(sorted(filters.categories)),
            "text": None if filters.text is None else _literal(filters.text),
            "thing_key": filters.thing_key,
            "before_key": filters.before_key,
            "limit": filters.limit,
        },
    )
    versions = [ThenRow._make(row) for row in intact.readable(conn, rows, "fact")]
    sound = intact.operations(conn, [row.operation_key for row in versions])
    return [row for row in versions if row.operation_key in sound]


_THEN = """
        SELECT o.operation_key, o.operation_id, o.fact_id, o.version, o.category, o.content,
               o.tags, o.at_us,
               (SELECT b.at_us
                  FROM org_operation AS b
                 WHERE b.fact_id = o.fact_id AND b.version = 1),
               o.valid_from_us, o.valid_to_us, o.is_human, o.author_id, o.seniority,
               o.autonomy_level
"""
_STOOD = """
               o.kind = 'PUBLISH'
           AND o.category IN (SELECT value FROM json_each(:categories))
           AND NOT EXISTS (SELECT 1
                             FROM org_operation AS n
                            WHERE n.fact_id = o.fact_id AND n.version > o.version
                              AND n.at_us <= :known_us)
"""


_STANDING = f"""
        {_THEN}
          FROM org_operation AS o
         WHERE o.operation_key <= (SELECT max(operation_key)
                                     FROM org_operation
                                    WHERE at_us = (SELECT max(at_us)
                                                     FROM org_operation
                                                    WHERE at_us <= :known_us))
           AND (:before_key IS NULL OR o.operation_key < :before_key)
           AND (:text IS NULL OR o.content LIKE :text ESCAPE '\\')
           AND {_STOOD}
         ORDER BY o.operation_key DESC
         LIMIT :limit
"""
_STANDING_ABOUT = f"""
        {_THEN}
          FROM (SELECT s.operation_key AS about
                  FROM statement AS s
                 WHERE s.subject_key = :thing_key AND s.known_to_us IS NULL
                   AND s.known_from_us <= :known_us AND s.operation_key IS NOT NULL
                 UNION
                SELECT s.operation_key
                  FROM statement AS s
                 WHERE s.subject_key = :thing_key AND s.known_to_us > :known_us
                   AND s.known_from_us <= :known_us AND s.operation_key IS NOT NULL
                 UNION
                SELECT s.operation_key
                  FROM statement AS s
                 WHERE s.object_key = :thing_key AND s.known_to_us IS NULL
                   AND s.known_from_us <= :known_us AND s.operation_key IS NOT NULL
                 UNION
                SELECT s.operation_key
                  FROM statement AS s
                 WHERE s.object_key = :thing_key AND s.known_to_us > :known_us
                   AND s.known_from_us <= :known_us AND s.operation_key IS NOT NULL)
               CROSS JOIN org_operation AS o ON o.operation_key = about
         WHERE (:before_key IS NULL OR o.operation_key < :before_key)
           AND (:text IS NULL OR o.content LIKE :text ESCAPE '\\')
           AND {_STOOD}
         ORDER BY o.operation_key DESC
         LIMIT :limit
"""


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def is_told(conn: Reading, thing_key: int, categories: Collection[str]) -> bool:
    """Return whether a fact of *categories* ever spoke of a thing."""
    return bool(
        conn.execute(
            """
            SELECT EXISTS (SELECT 1
                             FROM statement AS s
                                  JOIN org_operation AS o ON o.operation_key = s.operation_key
                            WHERE s.subject_key = :thing_key
                              AND o.category IN (SELECT value FROM json_each(:categories)))
                OR EXISTS (SELECT 1
                             FROM statement AS s
                                  JOIN org_operation AS o ON o.operation_key = s.operation_key
                            WHERE s.object_key = :thing_key
                              AND o.category IN (SELECT value FROM json_each(:categories)))
            """,
            {"thing_key": thing_key, "categories": json.dumps(sorted(categories))},
        ).get
    )


def key_of(conn: Reading, operation_id: str) -> int | None:
    """Return an operation's key, from which a page goes on; None for an unknown one."""
    key = conn.execute(
        "SELECT operation_key FROM org_operation WHERE operation_id = :id", {"id": operation_id}
    ).get
    return key if isinstance(key, int) else None


def known_of(conn: Reading, operation_keys: Sequence[int], known_us: int) -> list[StretchRow]:
    """Return what was known at *known_us* of what operations say, whenever it held."""
    if not operation_keys:
        return []
    rows = conn.execute(
        f"""
        {_STRETCH}
          FROM carray(:keys) AS k
               CROSS JOIN statement AS s ON s.operation_key = k.value
               {_BEHIND}
         WHERE s.known_from_us <= :known_us
           AND (s.known_to_us IS NULL OR s.known_to_us > :known_us)
         ORDER BY s.operation_key, s.span_from, s.valid_from_us, s.statement_key
        """,  # constants of this module
        {"keys": keys_array(operation_keys), "known_us": known_us},
    )
    return [StretchRow._make(row) for row in rows]


def spans_of(conn: Reading, operation_keys: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
    """Return which parts of operations' texts were read into statements, believed or not."""
    spans: dict[int, list[tuple[int, int]]] = {}
    if not operation_keys:
        return spans
    rows = conn.execute(
        """
        SELECT DISTINCT s.operation_key, s.span_from, s.span_to
          FROM carray(:keys) AS k
               CROSS JOIN statement AS s ON s.operation_key = k.value
        """,
        {"keys": keys_array(operation_keys)},
    )
    for key, start, end in cast("list[tuple[int, int, int]]", rows.fetchall()):
        spans.setdefault(key, []).append((start, end))
    return spans


def of_facts(conn: Reading, fact_ids: Sequence[str]) -> dict[str, ThenRow]:
    """Return facts as they stand now, by id."""
    rows = conn.execute(
        f"""
        {_THEN}
          FROM org_fact AS f
               JOIN org_operation AS o ON o.operation_key = f.operation_key
         WHERE f.fact_id IN (SELECT value FROM json_each(:ids)) AND o.kind = 'PUBLISH'
        """,
        {"ids": json.dumps(list(fact_ids))},
    )
    facts = [ThenRow._make(row) for row in rows]
    return {row.fact_id: row for row in facts}


def life_of_thing(
    conn: Reading, thing_key: int, categories: Collection[str], since_us: int | None, limit: int
) -> list[StretchRow]:
    """Return every stretch of what was ever said about a thing, the earliest first.

    What was over, or believed no longer, before *since_us* is left out.
    """
    rows = conn.execute(
        f"""
        {_STRETCH}
          FROM (SELECT statement_key FROM statement WHERE subject_key = :thing_key
                 UNION
                SELECT statement_key FROM statement WHERE object_key = :thing_key) AS k
               CROSS JOIN statement AS s ON s.statement_key = k.statement_key
               {_BEHIND}
         WHERE {_TOLD}
         ORDER BY s.valid_from_us, s.known_from_us, s.statement_key
         LIMIT :limit
        """,
        {
            "thing_key": thing_key,
            "categories": json.dumps(sorted(categories)),
            "since_us": since_us,
            "limit": limit,
        },
    )
    return [StretchRow._make(row) for row in rows]


def life_of_fact(
    conn: Reading, fact_id: str, categories: Collection[str], since_us: int | None, limit: int
) -> list[StretchRow]:
    """Return every stretch of what the versions of a fact said; see :func:`life_of_thing`."""
    rows = conn.execute(
        f"""
        {_STRETCH}
          FROM org_operation AS f
               CROSS JOIN statement AS s ON s.operation_key = f.operation_key
               {_BEHIND}
         WHERE f.fact_id = :fact_id AND {_TOLD}
         ORDER BY s.valid_from_us, s.known_from_us, s.statement_key
         LIMIT :limit
        """,  # constants of this module
        {
            "fact_id": fact_id,
            "categories": json.dumps(sorted(categories)),
            "since_us": since_us,
            "limit": limit,
        },
    )
    return [StretchRow._make(row) for row in rows]


_STRETCH = f"""
        SELECT s.operation_key, s.statement_id, a.name, s.relation, b.name, s.negated,
               s.qualifier, s.valid_from_us, s.valid_to_us, s.known_from_us, s.known_to_us,
               o.fact_id, o.version, s.span_from,
               substr(o.content, s.span_from + 1,
                      min(s.span_to - s.span_from, {QUOTE_CHARS_MAX})),
               o.category, o.at_us, o.is_human, o.author_id, o.seniority, o.autonomy_level,
               e.at_us, e.is_human, e.author_id, e.seniority, e.autonomy_level
"""
_BEHIND = """
               JOIN entity AS a ON a.entity_key = s.subject_key
               JOIN entity AS b ON b.entity_key = s.object_key
               JOIN org_operation AS o ON o.operation_key = s.operation_key
               LEFT JOIN org_operation AS e ON e.operation_key = s.ended_by
"""
# What was opened and closed by one moment was never believed.
_TOLD = """
               o.category IN (SELECT value FROM json_each(:categories))
           AND (s.known_to_us IS NULL OR s.known_to_us > s.known_from_us)
           AND (:since_us IS NULL
                OR ((s.known_to_us IS NULL OR s.known_to_us > :since_us)
                    AND (s.valid_to_us IS NULL OR s.valid_to_us > :since_us)))
"""
