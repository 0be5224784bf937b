"""Import records of another store, and store facts, rules, keys of the owner and proposals.

A record whose id exists is skipped, so that an import can be repeated, and run into a store that is
in use. Of two preferences or patterns with the same name the newer one is kept. What was forgotten
here is not imported, nor is a preference, lesson or pattern that was deleted here since.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import apsw

from memd.base.clock import to_us
from memd.base.errors import ConflictError, InvalidError
from memd.domain import transfer as records
from memd.domain.transfer import (
    OperationRecord,
    OwnerKeyRecord,
    ProposalRecord,
    Record,
    RulesRecord,
)
from memd.store.access import changes
from memd.store.memory import memories
from memd.store.org import org, proofs
from memd.store.org.org import FactContent, Stamp
from memd.store.org.org_facts import build_author
from memd.store.transfer import memories as arrived
from memd.store.transfer import profile
from memd.store.transfer.target import ImportOutcome, ImportTarget


def load_record(target: ImportTarget, record: Record) -> ImportOutcome:
    """Store one record, completely or not at all. Call it in the order of an export.

    Raises a CallerError when the record cannot be stored.
    """
    if not isinstance(record, records.MemoryRecord):
        index_new(target)
    try:
        with target.conn:  # a savepoint
            outcome = _LOADERS[type(record)](target, record)
    except apsw.ConstraintError as error:
        raise InvalidError("the store does not take it: it contradicts itself") from error
    return outcome


def index_new(target: ImportTarget) -> None:
    """Write the contexts of the new memories in ``target.unindexed``, and index them."""
    keys, target.unindexed = target.unindexed, []
    memories.index_new(target.conn, keys)


def store_operation(target: ImportTarget, record: OperationRecord) -> ImportOutcome:
    """Append an operation to the log of its fact, and extract its statements.

    Raises ConflictError when the fact has another history in this store.
    """
    conn = target.conn
    if conn.exists("SELECT 1 FROM org_operation WHERE operation_id = ?", (record.id,)):
        return "known"
    before = org.get_state(conn, record.fact_id)
    if record.version != (before.version if before else 0) + 1:
        raise ConflictError(f"fact {record.fact_id} has another history here")
    if record.operation == "RETRACT" and (before is None or before.is_retracted):
        raise ConflictError(f"fact {record.fact_id} is not valid here, so it cannot be retracted")
    stamp = Stamp(
        operation_id=record.id,
        author=build_author(
            record.is_human, record.author_id, record.seniority, record.autonomy_level
        ),
        client=record.client,
        now_us=to_us(record.at),
        salt=target.salt(),
        signature=None if record.signature is None else bytes.fromhex(record.signature),
    )
    if record.content is None:
        operation = org.retract(conn, record.fact_id, stamp)
    else:
        content = FactContent(
            record.category,
            target.screen(record.content),
            tuple(sorted(record.tags)),
            to_us(record.valid_from_at),
            to_us(record.valid_to_at),
        )
        operation = org.publish(conn, record.fact_id, content, stamp)
    if operation is None:
        return "known"
    target.learn(conn, operation)
    return "stored"


def store_rules(target: ImportTarget, record: RulesRecord) -> ImportOutcome:
    """Insert rules into the log of rules, ordered by time.

    Rules that equal those before them are left out.
    """
    text, at_us = json.dumps(record.rules, sort_keys=True), to_us(record.at)
    logged = org.list_rules(target.conn)
    merged = sorted({*logged, (at_us, text)})
    entries = [entry for n, entry in enumerate(merged) if n == 0 or merged[n - 1][1] != entry[1]]
    if entries == logged:
        return "known"
    target.conn.execute("DELETE FROM org_rules")
    target.conn.executemany("INSERT INTO org_rules (at_us, rules) VALUES (?, ?)", entries)
    return "stored"


def store_owner_key(target: ImportTarget, record: OwnerKeyRecord) -> ImportOutcome:
    """Store a public key of the owner; the current key of this store stays current.

    Raises ConflictError for a current key that differs from the one of this store.
    """
    conn, public = target.conn, bytes.fromhex(record.public_key)
    if conn.exists("SELECT 1 FROM owner_key WHERE public_key = ?", (public,)):
        return "known"
    if record.revoked_at is None and proofs.current_key(conn) is not None:
        raise ConflictError("this store knows another owner's key")
    conn.insert(
        "owner_key",
        {
            "public_key": public,
            "created_at_us": to_us(record.created_at),
            "revoked_at_us": to_us(record.revoked_at),
        },
    )
    changes.touch(conn, b"owner key", public)
    return "stored"


_COPIED_FIELDS = {"fact_id", "category", "author_id", "client", "state", "operation_id"}


def store_proposal(target: ImportTarget, record: ProposalRecord) -> ImportOutcome:
    content = None if record.content is None else target.screen(record.content)
    return target.insert(
        "org_proposal",
        {
            **record.model_dump(include=_COPIED_FIELDS),
            "proposal_id": record.id,
            "kind": record.operation,
            "content": content,
            "tags": json.dumps(sorted(record.tags), ensure_ascii=False),
            "valid_from_us": to_us(record.valid_from_at),
            "valid_to_us": to_us(record.valid_to_at),
            "at_us": to_us(record.at),
            "decided_at_us": to_us(record.decided_at),
        },
    )


_LOADERS: Mapping[type[Record], Callable[[ImportTarget, Any], ImportOutcome]] = {
    records.AgentRecord: profile.store_agent,
    records.ClientRecord: profile.store_client,
    records.SessionRecord: profile.store_session,
    records.TextRecord: profile.store_text,
    records.MessageRecord: profile.store_message,
    records.MemoryRecord: arrived.store_memory,
    records.VersionRecord: arrived.store_version,
    records.DerivedRecord: arrived.store_derived,
    records.TurnRecord: arrived.store_turn,
    records.SlotRecord: arrived.store_slot,
    records.PreferenceRecord: profile.store_preference,
    records.FileRecord: arrived.store_file,
    records.LearningRecord: profile.store_learning,
    records.PatternRecord: profile.store_pattern,
    records.RulesRecord: store_rules,
    records.OwnerKeyRecord: store_owner_key,
    records.OperationRecord: store_operation,
    records.ProposalRecord: store_proposal,
    records.ForgottenRecord: arrived.store_forgotten,
}
