"""A room of quarantine in which nothing is suspicious."""

from __future__ import annotations

from memd.base.errors import MemoryNotFoundError
from memd.domain.caller import Caller
from memd.domain.trust import Flagged, Quarantined


class FakeQuarantine:
    """Knows nothing suspicious."""

    async def flagged(
        self,
        caller: Caller,
        after: str | None,
        limit: int,
        *,
        aside: bool = False,
        everybody: bool = False,
    ) -> tuple[tuple[Flagged, ...], str | None]:
        del caller, after, limit, aside, everybody
        return (), None

    async def show(self, caller: Caller, memory_id: str) -> Flagged:
        del caller, memory_id
        raise MemoryNotFoundError("no suspicious memory has this id", field="id")

    async def release(self, caller: Caller, memory_id: str) -> bool:
        del caller, memory_id
        return False

    async def quarantine(self, caller: Caller, memory_id: str) -> Quarantined:
        del caller
        return Quarantined(id=memory_id)
