"""Store statements, the edges of the graph, and the things that they are about.

A statement has a valid time and a known time. Its row is written once; closing it (setting
``known_to_us``) is the only change. A statement is believed while its row is open. A *claim* is a
statement as the text has it, before later texts limit its valid time. Rows keep the claimed times,
so that the limits can be computed anew when a text is retracted.

A thing exists as long as a statement is about it: :func:`drop_unused` erases the others, so that no
forgotten name remains (SPEC D21).
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memd.domain.org.graph import ExtractedStatement, fold_name, name_variants
from memd.store.file.connect import Reading, Writing, keys_array


class Claim(NamedTuple):
    """A statement as an operation's text has it, with the operation's author and category."""

    operation_key: int
    subject_key: int
    relation: str
    object_key: int
    negated: int
    qualifier: str | None
    claimed_from_us: int | None
    claimed_to_us: int | None
    span_from: int
    span_to: int
    category: str
    is_human: int
    seniority: str | None
    at_us: int


class BelievedClaim(NamedTuple):
    """A claim, its valid time as it is believed, and the key of the operation that ended it."""

    claim: Claim
    valid_from_us: int | None
    valid_to_us: int | None
    ended_by: int | None = None


class OpenRow(NamedTuple):
    """The key of an open statement, and its claim."""

    statement_key: int
    believed: BelievedClaim


@dataclass(frozen=True, slots=True)
class StatementGroup:
    """Statements that can contradict each other; a key of None stands for any thing."""

    relation: str
    subject_key: int | None
    object_key: int | None


def find_thing(conn: Reading, name: str) -> int | None:
    """Return the key of the thing called *name*, None when there is no statement about it."""
    return conn.get_int(
        "SELECT entity_key FROM entity WHERE folded = :folded", {"folded": fold_name(name)}
    )


def look_up_thing(conn: Reading, name: str) -> int | None:
    """Return the key of the thing called *name*, with or without the word for its kind."""
    keys = (find_thing(conn, variant) for variant in name_variants(name))
    return next((key for key in keys if key is not None), None)


def ensure_thing(conn: Writing, name: str) -> int:
    """Return the key of the thing called *name*, creating it if needed."""
    key = find_thing(conn, name)
    if key is not None:
        return key
    conn.insert("entity", {"name": name, "folded": fold_name(name)})
    return conn.last_insert_rowid()


def things_of(conn: Reading, memory_keys: Sequence[int]) -> list[int]:
    """Return the things of memories' statements, for :func:`drop_unused` after their deletion."""
    if not memory_keys:
        return []
    rows = conn.execute(
        """
        SELECT s.subject_key, s.object_key
          FROM carray(:keys) AS k
               CROSS JOIN statement AS s ON s.memory_key = k.value
        """,
        {"keys": keys_array(memory_keys)},
    )
    return [key for ends in rows for key in ends]


def drop_unused(conn: Writing, keys: Sequence[int]) -> None:
    """Erase those things of *keys* that no statement is about any more."""
    conn.execute(
        """
        DELETE FROM entity
         WHERE entity_key IN (SELECT value FROM carray(:keys))
           AND NOT EXISTS (SELECT 1 FROM statement WHERE subject_key = entity_key)
           AND NOT EXISTS (SELECT 1 FROM statement WHERE object_key = entity_key)
        """,
        {"keys": keys_array(keys)},
    )


def replace_statements(
    conn: Writing,
    memory_key: int,
    memory_id: str,
    statements: Sequence[ExtractedStatement],
    now_us: int,
) -> list[int]:
    """Replace the statements of a memory by *statements*, known since *now_us*; returns their keys.

    Statements of memories do not end those of other texts.
    """
    old_things = things_of(conn, [memory_key])
    conn.execute("DELETE FROM statement WHERE memory_key = :key", {"key": memory_key})
    keys: list[int] = []
    for ordinal, statement in enumerate(statements):
        conn.insert(
            "statement",
            {
                "statement_id": _id(memory_id, now_us, ordinal),
                "subject_key": ensure_thing(conn, statement.subject),
                "relation": statement.relation,
                "object_key": ensure_thing(conn, statement.object),
                "negated": int(statement.negated),
                "qualifier": statement.qualifier,
                "valid_from_us": statement.valid_from_us,
                "valid_to_us": statement.valid_to_us,
                "known_from_us": now_us,
                "memory_key": memory_key,
                "span_from": statement.start,
                "span_to": statement.end,
                "claimed_from_us": statement.valid_from_us,
                "claimed_to_us": statement.valid_to_us,
            },
        )
        keys.append(conn.last_insert_rowid())
    drop_unused(conn, old_things)
    return keys


def _id(*parts: object) -> str:
    """Return an id computed from *parts*, so that extracting again gives the same ids."""
    digest = hashlib.sha256("\n".join(map(str, parts)).encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=5))


