"""Archive memories, list archived ones and restore them (SPEC 16.13, D21).

``restore`` returns an archived memory and changes nothing. ``restore_to_hot`` makes it an ordinary
memory again, with the same id and text. Both accept the id of the memory or its archival id. An
agent sees, counts and restores only its own archived memories.
"""

from __future__ import annotations

from dataclasses import dataclass

from memd.archive.authorship import check_may_change
from memd.archive.quarantine import agent_filter, screen_restored
from memd.base.clock import Clock, from_us
from memd.base.errors import MemoryNotFoundError
from memd.base.ids import Ids
from memd.domain.caller import Caller
from memd.domain.enums import VISIBLE, ArchiveReason
from memd.domain.memory import MemoryEntry, MemoryQuery
from memd.domain.removal import ArchivedMemory
from memd.domain.sleep.consolidation import ArchivalMode
from memd.guard.redaction import redact_entry
from memd.store.access import names
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.memory import archive_rows, filters, memories, removal
from memd.store.memory.archive_rows import ArchivedRow
from memd.store.memory.rows import StoredMemory

STEP_ROWS = 64  # memories that one transaction restores


@dataclass(frozen=True)
class Archive:
    """The archive of one database."""

    db: Database
    clock: Clock
    ids: Ids

    async def search(self, caller: Caller, query: MemoryQuery) -> tuple[ArchivedMemory, ...]:
        """Return archived memories: by full-text search if the query has a text, else newest first.

        At most ``query.limit``.
        """
        now_us = self.clock.now_us()

        def work(conn: Reading) -> tuple[ArchivedMemory, ...]:
            agent_key = names.agent_key(conn, caller.agent_id)
            condition = filters.bind(agent_key, query, now_us, only_hidden=True)
            rows = archive_rows.search(conn, condition, query.text, query.limit)
            return tuple(_to_archived(row, archive_row) for row, archive_row in rows)

        return await self.db.read(work)

    async def restore(self, caller: Caller, entry_id: str) -> ArchivedMemory:
        """Return an archived memory, which stays archived. Raises MemoryNotFoundError."""

        def work(conn: Reading) -> ArchivedMemory | None:
            key = _find(conn, caller, entry_id, self.clock.now_us())
            if key is None:
                return None
            return _to_archived(memories.by_key(conn, key), archive_rows.rows_of(conn, [key])[key])

        memory = await self.db.read(work)
        if memory is None:
            raise _not_found()
        return memory

    async def restore_to_hot(self, caller: Caller, entry_id: str) -> MemoryEntry:
        """Make an archived memory an ordinary one again, with the same text, and return it.

        A turn in passing is promoted to an ordinary memory. Raises MemoryNotFoundError. A repeated
        call with the same idempotency key returns the same memory.
        """

        def work(conn: Writing) -> str:
            return restore_memory(conn, caller, entry_id, self.clock.now_us())

        memory_id = await self.db.write(caller, work, reply=str)

        def read(conn: Reading) -> MemoryEntry:
            row = memories.of_agent(conn, caller.agent_id, memory_id)
            if row is None:
                raise _not_found()
            return redact_entry(row.entry())

        return await self.db.read(read)

    async def list_below_threshold(
        self, caller: Caller, after: str | None, limit: int, *, everybody: bool = False
    ) -> tuple[tuple[ArchivedMemory, ...], str | None]:
        """Return a page of memories below the importance threshold, newest first, and a cursor.

        Of the caller's agent, or of all agents with *everybody*, as ``agent_filter`` permits.
        """

        def work(conn: Reading) -> tuple[tuple[ArchivedMemory, ...], str | None]:
            agent_key = agent_filter(conn, caller, everybody=everybody)
            keys = archive_rows.list_below_threshold(
                conn, agent_key, after, self.clock.now_us(), limit + 1
            )
            rows, archived = memories.by_keys(conn, keys), archive_rows.rows_of(conn, keys)
            page = tuple(
                _to_archived(rows[key], archived[key]) for key in keys[:limit] if key in rows
            )
            following = (
                memories.row_hashes(conn, [keys[limit - 1]])[0][1] if len(keys) > limit else None
            )
            return page, following

        return await self.db.read(work)

    async def restore_below_threshold(self, caller: Caller, *, everybody: bool = False) -> int:
        """Make every memory below the threshold an ordinary one again; return the number.

        Each STEP_ROWS memories are one transaction; after a crash, the same call restores the
        remaining ones. *everybody* is as for :meth:`list_below_threshold`.
        """

        def step(conn: Writing) -> int:
            agent_key = agent_filter(conn, caller, everybody=everybody)
            now_us = self.clock.now_us()
            keys = archive_rows.list_below_threshold(conn, agent_key, None, now_us, STEP_ROWS)
            for key in keys:
                removal.restore(conn, key, now_us)
                screen_restored(conn, key, now_us)
            return len(keys)

        restored = 0
        while count := await self.db.write(caller, step):
            restored += count
        return restored

    async def move_to_archive(self, caller: Caller, memory_id: str) -> str | None:
        """Archive a memory and return its archival id; return None for an unknown id.

        A memory in the trash is restored from it first. An archived one is not changed. Raises
        DeniedError as ``check_may_change`` does.
        """

        def work(conn: Writing) -> str:
            row = memories.of_agent(conn, caller.agent_id, memory_id)
            if row is None:
                return ""
            check_may_change(conn, caller, [row.memory_key])
            return archive_memory(conn, row.memory_key, self.clock.now_us(), self.ids)

        return await self.db.write(caller, work, reply=str) or None

    async def count(self, caller: Caller) -> int:
        def work(conn: Reading) -> int:
            agent_key = names.find_agent(conn, caller.agent_id)
            return archive_rows.count_archived(conn, agent_key, self.clock.now_us())

        return await self.db.read(work)


