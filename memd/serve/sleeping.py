"""``sleep.*``: nights and compressions now, what they did, and undoing them.

What was begun goes on when its client goes away or cancels the request: that ends
the waiting. ``sleep.pause`` stops a night, at its next step (docs/decisions/0044).
"""

from __future__ import annotations

from collections.abc import Mapping

from memd.base.clock import DAY_US
from memd.base.errors import NotFoundError
from memd.model.caller import Caller
from memd.model.sleep import RunReport, SleepStatus
from memd.rpc import params_sleep as p
from memd.rpc.methods import Runs
from memd.rpc.params import Params
from memd.serve.dispatch import Handler, progress_of_call
from memd.serve.rooms import Rhythm, Rooms, Sleep


def handlers(rooms: Rooms) -> Mapping[str, Handler]:
    """Return the handlers of the nights."""
    sleeping = Sleeping(rooms.sleep, rooms.rhythm)
    return {
        "sleep.run": sleeping.run,
        "sleep.compress": sleeping.compress,
        "sleep.status": sleeping.status,
        "sleep.report": sleeping.report,
        "sleep.undo": sleeping.undo,
        "sleep.pause": sleeping.pause,
        "sleep.resume": sleeping.resume,
    }


class Sleeping:
    """A view of the nights and of the rhythm that begins them."""

    def __init__(self, nights: Sleep, rhythm: Rhythm) -> None:
        self._nights = nights
        self._rhythm = rhythm

    async def run(self, caller: Caller, params: p.Night) -> RunReport:
        run = self._nights.run(
            caller,
            dry_run=params.dry_run,
            steps=frozenset(params.steps) if params.steps else None,
            agent_id=params.agent_id,
            ahead_us=params.in_days * DAY_US,
            progress=progress_of_call(),
        )
        return await self._rhythm.asked(run)

    async def compress(self, caller: Caller, params: p.Compress) -> RunReport:
        run = self._nights.compress(
            caller, force=params.force, sessions=params.sessions, progress=progress_of_call()
        )
        return await self._rhythm.asked(run)

    async def status(self, caller: Caller, params: Params) -> SleepStatus:
        del caller, params
        return await self._rhythm.status()

    async def report(self, caller: Caller, params: p.Reports) -> Runs:
        """Return one run, or a page of them, newest first.

        A client of one agent sees the runs of that agent and of all, not another's, and of
        all only its own memories.
        """
        if params.run_id is not None:
            run = await self._nights.report(params.run_id, caller, params.memories_after)
            if not _may_see(caller, run):
                raise NotFoundError("there is no such run", field="run_id")
            return Runs(items=(run,))
        found = await self._nights.reports(params.after, params.limit)
        seen = tuple(run for run in found if _may_see(caller, run))
        return Runs(items=seen, next=found[-1].run_id if len(found) == params.limit else None)

    async def undo(self, caller: Caller, params: p.Undo) -> RunReport:
        run = self._nights.undo(caller, params.run_id, progress=progress_of_call())
        return await self._rhythm.asked(run)

    async def pause(self, caller: Caller, params: Params) -> SleepStatus:
        """Let no night begin until ``sleep.resume``; the one that runs stops at its next step."""
        del params
        await self._nights.pause(caller)
        return await self._rhythm.status()

    async def resume(self, caller: Caller, params: Params) -> SleepStatus:
        del params
        await self._nights.resume(caller)
        return await self._rhythm.status()


def _may_see(caller: Caller, run: RunReport) -> bool:
    return run.agent_id is None or caller.may_be(run.agent_id)
