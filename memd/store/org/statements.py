"""Statements and the things they are about: the edges of the graph, with both times.

A row is written once; closing it (``known_to_us``) is the only change. What is
believed since a moment is the rows opened then and not yet closed. *Claims* are
what the texts say, before other texts leave less of it: they are read back from the
rows, so that a retracted text can give back what it had taken.

A thing exists as long as a statement is about it: :func:`drop_unused` erases the
others, so that no forgotten name lives on (SPEC D21).
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memd.domain.org.graph import ExtractedStatement, folded
from memd.store.file.connect import Reading, Writing
from memd.store.file.keys import keys_array


class Claim(NamedTuple):
    """What an operation's text says about two things, with who said it under which category."""

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


class Held(NamedTuple):
    """What is left of a claim: from when to when it holds, and which operation ended it."""

    claim: Claim
    valid_from_us: int | None
    valid_to_us: int | None
    ended_by: int | None = None


class Open(NamedTuple):
    """A row that is not closed."""

    statement_key: int
    held: Held


@dataclass(frozen=True, slots=True)
class StatementGroup:
    """Statements that can contradict each other; None stands for any thing."""

    relation: str
    subject_key: int | None
    object_key: int | None


# Things.


def find_thing(conn: Reading, name: str) -> int | None:
    """Return the key of the thing called *name*, None when nothing is said of it."""
    entity_key = conn.execute(
        "SELECT entity_key FROM entity WHERE folded = :folded", {"folded": folded(name)}
    ).get
    return entity_key if isinstance(entity_key, int) else None


def thing(conn: Writing, name: str) -> int:
    """Return the key of the thing called *name*; makes it."""
    key = find_thing(conn, name)
    if key is not None:
        return key
    conn.execute(
        "INSERT INTO entity (name, folded) VALUES (:name, :folded)",
        {"name": name, "folded": folded(name)},
    )
    return conn.last_insert_rowid()


def things_of(conn: Reading, memory_keys: Sequence[int]) -> list[int]:
    """Return the things that the statements of memories are about; asked before these go."""
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
    return list(dict.fromkeys(key for row in rows for key in row if isinstance(key, int)))


def drop_unused(conn: Writing, keys: Iterable[int]) -> None:
    """Erase those of *keys*, things, about which nothing is said any more."""
    conn.executemany(
        """
        DELETE FROM entity
         WHERE entity_key = :key
           AND NOT EXISTS (SELECT 1 FROM statement WHERE subject_key = :key)
           AND NOT EXISTS (SELECT 1 FROM statement WHERE object_key = :key)
        """,
        ({"key": key} for key in keys),
    )


# What memories say.


def say(
    conn: Writing,
    memory_key: int,
    memory_id: str,
    statements: Sequence[ExtractedStatement],
    now_us: int,
) -> list[int]:
    """Write what a memory's text says, known since *now_us*; returns the statements' keys.

    What it said before is replaced. Nothing in it ends what another text says.
    """
    before = things_of(conn, [memory_key])
    conn.execute("DELETE FROM statement WHERE memory_key = :key", {"key": memory_key})
    keys: list[int] = []
    for ordinal, one in enumerate(statements):
        conn.execute(
            _INSERT,
            {
                "statement_id": _id(memory_id, now_us, ordinal),
                "subject_key": thing(conn, one.subject),
                "relation": one.relation,
                "object_key": thing(conn, one.object),
                "negated": int(one.negated),
                "qualifier": one.qualifier,
                "valid_from_us": one.valid_from_us,
                "valid_to_us": one.valid_to_us,
                "known_from_us": now_us,
                "operation_key": None,
                "memory_key": memory_key,
                "span_from": one.start,
                "span_to": one.end,
                "claimed_from_us": one.valid_from_us,
                "claimed_to_us": one.valid_to_us,
                "ended_by": None,
            },
        )
        keys.append(conn.last_insert_rowid())
    drop_unused(conn, before)
    return keys


