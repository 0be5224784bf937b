"""``shared.*``: thin views of what agents share."""

from __future__ import annotations

from collections.abc import Mapping

from memd.model.caller import Caller
from memd.rpc import params_shared as p
from memd.serve.dispatch import Handler
from memd.serve.rooms import Memories, Rooms


def handlers(rooms: Rooms) -> Mapping[str, Handler]:
    """Return the handlers of shared memories."""
    shared = _Shared(rooms)
    return {
        "shared.publish": shared.publish,
        "shared.search": shared.search,
        "shared.retract": shared.retract,
    }


class _Shared:
    """``shared.*``."""

    def __init__(self, rooms: Rooms) -> None:
        self._sharing = rooms.sharing
        self._recall = rooms.recall

    async def publish(self, caller: Caller, params: p.Publish) -> str:
        return await self._sharing.publish(caller, params)

    async def search(self, caller: Caller, params: p.SearchShared) -> Memories:
        del caller
        return await self._recall.search_shared(params, params.exclude_agent)

    async def retract(self, caller: Caller, params: p.Retract) -> bool:
        return await self._sharing.retract(caller, params.id)
