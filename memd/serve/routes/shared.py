"""``shared.*``: memories shared by all agents."""

from __future__ import annotations

from memd.domain.memory import MemoryEntry, MemoryQuery, MemoryStoreRequest
from memd.domain.values import Name
from memd.serve.route import Context, Params, Router, ShortId, WriteParams

router = Router()


class PublishParams(MemoryStoreRequest, WriteParams):
    """A text to share in the agent's name."""


class SearchSharedParams(MemoryQuery, Params):
    """A search of shared memories, without those that *exclude_agent* published."""

    exclude_agent: Name | None = None


class RetractSharedParams(WriteParams):
    """The shared memory to retract, by its id."""

    id: Name


@router.method(
    "shared.publish",
    PublishParams,
    Name,
    "Publish a text to all agents; returns the id of the copy.",
    scope="write",
)
async def publish(context: Context, params: PublishParams) -> str:
    return await context.rooms.sharing.publish(context.caller, params)


@router.method(
    "shared.search",
    SearchSharedParams,
    tuple[MemoryEntry, ...],
    "Search or list shared memories.",
)
async def search(context: Context, params: SearchSharedParams) -> tuple[MemoryEntry, ...]:
    return await context.rooms.recall.search_shared(params, params.exclude_agent)


@router.method(
    "shared.retract",
    RetractSharedParams,
    bool,
    "Retract a shared memory of one's own.",
    scope="write",
    short_id=ShortId("id", "memory"),
)
async def retract(context: Context, params: RetractSharedParams) -> bool:
    return await context.rooms.sharing.retract(context.caller, params.id)
