"""Changing a memory: the row is rewritten, the version before is kept (SPEC D21)."""

from __future__ import annotations

from typing import NamedTuple

from memd.base.clock import to_us
from memd.base.errors import MemoryNotFoundError, MemoryStoreError
from memd.encode.secrets import admitted, screened_name
from memd.model.caller import Caller
from memd.model.encoding import TokenCounter
from memd.model.memory import MemoryUpdate, distinct
from memd.model.screened import Screened, SecretsPolicy
from memd.store import memories, names, removal, versions
from memd.store.connect import Writing
from memd.store.rows import FoundRow
from memd.store.versions import NewVersion


class Wanted(NamedTuple):
    """An update as it may be stored: its content, if it has one, admitted and counted."""

    update: MemoryUpdate
    content: Screened | None
    token_count: int


def wanted(update: MemoryUpdate, counter: TokenCounter, secrets: SecretsPolicy) -> Wanted:
    """Return what *update* comes to; its text as it is but for secrets, like memory.store."""
    if update.content is None:
        return Wanted(update, None, 0)
    content = admitted(update.content, secrets).text
    return Wanted(update, content, max(1, counter.count(content)))


def change(
    conn: Writing,
    caller: Caller,
    memory_id: str,
    wanted: Wanted,
    now_us: int,
) -> str:
    """Rewrite a memory inside a transaction and return its id.

    New content waits for a new vector (state pending) and is findable by its
    new words at once; what is not named stays.
    """
    agent_key = names.find_agent(conn, caller.agent_id)
    row = None if agent_key is None else memories.by_id(conn, agent_key, memory_id)
    if row is None or row.state not in {"active", "pending"} or _expired(row, now_us):
        raise MemoryNotFoundError("no such memory", field="id")
    update, content, tokens = wanted
    if update.expires_at is not None and to_us(update.expires_at) <= now_us:
        raise MemoryStoreError("expires_at has passed", field="expires_at")
    if update.expires_at is not None and to_us(update.expires_at) < row.created_at_us:
        # The clock was set back since: such a row could not be read as an entry.
        raise MemoryStoreError("expires_at is before the memory was made", field="expires_at")
    if content is not None and not row.is_summary:
        # Summaries say what it no longer says. What they were made from comes back from
        # behind them, so nothing is lost with them.
        removal.erase(conn, removal.uncover(conn, [row.memory_key], now_us), now_us)
    tags = row.tag_names
    reference, confidence = row.reference, row.confidence
    if update.metadata is not None:
        tags = distinct(tuple(screened_name(tag) for tag in update.metadata.tags))
        source = update.metadata.source
        reference = None if source is None else screened_name(source)
        confidence = update.metadata.confidence
    new = NewVersion(
        content=content if content is not None and content != row.content else None,
        token_count=row.token_count if content is None else tokens,
        reference=reference,
        confidence=confidence,
        tags=tags,
        expires_at_us=row.expires_at_us if update.expires_at is None else to_us(update.expires_at),
    )
    versions.replace(conn, row.memory_key, new, now_us)
    return memory_id


def _expired(row: FoundRow, now_us: int) -> bool:
    return row.expires_at_us is not None and row.expires_at_us <= now_us
