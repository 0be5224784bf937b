"""The archive: what was put away for good, looked at and brought back (SPEC 16.13, D21).

Two ways back, and they are not the same. ``restore`` shows a memory as it is
kept and changes nothing; ``restore_to_hot`` makes it an ordinary memory again,
under its own id and byte for byte. Either id names it: the one it has always
had, or the one under which it was put away. Nobody sees, counts or brings back
what another agent put away.

:class:`OwnArchive` is the same archive as the documents' ``ArchivalStore``, for
a program that works with a backend.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memd.archive.quarantine import look_again
from memd.base.clock import Clock, from_us
from memd.base.errors import MemoryNotFoundError, MemoryStoreError
from memd.base.ids import Ids
from memd.domain.caller import Caller
from memd.domain.enums import VISIBLE, ArchiveReason
from memd.domain.memory import MemoryEntry, MemoryQuery
from memd.domain.removal import ArchivedMemory
from memd.domain.sleep.consolidation import ArchivalEntry, ArchivalMode, archival_entry
from memd.guard.redaction import redact_entry
from memd.store.access import names
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.memory import archive_rows, filters, memories, removal
from memd.store.memory.archive_rows import ArchivedRow
from memd.store.memory.rows import StoredMemory
from memd.store.session import passing

STEP_ROWS = 64


@dataclass(frozen=True)
class Archival:
    """The room's needs, handed in by whoever opens the file."""

    db: Database
    clock: Clock
    ids: Ids

    async def search(self, caller: Caller, query: MemoryQuery) -> tuple[ArchivedMemory, ...]:
        """Return what lies in the archive, by words with text, newest first without."""
        now_us = self.clock.now_us()

        def work(conn: Reading) -> tuple[ArchivedMemory, ...]:
            agent_key = names.find_agent(conn, caller.agent_id)
            if agent_key is None:
                return ()
            condition = filters.bind(agent_key, query, now_us, only_hidden=True)
            rows = archive_rows.search(conn, condition, query.text, query.limit)
            return tuple(_shown(row, away) for row, away in rows)

        return await self.db.read(work)

    async def restore(self, caller: Caller, entry_id: str) -> ArchivedMemory:
        """Return an archived memory; it stays where it is. Raises MemoryNotFoundError."""

        def work(conn: Reading) -> ArchivedMemory | None:
            key = _find(conn, caller, entry_id, self.clock.now_us())
            if key is None:
                return None
            return _shown(memories.by_key(conn, key), archive_rows.rows_of(conn, [key])[key])

        memory = await self.db.read(work)
        if memory is None:
            raise _unknown()
        return memory

    async def restore_to_hot(self, caller: Caller, entry_id: str) -> MemoryEntry:
        """Make an archived memory an ordinary one again, byte for byte, and return it.

        A turn in passing, which is kept apart, becomes one, too. Raises
        MemoryNotFoundError. A repetition under the same idempotency key has the first
        one's answer.
        """

        def work(conn: Writing) -> str:
            return back_from_archive(conn, caller, entry_id, self.clock.now_us())

        memory_id = await self.db.write(caller, work, reply=str)

        def read(conn: Reading) -> MemoryEntry:
            agent_key = names.find_agent(conn, caller.agent_id)
            row = None if agent_key is None else memories.by_id(conn, agent_key, memory_id)
            if row is None:
                raise _unknown()
            return redact_entry(row.entry())

        return await self.db.read(read)

    async def turned_away(
        self, caller: Caller, after: str | None, limit: int, *, everybody: bool = False
    ) -> tuple[tuple[ArchivedMemory, ...], str | None]:
        """Return a page of what the gate of importance turned away, the newest first.

        Of the caller's agent, or with *everybody* of all: a client whose key names its
        agent has its own, and so has one without a key as soon as some agent has one.
        """

        def work(conn: Reading) -> tuple[tuple[ArchivedMemory, ...], str | None]:
            meant = _meant(conn, caller, everybody=everybody)
            keys = archive_rows.list_below_threshold(
                conn, meant, after, self.clock.now_us(), limit + 1
            )
            rows, away = memories.by_keys(conn, keys), archive_rows.rows_of(conn, keys)
            shown = tuple(_shown(rows[key], away[key]) for key in keys[:limit] if key in rows)
            following = (
                memories.row_hashes(conn, [keys[limit - 1]])[0][1] if len(keys) > limit else None
            )
            return shown, following

        return await self.db.read(work)

    async def restore_turned_away(self, caller: Caller, *, everybody: bool = False) -> int:
        """Make everything that was turned away an ordinary memory again; returns how many.

        In small steps, each a transaction: after a crash the same call does the rest.
        *everybody* as for :meth:`turned_away`.
        """

        def step(conn: Writing) -> int:
            meant = _meant(conn, caller, everybody=everybody)
            now_us = self.clock.now_us()
            keys = archive_rows.list_below_threshold(conn, meant, None, now_us, STEP_ROWS)
            for key in keys:
                removal.restore(conn, key, now_us)
                look_again(conn, key, now_us)
            return len(keys)

        done = 0
        while count := await self.db.write(caller, step):
            done += count
        return done

    async def move_to_archive(
        self, caller: Caller, memory_id: str, reason: ArchiveReason
    ) -> str | None:
        """Put a memory into the archive and return its archival id; None when there is none.

        What lies in the trash because it was deleted comes out of it; what is in the
        archive already stays as it is. One transaction.
        """

        def work(conn: Writing) -> str:
            agent_key = names.find_agent(conn, caller.agent_id)
            row = None if agent_key is None else memories.by_id(conn, agent_key, memory_id)
            if row is None:
                return ""
            return into_archive(conn, row.memory_key, reason, self.clock.now_us(), self.ids)

        return await self.db.write(caller, work, reply=str) or None

    async def count(self, caller: Caller) -> int:
        """Return how many of the agent's memories are in the archive."""

        def work(conn: Reading) -> int:
            agent_key = names.find_agent(conn, caller.agent_id)
            if agent_key is None:
                return 0
            return removal.count_archived(conn, agent_key, self.clock.now_us())

        return await self.db.read(work)