def list_claims(conn: Reading, group: StatementGroup, until_key: int) -> list[Claim]:
    """Return the claims that stand after operation *until_key*, oldest first.

    Left out are those of a version that another one replaced from the first moment on.
    """
    return conn.list_rows(
        Claim,
        _CLAIMS_BY_OBJECT if group.subject_key is None else _CLAIMS_BY_SUBJECT,
        {
            "relation": group.relation,
            "subject_key": group.subject_key,
            "object_key": group.object_key,
            "until_key": until_key,
        },
    )


# Shared by both queries: only the columns that use the index differ.
_CURRENT = """
   AND o.operation_key <= :until_key
   AND NOT EXISTS (SELECT 1
                     FROM org_operation AS n
                    WHERE n.fact_id = o.fact_id AND n.version > o.version
                      AND n.operation_key <= :until_key AND n.valid_from_us IS NULL)
 ORDER BY s.operation_key, s.span_from, s.span_to, s.subject_key, s.object_key
"""
_CLAIMED = """
SELECT DISTINCT s.operation_key, s.subject_key, s.relation, s.object_key, s.negated, s.qualifier,
       s.claimed_from_us, s.claimed_to_us, s.span_from, s.span_to,
       o.category, o.is_human, o.seniority, o.at_us
  FROM statement AS s
       JOIN org_operation AS o ON o.operation_key = s.operation_key
"""
_CLAIMS_BY_SUBJECT = f"""{_CLAIMED}
 WHERE s.subject_key = :subject_key AND s.relation = :relation
   AND (:object_key IS NULL OR s.object_key = :object_key) {_CURRENT}
"""
_CLAIMS_BY_OBJECT = f"""{_CLAIMED}
 WHERE s.object_key = :object_key AND s.relation = :relation {_CURRENT}
"""


def claims_of(conn: Reading, operation_key: int) -> list[Claim]:
    return conn.list_rows(
        Claim,
        f"{_CLAIMED} WHERE s.operation_key = :operation_key",
        {"operation_key": operation_key},
    )


def list_open(conn: Reading, group: StatementGroup) -> list[OpenRow]:
    """Return the open statements of *group* that come from operations."""
    rows = conn.execute(
        _OPEN_BY_OBJECT if group.subject_key is None else _OPEN_BY_SUBJECT,
        {
            "relation": group.relation,
            "subject_key": group.subject_key,
            "object_key": group.object_key,
        },
    )
    return [
        OpenRow(int(key), BelievedClaim(Claim._make(claim), start, stop, ended_by))
        for key, start, stop, ended_by, *claim in rows
    ]


_OPEN = """
SELECT s.statement_key, s.valid_from_us, s.valid_to_us, s.ended_by,
       s.operation_key, s.subject_key, s.relation, s.object_key, s.negated, s.qualifier,
       s.claimed_from_us, s.claimed_to_us, s.span_from, s.span_to,
       o.category, o.is_human, o.seniority, o.at_us
  FROM statement AS s
       JOIN org_operation AS o ON o.operation_key = s.operation_key
 WHERE s.known_to_us IS NULL AND s.relation = :relation
"""
_OPEN_BY_SUBJECT = f"""{_OPEN} AND s.subject_key = :subject_key
   AND (:object_key IS NULL OR s.object_key = :object_key)
"""
_OPEN_BY_OBJECT = f"{_OPEN} AND s.object_key = :object_key"


def close(conn: Writing, keys: Iterable[int], now_us: int) -> None:
    """Close open statements: they are not believed from *now_us* on."""
    conn.executemany(
        """
        UPDATE statement
           SET known_to_us = max(:now_us, known_from_us)
         WHERE statement_key = :key AND known_to_us IS NULL
        """,
        ({"key": key, "now_us": now_us} for key in keys),
    )


def believe(conn: Writing, claims: Iterable[BelievedClaim], operation_id: str, now_us: int) -> None:
    """Insert an open statement for each of *claims*, known since *now_us* by *operation_id*."""
    for ordinal, (claim, start, stop, ended_by) in enumerate(claims):
        columns = claim._asdict()
        for operation_column in ("category", "is_human", "seniority", "at_us"):
            del columns[operation_column]
        conn.insert(
            "statement",
            {
                **columns,
                "statement_id": _id(operation_id, ordinal),
                "valid_from_us": start,
                "valid_to_us": stop,
                "known_from_us": now_us,
                "ended_by": ended_by,
            },
        )


def unlearn(conn: Writing, limit: int) -> int:
    """Erase up to *limit* statements of operations, to extract them again; returns how many."""
    rows = list(
        conn.execute(
            """
            DELETE FROM statement
             WHERE statement_key IN (SELECT statement_key
                                       FROM statement
                                      WHERE operation_key IS NOT NULL
                                      LIMIT :limit)
            RETURNING subject_key, object_key
            """,
            {"limit": limit},
        )
    )
    drop_unused(conn, [key for ends in rows for key in ends])
    return len(rows)
