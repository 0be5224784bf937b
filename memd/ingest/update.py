"""Changing a memory: the row is rewritten, the version before is kept (SPEC D21)."""

from __future__ import annotations

from typing import NamedTuple

from memd.base.clock import to_us
from memd.base.errors import DeniedError, MemoryNotFoundError, MemoryStoreError
from memd.domain.caller import Caller
from memd.domain.encoding import TokenCounter
from memd.domain.enums import Origin, Trust
from memd.domain.memory import MemoryUpdate, distinct
from memd.domain.trust import NOTHING, TRUST, Screened, SecretsPolicy, Suspicion, is_quarantined
from memd.guard.secrets import admit, screen_name
from memd.guard.suspicion import suspicion
from memd.store.access import names
from memd.store.file.connect import Reading, Writing
from memd.store.memory import flagged, memories, preferences, removal, versions
from memd.store.memory.rows import StoredMemory
from memd.store.memory.versions import NewVersion
from memd.store.session import passing


class AdmittedUpdate(NamedTuple):
    """An update as it may be stored: its content, if it has one, admitted and counted."""

    update: MemoryUpdate
    content: Screened | None
    token_count: int
    seen: Suspicion = NOTHING
    occurred_at_us: int | None = None
    """When it was so that the new words say, where that is another time."""


def admitted_update(
    update: MemoryUpdate, counter: TokenCounter, secrets: SecretsPolicy
) -> AdmittedUpdate:
    """Return what *update* comes to; its text as it is but for secrets, like memory.store."""
    if update.content is None:
        return AdmittedUpdate(update, None, 0)
    content = admit(update.content, secrets).text
    return AdmittedUpdate(update, content, max(1, counter.count(content)), suspicion(content))


def change(
    conn: Writing,
    caller: Caller,
    memory_id: str,
    change_request: AdmittedUpdate,
    now_us: int,
) -> str:
    """Rewrite a memory inside a transaction and return its id.

    New content waits for a new vector (state pending) and is findable by its
    new words at once; what is not named stays.
    """
    agent_key = names.find_agent(conn, caller.agent_id)
    row = _visible(conn, agent_key, memory_id, now_us)
    if change_request.content is not None:
        refuse_others(conn, caller, row, change_request.update.origin)
    update, content, tokens, seen, occurred_at_us = change_request
    expires_at_us = _expiry_us(row, update, now_us)
    if content is not None:
        passing.promote(conn, [row.memory_key])  # whoever edits it, means it
    if content is not None and not row.is_summary:
        # Summaries say what it no longer says. What they were made from comes back from
        # behind them, so nothing is lost with them.
        removal.erase(conn, removal.restore_sources(conn, [row.memory_key], now_us), now_us)
    tags, reference, confidence = _metadata(row, update)
    words = None if content == row.content else content
    origin, trust = _provenance(row, update if words is not None else None)
    new = NewVersion(
        content=words,
        token_count=row.token_count if content is None else tokens,
        reference=reference,
        confidence=confidence,
        tags=tags,
        expires_at_us=expires_at_us,
        origin=origin,
        trust=trust,
        occurred_at_us=occurred_at_us,
    )
    versions.replace(conn, row.memory_key, new, now_us)
    if trust < row.trust:
        preferences.erase_of(conn, [row.memory_key])  # nobody but the owner says what he prefers
    if words is not None:
        by = names.ensure_client(conn, caller.client, now_us)
        confirmed_us = now_us if caller.is_known else None
        preferences.set_origin(conn, row.memory_key, origin, by, confirmed_us)
        if is_quarantined(seen, origin):
            flagged.quarantine(conn, row.memory_key, sorted(seen.flags), now_us)
        elif seen.flags:
            flagged.flag(conn, row.memory_key, sorted(seen.flags), None, now_us)
    return memory_id


def _visible(conn: Reading, agent_key: int | None, memory_id: str, now_us: int) -> StoredMemory:
    row = None if agent_key is None else memories.by_id(conn, agent_key, memory_id)
    if row is None or row.state not in {"active", "pending"} or _expired(row, now_us):
        raise MemoryNotFoundError("no such memory", field="id")
    return row


def refuse_others(conn: Reading, caller: Caller, row: StoredMemory, origin: Origin | None) -> None:
    """Raise DeniedError where words of the owner's would be replaced by somebody else's.

    His own commands may, and the client that brought them, in his name. What another one has
    to say is a memory of its own; nothing is lost with that. A summary is nobody's words, and
    what it stands for is behind it.
    """
    if caller.is_owner or row.is_summary or Origin(row.origin) is not Origin.PERSON:
        return
    brought = memories.client_of(conn, row.memory_key) == caller.client
    known = caller.is_known or not preferences.states_confirmed(conn, row.memory_key)
    if origin in {None, Origin.PERSON} and brought and known:
        return
    raise DeniedError(
        "a person said this: nobody else replaces it",
        field="id",
        hint='store what is to be said as a memory of its own, or ask the owner: "memd edit"',
    )


def _expiry_us(row: StoredMemory, update: MemoryUpdate, now_us: int) -> int | None:
    """Return when the memory expires from now on; raises MemoryStoreError for a time gone by."""
    if update.expires_at is None:
        return row.expires_at_us
    expires_at_us = to_us(update.expires_at)
    if expires_at_us <= now_us:
        raise MemoryStoreError("expires_at has passed", field="expires_at")
    if expires_at_us < row.created_at_us:
        # The clock was set back since: such a row could not be read as an entry.
        raise MemoryStoreError("expires_at is before the memory was made", field="expires_at")
    return expires_at_us


def _metadata(row: StoredMemory, update: MemoryUpdate) -> tuple[tuple[str, ...], str | None, float]:
    """Return tags, reference and confidence as they will be."""
    metadata = update.metadata
    if metadata is None:
        return row.tag_names, row.reference, row.confidence
    tags = distinct(tuple(screen_name(tag) for tag in metadata.tags))
    return (
        tags,
        None if metadata.source is None else screen_name(metadata.source),
        metadata.confidence,
    )


def _provenance(row: StoredMemory, update: MemoryUpdate | None) -> tuple[Origin, Trust]:
    """Return whose words the memory is then: of those before and of the new, the less trusted."""
    origin, trust = Origin(row.origin), Trust(row.trust)
    if update is None:
        return origin, trust
    by = update.origin or (origin if origin is Origin.PERSON else Origin.ASSISTANT)
    return (origin, trust) if TRUST[by] > trust else (by, TRUST[by])


def _expired(row: StoredMemory, now_us: int) -> bool:
    return row.expires_at_us is not None and row.expires_at_us <= now_us
