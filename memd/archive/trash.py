"""Move memories to the trash, restore them, and erase them for good (SPEC D21).

``delete`` moves a memory to the trash, from where it can be restored for ``undo_days``. ``forget``
erases at once. Before it returns, it empties the write-ahead log and zeroes the unused bytes of the
file's pages, so that the file contains no byte of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from memd.archive.authorship import check_may_change
from memd.archive.erasure import (
    ERASE_ROWS,
    ERASE_ROWS_FULL,
    Erasure,
    ErasureSteps,
    build_receipt,
    list_first_lines,
)
from memd.archive.quarantine import screen_restored
from memd.base.clock import DAY_US, Clock, from_us
from memd.base.errors import BusyError, DiskFullError
from memd.domain.caller import Caller
from memd.domain.enums import MemoryCategory, MemoryState, TrashReason
from memd.domain.memory import MemoryFilter
from memd.domain.removal import ForgetResult, TrashedMemory
from memd.store.access import names
from memd.store.file import backup, open_files, scrub
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.memory import memories, removal, shared
from memd.store.session import sessions


@dataclass(frozen=True)
class Trash:
    """Deletes, restores and erases memories of one database."""

    db: Database
    clock: Clock
    undo_days: int

    async def delete(self, caller: Caller, memory_id: str) -> bool:
        """Move a memory to the trash; return False if the caller sees no such memory (SPEC 7.7).

        Raises MemoryStoreError for a shared memory, which only its publisher may retract, and
        DeniedError as ``check_may_change`` does.
        """

        def work(conn: Writing) -> bool:
            key = _visible(conn, caller, memory_id, self.clock.now_us())
            if key is None:
                shared.refuse_change(conn, memory_id, self.clock.now_us())
                return False
            check_may_change(conn, caller, [key])
            removal.trash(
                conn, [key], TrashReason.DELETED, self.clock.now_us(), self.undo_days * DAY_US
            )
            return True

        deleted = await self.db.write(caller, work, reply=bool)
        if deleted and self.undo_days == 0:
            await self.purge()
        return deleted

    async def forget(
        self,
        caller: Caller,
        ids: Sequence[str] | None = None,
        condition: MemoryFilter | None = None,
        source: str | None = None,
        dry_run: bool = False,  # noqa: FBT001, FBT002  # as the socket names it
    ) -> ForgetResult:
        """Erase memories for good, by id, filter or source reference, in any state.

        Also erased are:

        - shared copies that the caller's agent published;
        - the agent's learnings from tasks: by id, or by a filter that has only times;
        - messages that naps stored: by a filter that has only a session and times; and sessions and
          windows of which nothing is left then;
        - messages of its session that contain the text of an erased memory, or may contain it
          because one of the two is damaged.

        The result has a SHA-256 over the ids and hashes of the erased rows as proof, and names the
        backups that may still contain them. Memories are erased a few per transaction, so that
        other writes proceed. After a kill some may be left; the same request erases them. On a full
        disk, the reserved space is used.

        Raises InvalidError for a filter without any condition, which would erase everything.
        Raises DeniedError as ``check_may_change`` does; then nothing is erased. Raises BusyError if
        the rows are erased but a reader prevents emptying the log; the same request finishes it.
        """
        erasure = Erasure(caller, ids, condition, source)
        erasure.check()

        def preview_work(conn: Reading) -> ForgetResult:
            messages = len(erasure.messages(conn))
            rows, proofs = erasure.rows(conn, self.clock.now_us()), erasure.learnings(conn)
            preview = build_receipt(rows, proofs, messages)
            return preview.model_copy(update={"texts": list_first_lines(conn, rows)})

        if dry_run:
            preview = await self.db.read(preview_work)
            return preview.model_copy(update={"proof": "", "dry_run": True})
        forgotten = await self._erase(erasure)
        is_empty = not (forgotten.count or forgotten.messages)
        if is_empty and not await self.db.read(scrub.has_residue):
            return forgotten
        await scrub.erase_residue(self.db)
        # On a dedicated connection: a disk that hangs must delay only this caller.
        backups = await self.db.read_dedicated(
            lambda conn: backup.find_copies(self.db.path, backup.list_recorded(conn))
        )
        return forgotten.model_copy(update={"backups": backups})

    async def _erase(self, erasure: Erasure) -> ForgetResult:
        """Erase the rows in steps, each one transaction, and return the receipt."""

        def select(conn: Reading) -> ErasureSteps:
            rows = erasure.rows(conn, self.clock.now_us())
            return ErasureSteps(erasure, rows, erasure.messages(conn), self.clock)

        steps = await self.db.read(select)
        while True:
            try:
                if (forgotten := await steps.run(self.db)) is not None:
                    return forgotten
            except DiskFullError:
                if not open_files.release_ballast(self.db.path):
                    raise
                steps.size = ERASE_ROWS_FULL
            if steps.size == ERASE_ROWS_FULL:
                await self.db.checkpoint(truncate=True)  # the next step has the log's space

    async def list(
        self, caller: Caller, after: str | None, limit: int
    ) -> tuple[tuple[TrashedMemory, ...], str | None]:
        """Return a page of the trash and the cursor of the next one."""

        def work(conn: Reading) -> tuple[list[TrashedMemory], str | None]:
            agent_key = names.find_agent(conn, caller.agent_id)
            rows = removal.list_trash(conn, agent_key, after, limit + 1)
            entries = memories.by_keys(conn, [row.memory_key for row in rows])
            return [
                TrashedMemory(
                    id=row.memory_id,
                    agent_id=caller.agent_id,
                    category=MemoryCategory(entries[row.memory_key].category),
                    content=entries[row.memory_key].content,
                    reason=TrashReason(row.reason),
                    trashed_at=from_us(row.deleted_at_us),
                    erase_at=from_us(row.erase_after_us),
                )
                for row in rows[:limit]
                if row.memory_key in entries  # a damaged one is withheld
            ], rows[limit - 1].memory_id if len(rows) > limit else None

        items, following = await self.db.read(work)
        return tuple(items), following

    async def restore(self, caller: Caller, memory_id: str) -> bool:
        """Restore a memory from the trash; return False if it is not there."""

        def work(conn: Writing) -> bool:
            key, now_us = _key(conn, caller, memory_id), self.clock.now_us()
            if key is None or not removal.restore_from_trash(conn, key, now_us):
                return False
            screen_restored(conn, key, now_us)
            return True

        return await self.db.write(caller, work, reply=bool)

    async def purge(self) -> int:
        """Erase trash that is due and trash expired memories; return the number erased."""
        erased, is_more = 0, True
        while is_more:
            step, is_more = await self.db.write(_CALLER, self._purge_step)
            erased += step
        if erased or await self.db.read(scrub.has_residue):
            with suppress(BusyError):  # a reader needs the log: the next purge finishes it
                await scrub.erase_residue(self.db)
        return erased

    def _purge_step(self, conn: Writing) -> tuple[int, bool]:
        """Erase and trash up to ERASE_ROWS; return how many were erased, and if more may be due."""
        # This clock does not jump ahead with the system's, so a wrong system time erases nothing.
        now_us = self.db.lasting.now_us()
        expired = removal.list_expired(conn, now_us, ERASE_ROWS)
        is_more = len(expired) == ERASE_ROWS
        # Some working memories outlive their session: they become episodic instead.
        outliving = sessions.filter_outliving(conn, expired)
        for key in outliving:
            sessions.make_episodic(conn, key, now_us)
        expired = [key for key in expired if key not in outliving]
        removal.trash(conn, expired, TrashReason.EXPIRED, now_us, self.undo_days * DAY_US)
        due = removal.list_due(conn, now_us, ERASE_ROWS)
        removal.erase(conn, due, now_us)  # doubtful messages stay: nobody asked for their erasure
        if due:
            scrub.note_residue(conn)
        return len(due), is_more or len(due) == ERASE_ROWS


_CALLER = Caller(client="memd", method="purge")


def _key(conn: Reading, caller: Caller, memory_id: str) -> int | None:
    return memories.key_of(conn, names.find_agent(conn, caller.agent_id), memory_id)


def _visible(conn: Reading, caller: Caller, memory_id: str, now_us: int) -> int | None:
    row = memories.of_agent(conn, caller.agent_id, memory_id)
    if row is None or row.state == MemoryState.TRASHED or row.is_expired(now_us):
        return None
    return row.memory_key
