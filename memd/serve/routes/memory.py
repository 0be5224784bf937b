"""``memory.*``: storing, recalling, listing, changing and removing memories."""

from __future__ import annotations

from typing import Self

from pydantic import AliasChoices, Field, model_validator
from pydantic_core import to_json

from memd.base.limits import FRAME_BYTES_MAX, PAGE_ITEMS_MAX
from memd.domain.enums import MemoryCategory, SearchMode
from memd.domain.ingest import (
    IngestManyRequest,
    IngestRequest,
    Receipt,
    Receipts,
    ReplaceResult,
    ReplaceSourceRequest,
)
from memd.domain.memory import (
    MemoryEntry,
    MemoryFilter,
    MemoryQuery,
    MemoryStoreRequest,
    MemoryUpdate,
)
from memd.domain.recall import (
    Provenance,
    RecallRequest,
    RecallResult,
    SynthesisRequest,
    SynthesisResult,
)
from memd.domain.removal import ForgetResult
from memd.domain.trust import FlaggedMemory, QuarantineResult
from memd.domain.values import Name
from memd.serve.routes.routes import (
    AgentParams,
    Context,
    IdParams,
    Page,
    PageParams,
    ProgressParams,
    Router,
    ShortId,
    WriteIdParams,
    WriteParams,
    fitting_page,
)

router = Router()

_ID = ShortId("id", "memory")
_SESSION_ID = ShortId("session_id", "session")
_ANY_AGENTS_ID = ShortId("id", "any agent's")


class IngestParams(IngestRequest, WriteParams):
    """A text to ingest."""


class IngestManyParams(IngestManyRequest, WriteParams, ProgressParams):
    """Several texts to ingest."""


class ReplaceSourceParams(ReplaceSourceRequest, WriteParams):
    """The current texts of a source."""


class StoreParams(MemoryStoreRequest, WriteParams):
    """One text to store as it is.

    With *merge* not if a visible memory has it that is filed alike: in the same namespace,
    category, session and project, with the same speaker and all tags. That one is updated.
    """

    merge: bool = False


class RecallParams(RecallRequest, AgentParams):
    """A question to recall memories for."""


class RetrieveParams(MemoryQuery, AgentParams):
    """A search or, without a text, a listing."""


class GetParams(IdParams):
    """The memory to get: one of the agent, or with *include_shared* a shared one too."""

    include_shared: bool = True


class WhyParams(IdParams):
    """One memory; with *full* its source messages are not shortened."""

    full: bool = False


class UpdateParams(MemoryUpdate, WriteIdParams):
    """The changes to the memory *id*."""


class ListParams(MemoryFilter, PageParams):
    """The memories to list, and where the page starts.

    With *projectless* only those of no project; without *include_passing* no turns in passing:
    questions, requests, acknowledgements, remarks.
    """

    projectless: bool = False
    include_passing: bool = True


class CountParams(AgentParams):
    """The agent and category of the memories to count."""

    category: MemoryCategory | None = Field(
        default=None, validation_alias=AliasChoices("category", "memory_type")
    )


class SynthesizeParams(SynthesisRequest, AgentParams):
    """A question to synthesize one block for."""


class FlaggedParams(PageParams):
    """Suspicious memories, newest first: only the *quarantined* ones, or those of *everybody*.

    With an *id* that memory alone, with its whole text.
    """

    id: Name | None = None
    quarantined: bool = False
    everybody: bool = False


class QuarantineParams(WriteIdParams):
    """The memory of any agent to quarantine or release, by its id."""


class ForgetParams(WriteParams):
    """The memories to erase: these *ids*, all that match *filter*, or all of one *source*."""

    ids: tuple[Name, ...] | None = Field(default=None, min_length=1, max_length=PAGE_ITEMS_MAX)
    filter: MemoryFilter | None = None
    source: Name | None = None
    dry_run: bool = False

    @model_validator(mode="after")
    def _require_selection(self) -> Self:
        if self.ids is None and self.filter is None and self.source is None:
            raise ValueError("one of ids, filter and source must be given")
        return self


@router.method("memory.ingest", "Turn a text into memories.", scope="write")
async def ingest(context: Context, params: IngestParams) -> Receipt:
    receipt = await context.rooms.ingest.ingest(context.caller, params)
    if context.rooms.uptake is not None:
        context.rooms.uptake.note_turn(context.caller, params)
    return receipt


@router.method(
    "memory.ingest_many", "Ingest several texts; returns one receipt each.", scope="write"
)
async def ingest_many(context: Context, params: IngestManyParams) -> Receipts:
    return await context.rooms.ingest.ingest_many(context.caller, params, context.progress)


@router.method(
    "memory.replace_source",
    "Replace the memories of a source: new text is stored, missing text superseded.",
    scope="write",
)
async def replace_source(context: Context, params: ReplaceSourceParams) -> ReplaceResult:
    return await context.rooms.ingest.replace_source(context.caller, params)


@router.method("memory.store", "Store one text verbatim; returns its id.", scope="write")
async def store(context: Context, params: StoreParams) -> Name:
    return await context.rooms.ingest.store(context.caller, params, merge=params.merge)


