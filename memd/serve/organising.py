"""``org.*``: facts asked for, and as they once were; ``deciding.py`` writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from pydantic_core import to_json

from memd.base.limits import FRAME_BYTES_MAX
from memd.model.caller import Caller
from memd.model.history import FactsThen, Timeline
from memd.model.org import OrgFact
from memd.model.values import Value
from memd.rpc import params_org as p
from memd.rpc.params import Params
from memd.serve.dispatch import Handler
from memd.serve.org_rooms import Org
from memd.serve.rooms import Rooms

Item = TypeVar("Item", bound=Value)


def handlers(rooms: Rooms) -> Mapping[str, Handler]:
    """Return the handlers of what everybody knows."""
    organising = Organising(rooms.org)
    return {
        "org.get": organising.get,
        "org.query": organising.query,
        "org.policies": organising.policies,
        "org.count_policies": organising.count_policies,
        "org.history": organising.history,
        "org.snapshot_at": organising.snapshot_at,
        "org.as_of": organising.as_of,
        "org.timeline": organising.timeline,
    }


class Organising:
    """A view of the organisation's room."""

    def __init__(self, org: Org) -> None:
        self._org = org

    async def get(self, caller: Caller, params: p.FactById) -> OrgFact | None:
        return await self._org.get(caller, params.fact_id)

    async def query(self, caller: Caller, params: p.QueryFacts) -> tuple[OrgFact, ...]:
        return await self._org.query(caller, params)

    async def policies(self, caller: Caller, params: p.ListPolicies) -> tuple[OrgFact, ...]:
        return await self._org.list_policies(
            caller, params.limit, params.offset, every=params.every
        )

    async def count_policies(self, caller: Caller, params: Params) -> int:
        del params
        return await self._org.count_policies(caller)

    async def history(self, caller: Caller, params: p.FactHistory) -> p.OperationPage:
        """Return one page, shorter than asked for when its texts would not fit into a frame."""
        told = await self._org.history(caller, params.fact_id)
        left = [entry for entry in told if params.after is None or entry.version > params.after]
        items = tuple(_fitting(left[: params.limit]))
        return p.OperationPage(
            items=items, next=items[-1].version if len(items) < len(left) else None
        )

    async def snapshot_at(self, caller: Caller, params: p.SnapshotAt) -> p.SnapshotPage:
        """Return one page, shorter than asked for when its texts would not fit into a frame."""
        found = await self._org.snapshot_at(caller, params.at, params.after, params.limit + 1)
        items = tuple(_fitting(found[: params.limit]))
        return p.SnapshotPage(
            items=items, next=items[-1].fact_id if len(items) < len(found) else None
        )

    async def as_of(self, caller: Caller, params: p.FactsAsOf) -> FactsThen:
        """Return one page, shorter than asked for when its texts would not fit into a frame."""
        found = await self._org.past.as_of(caller, params)
        items = tuple(_fitting(found.items))
        if len(items) == len(found.items):
            return found
        return found.model_copy(update={"items": items, "next": items[-1].operation_id})

    async def timeline(self, caller: Caller, params: p.TimelineOf) -> Timeline:
        """Return as many stretches as fit into a frame."""
        found = await self._org.past.timeline(caller, params.name)
        stretches = tuple(_fitting(found.stretches))
        if len(stretches) == len(found.stretches):
            return found
        return found.model_copy(update={"stretches": stretches, "truncated": True})


def _fitting(items: Sequence[Item]) -> Iterator[Item]:
    """Yield *items* while their texts fit into one frame, but always the first."""
    used = 0
    for number, item in enumerate(items):
        used += len(to_json(item)) + 1
        if number and used > FRAME_BYTES_MAX:
            return
        yield item
