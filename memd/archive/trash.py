"""Move memories to the trash, restore them, and erase them for good (SPEC D21).

``delete`` moves a memory to the trash, from where it can be restored for ``undo_days``. ``forget``
erases at once. Before it returns, it empties the write-ahead log and zeroes the unused bytes of the
file's pages, so that the file contains no byte of the text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from memd.archive.authorship import check_may_change
from memd.archive.quarantine import EXCERPT_CHARS, screen_restored
from memd.base.clock import DAY_US, Clock, from_us, to_us
from memd.base.errors import BusyError, DiskFullError, InvalidError
from memd.base.limits import FORGOTTEN_IDS_MAX, FORGOTTEN_TEXTS_MAX
from memd.domain.caller import Caller
from memd.domain.enums import MemoryCategory, MemoryState, TrashReason
from memd.domain.memory import MemoryFilter
from memd.domain.removal import ForgetResult, TrashedMemory
from memd.domain.values import RESERVED_AGENT
from memd.guard.secrets import screen
from memd.store.access import names
from memd.store.file import backup, open_files, scrub
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.learn import learnings
from memd.store.learn.learnings import LEARNINGS, PATTERNS, Proof
from memd.store.memory import filters, memories, removal, shared
from memd.store.session import session_messages, sessions
from memd.view.view import one_line

ERASE_ROWS, ERASE_ROWS_FULL = 16, 4
"""Memories that one transaction erases (about 80 ms), and on a full disk.

