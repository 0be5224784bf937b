"""Write organisational memory: the log of operations and, with it, the table of current facts.

The log is authoritative: one row an operation, appended and never changed. The table of facts is
the result of replaying the log, so that a query reads one row a fact. ``at_us`` of the log never
decreases, even if the clock is set back, so that versions are ordered by time.

The access rules have their own log (table org_rules): who could write and read which category since
when. A daemon that starts with changed rules adds a row. Its time is after every operation that was
authorised by the previous rules, even if the clock was set back.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from memd.domain.enums import OperationType, OrgFactCategory
from memd.domain.org.org import OrgFactAuthor
from memd.domain.trust import Screened
from memd.store.access import changes
from memd.store.file.connect import Reading, Writing, hash_columns, keys_array
from memd.store.org import fact_index, org_facts, proofs


@dataclass(frozen=True, slots=True)
class Stamp:
    """The author and time of an operation. *signature* is the owner's proof if a human wrote it."""

    operation_id: str
    author: OrgFactAuthor
    client: str
    now_us: int
    salt: bytes
    signature: bytes | None = None


@dataclass(frozen=True, slots=True)
class FactContent:
    """The screened content of a fact. ``valid_*_us`` are the times that the author claims."""

    category: OrgFactCategory
    content: Screened
    tags: tuple[str, ...] = ()
    valid_from_us: int | None = None
    valid_to_us: int | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation as it was written; statements are extracted from it in the same transaction."""

    operation_key: int
    operation_id: str
    fact_id: str
    version: int
    kind: OperationType
    category: OrgFactCategory
    content: str | None
    author: OrgFactAuthor
    at_us: int
    valid_from_us: int | None
    valid_to_us: int | None


class FactState(NamedTuple):
    """The columns of a fact that a write to it needs."""

    fact_key: int
    version: int
    category: OrgFactCategory
    content: str
    tags: str
    is_retracted: bool


def get_state(conn: Reading, fact_id: str) -> FactState | None:
    """Return the state of a fact, retracted or not; None for an unknown id."""
    state = conn.find_row(
        FactState,
        """
        SELECT fact_key, version, category, content, tags, retracted_at_us IS NOT NULL
          FROM org_fact
         WHERE fact_id = :fact_id
        """,
        {"fact_id": fact_id},
    )
    return state and state._replace(
        category=OrgFactCategory(state.category), is_retracted=bool(state.is_retracted)
    )


def publish(conn: Writing, fact_id: str, wording: FactContent, stamp: Stamp) -> Operation:
    """Append a PUBLISH to the log and make it the state of the fact, even of a retracted one.

    Replaces all columns of the fact except ``created_at_us`` (SPEC 15.5.2).
    """
    before = get_state(conn, fact_id)
    operation = _append(
        conn, OperationType.PUBLISH, fact_id, before.version + 1 if before else 1, wording, stamp
    )
    row: dict[str, str | int] = {
        "fact_id": fact_id,
        "operation_key": operation.operation_key,
        "version": operation.version,
        "category": wording.category,
        "content": wording.content,
        "tags": _tags(wording.tags),
    }
    if before is None:
        conn.insert("org_fact", {**row, "created_at_us": operation.at_us})
        fact_index.TABLE.add(conn, [conn.last_insert_rowid()])
    else:
        fact_index.TABLE.remove(conn, [before.fact_key])
        conn.execute(_UPDATE_FACT, row)
        fact_index.TABLE.add(conn, [before.fact_key])
    return operation


_UPDATE_FACT = """
UPDATE org_fact
   SET operation_key = :operation_key, version = :version, category = :category,
       content = :content, tags = :tags, retracted_at_us = NULL
 WHERE fact_id = :fact_id
