"""``trash.*``, ``archive.*``, ``wiki.*``: deleted and archived memories, and the wiki export."""

from __future__ import annotations

from memd.domain.files import WikiExport
from memd.domain.memory import MemoryEntry
from memd.domain.removal import ArchivedMemory, TrashedMemory
from memd.domain.values import Name, SafePath
from memd.serve.routes.memory import RetrieveParams
from memd.serve.routes.routes import (
    AgentParams,
    Context,
    IdParams,
    Page,
    PageParams,
    Router,
    ShortId,
    WriteIdParams,
    WriteParams,
)

router = Router()

_MEMORY_ID, _ARCHIVED_ID = ShortId("id", "memory"), ShortId("id", "archived")


class ListTurnedAwayParams(PageParams):
    """A page of memories below the threshold: one agent's, or with *everybody* all agents'."""

    everybody: bool = False


class RestoreTurnedAwayParams(WriteParams):
    """The memories below the threshold to restore: one agent's, or with *everybody* all."""

    everybody: bool = False


class WikiParams(WriteParams):
    """The agent whose memories to write as files, below *target* or memd's own folder."""

    target: SafePath | None = None


@router.method("trash.list", "List the trash, with the time each memory is erased.")
async def trash(context: Context, params: PageParams) -> Page[TrashedMemory]:
    items, after = await context.rooms.trash.list(context.caller, params.after, params.limit)
    return Page[TrashedMemory](items=items, next=after)


@router.method(
    "trash.restore", "Restore a memory from the trash.", scope="write", short_id=_MEMORY_ID
)
async def restore_from_trash(context: Context, params: WriteIdParams) -> bool:
    return await context.rooms.trash.restore(context.caller, params.id)


@router.method("archive.search", "Search the archive.")
async def search(context: Context, params: RetrieveParams) -> tuple[ArchivedMemory, ...]:
    return await context.rooms.archive.search(context.caller, params)


@router.method(
    "archive.add", "Archive a memory; returns its archival id.", scope="write", short_id=_MEMORY_ID
)
async def add(context: Context, params: WriteIdParams) -> Name | None:
    """Move a memory into the archive, in one transaction; return None if there is none."""
    return await context.rooms.archive.move_to_archive(context.caller, params.id)


@router.method(
    "archive.restore", "Get one archived memory; it stays in the archive.", short_id=_ARCHIVED_ID
)
async def restore(context: Context, params: IdParams) -> ArchivedMemory:
    return await context.rooms.archive.restore(context.caller, params.id)


@router.method(
    "archive.restore_to_hot",
    "Restore a memory from the archive.",
    scope="write",
    short_id=_ARCHIVED_ID,
)
async def restore_to_hot(context: Context, params: WriteIdParams) -> MemoryEntry:
    return await context.rooms.archive.restore_to_hot(context.caller, params.id)


@router.method("archive.turned_away", "List memories below the importance threshold, newest first.")
async def list_turned_away(context: Context, params: ListTurnedAwayParams) -> Page[ArchivedMemory]:
    items, after = await context.rooms.archive.list_below_threshold(
        context.caller, params.after, params.limit, everybody=params.everybody
    )
    return Page[ArchivedMemory](items=items, next=after)


@router.method(
    "archive.restore_turned_away",
    "Restore all memories below the threshold; returns how many.",
    scope="write",
    repeats="when done",
)
async def restore_turned_away(context: Context, params: RestoreTurnedAwayParams) -> int:
    return await context.rooms.archive.restore_below_threshold(
        context.caller, everybody=params.everybody
    )


@router.method("archive.count", "Count archived memories.")
async def count(context: Context, _params: AgentParams) -> int:
    return await context.rooms.archive.count(context.caller)


@router.method(
    "wiki.export", "Write memories as Markdown files.", scope="admin", repeats="when done"
)
async def export(context: Context, params: WikiParams) -> WikiExport:
    return await context.rooms.wiki.export(context.caller, params.target)