@router.method(
    "memory.recall",
    'Get all preferences, then what answers a question; preferences "matching": only what matches.',
    short_id=_SESSION_ID,
)
async def recall(context: Context, params: RecallParams) -> RecallResult:
    return await context.rooms.recall.recall(context.caller, params)


@router.method("memory.retrieve", "Search the best matches of a text, or list by filters.")
async def retrieve(context: Context, params: RetrieveParams) -> tuple[MemoryEntry, ...]:
    return await context.rooms.recall.retrieve(context.caller, params)


@router.method("memory.retrieve_sparse", "Search by words only (BM25), best first.")
async def retrieve_sparse(context: Context, params: RetrieveParams) -> tuple[MemoryEntry, ...]:
    if params.text is None:
        return ()
    return await context.rooms.recall.retrieve(context.caller, params, SearchMode.WORDS)


@router.method("memory.get", "Get one memory, or null.", short_id=_ID)
async def get(context: Context, params: GetParams) -> MemoryEntry | None:
    """Return the memory; a lesson comes with all of its tiers, unlike in a search (SPEC D24)."""
    recall, also_shared = context.rooms.recall, params.include_shared
    entry = await recall.get(context.caller, params.id, also_shared=also_shared)
    if entry is None or entry.category is not MemoryCategory.PROCEDURAL:
        return entry
    return await context.rooms.lessons.with_tiers(context.caller, entry)


@router.method(
    "memory.why", "Get where a memory came from and its earlier texts, or null.", short_id=_ID
)
async def why(context: Context, params: WhyParams) -> Provenance | None:
    """Return the provenance; its messages are shortened if they do not fit into a frame."""
    recall, caller = context.rooms.recall, context.caller
    provenance = await recall.why(caller, params.id, full=params.full)
    if params.full and provenance is not None and len(to_json(provenance)) > FRAME_BYTES_MAX:
        return await recall.why(caller, params.id, full=False)
    return provenance


@router.method(
    "memory.update", "Update a memory; the previous version is kept.", scope="write", short_id=_ID
)
async def update(context: Context, params: UpdateParams) -> MemoryEntry:
    return await context.rooms.ingest.update(context.caller, params.id, params)


@router.method(
    "memory.list", "List memories that match the filters, page by page.", short_id=_SESSION_ID
)
async def list_(context: Context, params: ListParams) -> Page[MemoryEntry]:
    async def page_of(limit: int) -> Page[MemoryEntry]:
        items, after = await context.rooms.recall.list(
            context.caller,
            params,
            params.after,
            limit,
            passing=params.include_passing,
            projectless=params.projectless,
        )
        return Page[MemoryEntry](items=items, next=after)

    return await fitting_page(page_of, params.limit)


@router.method("memory.count", "Count memories.")
async def count(context: Context, params: CountParams) -> int:
    return await context.rooms.recall.count(context.caller, params.category)


@router.method("memory.delete", "Move a memory to the trash.", scope="write", short_id=_ID)
async def delete(context: Context, params: WriteIdParams) -> bool:
    return await context.rooms.trash.delete(context.caller, params.id)


@router.method("memory.synthesize", "Synthesize one block from all sources.")
async def synthesize(context: Context, params: SynthesizeParams) -> SynthesisResult:
    return await context.rooms.synthesis.block(context.caller, params)


@router.method(
    "memory.flagged",
    "List flagged and quarantined memories.",
    scope="admin",
    writes=False,
    short_id=_ANY_AGENTS_ID,
)
async def list_flagged(context: Context, params: FlaggedParams) -> Page[FlaggedMemory]:
    quarantine, caller = context.rooms.quarantine, context.caller
    if params.id is not None:
        return Page[FlaggedMemory](items=(await quarantine.show(caller, params.id),))
    items, after = await quarantine.list_flagged(
        caller,
        params.after,
        params.limit,
        quarantined=params.quarantined,
        everybody=params.everybody,
    )
    return Page[FlaggedMemory](items=items, next=after)


@router.method(
    "memory.release", "Release a memory from quarantine.", scope="admin", short_id=_ANY_AGENTS_ID
)
async def release(context: Context, params: QuarantineParams) -> bool:
    return await context.rooms.quarantine.release(context.caller, params.id)


@router.method("memory.quarantine", "Quarantine a memory.", scope="admin", short_id=_ANY_AGENTS_ID)
async def quarantine(context: Context, params: QuarantineParams) -> QuarantineResult:
    return await context.rooms.quarantine.quarantine(context.caller, params.id)


@router.method(
    "memory.forget",
    "Erase memories everywhere, provably.",
    scope="write",
    short_id=ShortId("ids", "forgettable"),
)
async def forget(context: Context, params: ForgetParams) -> ForgetResult:
    rooms, caller = context.rooms, context.caller
    result = await rooms.trash.forget(
        caller, params.ids, params.filter, params.source, params.dry_run
    )
    if params.dry_run:
        return result
    # Each returns a file or folder that may still contain the memories, None if there is none.
    remaining = [
        await rooms.wiki.remove_forgotten(caller),
        await rooms.skills.remove_forgotten(caller),
        rooms.naps.remove_forgotten(),
    ]
    return result.model_copy(update={"backups": (*result.backups, *filter(None, remaining))})
