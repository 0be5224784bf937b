"""Import agents, clients, sessions, messages, source texts, preferences, learnings and patterns."""

from __future__ import annotations

import hashlib
import zlib

from memd.base.clock import from_us, to_us
from memd.base.errors import NotFoundError
from memd.domain.org.access import KeyedClient
from memd.domain.transfer import (
    AgentRecord,
    ClientRecord,
    LearningRecord,
    MessageRecord,
    PatternRecord,
    PreferenceRecord,
    SessionRecord,
    TextRecord,
)
from memd.store.access import agents, clients, names
from memd.store.access.agents import AgentRow
from memd.store.access.deletions import is_deleted_since
from memd.store.learn import learnings, playbook
from memd.store.learn.learnings import LEARNINGS, PATTERNS, NewLearning
from memd.store.memory import memories, preferences, sources
from memd.store.memory.preferences import NewPreference
from memd.store.session import message_index
from memd.store.transfer.target import (
    ImportOutcome,
    ImportTarget,
    ensure_client,
    find_source,
)


def store_agent(target: ImportTarget, record: AgentRecord) -> ImportOutcome:
    """Create and configure an agent, unless it has a configuration here."""
    current = agents.find_configuration(target.conn, record.agent_id)
    key = names.ensure_agent(target.conn, record.agent_id, to_us(record.created_at))
    if current is not None and (
        current.level or current.retention_days or current.retention_overrides
    ):
        return "known"
    overrides = {category.value: days for category, days in record.retention_overrides.items()}
    row = AgentRow(record.agent_id, record.level, record.retention_days, overrides)
    if current == row:
        return "known"
    agents.configure(target.conn, key, row)
    return "stored"


def store_client(target: ImportTarget, record: ClientRecord) -> ImportOutcome:
    """Store a client as one whose key was revoked, unless it has or had a key here.

    So nobody without a key may act for its agent, as where the record comes from.
    """
    if any(row.client.name == record.name for row in clients.list_clients(target.conn)):
        return "known"
    client = KeyedClient(
        name=record.name,
        agent_id=record.agent_id,
        seniority=record.seniority,
        autonomy_level=record.autonomy_level,
        scopes=frozenset(record.scopes),
        created_at=record.created_at,
        revoked_at=record.revoked_at or from_us(target.now_us),
    )
    clients.put(target.conn, client, target.salt())  # shorter than a hash, so it is of no key
    return "stored"


def store_session(target: ImportTarget, record: SessionRecord) -> ImportOutcome:
    """Store a session, unless it exists."""
    at_us = to_us(record.started_at)
    agent_key = names.ensure_agent(target.conn, record.agent_id, at_us)
    if names.find_session(target.conn, agent_key, record.session_id) is not None:
        return "known"
    session_key = names.ensure_session(
        target.conn,
        record.session_id,
        agent_key=agent_key,
        client_key=ensure_client(target.conn, record.client, at_us),
        project_key=names.ensure_project(target.conn, record.project_id, at_us),
        now_us=at_us,
    )
    target.conn.execute(
        """
        UPDATE session
           SET last_activity_us = :last_us, ended_at_us = :ended_us, compressed = :compressed,
               heard = :heard
         WHERE session_key = :session_key
        """,
        {
            "session_key": session_key,
            "last_us": to_us(record.last_activity_at),
            "ended_us": to_us(record.ended_at),
            "compressed": record.compressed,
            "heard": record.heard,
        },
    )
    return "stored"


def store_text(target: ImportTarget, record: TextRecord) -> ImportOutcome:
    """Screen and store a source text, unless it exists; skip it if it was forgotten here."""
    at_us = to_us(record.created_at)
    agent_key = names.ensure_agent(target.conn, record.agent_id, at_us)
    raw = target.screen(record.text).encode()
    digest = hashlib.sha256(raw).digest()
    if find_source(target.conn, agent_key, digest.hex()) is not None:
        return "known"
    if sources.is_forgotten(target.conn, agent_key, digest):
        return "skipped"
    session_key = names.find_session(target.conn, agent_key, record.session_id)
    sources.put(target.conn, agent_key, session_key, digest, zlib.compress(raw), at_us)
    return "stored"


