"""Read facts and statements as they were known at one time and valid at another."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memd.base.limits import QUOTE_CHARS_MAX
from memd.store.check import integrity
from memd.store.file.connect import Reading, keys_array

# The statements below are built from constants of this module.
# ruff: noqa: S608


class FactVersionRow(NamedTuple):
    """A version of a fact, with its author. *until_us* is when the next version begins."""

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
    until_us: int | None


@dataclass(frozen=True, slots=True)
class FactFilter:
    """Conditions on facts: known at a time, in categories, about a thing, containing *text*.

    *fact_ids* limits them to these facts. *before_key* is the operation key that the previous page
    ended with.
    """

    known_us: int
    categories: Collection[str]
    limit: int
    text: str | None = None
    thing_key: int | None = None
    before_key: int | None = None
    fact_ids: Collection[str] | None = None


class StatementSpanRow(NamedTuple):
    """A statement of an operation, with its author, and the author of the one that ended it."""

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


def list_versions(conn: Reading, filters: FactFilter) -> list[FactVersionRow]:
    """Return the versions of facts that stood at ``filters.known_us``, newest first.

    Of a fact these are the last one and, where that has a beginning, the ones before it.
    """
    query = _VERSIONS if filters.thing_key is None else _VERSIONS_ABOUT
    rows = conn.execute(
        query if filters.fact_ids is None else _VERSIONS_OF,
        {
            "fact_ids": json.dumps(list(filters.fact_ids or ())),
            "known_us": filters.known_us,
            "categories": json.dumps(sorted(filters.categories)),
            "text": None if filters.text is None else _like_pattern(filters.text),
            "thing_key": filters.thing_key,
            "before_key": filters.before_key,
            "limit": filters.limit,
        },
    )
    return integrity.list_rows(conn, FactVersionRow, rows, integrity.operations)


_VERSION = """
        SELECT o.operation_key, o.operation_id, o.fact_id, o.version, o.category, o.content,
               o.tags, o.at_us,
               (SELECT b.at_us
                  FROM org_operation AS b
                 WHERE b.fact_id = o.fact_id AND b.version = 1),
               o.valid_from_us, o.valid_to_us, o.is_human, o.author_id, o.seniority,
               o.autonomy_level,
               (SELECT min(n.valid_from_us)
                  FROM org_operation AS n
                 WHERE n.fact_id = o.fact_id AND n.version > o.version AND n.at_us <= :known_us)
"""
_WAS_CURRENT = """
               (:before_key IS NULL OR o.operation_key < :before_key)
           AND (:text IS NULL OR o.content LIKE :text ESCAPE '\\')
           AND o.kind = 'PUBLISH'
           AND o.category IN (SELECT value FROM json_each(:categories))
           AND NOT EXISTS (SELECT 1
                             FROM org_operation AS n
                            WHERE n.fact_id = o.fact_id AND n.version > o.version
                              AND n.at_us <= :known_us AND n.valid_from_us IS NULL)
"""


_VERSIONS = f"""
        {_VERSION}
          FROM org_operation AS o
         WHERE o.operation_key <= (SELECT max(operation_key)
                                     FROM org_operation
                                    WHERE at_us = (SELECT max(at_us)
                                                     FROM org_operation
                                                    WHERE at_us <= :known_us))
           AND {_WAS_CURRENT}
         ORDER BY o.operation_key DESC
         LIMIT :limit
"""
# Four branches, so that each reads its own index: subject or object, still known or known until
# after that time.
_ABOUT = " UNION ".join(
    f"""
        SELECT s.operation_key AS about
          FROM statement AS s
         WHERE s.{end} = :thing_key AND s.known_to_us {is_known}
           AND s.known_from_us <= :known_us AND s.operation_key IS NOT NULL
    """
    for end in ("subject_key", "object_key")
    for is_known in ("IS NULL", "> :known_us")
)
_VERSIONS_ABOUT = f"""
        {_VERSION}
          FROM ({_ABOUT}) CROSS JOIN org_operation AS o ON o.operation_key = about
         WHERE {_WAS_CURRENT}
         ORDER BY o.operation_key DESC
         LIMIT :limit
"""
_VERSIONS_OF = f"""
        {_VERSION}
          FROM json_each(:fact_ids) AS i CROSS JOIN org_operation AS o ON o.fact_id = i.value
         WHERE {_WAS_CURRENT} AND o.at_us <= :known_us
         ORDER BY o.operation_key DESC
         LIMIT :limit
