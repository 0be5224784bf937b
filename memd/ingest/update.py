"""Update a memory: rewrite its row and keep the previous version (SPEC D21)."""

from __future__ import annotations

from typing import NamedTuple

from memd.archive.authorship import check_may_change
from memd.base.clock import to_us
from memd.base.errors import MemoryNotFoundError, MemoryStoreError
from memd.domain.caller import Caller
from memd.domain.encoding import TokenCounter
from memd.domain.enums import VISIBLE, Origin, Trust
from memd.domain.memory import MemoryMetadata, MemoryUpdate, distinct
from memd.domain.trust import NOTHING, TRUST, Screened, SecretsPolicy, Suspicion, is_quarantined
from memd.guard.secrets import admit, screen_name
from memd.guard.suspicion import suspicion
from memd.ingest.draft import StatedPreference, preference_of
from memd.store.access import names
from memd.store.file.connect import Reading, Writing
from memd.store.memory import flagged, memories, preferences, removal, shared, versions
from memd.store.memory.rows import StoredMemory
from memd.store.memory.versions import NewVersion


class AdmittedUpdate(NamedTuple):
    """An update whose content, if any, is screened and counted."""

    update: MemoryUpdate
    content: Screened | None
    token_count: int
    signs: Suspicion = NOTHING
    occurred_at_us: int | None = None
    """The new time of the memory's content; None leaves it unchanged."""
    preference: StatedPreference | None = None
    """The preference that the new content states."""


def admit_update(
    update: MemoryUpdate, counter: TokenCounter, secrets: SecretsPolicy, now_us: int
) -> AdmittedUpdate:
    """Screen *update* for secrets and attacks; except for secrets, its text is not changed.

    Content by an assistant is dated now, since it states what holds now and readers believe the
    later of two memories. A person's edit keeps the date of the memory.
    """
    if update.content is None:
        return AdmittedUpdate(update, None, 0)
    content = admit(update.content, secrets).text
    return AdmittedUpdate(
        update,
        content,
        max(1, counter.count(content)),
        suspicion(content),
        now_us if update.origin is Origin.ASSISTANT else None,
        preference=preference_of(content, content, counter),
    )


def apply_update(
    conn: Writing,
    caller: Caller,
    memory_id: str,
    new: AdmittedUpdate,
    now_us: int,
) -> str:
    """Rewrite a memory inside a transaction and return its id.

    With new content the memory becomes pending: it waits for a vector, and full-text search finds
    it at once. Fields that are not given are unchanged. Raises MemoryNotFoundError,
    MemoryStoreError for an expiry that has passed, DeniedError as ``check_may_change`` does.
    """
    agent_key = names.find_agent(conn, caller.agent_id)
    row = _find_visible(conn, agent_key, memory_id, now_us)
    if new.content is not None or new.update.expires_at is not None:
        check_may_change(conn, caller, [row.memory_key], new.update.origin)
    update, content, tokens, signs, occurred_at_us, _ = new
    new_content = None if content == row.content else content
    expires_at_us = _expiry_us(row, update, now_us)
    if content is not None:
        removal.promote(conn, [row.memory_key])  # an edit is deliberate
    if new_content is not None and not row.is_summary:
        # Summaries of the memory are outdated: they are erased and their sources restored. A nap's
        # memory has sources too, but is no summary.
        summaries = removal.restore_sources(conn, [row.memory_key], now_us)
        removal.erase(conn, [key for key in summaries if key != row.memory_key], now_us)
    tags, reference, confidence = _metadata(row, update)
    origin, trust = _provenance(row, update if new_content is not None else None)
    version = NewVersion(
        content=new_content,
        token_count=row.token_count if content is None else tokens,
        reference=reference,
        confidence=confidence,
        tags=tags,
        expires_at_us=expires_at_us,
        origin=origin,
        trust=trust,
        occurred_at_us=occurred_at_us,
    )
    versions.replace(conn, row.memory_key, version, now_us)
    if trust < row.trust:
        # Only texts of the owner state preferences.
        preferences.erase_of(conn, [row.memory_key], now_us)
    if new_content is not None:
        _reword_preference(conn, row, new, now_us)
        client_key = names.ensure_client(conn, caller.client, now_us)
        confirmed_us = now_us if caller.is_known else None
        preferences.set_origin(conn, row.memory_key, origin, client_key, confirmed_us)
        if is_quarantined(signs, origin):
            flagged.quarantine(conn, row.memory_key, sorted(signs.flags), now_us)
        elif signs.flags:
            flagged.flag(conn, row.memory_key, sorted(signs.flags), None, now_us)
    return memory_id


def _reword_preference(conn: Writing, row: StoredMemory, new: AdmittedUpdate, now_us: int) -> None:
    """Update the value of the preference that *row* states, if any, to the new content."""
    whole = preferences.Wording(new.content or "", new.token_count)
    stated = whole if new.preference is None else preferences.Wording(*new.preference[1:])
    preferences.reword(conn, row.memory_key, row.content, whole, stated, now_us)


def _find_visible(
    conn: Reading, agent_key: int | None, memory_id: str, now_us: int
) -> StoredMemory:
    row = memories.by_id(conn, agent_key, memory_id)
    if row is None or row.state not in VISIBLE or row.is_expired(now_us):
        shared.refuse_change(conn, memory_id, now_us)
        raise MemoryNotFoundError("no such memory", field="id")
    return row


def _expiry_us(row: StoredMemory, update: MemoryUpdate, now_us: int) -> int | None:
    """Return the new expiry of the memory; raise MemoryStoreError for a time in the past."""
    if update.expires_at is None:
        return row.expires_at_us
    expires_at_us = to_us(update.expires_at)
    if expires_at_us <= now_us:
        raise MemoryStoreError("expires_at has passed", field="expires_at")
    if expires_at_us < row.created_at_us:
        # The clock was set back since the memory was made; MemoryEntry refuses such times.
        raise MemoryStoreError("expires_at is before the memory was made", field="expires_at")
    return expires_at_us


def _metadata(row: StoredMemory, update: MemoryUpdate) -> tuple[tuple[str, ...], str | None, float]:
    """Return the new tags, reference and confidence; those that are not given are unchanged."""
    metadata = MemoryMetadata() if update.metadata is None else update.metadata
    given = metadata.model_fields_set
    tags, source, confidence = row.tag_names, row.reference, row.confidence
    if "tags" in given:
        tags = distinct(tuple(screen_name(tag) for tag in metadata.tags))
    if "source" in given:
        source = None if metadata.source is None else screen_name(metadata.source)
    if "confidence" in given:
        confidence = metadata.confidence
    return tags, source, confidence


def _provenance(row: StoredMemory, update: MemoryUpdate | None) -> tuple[Origin, Trust]:
    """Return the new origin and trust: those of the less trusted of the old and new text."""
    origin, trust = Origin(row.origin), Trust(row.trust)
    if update is None:
        return origin, trust
    new_origin = update.origin or (origin if origin is Origin.PERSON else Origin.ASSISTANT)
    return (origin, trust) if TRUST[new_origin] > trust else (new_origin, TRUST[new_origin])
