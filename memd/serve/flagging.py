"""``memory.flagged``, ``memory.release``, ``memory.quarantine``: the owner's view of suspicion."""

from __future__ import annotations

from collections.abc import Mapping

from memd.model.caller import Caller
from memd.model.flagged import Quarantined
from memd.rpc import params_flagged as p
from memd.serve.dispatch import Handler
from memd.serve.rooms import Rooms


def handlers(rooms: Rooms) -> Mapping[str, Handler]:
    """Return the handlers of what is suspicious."""
    flagging = _Flagging(rooms)
    return {
        "memory.flagged": flagging.flagged,
        "memory.release": flagging.release,
        "memory.quarantine": flagging.quarantine,
    }


class _Flagging:
    """The room of quarantine, as the socket shows it."""

    def __init__(self, rooms: Rooms) -> None:
        self._quarantine = rooms.quarantine

    async def flagged(self, caller: Caller, params: p.ListFlagged) -> p.FlaggedPage:
        if params.id is not None:
            return p.FlaggedPage(items=(await self._quarantine.show(caller, params.id),))
        items, after = await self._quarantine.flagged(
            caller,
            params.after,
            params.limit,
            aside=params.quarantined,
            everybody=params.everybody,
        )
        return p.FlaggedPage(items=items, next=after)

    async def release(self, caller: Caller, params: p.SetAside) -> bool:
        return await self._quarantine.release(caller, params.id)

    async def quarantine(self, caller: Caller, params: p.SetAside) -> Quarantined:
        return await self._quarantine.quarantine(caller, params.id)
