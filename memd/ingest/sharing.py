"""Publish copies of memories to all agents, and retract them (SPEC 10.1).

A shared copy is a memory of the reserved agent with its own id. It is stored like any other memory
(screened, counted, indexed, audited), but without preference and session, as both belong to one
agent. It exists until its publisher retracts it, it expires, or it is forgotten.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from memd.base.clock import DAY_US
from memd.base.errors import BusyError, MemoryCapabilityError, MemoryStoreError
from memd.domain.caller import Caller
from memd.domain.enums import MemoryLevel, MemoryState, Origin, TrashReason
from memd.domain.ingest import Receipt
from memd.domain.memory import MemoryStoreRequest
from memd.domain.values import RESERVED_AGENT
from memd.ingest.arrivals import store_arrivals
from memd.ingest.filing import Arrival, check_agent
from memd.ingest.ingest import Ingest
from memd.ingest.queue import emit_flagged
from memd.store.access import names
from memd.store.file import scrub
from memd.store.file.connect import Reading, Writing
from memd.store.memory import memories, removal, shared
from memd.store.memory.rows import StoredMemory
from memd.store.search import vectors


@dataclass(frozen=True)
class Sharing:
    """Publishes and retracts shared copies."""

    ingest: Ingest
    enabled: bool = True
    """``memory.options.shared_knowledge_base``."""
    undo_days: int = 7

    async def publish(self, caller: Caller, request: MemoryStoreRequest) -> str:
        """Share a text in the name of the caller's agent; return the id of the copy, after COMMIT.

        The prompts of all agents may include it. Therefore only the owner's own commands publish
        with the origin person; from others it becomes assistant. Raises MemoryCapabilityError
        when sharing is switched off, and what storing the same text raises.
        """
        check_agent(caller)
        if not self.enabled:
            raise MemoryCapabilityError(
                "shared knowledge is switched off",
                hint="set memory.options.shared_knowledge_base to true",
            )
        ingest = self.ingest
        request = request.model_copy(update={"origin": _origin(caller, request.origin)})
        arrival = _as_shared(await ingest.draft_whole(caller, request), request)
        fingerprint = ingest.embedder.fingerprint
        # Not acting_for: it refuses a key that is bound to an agent, which may publish.
        shared_caller = replace(caller, agent_id=RESERVED_AGENT, session_id=None)

        receipts: list[Receipt] = []

        def work(conn: Writing) -> str:
            now_us = ingest.clock.now_us()
            if fingerprint is not None:
                vectors.ensure_cache(conn, fingerprint, now_us)
            receipts[:] = store_arrivals(conn, shared_caller, [arrival], ingest.ids, now_us)
            memory_id = receipts[0].new_ids[0]
            memory_key = memories.find_key(conn, memory_id)
            assert memory_key is not None
            publisher_key = names.ensure_agent(conn, caller.agent_id, now_us)
            shared.record_publisher(conn, memory_key, publisher_key)
            return memory_id

        memory_id = await ingest.db.write(caller, work, reply=str)
        ingest.queue.wake()
        emit_flagged(ingest.emit, caller.agent_id, receipts)
        return memory_id

    async def retract(self, caller: Caller, memory_id: str) -> bool:
        """Move a shared copy to the trash; return False if there is none with this id.

        Raises MemoryStoreError if the id is that of the agent's own memory, if another agent
        published the copy, or if its publisher is unknown.
        """
        check_agent(caller)
        db, clock = self.ingest.db, self.ingest.clock

        def work(conn: Writing) -> bool:
            row = memories.by_id(conn, names.find_agent(conn, RESERVED_AGENT), memory_id)
            now_us = clock.now_us()
            if row is None or row.state == MemoryState.TRASHED or row.is_expired(now_us):
                _check_not_own(conn, caller, memory_id)
                return False
            _check_publisher(conn, caller, row)
            if self.undo_days == 0:
                removal.erase(conn, [row.memory_key], now_us)
                scrub.note_residue(conn)
            else:
                undo_us = self.undo_days * DAY_US
                removal.trash(conn, [row.memory_key], TrashReason.DELETED, now_us, undo_us)
            return True

        retracted = await db.write(caller, work, reply=bool)
        if retracted and self.undo_days == 0:
            with suppress(BusyError):  # a reader needs the log: the next purge finishes it
                await scrub.erase_residue(db)
        return retracted


def _origin(caller: Caller, origin: Origin | None) -> Origin:
    if caller.is_owner:
        return origin or Origin.PERSON
    return Origin.ASSISTANT if origin in {None, Origin.PERSON} else Origin(origin)


def _as_shared(arrival: Arrival, request: MemoryStoreRequest) -> Arrival:
    """Return *arrival* as a shared copy: without session, preference and end of a session."""
    drafts = arrival.drafts
    level = MemoryLevel.PERSISTENT
    if request.level is MemoryLevel.PROJECT:
        level = MemoryLevel.PROJECT
    return replace(
        arrival,
        request=arrival.request.model_copy(update={"session_id": None}),
        drafts=replace(
            drafts, items=tuple(replace(draft, preference=None) for draft in drafts.items)
        ),
        level=level,
        is_lasting=True,
    )


def _check_not_own(conn: Reading, caller: Caller, memory_id: str) -> None:
    """Raise MemoryStoreError if the id is that of a memory of the caller's agent."""
    row = memories.by_id(conn, names.find_agent(conn, caller.agent_id), memory_id)
    if row is not None and row.state != MemoryState.TRASHED:
        raise MemoryStoreError(f"{memory_id} is not shared", field="id", hint="delete it instead")


def _check_publisher(conn: Reading, caller: Caller, row: StoredMemory) -> None:
    publisher_key = shared.publisher(conn, row.memory_key)
    if publisher_key is None:
        raise MemoryStoreError(f"the publisher of {row.memory_id} is unknown", field="id")
    if publisher_key != names.find_agent(conn, caller.agent_id):
        raise MemoryStoreError(f"{row.memory_id} was published by another agent", field="id")
