"""List, show and release suspicious memories, and quarantine by hand (PROMISES 5).

A text that looks like an attack is stored out of sight, and its sender is not told. Only the owner
reads and releases it, because showing it to an assistant would deliver the attack. Quarantining a
memory also trashes the summaries and facts made from it, and restores their other sources.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from memd.base.clock import DAY_US, Clock, from_us
from memd.base.errors import MemoryNotFoundError
from memd.domain.caller import Caller
from memd.domain.enums import HIDDEN, MemoryCategory, MemoryState, Origin, TrashReason, Trust
from memd.domain.trust import Flag, FlaggedMemory, QuarantineResult, is_quarantined
from memd.guard.secrets import screen
from memd.guard.suspicion import suspicion
from memd.store.access import names
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database
from memd.store.memory import flagged, memories, removal
from memd.store.memory.flagged import FlaggedRow
from memd.store.memory.rows import StoredMemory
from memd.view.view import one_line, view

EXCERPT_CHARS = 200


@dataclass(frozen=True)
class Quarantine:
    """The quarantine over one database."""

    db: Database
    clock: Clock
    undo_days: int
    wake: Callable[[], None] = lambda: None
    """Called when a memory was released and waits for a vector."""

    async def list_flagged(
        self,
        caller: Caller,
        after: str | None,
        limit: int,
        *,
        quarantined: bool = False,
        everybody: bool = False,
    ) -> tuple[tuple[FlaggedMemory, ...], str | None]:
        """Return a page of suspicious memories and the cursor of the next one, newest first.

        Each has the beginning of its text. The page covers the caller's agent and what it shared,
        or all agents with *everybody*, as :func:`agent_filter` permits. With *quarantined* it has
        only those in quarantine.
        """

        def work(conn: Reading) -> tuple[list[FlaggedMemory], str | None]:
            agent_key = agent_filter(conn, caller, everybody=everybody)
            rows = flagged.list_page(conn, agent_key, after, limit + 1, quarantined=quarantined)
            entries = memories.by_keys(conn, [row.memory_key for row in rows])
            page = [
                _to_flagged(row, entries[row.memory_key])
                for row in rows[:limit]
                if row.memory_key in entries
            ]
            return page, rows[limit - 1].memory_id if len(rows) > limit else None

        items, following = await self.db.read(work)
        return tuple(items), following

    async def show(self, caller: Caller, memory_id: str) -> FlaggedMemory:
        """Return one suspicious memory with its whole text; raises MemoryNotFoundError."""

        def work(conn: Reading) -> FlaggedMemory | None:
            key = _key(conn, caller, memory_id)
            row = None if key is None else flagged.get(conn, key)
            if row is None:
                return None
            return _to_flagged(row, memories.by_key(conn, row.memory_key), whole=True)

        memory = await self.db.read(work)
        if memory is None:
            raise MemoryNotFoundError("no suspicious memory has this id", field="id")
        return memory

    async def release(self, caller: Caller, memory_id: str) -> bool:
        """Release a memory from quarantine; return False if it is not quarantined.

        Recall and prompts have it again, with the same trust as before. It is never quarantined
        automatically again. Raises MemoryNotFoundError for an unknown id.
        """

        def work(conn: Writing) -> bool:
            return flagged.release(conn, _require(conn, caller, memory_id), self.clock.now_us())

        released = await self.db.write(caller, work, reply=bool)
        if released:
            self.wake()
        return released

    async def quarantine(self, caller: Caller, memory_id: str) -> QuarantineResult:
        """Quarantine a memory by hand.

        Summaries and facts made from it go to the trash, and their other sources are restored.
        Raises MemoryNotFoundError for an unknown id and for a memory in the trash.
        """

        def work(conn: Writing) -> QuarantineResult:
            key = _require(conn, caller, memory_id)
            row = memories.by_key(conn, key)
            if row.state in {MemoryState.TRASHED, MemoryState.STALE}:
                raise MemoryNotFoundError("the memory is in the trash", field="id")
            if row.state == MemoryState.QUARANTINED:
                return QuarantineResult(id=memory_id)
            now_us = self.clock.now_us()
            derived = [
                derived_key
                for derived_key in removal.restore_sources(conn, [key], now_us)
                if derived_key != key
            ]
            removal.trash(conn, derived, TrashReason.DELETED, now_us, self.undo_days * DAY_US)
            removal.restore(conn, key, now_us)
            flags = sorted({*suspicion(row.content).flags, Flag.OWNER})
            flagged.quarantine(conn, key, flags, now_us)
            return QuarantineResult(id=memory_id, removed=len(derived))

        return await self.db.write(caller, work, reply=QuarantineResult)


def agent_filter(conn: Reading, caller: Caller, *, everybody: bool) -> int | None:
    """Return the key of the agent to read, None for all agents; 0 matches no agent.

    *everybody* asks for all agents. It is ignored for a client whose key names its agent, and for
    one without a key once any agent has a key.
    """
    if everybody and not (caller.bound or caller.closed):
        return None
    return names.agent_key(conn, caller.agent_id)


def screen_restored(conn: Writing, key: int, now_us: int) -> bool:
    """Quarantine a restored memory if today's patterns find an attack in it; return whether so.

    What the owner released stays released.
    """
    row = memories.by_keys(conn, [key]).get(key)
    if row is None or row.state in HIDDEN or row.is_summary:
        return False
    if row.state == MemoryState.QUARANTINED or flagged.is_released(conn, key):
        return False
    verdict = suspicion(row.content)
    if not is_quarantined(verdict, Origin(row.origin)):
        return False
    flagged.quarantine(conn, key, sorted(verdict.flags), now_us)
    return True


def _key(conn: Reading, caller: Caller, memory_id: str) -> int | None:
    """Return the key of the memory if the caller may act for its agent."""
    if not caller.bound:
        memory_key = memories.find_key(conn, memory_id)
        rows = {} if memory_key is None else memories.by_keys(conn, [memory_key])
        return next((key for key, row in rows.items() if caller.may_be(row.agent_id)), None)
    row = memories.of_agent(conn, caller.agent_id, memory_id)
    return None if row is None else row.memory_key


def _require(conn: Reading, caller: Caller, memory_id: str) -> int:
    key = _key(conn, caller, memory_id)
    if key is None:
        raise MemoryNotFoundError("no such memory", field="id")
    return key


def _to_flagged(row: FlaggedRow, memory: StoredMemory, *, whole: bool = False) -> FlaggedMemory:
    text = screen(memory.content).text
    return FlaggedMemory(
        id=row.memory_id,
        agent_id=row.agent_id,
        flags=tuple(Flag(flag) for flag in json.loads(row.flags)),
        state=MemoryState(memory.state),
        origin=Origin(memory.origin),
        trust=Trust(memory.trust),
        category=MemoryCategory(memory.category),
        client=row.client,
        session_id=memory.session_id,
        source=memory.reference,
        flagged_at=from_us(row.flagged_at_us),
        released_at=from_us(row.released_at_us),
        text=view(text) if whole else one_line(text)[:EXCERPT_CHARS],
    )