There, the transaction's log must fit into the reserved space.
"""
ERASE_MESSAGES = 256
"""Messages that one transaction erases."""

_TIMES = {"since", "until"}


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
        - messages that naps stored: by a filter that has only a session and times;
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
        erasure = _Erasure(caller, ids, condition, source)
        erasure.check()

        def preview_work(conn: Reading) -> ForgetResult:
            messages = len(erasure.messages(conn))
            rows, proofs = erasure.rows(conn, self.clock.now_us()), erasure.learnings(conn)
            preview = _receipt(rows, proofs, messages)
            return preview.model_copy(update={"texts": _first_lines(conn, rows)})

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

    async def _erase(self, erasure: _Erasure) -> ForgetResult:
        """Erase the rows in steps, each one transaction, and return the receipt."""

        def select(conn: Reading) -> _Steps:
            rows = erasure.rows(conn, self.clock.now_us())
            return _Steps(erasure, rows, erasure.messages(conn), self.clock)

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
_CONDITIONS = tuple(MemoryFilter.model_fields)


def _key(conn: Reading, caller: Caller, memory_id: str) -> int | None:
    return memories.key_of(conn, names.find_agent(conn, caller.agent_id), memory_id)


def _visible(conn: Reading, caller: Caller, memory_id: str, now_us: int) -> int | None:
    row = memories.of_agent(conn, caller.agent_id, memory_id)
    if row is None or row.state == MemoryState.TRASHED or row.is_expired(now_us):
        return None
    return row.memory_key


@dataclass(frozen=True, slots=True)
class _Erasure:
    """A request to forget."""

    caller: Caller
    ids: Sequence[str] | None
    condition: MemoryFilter | None
    source: str | None

    def check(self) -> None:
        """Raise InvalidError for a request without any condition."""
        if self.condition is None:
            if self.ids is not None or self.source is not None:
                return
            raise InvalidError("say what to forget", hint="give ids, a filter or a source")
        if not any(getattr(self.condition, name) for name in _CONDITIONS):
            raise InvalidError(
                "the filter holds no condition and would erase everything",
                field="filter",
                hint="name a category, tag, session, time or another condition",
            )

    def rows(self, conn: Reading, now_us: int) -> list[tuple[int, str, bytes]]:
        """Return key, id and hash of the memories and of the agent's published copies.

        Raises DeniedError as ``check_may_change`` does.
        """
        agent_key = names.agent_key(conn, self.caller.agent_id)
        keys = self._keys(conn, agent_key, now_us)
        copies = self._keys(conn, names.agent_key(conn, RESERVED_AGENT), now_us)
        keys += shared.filter_published(conn, agent_key, copies)
        check_may_change(conn, self.caller, keys)
        return memories.row_hashes(conn, keys)

    def _keys(self, conn: Reading, agent_key: int, now_us: int) -> list[int]:
        if self.ids is not None:
            keys = (memories.key_of(conn, agent_key, memory_id) for memory_id in self.ids)
            return [key for key in keys if key is not None]
        if self.source is not None:
            return memories.find_by_reference(conn, agent_key, self.source)
        bound = filters.bind(agent_key, self.condition or MemoryFilter(), now_us)
        return memories.find_in_any_state(conn, bound)

    def learnings(self, conn: Reading) -> _Learnings:
        """Return the agent's lessons and patterns that are erased as well.

        A filter applies to them only if it has times and nothing else: other conditions are about
        memories, and it must not erase more than it says.
        """
        agent_key = names.agent_key(conn, self.caller.agent_id)
        condition, since_us, until_us = self.condition, None, None
        if self.ids is None and condition is not None and _has_only(condition, _TIMES):
            since_us = to_us(condition.since)
            until_us = to_us(condition.until)
        selection = (() if self.ids is None else self.ids, since_us, until_us)
        return _Learnings(
            agent_key,
            learnings.list_proofs(conn, LEARNINGS, agent_key, *selection),
            learnings.list_proofs(conn, PATTERNS, agent_key, *selection),
        )

    def messages(self, conn: Reading) -> list[int]:
        """Return the text keys of messages to erase: of a session, of a time span, or of both."""
        condition = self.condition
        if condition is None or not _has_only(condition, _TIMES | {"session_id"}):
            return []
        agent_key = names.agent_key(conn, self.caller.agent_id)
        session_key = None
        if condition.session_id is not None:
            session_key = names.find_session(conn, agent_key, condition.session_id)
            if session_key is None:
                return []
        since_us, until_us = to_us(condition.since), to_us(condition.until)
        return session_messages.list_texts(conn, agent_key, session_key, since_us, until_us)


@dataclass
class _Steps:
    """The steps of an erasure, each one transaction: first its messages, then *rows*."""

    erasure: _Erasure
    rows: Sequence[tuple[int, str, bytes]]
    messages: Sequence[int]
    clock: Clock
    size: int = ERASE_ROWS
    done: int = 0
    messages_done: int = 0

    async def run(self, db: Database) -> ForgetResult | None:
        """Run the next step; return None, or the reply of the last step, which also stores it."""
        caller = self.erasure.caller
        if self.messages_done < len(self.messages):
            # Before the memories: erasing those erases some messages too, uncounted.
            await db.write(caller, self._erase_messages)
            self.messages_done += ERASE_MESSAGES
            return None
        if self.done + self.size >= len(self.rows):
            return await db.write(caller, self._finish, reply=ForgetResult)
        await db.write(caller, self._erase_rows)
        self.done += self.size
        return None

    def _erase_messages(self, conn: Writing) -> None:
        end = self.messages_done + ERASE_MESSAGES
        session_messages.erase(conn, self.messages[self.messages_done : end])
        scrub.note_residue(conn)

    def _erase_rows(self, conn: Writing) -> None:
        keys = [key for key, _, _ in self.rows[self.done : self.done + self.size]]
        check_may_change(conn, self.erasure.caller, keys)
        removal.erase(conn, keys, self.clock.now_us(), doubtful=True)
        if keys:
            scrub.note_residue(conn)

    def _finish(self, conn: Writing) -> ForgetResult:
        self._erase_rows(conn)
        proofs = self.erasure.learnings(conn)
        learnings.erase(conn, LEARNINGS, proofs.agent_key, _ids_of(proofs.lessons))
        learnings.erase(conn, PATTERNS, proofs.agent_key, _ids_of(proofs.patterns))
        if proofs.lessons or proofs.patterns:
            scrub.note_residue(conn)
        return _receipt(self.rows, proofs, len(self.messages))


def _first_lines(conn: Reading, rows: Sequence[tuple[int, str, bytes]]) -> tuple[str, ...]:
    """Return the beginnings of the first FORGOTTEN_TEXTS_MAX texts, for a person to confirm."""
    keys = [key for key, _, _ in rows[:FORGOTTEN_TEXTS_MAX]]
    entries = memories.by_keys(conn, keys)
    lines = (
        one_line(screen(entries[key].content).text)[:EXCERPT_CHARS] if key in entries else ""
        for key in keys
    )
    return tuple(line or "(nothing that can be shown)" for line in lines)


class _Learnings(NamedTuple):
    """The ids and hashes of an agent's lessons and patterns to erase."""

    agent_key: int
    lessons: list[Proof]
    patterns: list[Proof]


def _ids_of(proofs: Sequence[Proof]) -> list[str]:
    return [proof.public_id for proof in proofs]


def _receipt(
    rows: Sequence[tuple[int, str, bytes]], erased: _Learnings, messages: int
) -> ForgetResult:
    """Return the result for these *rows*, learnings and number of *messages*."""
    memory_proofs = [Proof(memory_id, row_hash) for _, memory_id, row_hash in rows]
    proofs = [*memory_proofs, *erased.lessons, *erased.patterns]
    digest = hashlib.sha256()
    for proof in proofs:
        digest.update(proof.public_id.encode() + proof.row_hash)
    return ForgetResult(
        count=len(proofs),
        messages=messages,
        ids=tuple(proof.public_id for proof in proofs[:FORGOTTEN_IDS_MAX]),
        proof=digest.hexdigest(),
    )


def _has_only(condition: MemoryFilter, fields: AbstractSet[str]) -> bool:
    return not any(
        getattr(condition, name) for name in MemoryFilter.model_fields if name not in fields
    )
