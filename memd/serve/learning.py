"""``learn.*`` and ``memory.synthesize``: thin views of what is learnt, and of one block of all."""

from __future__ import annotations

from collections.abc import Mapping

from memd.model.caller import Caller
from memd.model.learn import Learning, PlaybookEntry
from memd.model.synthesis import Synthesized
from memd.rpc import params_learn as p
from memd.serve.dispatch import Handler
from memd.serve.rooms import Rooms


def handlers(rooms: Rooms) -> Mapping[str, Handler]:
    """Return the handlers of what is learnt and of the synthesizer."""
    learn = _Learn(rooms)
    return {
        "learn.outcome": learn.outcome,
        "learn.success": learn.success,
        "learn.list": learn.list,
        "learn.playbook": learn.playbook,
        "memory.synthesize": learn.synthesize,
    }


class _Learn:
    """``learn.*`` and ``memory.synthesize``."""

    def __init__(self, rooms: Rooms) -> None:
        self._learn = rooms.learn
        self._synthesis = rooms.synthesis

    async def outcome(self, caller: Caller, params: p.ReportOutcome) -> Learning:
        return await self._learn.outcome(caller, params)

    async def success(self, caller: Caller, params: p.ReportSuccess) -> PlaybookEntry:
        return await self._learn.success(caller, params)

    async def list(self, caller: Caller, params: p.ListLessons) -> p.Lessons:
        return p.Lessons(items=await self._learn.latest(caller, params.limit))

    async def playbook(self, caller: Caller, params: p.ListPlaybook) -> p.Patterns:
        return p.Patterns(items=await self._learn.playbook(caller, params))

    async def synthesize(self, caller: Caller, params: p.Synthesize) -> Synthesized:
        return await self._synthesis.block(caller, params)
