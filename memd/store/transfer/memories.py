"""Import memories with their versions, lineage, turns, slots and files."""

from __future__ import annotations

import json

from memd.base.clock import to_us
from memd.base.errors import ConflictError
from memd.domain.enums import MemoryState, Trust
from memd.domain.transfer import (
    DerivedRecord,
    FileRecord,
    ForgottenRecord,
    MemoryRecord,
    SlotRecord,
    TurnRecord,
    VersionRecord,
)
from memd.store.access import names
from memd.store.memory import memories
from memd.store.memory.rows import MemoryRow, hash_row
from memd.store.search import caches
from memd.store.transfer.target import (
    ImportOutcome,
    ImportTarget,
    ensure_client,
    find_source,
)


def store_memory(target: ImportTarget, record: MemoryRecord) -> ImportOutcome:
    """Store a memory with its rows in other tables; skip it if it was forgotten here."""
    if memories.find_key(target.conn, record.id) is not None:
        return "known"
    if target.conn.exists("SELECT 1 FROM forgotten WHERE memory_id = ?", (record.id,)):
        return "skipped"
    row = _row(target, record)._replace(passing=record.passing)
    (key,) = memories.insert_bare(target.conn, [row], row.created_at_us)
    values = {
        name: to_us(value) if hasattr(value, "tzinfo") else value
        for name, value in record
        if not isinstance(value, tuple)
    }
    target.conn.execute(
        "UPDATE memory SET updated_at_us = :updated_at WHERE memory_key = :key",
        {"updated_at": values["updated_at"], "key": key},
    )
    for field, statement in _SIDE_TABLES.items():
        if values.get(field) is not None:
            target.conn.execute(statement, {**values, "key": key, "flags": _flags(record)})
    if record.publisher is not None:
        publisher_key = names.ensure_agent(target.conn, record.publisher, row.created_at_us)
        target.conn.insert("shared", {"memory_key": key, "publisher_key": publisher_key})
    target.unindexed.append(key)
    return "stored"


def store_version(target: ImportTarget, record: VersionRecord) -> ImportOutcome:
    """Store an earlier version of a memory; skip it if the memory does not exist."""
    keys = target.conn.execute(
        "SELECT memory_key, agent_key FROM memory WHERE memory_id = ?", (record.id,)
    ).fetchone()
    if keys is None:
        return "skipped"
    key, agent_key = keys
    assert isinstance(agent_key, int)
    row = _immutable_row(target, record, agent_key)
    columns = row.hashed_columns
    return target.insert(
        "memory_version",
        {
            "memory_key": key,
            "version": record.version,
            "snapshot": json.dumps([*columns, list(row.tags)], ensure_ascii=False),
            "row_hash": hash_row(columns, row.tags),
            "replaced_at_us": to_us(record.replaced_at),
        },
    )


def store_derived(target: ImportTarget, record: DerivedRecord) -> ImportOutcome:
    """Store the link from a source to its summary; skip it unless both exist."""
    summary = memories.find_key(target.conn, record.summary)
    source = memories.find_key(target.conn, record.source)
    if summary is None or source is None:
        return "skipped"
    if target.conn.exists(
        "SELECT 1 FROM derived WHERE from_key = ? AND to_key = ?", (source, summary)
    ):
        return "known"
    with caches.reindexing(target.conn, [source]):  # its cache part depends on this row
        target.conn.insert("derived", {"from_key": source, "to_key": summary})
    return "stored"


def store_turn(target: ImportTarget, record: TurnRecord) -> ImportOutcome:
    """Store a message that a memory was made of; skip it if the memory does not exist."""
    key = memories.find_key(target.conn, record.memory_id)
    if key is None:
        return "skipped"
    agent_key = target.conn.get_int("SELECT agent_key FROM memory WHERE memory_key = ?", (key,))
    source_key = find_source(target.conn, agent_key, record.sha256)
    row = {"memory_key": key, "ordinal": record.ordinal, "source_key": source_key}
    return target.insert("memory_turn", row)


def store_slot(target: ImportTarget, record: SlotRecord) -> ImportOutcome:
    """Store the slot of a nap's memory; skip it if its session or memory does not exist."""
    session_key = names.find_session(
        target.conn, names.find_agent(target.conn, record.agent_id), record.session_id
    )
    key = memories.find_key(target.conn, record.memory_id)
    if session_key is None or (record.memory_id is not None and key is None):
        return "skipped"
    if target.conn.exists(
        """
        SELECT 1
          FROM nap_slot
         WHERE session_key = :session_key AND slot = :slot AND memory_key IS :memory_key
        """,
        {"session_key": session_key, "slot": record.slot, "memory_key": key},
    ):
        return "known"
    target.conn.execute(
        """
        INSERT INTO nap_slot (session_key, slot, memory_key, row_hash)
        VALUES (:session_key, :slot, :memory_key,
                iif(:as_written, (SELECT row_hash FROM memory WHERE memory_key = :memory_key),
                    NULL))
        """,
        {
            "session_key": session_key,
            "slot": record.slot,
            "memory_key": key,
            "as_written": record.as_written,
        },
    )
    return "stored"


