"""Every method's handler: a thin view of a room.

A handler takes who calls and the validated params, and returns a value of the
method's result type. It decides nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic_core import to_json

from memd.base.limits import FRAME_BYTES_MAX
from memd.model.caller import Caller
from memd.model.enums import ArchiveReason, Origin, SearchMode
from memd.model.ingest import Receipt, Receipts, Replaced
from memd.model.memory import MemoryEntry, MemoryFilter, MemoryStoreRequest, Preference
from memd.model.provenance import Provenance
from memd.model.recall import RecallResult
from memd.model.removal import Archived, Forgotten
from memd.model.settings import MemoryConfig
from memd.model.trust import FOREIGN
from memd.model.upkeep import CheckReport, DumpPage, Loaded
from memd.model.wiki import WikiExport
from memd.rpc import params as p
from memd.rpc.methods import (
    Agents,
    AgentSettings,
    ArchivedPage,
    Imported,
    Page,
    Preferences,
    TrashPage,
)
from memd.rpc.params_sleep import Export
from memd.serve import (
    access,
    deciding,
    filing,
    flagging,
    graphing,
    injecting,
    learning,
    napping,
    organising,
    recorded,
    sharing,
    sleeping,
)
from memd.serve.dispatch import Handler, progress_of_call
from memd.serve.rooms import Memories, Rooms
from memd.serve.short_ids import taking_ends
from memd.serve.status import System

Pages = Callable[[Caller, MemoryFilter, str | None, int], Awaitable[tuple[Memories, str | None]]]


def handlers(rooms: Rooms, system: System) -> Mapping[str, Handler]:
    """Return the handler of each method in the table."""
    memory, archive, agents = _Memory(rooms), _Archive(rooms), _Agents(rooms)
    archival, upkeep = _Archival(rooms), _Upkeep(rooms)
    made: dict[str, Handler] = {
        "system.hello": system.hello,
        "system.status": system.status,
        "system.metrics": system.metrics,
        "system.reload": system.reload,
        "system.shutdown": system.shutdown,
        "rpc.discover": system.discover,
        "memory.ingest": memory.ingest,
        "memory.ingest_many": memory.ingest_many,
        "memory.replace_source": memory.replace_source,
        "memory.store": memory.store,
        "memory.recall": memory.recall,
        "memory.retrieve": memory.retrieve,
        "memory.retrieve_sparse": memory.retrieve_sparse,
        "memory.get": memory.get,
        "memory.why": memory.why,
        "memory.update": memory.update,
        "memory.list": memory.list,
        "memory.count": memory.count,
        "memory.delete": archive.delete,
        "memory.forget": archive.forget,
        "preference.set": memory.set_preference,
        "preference.confirm": memory.confirm_preference,
        "preference.get": memory.preference,
        "preference.list": memory.preferences,
        "preference.delete": memory.delete_preference,
        "trash.list": archive.trash,
        "trash.restore": archive.restore_from_trash,
        "archive.search": archival.search,
        "archive.add": archival.add,
        "archive.restore": archival.restore,
        "archive.restore_to_hot": archival.restore_to_hot,
        "archive.count": archival.count,
        "archive.turned_away": archival.turned_away,
        "archive.restore_turned_away": archival.restore_turned_away,
        "wiki.export": archival.export,
        "model.status": system.model,
        "store.check": upkeep.check,
        "store.rebuild": upkeep.rebuild,
        "store.backup": upkeep.backup,
        "store.note_copy": upkeep.note_copy,
        "store.export": memory.export,
        "store.import": memory.import_,
        "store.dump": upkeep.dump,
        "store.load": upkeep.load,
        "agent.set": agents.set,
        "agent.get": agents.get,
        "agent.list": agents.list,
        **access.handlers(rooms),
        **deciding.handlers(rooms),
        **filing.handlers(rooms),
        **flagging.handlers(rooms),
        **injecting.handlers(rooms),
        **learning.handlers(rooms),
        **napping.handlers(rooms),
        **recorded.handlers(rooms),
        **graphing.handlers(rooms),
        **organising.handlers(rooms),
        **sharing.handlers(rooms),
        **sleeping.handlers(rooms),
    }
    return made if rooms.short_ids is None else taking_ends(rooms.short_ids, made)


class _Memory:
    """``memory.*`` and ``preference.*``."""

    def __init__(self, rooms: Rooms) -> None:
        self._ingest = rooms.ingest
        self._recall = rooms.recall
        self._upkeep = rooms.upkeep

    async def ingest(self, caller: Caller, params: p.Ingest) -> Receipt:
        return await self._ingest.ingest(caller, params)

    async def ingest_many(self, caller: Caller, params: p.IngestMany) -> Receipts:
        return await self._ingest.ingest_many(caller, params, progress_of_call())

    async def replace_source(self, caller: Caller, params: p.ReplaceSource) -> Replaced:
        return await self._ingest.replace_source(caller, params)

    async def store(self, caller: Caller, params: p.Store) -> str:
        return await self._ingest.store(caller, params)

    async def recall(self, caller: Caller, params: p.Recall) -> RecallResult:
        return await self._recall.recall(caller, params)

    async def retrieve(self, caller: Caller, params: p.Retrieve) -> Memories:
        return await self._recall.retrieve(caller, params)

    async def retrieve_sparse(self, caller: Caller, params: p.Retrieve) -> Memories:
        if params.text is None:
            return ()
        return await self._recall.retrieve(caller, params, SearchMode.WORDS)

    async def get(self, caller: Caller, params: p.ById) -> MemoryEntry | None:
        return await self._recall.get(caller, params.id)

    async def why(self, caller: Caller, params: p.Why) -> Provenance | None:
        """Return it with shortened messages when whole ones would not fit into a frame."""
        found = await self._recall.why(caller, params.id, full=params.full)
        if params.full and found is not None and len(to_json(found)) > FRAME_BYTES_MAX:
            return await self._recall.why(caller, params.id, full=False)
        return found

    async def update(self, caller: Caller, params: p.Update) -> MemoryEntry:
        return await self._ingest.update(caller, params.id, params)

    async def list(self, caller: Caller, params: p.ListMemories) -> Page:
        """Return one page, shorter than asked for when its texts would not fit into a frame."""
        return await _fitting(self._recall.list, caller, params)

    async def export(self, caller: Caller, params: p.ListMemories) -> Page:
        """Return one page of what was told: of what stands behind a summary, not the summary."""
        return await _fitting(self._recall.export, caller, params)

    async def count(self, caller: Caller, params: p.Count) -> int:
        return await self._recall.count(caller, params.category)

    async def set_preference(self, caller: Caller, params: p.SetPreference) -> None:
        await self._ingest.set_preference(caller, params.name, params.value)

    async def confirm_preference(self, caller: Caller, params: p.ConfirmPreference) -> bool:
        return await self._ingest.confirm_preference(caller, params.name, params.value)

    async def preference(self, caller: Caller, params: p.PreferenceName) -> Preference | None:
        known = await self._recall.preferences(caller)
        return next((item for item in known if item.name == params.name), None)

    async def preferences(self, caller: Caller, params: p.Scoped) -> Preferences:
        del params
        return Preferences(items=await self._recall.preferences(caller))

    async def delete_preference(self, caller: Caller, params: p.DeletePreference) -> bool:
        return await self._ingest.delete_preference(caller, params.name)

    async def import_(self, caller: Caller, params: p.Import) -> Imported:
        """Store each memory under its own agent, but none twice and none that was forgotten."""
        counts, progress = {"stored": 0, "known": 0, "skipped": 0}, progress_of_call()
        for number, entry in enumerate(params.items, 1):
            owner = caller.acting_for(entry.agent_id)
            met = await self._upkeep.met(owner, entry)
            if met is None:
                await self._ingest.store(_importing(owner, entry), _request(entry))
            counts[met or "stored"] += 1
            if progress is not None:
                progress(number, len(params.items))
        return Imported(**counts)


class _Archive:
    """``memory.delete``, ``memory.forget`` and ``trash.*``."""

    def __init__(self, rooms: Rooms) -> None:
        self._archive = rooms.archive
        self._wiki = rooms.wiki

    async def delete(self, caller: Caller, params: p.WritingById) -> bool:
        return await self._archive.delete(caller, params.id)

    async def forget(self, caller: Caller, params: p.Forget) -> Forgotten:
        forgotten = await self._archive.forget(
            caller, params.ids, params.filter, params.source, params.dry_run
        )
        left = None if params.dry_run else await self._wiki.forgotten(caller)
        if left is None:
            return forgotten
        return forgotten.model_copy(update={"backups": (*forgotten.backups, left)})

    async def trash(self, caller: Caller, params: p.Paged) -> TrashPage:
        items, after = await self._archive.trash_list(caller, params.after, params.limit)
        return TrashPage(items=items, next=after)

    async def restore_from_trash(self, caller: Caller, params: p.WritingById) -> bool:
        return await self._archive.trash_restore(caller, params.id)


class _Archival:
    """``archive.*`` and ``wiki.export``."""

    def __init__(self, rooms: Rooms) -> None:
        self._archival = rooms.archival
        self._wiki = rooms.wiki

    async def search(self, caller: Caller, params: p.Retrieve) -> tuple[Archived, ...]:
        return await self._archival.search(caller, params)

    async def add(self, caller: Caller, params: p.WritingById) -> str | None:
        """Move a memory into the archive, in one transaction; null when there is none."""
        return await self._archival.put_away(caller, params.id, ArchiveReason.CONSOLIDATED)

    async def restore(self, caller: Caller, params: p.ById) -> Archived:
        return await self._archival.restore(caller, params.id)

    async def restore_to_hot(self, caller: Caller, params: p.WritingById) -> MemoryEntry:
        return await self._archival.restore_to_hot(caller, params.id)

    async def count(self, caller: Caller, params: p.Scoped) -> int:
        del params
        return await self._archival.count(caller)

    async def turned_away(self, caller: Caller, params: p.ListTurnedAway) -> ArchivedPage:
        items, after = await self._archival.turned_away(
            caller, params.after, params.limit, everybody=params.everybody
        )
        return ArchivedPage(items=items, next=after)

    async def restore_turned_away(self, caller: Caller, params: p.TurnedAway) -> int:
        return await self._archival.restore_turned_away(caller, everybody=params.everybody)

    async def export(self, caller: Caller, params: Export) -> WikiExport:
        return await self._wiki.export(caller, params.target)


class _Upkeep:
    """``store.*``, as far as it is about the file."""

    def __init__(self, rooms: Rooms) -> None:
        self._upkeep = rooms.upkeep
        self._moving = rooms.moving

    async def dump(self, caller: Caller, params: p.Dump) -> DumpPage:
        del caller
        return await self._moving.dump(params.after, params.limit)

    async def load(self, caller: Caller, params: p.Load) -> Loaded:
        return await self._moving.load(caller, params.items)

    async def check(self, caller: Caller, params: p.Params) -> CheckReport:
        del params
        return await self._upkeep.check(caller)

    async def rebuild(self, caller: Caller, params: p.Rebuild) -> None:
        del params
        await self._upkeep.rebuild(caller, progress_of_call())

    async def backup(self, caller: Caller, params: p.Params) -> str:
        del params
        return await self._upkeep.backup(caller)

    async def note_copy(self, caller: Caller, params: p.NoteCopy) -> str:
        return await self._upkeep.note_copy(caller, params.target, made=params.made)


class _Agents:
    """``agent.*``."""

    def __init__(self, rooms: Rooms) -> None:
        self._agents = rooms.agents

    async def set(self, caller: Caller, params: p.SetAgent) -> AgentSettings:
        given = params.model_fields_set & set(MemoryConfig.model_fields)
        self._agents.refuse_what_the_file_says(caller.agent_id, given)
        settings = MemoryConfig(**{name: getattr(params, name) for name in given})
        return await self._told(caller.agent_id, await self._agents.set(caller, settings))

    async def get(self, caller: Caller, params: p.Scoped) -> AgentSettings:
        del params
        return await self._told(caller.agent_id, await self._agents.get(caller))

    async def _told(self, agent_id: str, settings: MemoryConfig) -> AgentSettings:
        origins = await self._agents.origins(agent_id)
        return AgentSettings(agent_id=agent_id, settings=settings, origins=origins)

    async def list(self, caller: Caller, params: p.Params) -> Agents:
        """Return all agents with settings, to a client of one agent that one alone."""
        del params
        known = await self._agents.list(caller)
        seen = [(a, s) for a, s in known if caller.may_be(a)]
        return Agents(items=tuple([await self._told(a, s) for a, s in seen]))


async def _fitting(pages: Pages, caller: Caller, params: p.ListMemories) -> Page:
    limit = params.limit
    while True:
        items, after = await pages(caller, params, params.after, limit)
        page = Page(items=items, next=after)
        if limit == 1 or len(to_json(page)) <= FRAME_BYTES_MAX:
            return page
        limit = max(1, limit // 4)


def _importing(caller: Caller, entry: MemoryEntry) -> Caller:
    from dataclasses import replace

    said = "\x1f".join((entry.agent_id, entry.id, entry.content))
    digest = hashlib.sha256(said.encode())
    return replace(
        caller,
        idempotency_key=f"import:{digest.hexdigest()}",
        request_hash=digest.digest(),
    )


def _request(entry: MemoryEntry) -> MemoryStoreRequest:
    shared: dict[str, Any] = {
        name: getattr(entry, name)
        for name in MemoryStoreRequest.model_fields
        if name in MemoryEntry.model_fields
    }
    # The row is made now, by this daemon's clock; when it was first told stays known (SPEC D22).
    shared["occurred_at"] = entry.occurred_at or entry.created_at
    # A file says of itself whatever its writer liked; who wrote in it is known to nobody here.
    shared["origin"] = entry.origin if entry.origin in FOREIGN else Origin.IMPORT
    return MemoryStoreRequest(**shared)
