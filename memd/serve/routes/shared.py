"""``shared.*``: what agents share."""

from __future__ import annotations

from memd.domain.memory import MemoryEntry, MemoryQuery, MemoryStoreRequest
from memd.domain.values import Name
from memd.serve.params import Params, WriteParams
from memd.serve.route import Context, Router, ShortId

router = Router()


class PublishParams(MemoryStoreRequest, WriteParams):
    """One text, shared in the agent's name."""


class SearchSharedParams(MemoryQuery, Params):
    """A search of what agents share; what *exclude_agent* published is left out."""

    exclude_agent: Name | None = None


class RetractSharedParams(WriteParams):
    """The shared memory to take back, by its id."""

    id: Name


@router.method(
    "shared.publish", PublishParams, Name, "Tell every agent a text; its id.", scope="write"
)
async def publish(context: Context, params: PublishParams) -> str:
    return await context.rooms.sharing.publish(context.caller, params)


@router.method(
    "shared.search",
    SearchSharedParams,
    tuple[MemoryEntry, ...],
    "Search what agents share, or list it.",
)
async def search(context: Context, params: SearchSharedParams) -> tuple[MemoryEntry, ...]:
    return await context.rooms.recall.search_shared(params, params.exclude_agent)


@router.method(
    "shared.retract",
    RetractSharedParams,
    bool,
    "Take one's own shared memory back.",
    scope="write",
    short_id=ShortId("id", "memory"),
)
async def retract(context: Context, params: RetractSharedParams) -> bool:
    return await context.rooms.sharing.retract(context.caller, params.id)