def store_file(target: ImportTarget, record: FileRecord) -> ImportOutcome:
    """Store a path of the file view; skip it if its agent or memory does not exist."""
    agent_key = names.find_agent(target.conn, record.agent_id)
    key = memories.find_key(target.conn, record.memory_id)
    if agent_key is None or (record.memory_id is not None and key is None):
        return "skipped"
    return target.insert(
        "memory_file",
        {"agent_key": agent_key, "path": record.path, "memory_key": key, "blank": record.blank},
    )


def store_forgotten(target: ImportTarget, record: ForgottenRecord) -> ImportOutcome:
    """Store that a memory was forgotten; raises ConflictError if the memory exists here."""
    if memories.find_key(target.conn, record.id) is not None:
        raise ConflictError(
            "it was forgotten there and is still remembered here",
            hint=f"memd forget {record.id}",
        )
    return target.insert(
        "forgotten", {"memory_id": record.id, "forgotten_at_us": to_us(record.forgotten_at)}
    )


def _row(target: ImportTarget, record: MemoryRecord) -> MemoryRow:
    created_us = to_us(record.created_at)
    agent_key = names.ensure_agent(target.conn, record.agent_id, created_us)
    return _immutable_row(target, record, agent_key)._replace(
        source_key=find_source(target.conn, agent_key, record.sha256),
        state=record.state,
        expires_at_us=to_us(record.expires_at),
    )


def _immutable_row(
    target: ImportTarget, record: MemoryRecord | VersionRecord, agent_key: int
) -> MemoryRow:
    created_us = to_us(record.created_at)
    client_key = ensure_client(target.conn, record.client, created_us)
    project_key = names.ensure_project(target.conn, record.project_id, created_us)
    return MemoryRow(
        memory_id=record.id,
        agent_key=agent_key,
        client_key=client_key,
        session_key=names.ensure_session(
            target.conn,
            record.session_id,
            agent_key=agent_key,
            client_key=client_key,
            project_key=project_key,
            now_us=created_us,
        ),
        project_key=project_key,
        source_key=None,
        namespace=record.namespace,
        category=record.category,
        level=record.level,
        origin=record.origin,
        trust=Trust(record.trust),
        speaker=record.speaker,
        content=target.screen(record.content),
        caption=None if record.caption is None else target.screen(record.caption),
        reference=record.reference,
        ordinal=record.ordinal,
        part=record.part,
        batch=record.batch,
        token_count=record.token_count,
        importance=record.importance,
        confidence=record.confidence,
        created_at_us=created_us,
        occurred_at_us=to_us(record.occurred_at),
        salt=target.salt(),
        state=MemoryState.ACTIVE,  # unused for a version
        expires_at_us=None,
        tags=record.tags,
        is_summary=bool(record.is_summary),
        as_is=bool(record.as_is),
    )


# The statement for a row of another table, by the field that a record with such a row has.
_SIDE_TABLES = {
    "access_count": """
        INSERT INTO memory_use (memory_key, access_count, last_access_us)
        VALUES (:key, :access_count, :last_access_at)
        """,
    "archival_id": """
        INSERT INTO archive (memory_key, archival_id, reason, state_before, run, archived_at_us)
        VALUES (:key, :archival_id,
                iif(:archive_reason = 'consolidated' AND :archive_run IS NULL, 'manual',
                    :archive_reason), -- exports of schema 5 and earlier have no reason 'manual'
                :archive_state_before, :archive_run, :archived_at)
        """,
    "trash_reason": """
        INSERT INTO trash (memory_key, reason, state_before, deleted_at_us, erase_after_us)
        VALUES (:key, :trash_reason, :trash_state_before, :deleted_at, :erase_after_at)
        """,
    "flagged_at": """
        INSERT INTO flagged (memory_key, flags, state_before, flagged_at_us, released_at_us)
        VALUES (:key, :flags, :flagged_state_before, :flagged_at, :released_at)
        """,
}


def _flags(record: MemoryRecord) -> str | None:
    return None if record.flags is None else json.dumps(sorted(record.flags))
