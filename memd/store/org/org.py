"""The organisation's log and the facts as they are now: two tables, written together.

The log is the truth: one row an operation, appended and never changed. The table
of facts is what replaying the log gives, so that a question reads one row a fact.
``at_us`` never goes back, whatever the clock does, so that the order of versions
is the order of times.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

from memd.domain.enums import OperationType, OrgFactCategory
from memd.domain.org.org import OrgFactAuthor
from memd.domain.trust import Screened
from memd.store.access import changes
from memd.store.file.connect import Reading, Writing
from memd.store.org import org_words, proofs


@dataclass(frozen=True, slots=True)
class Stamp:
    """Who wrote an operation and when. *signature* is the owner's, where a human wrote."""

    operation_id: str
    author: OrgFactAuthor
    client: str
    now_us: int
    salt: bytes
    signature: bytes | None = None


@dataclass(frozen=True, slots=True)
class Wording:
    """What a publish says, screened; *tags* sorted. ``valid_*_us`` as the author claims."""

    category: OrgFactCategory
    content: Screened
    tags: tuple[str, ...] = ()
    valid_from_us: int | None = None
    valid_to_us: int | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation as it was written: what is learnt from, in the same transaction."""

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
    """What a write to a fact has to know of it."""

    fact_key: int
    version: int
    category: OrgFactCategory
    content: str
    tags: str
    is_retracted: bool


# Writing.


def state(conn: Reading, fact_id: str) -> FactState | None:
    """Return how a fact stands, retracted ones included; None when there never was one."""
    row = conn.execute(
        """
        SELECT fact_key, version, category, content, tags, retracted_at_us IS NOT NULL
          FROM org_fact
         WHERE fact_id = :fact_id
        """,
        {"fact_id": fact_id},
    ).fetchone()
    if row is None:
        return None
    key, version, category, content, tags, retracted = row
    assert isinstance(key, int)
    assert isinstance(version, int)
    return FactState(
        key,
        version,
        OrgFactCategory(category),
        str(content),
        str(tags),
        is_retracted=bool(retracted),
    )


def publish(conn: Writing, fact_id: str, wording: Wording, stamp: Stamp) -> Operation:
    """Append a PUBLISH and make it the fact's state; a retracted fact is there again.

    Everything of the fact is replaced but when it was first published (SPEC 15.5.2).
    """
    before = state(conn, fact_id)
    operation = _append(
        conn, OperationType.PUBLISH, fact_id, before.version + 1 if before else 1, wording, stamp
    )
    params: dict[str, str | int] = {
        "fact_id": fact_id,
        "operation_key": operation.operation_key,
        "version": operation.version,
        "category": wording.category,
        "content": wording.content,
        "tags": _tags(wording.tags),
        "at_us": operation.at_us,
    }
    if before is None:
        conn.execute(_INSERT_FACT, params)
        org_words.index(conn, conn.last_insert_rowid())
    else:
        org_words.unindex(conn, before.fact_key)
        conn.execute(_UPDATE_FACT, params)
        org_words.index(conn, before.fact_key)
    return operation


_INSERT_FACT = """
INSERT INTO org_fact (fact_id, operation_key, version, category, content, tags, created_at_us)
VALUES (:fact_id, :operation_key, :version, :category, :content, :tags, :at_us)
"""
_UPDATE_FACT = """
UPDATE org_fact
   SET operation_key = :operation_key, version = :version, category = :category,
       content = :content, tags = :tags, retracted_at_us = NULL
 WHERE fact_id = :fact_id
"""


def retract(conn: Writing, fact_id: str, stamp: Stamp) -> Operation | None:
    """Append a RETRACT; None, and nothing is written, where no fact stands (SPEC 15.5.3).

    What the fact said last stays in its row, and everything in the log.
    """
    before = state(conn, fact_id)
    if before is None or before.is_retracted:
        return None
    copied = Wording(before.category, Screened(before.content), tuple(json.loads(before.tags)))
    operation = _append(conn, OperationType.RETRACT, fact_id, before.version + 1, copied, stamp)
    org_words.unindex(conn, before.fact_key)
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
    """Return when the last operation was; the present is never before it."""
    at_us = conn.execute("SELECT max(at_us) FROM org_operation").get
    return at_us if isinstance(at_us, int) else None


def _append(
    conn: Writing,
    kind: OperationType,
    fact_id: str,
    version: int,
    wording: Wording,
    stamp: Stamp,
) -> Operation:
    last_us = last_at_us(conn)
    # A clock set back must not put a version before the one it replaces.
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
        "signature": None,  # below: it is over the others
        "at_us": at_us,
        "valid_from_us": wording.valid_from_us,
        "valid_to_us": wording.valid_to_us,
    }
    signed = proofs.Signed(**{name: columns[name] for name in proofs.Signed._fields})
    columns["signature"] = proofs.fitting(stamp.signature, signed)
    row_hash = hash_of(tuple(columns.values()))
    conn.execute(_INSERT, {**columns, "row_hash": row_hash, "salt": stamp.salt})
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


_INSERT = """
INSERT INTO org_operation (operation_id, fact_id, version, kind, category, content, tags,
                           is_human, author_id, seniority, autonomy_level, client, signature,
                           at_us, valid_from_us, valid_to_us, row_hash, salt)
VALUES (:operation_id, :fact_id, :version, :kind, :category, :content, :tags,
        :is_human, :author_id, :seniority, :autonomy_level, :client, :signature,
        :at_us, :valid_from_us, :valid_to_us, :row_hash, :salt)
"""


def _tags(tags: Collection[str]) -> str:
    return json.dumps(sorted(tags), ensure_ascii=False)


def hash_of(columns: tuple[object, ...]) -> bytes:
    """Return SHA-256 over an operation's columns, in the order in which they are inserted."""
    values = [value.hex() if isinstance(value, bytes) else value for value in columns]
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()