def archive_memory(conn: Writing, key: int, now_us: int, ids: Ids) -> str:
    """Archive a memory, restoring it from the trash if needed, and return its archival id."""
    removal.restore_from_trash(conn, key, now_us)
    if key not in archive_rows.rows_of(conn, [key]):
        removal.archive(conn, [key], ArchiveReason.MANUAL, now_us, new_id=ids.new)
    return archive_rows.rows_of(conn, [key])[key].archival_id


def restore_memory(conn: Writing, caller: Caller, entry_id: str, now_us: int) -> str:
    """Make an archived memory, or a turn in passing, an ordinary one; return the memory's id.

    Raises MemoryNotFoundError for any other id.
    """
    key = _find(conn, caller, entry_id, now_us)
    if key is None:
        key = _find_passing(conn, caller, entry_id, now_us)
    elif not removal.restore(conn, key, now_us):
        raise _not_found()
    removal.promote(conn, [key])
    screen_restored(conn, key, now_us)
    return memories.by_key(conn, key).memory_id


def _to_archived(row: StoredMemory, archive_row: ArchivedRow) -> ArchivedMemory:
    return ArchivedMemory(
        archival_id=archive_row.archival_id,
        reason=ArchiveReason(archive_row.reason),
        archived_at=from_us(archive_row.archived_at_us),
        mode=ArchivalMode.ABSTRACTIVE if archive_row.abstracted else ArchivalMode.EXTRACTIVE,
        entry=redact_entry(row.entry()),
    )


def _find(conn: Reading, caller: Caller, entry_id: str, now_us: int) -> int | None:
    return archive_rows.find(conn, names.find_agent(conn, caller.agent_id), entry_id, now_us)


def _find_passing(conn: Reading, caller: Caller, memory_id: str, now_us: int) -> int:
    """Return the key of a visible turn in passing by its id. Raises MemoryNotFoundError."""
    row = memories.of_agent(conn, caller.agent_id, memory_id)
    if row is None or row.passing is None or row.state not in VISIBLE or row.is_expired(now_us):
        raise _not_found()
    return row.memory_key


def _not_found() -> MemoryNotFoundError:
    return MemoryNotFoundError(
        "no such memory in the archive", field="id", hint="archive.search lists what is in it"
    )