"""


def retract(conn: Writing, fact_id: str, stamp: Stamp) -> Operation | None:
    """Append a RETRACT to the log; writes nothing and returns None when the fact is not current.

    The last content of the fact stays in its row, and all versions in the log (SPEC 15.5.3).
    """
    before = get_state(conn, fact_id)
    if before is None or before.is_retracted:
        return None
    copied = FactContent(before.category, Screened(before.content), tuple(json.loads(before.tags)))
    operation = _append(conn, OperationType.RETRACT, fact_id, before.version + 1, copied, stamp)
    fact_index.TABLE.remove(conn, [before.fact_key])
    conn.execute(
        """
        UPDATE org_fact
           SET operation_key = :operation_key, version = :version, retracted_at_us = :at_us
         WHERE fact_key = :fact_key
        """,
        {
            "operation_key": operation.operation_key,
            "version": operation.version,
            "at_us": operation.at_us,
            "fact_key": before.fact_key,
        },
    )
    return operation


def last_at_us(conn: Reading) -> int | None:
    """Return the time of the last operation, None before the first."""
    return conn.get_int("SELECT max(at_us) FROM org_operation")


def _append(
    conn: Writing,
    kind: OperationType,
    fact_id: str,
    version: int,
    wording: FactContent,
    stamp: Stamp,
) -> Operation:
    last_us = last_at_us(conn)
    # If the clock was set back, a version must still be later than the one that it replaces.
    at_us = stamp.now_us if last_us is None or stamp.now_us >= last_us else last_us + 1
    content = wording.content if kind is OperationType.PUBLISH else None
    author = stamp.author
    columns: dict[str, Any] = {
        "operation_id": stamp.operation_id,
        "fact_id": fact_id,
        "version": version,
        "kind": kind,
        "category": wording.category,
        "content": content,
        "tags": _tags(wording.tags),
        "is_human": int(author.is_human),
        "author_id": author.agent_id,
        "seniority": author.seniority,
        "autonomy_level": author.autonomy_level,
        "client": stamp.client,
        "signature": None,  # set below: it signs the other columns
        "at_us": at_us,
        "valid_from_us": wording.valid_from_us,
        "valid_to_us": wording.valid_to_us,
    }
    columns_to_sign = proofs.SignedColumns(
        **{name: columns[name] for name in proofs.SignedColumns._fields}
    )
    columns["signature"] = proofs.trim_proof(stamp.signature, columns_to_sign)
    row_hash = hash_columns(*columns.values())
    conn.insert("org_operation", {**columns, "row_hash": row_hash, "salt": stamp.salt})
    changes.touch(conn, stamp.salt, row_hash)
    return Operation(
        operation_key=conn.last_insert_rowid(),
        operation_id=stamp.operation_id,
        fact_id=fact_id,
        version=version,
        kind=kind,
        category=wording.category,
        content=content,
        author=author,
        at_us=at_us,
        valid_from_us=wording.valid_from_us,
        valid_to_us=wording.valid_to_us,
    )


def _tags(tags: Collection[str]) -> str:
    return json.dumps(sorted(tags), ensure_ascii=False)


def has_operations(conn: Reading, *, before: int | None = None) -> bool:
    """Return whether the log has an operation; with *before*, one with a lower key."""
    return conn.exists(
        """
        SELECT 1
          FROM org_operation
         WHERE :before IS NULL OR operation_key < :before
        """,
        {"before": before},
    )


def standing_operations(conn: Reading, fact_id: str, version: int) -> list[int]:
    """Return the keys of the versions of a fact that stood before *version*, oldest first.

    A version with a ``valid_from_us`` replaces those before it from then on only, so more than one
    may stand; any other, and a retraction, replaces them altogether.
    """
    rows = conn.execute(
        """
        SELECT o.operation_key
          FROM org_operation AS o
         WHERE o.fact_id = :fact_id AND o.version < :version
           AND NOT EXISTS (SELECT 1
                             FROM org_operation AS n
                            WHERE n.fact_id = o.fact_id AND n.version > o.version
                              AND n.version < :version AND n.valid_from_us IS NULL)
         ORDER BY o.version
        """,
        {"fact_id": fact_id, "version": version},
    )
    return [key for (key,) in rows]


def list_successions(
    conn: Reading, keys: Sequence[int], until_key: int
) -> dict[int, tuple[int, int]]:
    """Return, for those of *keys* that a later version replaces from a time on: when, and its key.

    Only operations up to *until_key* count; the earliest time is returned.
    """
    rows = conn.execute(
        """
        SELECT o.operation_key, n.valid_from_us, n.operation_key
          FROM carray(:keys) AS k
               CROSS JOIN org_operation AS o ON o.operation_key = k.value
               CROSS JOIN org_operation AS n ON n.fact_id = o.fact_id AND n.version > o.version
         WHERE n.operation_key <= :until_key AND n.valid_from_us IS NOT NULL
         ORDER BY n.valid_from_us DESC, n.operation_key DESC
        """,
        {"keys": keys_array(keys), "until_key": until_key},
    )
    return {key: (at_us, by_key) for key, at_us, by_key in rows}


def list_operations(conn: Reading, after_key: int, limit: int) -> list[Operation]:
    """Return up to *limit* operations after *after_key*, in the order of the log."""
    rows = conn.execute(
        """
        SELECT operation_key, operation_id, fact_id, version, kind, category, content, is_human,
               author_id, seniority, autonomy_level, at_us, valid_from_us, valid_to_us
          FROM org_operation
         WHERE operation_key > :after_key
         ORDER BY operation_key
         LIMIT :limit
        """,
        {"after_key": after_key, "limit": limit},
    )
    return [
        Operation(
            key, operation_id, fact_id, version, OperationType(kind), OrgFactCategory(category),
            content, org_facts.build_author(*others[:4]), *others[4:],
        )
        for key, operation_id, fact_id, version, kind, category, content, *others in rows
    ]  # fmt: skip


def list_rules(conn: Reading) -> list[tuple[int, str]]:
    """Return all sets of rules as (at_us, JSON), the oldest first."""
    return list(conn.execute("SELECT at_us, rules FROM org_rules ORDER BY rules_key"))


def current_rules(conn: Reading) -> str | None:
    """Return the current rules as JSON, None before the first."""
    return conn.get_text("SELECT rules FROM org_rules ORDER BY rules_key DESC LIMIT 1")


def record_rules(conn: Writing, rules: str, now_us: int) -> bool:
    """Record *rules* as the current ones; False when they already are."""
    if current_rules(conn) == rules:
        return False
    before_us = conn.get_int("SELECT max(at_us) FROM org_rules")
    at_us = max(now_us, 1 + max(before_us or 0, last_at_us(conn) or 0))
    return conn.insert("org_rules", {"rules": rules, "at_us": at_us})
