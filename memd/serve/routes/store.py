"""``store.*``: checks, backups, rebuilds, export and import of the whole file."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from pydantic import Field

from memd.base.finish import finish
from memd.base.limits import INGEST_ITEMS_MAX, PAGE_ITEMS_MAX
from memd.domain.caller import Caller
from memd.domain.enums import Origin
from memd.domain.memory import MemoryEntry, MemoryStoreRequest
from memd.domain.sleep.upkeep import CheckReport, DumpPage, LoadResult
from memd.domain.trust import FOREIGN
from memd.domain.values import PlainText, Text, Value
from memd.serve.routes.memory import ListParams
from memd.serve.routes.routes import (
    Context,
    KeyParams,
    Page,
    Params,
    ProgressParams,
    Router,
    fitting_page,
)

router = Router()


class RebuildParams(KeyParams, ProgressParams):
    """Only the progress token."""


class NoteCopyParams(KeyParams):
    """The absolute path of a copy that the caller is about to make; ``forget`` will name it.

    The call is repeated with *made* afterwards: then the daemon checks whether it can see the
    file.
    """

    target: Text
    made: bool = False


class ImportParams(KeyParams, ProgressParams):
    """Memories as ``memory.list`` returns them; each is stored under its own agent."""

    items: tuple[MemoryEntry, ...] = Field(min_length=1, max_length=INGEST_ITEMS_MAX)


class DumpParams(Params):
    """The start of the page: *after* is the ``next`` of the page before."""

    after: PlainText | None = None
    limit: int = Field(default=250, ge=1, le=PAGE_ITEMS_MAX)


class LoadParams(KeyParams):
    """Records as ``store.dump`` returns them, in the same order."""

    items: tuple[dict[str, Any], ...] = Field(min_length=1, max_length=PAGE_ITEMS_MAX)


class ImportResult(Value):
    """Counts of memories stored, already known, and skipped: forgotten here, or expired."""

    stored: int
    known: int
    skipped: int = 0


@router.method("store.check", "Check the integrity of the database.", scope="admin", repeats="anew")
async def check(context: Context, _params: KeyParams) -> CheckReport:
    return await context.rooms.upkeep.check(context.caller)


@router.method(
    "store.rebuild", "Rebuild the full-text and vector indexes.", scope="admin", repeats="when done"
)
async def rebuild(context: Context, _params: RebuildParams) -> None:
    await context.rooms.upkeep.rebuild(context.caller, context.progress)


@router.method(
    "store.backup",
    "Back up the database beside it; returns the path.",
    scope="admin",
    repeats="when done",
)
async def backup(context: Context, _params: KeyParams) -> str:
    return await context.rooms.upkeep.backup(context.caller)


@router.method(
    "store.note_copy",
    "Register a copy that the caller makes; returns the database path.",
    scope="admin",
    repeats="anew",
)
async def note_copy(context: Context, params: NoteCopyParams) -> str:
    return await context.rooms.upkeep.record_copy(context.caller, params.target, made=params.made)


@router.method("store.export", "Export an agent's visible memories, page by page.")
async def export(context: Context, params: ListParams) -> Page[MemoryEntry]:
    """Return one page of original memories: the sources of a summary, not the summary."""

    async def page_of(limit: int) -> Page[MemoryEntry]:
        items, after = await context.rooms.recall.export(
            context.caller, params, params.after, limit
        )
        return Page[MemoryEntry](items=items, next=after)

    return await fitting_page(page_of, params.limit)


@router.method(
    "store.import", "Import what store.export returned.", scope="write", repeats="when done"
)
async def import_(context: Context, params: ImportParams) -> ImportResult:
    """Store each memory under its own agent, but none twice and no forgotten one."""
    counts, rooms = {"stored": 0, "known": 0, "skipped": 0}, context.rooms
    for number, entry in enumerate(params.items, 1):
        owner = context.caller.acting_for(entry.agent_id)
        known = await rooms.upkeep.find_known(owner, entry)  # "known", "skipped" or None
        if known is None:
            await rooms.ingest.store(_with_import_key(owner, entry), _request(entry))
        counts[known or "stored"] += 1
        if context.progress is not None:
            context.progress(number, len(params.items))
    return ImportResult(**counts)


@router.method(
    "store.dump", "Export everything of the profile, page by page.", scope="admin", writes=False
)
async def dump(context: Context, params: DumpParams) -> DumpPage:
    return await context.rooms.moving.dump(params.after, params.limit)


@router.method(
    "store.load", "Import what store.dump returned, exactly.", scope="admin", repeats="when done"
)
async def load(context: Context, params: LoadParams) -> LoadResult:
    async def change() -> LoadResult:
        done = await context.rooms.moving.load(context.caller, params.items)
        await context.rooms.clients.load()
        return done

    return await finish(change)


def _with_import_key(caller: Caller, entry: MemoryEntry) -> Caller:
    """Return *caller* with an idempotency key from *entry*, so that it is imported once."""
    identity = "\x1f".join((entry.agent_id, entry.id, entry.content))
    digest = hashlib.sha256(identity.encode())
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
    # The row is created now, by this daemon's clock; the original time is kept (SPEC D22).
    shared["occurred_at"] = entry.occurred_at or entry.created_at
    # The origin in a file proves nothing: anybody may have written it.
    shared["origin"] = entry.origin if entry.origin in FOREIGN else Origin.IMPORT
    return MemoryStoreRequest(**shared)