"""


def _like_pattern(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def is_mentioned(conn: Reading, thing_key: int, categories: Collection[str]) -> bool:
    """Return whether a statement about a thing was ever made by a fact of *categories*."""
    params = {"thing_key": thing_key, "categories": json.dumps(sorted(categories))}
    return any(
        conn.exists(
            f"""
            SELECT 1
              FROM statement AS s
                   JOIN org_operation AS o ON o.operation_key = s.operation_key
             WHERE s.{end} = :thing_key
               AND o.category IN (SELECT value FROM json_each(:categories))
            """,
            params,
        )
        for end in ("subject_key", "object_key")
    )


def key_of(conn: Reading, operation_id: str) -> int | None:
    """Return the key of an operation, for ``FactFilter.before_key``; None for an unknown id."""
    return conn.get_int(
        "SELECT operation_key FROM org_operation WHERE operation_id = :id", {"id": operation_id}
    )


def list_statements(
    conn: Reading, operation_keys: Sequence[int], known_us: int
) -> list[StatementSpanRow]:
    """Return the statements of operations that were known at *known_us*, valid at any time."""
    if not operation_keys:
        return []
    return conn.list_rows(
        StatementSpanRow,
        f"""
        {_STATEMENT}
          FROM carray(:keys) AS k
               CROSS JOIN statement AS s ON s.operation_key = k.value
               {_JOINS}
         WHERE s.known_from_us <= :known_us
           AND (s.known_to_us IS NULL OR s.known_to_us > :known_us)
         ORDER BY s.operation_key, s.span_from, s.valid_from_us, s.statement_key
        """,  # constants of this module
        {"keys": keys_array(operation_keys), "known_us": known_us},
    )


def spans_of(conn: Reading, operation_keys: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
    """Return the (start, end) of each statement in an operation's text, by operation key.

    Includes statements that are no longer believed.
    """
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
    for key, start, end in rows:
        spans.setdefault(key, []).append((start, end))
    return spans


def list_history(
    conn: Reading,
    about: int | str,
    categories: Collection[str],
    since_us: int | None,
    limit: int,
) -> list[StatementSpanRow]:
    """Return up to *limit* statements about a thing, or of a fact, that were ever believed.

    *about* is a thing's key or a fact's id. The earliest valid time comes first. Statements that
    ended, or were no longer believed, before *since_us* are left out, as are those of a damaged
    version of a fact.
    """
    rows = conn.execute(
        f"""
        {_STATEMENT}
          FROM {_ABOUT_THING if isinstance(about, int) else _OF_FACT}
               {_JOINS}
         WHERE {_WAS_BELIEVED}
         ORDER BY s.valid_from_us, s.known_from_us, s.statement_key
         LIMIT :limit
        """,  # constants of this module
        {
            "about": about,
            "categories": json.dumps(sorted(categories)),
            "since_us": since_us,
            "limit": limit,
        },
    )
    return integrity.list_rows(conn, StatementSpanRow, rows, integrity.operations)


_ABOUT_THING = """
               (SELECT statement_key FROM statement WHERE subject_key = :about
                 UNION
                SELECT statement_key FROM statement WHERE object_key = :about) AS k
               CROSS JOIN statement AS s ON s.statement_key = k.statement_key
"""
_OF_FACT = """
               (SELECT operation_key FROM org_operation WHERE fact_id = :about) AS f
               CROSS JOIN statement AS s ON s.operation_key = f.operation_key
"""
_STATEMENT = f"""
        SELECT s.operation_key, s.statement_id, a.name, s.relation, b.name, s.negated,
               s.qualifier, s.valid_from_us, s.valid_to_us, s.known_from_us, s.known_to_us,
               o.fact_id, o.version, s.span_from,
               substr(o.content, s.span_from + 1,
                      min(s.span_to - s.span_from, {QUOTE_CHARS_MAX})),
               o.category, o.at_us, o.is_human, o.author_id, o.seniority, o.autonomy_level,
               e.at_us, e.is_human, e.author_id, e.seniority, e.autonomy_level
"""
_JOINS = """
               JOIN entity AS a ON a.entity_key = s.subject_key
               JOIN entity AS b ON b.entity_key = s.object_key
               JOIN org_operation AS o ON o.operation_key = s.operation_key
               LEFT JOIN org_operation AS e ON e.operation_key = s.ended_by
"""
# A statement that was opened and closed at the same time was never believed.
_WAS_BELIEVED = """
               o.category IN (SELECT value FROM json_each(:categories))
           AND (s.known_to_us IS NULL OR s.known_to_us > s.known_from_us)
           AND (:since_us IS NULL
                OR ((s.known_to_us IS NULL OR s.known_to_us > :since_us)
                    AND (s.valid_to_us IS NULL OR s.valid_to_us > :since_us)))
"""