def into_archive(conn: Writing, key: int, reason: ArchiveReason, now_us: int, ids: Ids) -> str:
    """Put a memory that exists into the archive, out of the trash if need be; its id there."""
    removal.restore_from_trash(conn, key, now_us)
    if key not in archive_rows.rows_of(conn, [key]):
        removal.archive(conn, [key], reason, now_us, new_id=ids.new)
    return archive_rows.rows_of(conn, [key])[key].archival_id


def back_from_archive(conn: Writing, caller: Caller, entry_id: str, now_us: int) -> str:
    """Make an archived memory an ordinary one again; its own id. Raises MemoryNotFoundError.

    So does a turn in passing become one, which is kept apart and not in the archive.
    """
    key = _find(conn, caller, entry_id, now_us)
    if key is None:
        key = _passing(conn, caller, entry_id, now_us)
    elif not removal.restore(conn, key, now_us):
        raise _unknown()
    passing.promote(conn, [key])
    look_again(conn, key, now_us)
    return memories.by_key(conn, key).memory_id


@dataclass(frozen=True)
class OwnArchive:
    """The documents' ``ArchivalStore`` over memd's own file.

    *room* is asked at each call, so that a backend which is not connected can say
    so. What is archived must be a memory of this file: it is put away there, in one
    transaction, and never copied.
    """

    room: Callable[[], Archival]

    async def archive(self, entry: ArchivalEntry) -> str:
        """Put the memory that *entry* is of away, and return its archival id.

        Raises MemoryStoreError when the file has no such memory, or another one under
        its id.
        """
        room, caller = self.room(), Caller(agent_id=entry.agent_id)
        archival_id = await room.move_to_archive(
            caller, entry.original_id, ArchiveReason.CONSOLIDATED
        )
        if archival_id is None:
            raise MemoryStoreError(
                "only what this store holds can be put into its archive", field="original_id"
            )
        return archival_id

    async def search(self, agent_id: str, query: MemoryQuery) -> tuple[ArchivalEntry, ...]:
        answer = await self.room().search(Caller(agent_id=agent_id), query)
        return tuple(as_documented(each) for each in answer)

    async def restore(self, agent_id: str, entry_id: str) -> ArchivalEntry | None:
        """Return an archived memory, None when it is unknown or another's; it stays there."""
        try:
            return as_documented(await self.room().restore(Caller(agent_id=agent_id), entry_id))
        except MemoryNotFoundError:
            return None

    async def restore_to_hot(self, agent_id: str, entry_id: str) -> MemoryEntry | None:
        """Make an archived memory an ordinary one again; None when there is none."""
        try:
            return await self.room().restore_to_hot(Caller(agent_id=agent_id), entry_id)
        except MemoryNotFoundError:
            return None

    async def count(self, agent_id: str) -> int:
        return await self.room().count(Caller(agent_id=agent_id))


def as_documented(memory: ArchivedMemory) -> ArchivalEntry:
    """Return an archived memory as the documents have it (SPEC 16.13)."""
    return archival_entry(memory.entry, memory.mode, memory.archived_at)


def _shown(row: StoredMemory, away: ArchivedRow) -> ArchivedMemory:
    return ArchivedMemory(
        archival_id=away.archival_id,
        reason=ArchiveReason(away.reason),
        archived_at=from_us(away.archived_at_us),
        mode=ArchivalMode.ABSTRACTIVE if away.abstracted else ArchivalMode.EXTRACTIVE,
        entry=redact_entry(row.entry()),
    )


def _find(conn: Reading, caller: Caller, entry_id: str, now_us: int) -> int | None:
    agent_key = names.find_agent(conn, caller.agent_id)
    return None if agent_key is None else archive_rows.find(conn, agent_key, entry_id, now_us)


def _passing(conn: Reading, caller: Caller, memory_id: str, now_us: int) -> int:
    """Return a visible turn in passing by its id. Raises MemoryNotFoundError."""
    agent_key = names.find_agent(conn, caller.agent_id)
    row = None if agent_key is None else memories.by_id(conn, agent_key, memory_id)
    if row is None or row.passing is None or row.state not in VISIBLE:
        raise _unknown()
    if row.expires_at_us is not None and row.expires_at_us <= now_us:
        raise _unknown()
    return row.memory_key


def _meant(conn: Reading, caller: Caller, *, everybody: bool) -> int | None:
    """Return the agent whose memories are meant, None for all; 0 is nobody's key."""
    if everybody and not (caller.bound or caller.closed):
        return None
    return names.find_agent(conn, caller.agent_id) or 0


def _unknown() -> MemoryNotFoundError:
    return MemoryNotFoundError(
        "no such memory in the archive", field="id", hint="archive.search lists what is in it"
    )