_INSERT = """
INSERT INTO statement (statement_id, subject_key, relation, object_key, negated, qualifier,
                       valid_from_us, valid_to_us, known_from_us, operation_key, memory_key,
                       span_from, span_to, claimed_from_us, claimed_to_us, ended_by)
VALUES (:statement_id, :subject_key, :relation, :object_key, :negated, :qualifier,
        :valid_from_us, :valid_to_us, :known_from_us, :operation_key, :memory_key,
        :span_from, :span_to, :claimed_from_us, :claimed_to_us, :ended_by)
"""


def _id(*parts: object) -> str:
    """Return an id that is the same whenever the same is learnt from the same text."""
    digest = hashlib.sha256("\n".join(map(str, parts)).encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=5))


# What operations say.


def claims(conn: Reading, group: StatementGroup, until_key: int) -> list[Claim]:
    """Return what texts that stood after the operation *until_key* claim, the oldest first."""
    rows = conn.execute(
        _CLAIMS_BY_OBJECT if group.subject_key is None else _CLAIMS_BY_SUBJECT,
        {
            "relation": group.relation,
            "subject_key": group.subject_key,
            "object_key": group.object_key,
            "until_key": until_key,
        },
    )
    return [Claim._make(row) for row in rows]


# One text for both: only the columns that the index is asked for differ.
_STANDING = """
   AND o.operation_key <= :until_key
   AND NOT EXISTS (SELECT 1
                     FROM org_operation AS n
                    WHERE n.fact_id = o.fact_id AND n.version > o.version
                      AND n.operation_key <= :until_key)
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
   AND (:object_key IS NULL OR s.object_key = :object_key) {_STANDING}
"""
_CLAIMS_BY_OBJECT = f"""{_CLAIMED}
 WHERE s.object_key = :object_key AND s.relation = :relation {_STANDING}
"""


def said_by(conn: Reading, operation_key: int) -> list[Claim]:
    """Return what one operation's text claims."""
    rows = conn.execute(
        f"{_CLAIMED} WHERE s.operation_key = :operation_key",
        {"operation_key": operation_key},
    )
    return [Claim._make(row) for row in rows]


def open_rows(conn: Reading, group: StatementGroup) -> list[Open]:
    """Return the rows of *group* that are believed, of operations only."""
    rows = conn.execute(
        _OPEN_BY_OBJECT if group.subject_key is None else _OPEN_BY_SUBJECT,
        {
            "relation": group.relation,
            "subject_key": group.subject_key,
            "object_key": group.object_key,
        },
    )
    return [
        Open(int(key), Held(Claim._make(claim), start, stop, ended_by))
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
    """Say that rows are believed no longer since *now_us*; closed ones stay as they are."""
    conn.executemany(
        """
        UPDATE statement
           SET known_to_us = max(:now_us, known_from_us)
         WHERE statement_key = :key AND known_to_us IS NULL
        """,
        ({"key": key, "now_us": now_us} for key in keys),
    )


def believe(conn: Writing, held: Iterable[Held], operation_id: str, now_us: int) -> None:
    """Open a row for each of *held*, believed since *now_us* because of *operation_id*."""
    for ordinal, (claim, start, stop, ended_by) in enumerate(held):
        conn.execute(
            _INSERT,
            {
                "statement_id": _id(operation_id, ordinal),
                "subject_key": claim.subject_key,
                "relation": claim.relation,
                "object_key": claim.object_key,
                "negated": claim.negated,
                "qualifier": claim.qualifier,
                "valid_from_us": start,
                "valid_to_us": stop,
                "known_from_us": now_us,
                "operation_key": claim.operation_key,
                "memory_key": None,
                "span_from": claim.span_from,
                "span_to": claim.span_to,
                "claimed_from_us": claim.claimed_from_us,
                "claimed_to_us": claim.claimed_to_us,
                "ended_by": ended_by,
            },
        )


def unlearn(conn: Writing, limit: int) -> int:
    """Erase up to *limit* statements of operations, to learn them again; returns how many."""
    rows = conn.execute(
        """
        DELETE FROM statement
         WHERE statement_key IN (SELECT statement_key
                                   FROM statement
                                  WHERE operation_key IS NOT NULL
                                  LIMIT :limit)
        RETURNING subject_key, object_key
        """,
        {"limit": limit},
    ).fetchall()
    drop_unused(conn, {key for row in rows for key in row if isinstance(key, int)})
    return len(rows)