def store_message(target: ImportTarget, record: MessageRecord) -> ImportOutcome:
    """Store a message and index it; skip it if its text was forgotten here.

    Raises NotFoundError if its session or text does not exist.
    """
    agent_key = names.agent_key(target.conn, record.agent_id)
    session_key = names.find_session(target.conn, agent_key, record.session_id)
    source_key = find_source(target.conn, agent_key, record.sha256)
    if source_key is None and sources.is_forgotten(
        target.conn, agent_key, bytes.fromhex(record.sha256)
    ):
        return "skipped"
    if session_key is None or source_key is None:
        raise NotFoundError("its session or its text is not there")
    new = message_index.find_new(target.conn, [source_key])
    outcome = target.insert(
        "session_message",
        {
            "session_key": session_key,
            "ordinal": record.ordinal,
            "source_key": source_key,
            "nth": record.nth,
            "role": record.role,
            "said_at_us": to_us(record.said_at),
        },
    )
    if outcome == "stored":
        message_index.index(target.conn, new)
        target.conn.execute(  # a session that was here may have had fewer; the next nap appends
            "UPDATE session SET heard = max(heard, :ordinal + 1) WHERE session_key = :session_key",
            {"ordinal": record.ordinal, "session_key": session_key},
        )
    return outcome


def store_preference(target: ImportTarget, record: PreferenceRecord) -> ImportOutcome:
    """Store a preference, unless the existing one is newer, or is confirmed and this one is not.

    Skip it if it was deleted here since.
    """
    created_us, updated_us = to_us(record.created_at), to_us(record.updated_at)
    agent_key = names.ensure_agent(target.conn, record.agent_id, created_us)
    params = {"agent_key": agent_key, "name": record.name}
    current = preferences.find(target.conn, agent_key, record.name)
    if current is not None and current.updated_at_us >= updated_us:
        return "known"
    if is_deleted_since(target.conn, "preference", agent_key, record.name, updated_us):
        return "skipped"
    new = NewPreference(
        record.name,
        target.screen(record.value),
        record.confidence,
        record.token_count,
        memories.find_key(target.conn, record.memory_id),
        target.salt(),
        record.origin,
        ensure_client(target.conn, record.client, created_us),
        to_us(record.confirmed_at),
    )
    if preferences.put(target.conn, agent_key, new, updated_us) is None:
        return "known"
    target.conn.execute(
        """
        UPDATE preference
           SET created_at_us = min(created_at_us, :created_us)
         WHERE agent_key = :agent_key AND name = :name
        """,
        {**params, "created_us": created_us},
    )
    return "stored"


def store_learning(target: ImportTarget, record: LearningRecord) -> ImportOutcome:
    """Store a learning, unless it exists; skip it if it was deleted here."""
    if target.conn.exists("SELECT 1 FROM learning WHERE learning_id = ?", (record.id,)):
        return "known"
    at_us = to_us(record.at)
    agent_key = names.ensure_agent(target.conn, record.agent_id, at_us)
    if is_deleted_since(target.conn, LEARNINGS.name, agent_key, record.id, at_us):
        return "skipped"
    new = NewLearning(
        record.id,
        record.task_type,
        record.approach,
        record.outcome,
        target.screen(record.lesson),
        target.salt(),
    )
    learnings.put(target.conn, agent_key, new, at_us)
    return "stored"


def store_pattern(target: ImportTarget, record: PatternRecord) -> ImportOutcome:
    """Store a pattern, unless the existing one is newer; skip it if it was deleted here since."""
    created_us, updated_us = to_us(record.created_at), to_us(record.updated_at)
    agent_key = names.ensure_agent(target.conn, record.agent_id, created_us)
    params = {"agent_key": agent_key, "id": record.id}
    current_us = target.conn.get_int(
        "SELECT updated_at_us FROM playbook WHERE agent_key = :agent_key AND pattern_id = :id",
        params,
    )
    if current_us is not None and current_us >= updated_us:
        return "known"
    if is_deleted_since(target.conn, PATTERNS.name, agent_key, record.id, updated_us):
        return "skipped"
    new = playbook.NewPattern(
        record.id,
        record.task_type,
        target.screen(record.description),
        record.tool_sequence,
        target.screen(record.prompt_template),
        target.salt(),
    )
    playbook.put(target.conn, agent_key, new, created_us)
    target.conn.execute(
        """
        UPDATE playbook
           SET success_count = :count, promoted = :promoted, updated_at_us = :updated_us
         WHERE agent_key = :agent_key AND pattern_id = :id
        """,
        {**params, "count": record.success_count, "promoted": record.promoted,
         "updated_us": updated_us},
    )  # fmt: skip
    return "stored"
