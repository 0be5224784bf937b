"""Nights that remember that they were, and do nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from memd.base.clock import Clock, from_us
from memd.base.errors import ConflictError, NotFoundError
from memd.domain.caller import Caller
from memd.domain.enums import ConsolidationInterval, RunKind, RunState
from memd.domain.sleep.sleep import RunReport, StepReport
from memd.sleep.night.backoff import PutOff
from memd.sleep.night.rhythm import Rhythm

Progress = Callable[[int, int], None]


@dataclass
class FakeNight:
    """Satisfies what the socket and the rhythm need of the nights.

    A run that finds *gate* closed waits there; *fail* is raised by a run, *stuck*
    by going on, *late* by a run behind the gate. *asked* holds how each run was asked for.
    """

    clock: Clock
    runs: list[RunReport] = field(default_factory=list)
    asked: list[dict[str, object]] = field(default_factory=list)
    went_on: int = 0
    begun: int = 0
    held: bool = False
    gate: asyncio.Event | None = None
    fail: BaseException | None = None
    stuck: BaseException | None = None
    late: BaseException | None = None
    running: RunReport | None = None
    put_off: PutOff | None = None

    async def run(
        self,
        caller: Caller,
        *,
        dry_run: bool = False,
        steps: frozenset[str] | None = None,
        agent_id: str | None = None,
        ahead_us: int = 0,
        progress: Progress | None = None,
    ) -> RunReport:
        self.asked.append({"dry_run": dry_run, "steps": steps, "agent_id": agent_id})
        return await self._ran(caller, RunKind.NIGHT, agent_id, progress, dry_run=dry_run)

    async def compress(
        self,
        caller: Caller,
        *,
        force: bool = False,
        sessions: int | None = None,
        progress: Progress | None = None,
    ) -> RunReport:
        self.asked.append({"force": force, "sessions": sessions})
        return await self._ran(caller, RunKind.COMPRESS, caller.agent_id, progress)

    async def undo(
        self, caller: Caller, run_id: str, *, progress: Progress | None = None
    ) -> RunReport:
        found = await self.report(run_id, caller)
        if found.state is not RunState.DONE:
            raise ConflictError(f"run {run_id} is {found.state}")
        at = self.runs.index(found)
        self.runs[at] = found.model_copy(update={"state": RunState.UNDONE})
        return await self._ran(caller, RunKind.UNDO, found.agent_id, progress)

    async def report(self, run_id: str, caller: Caller, after: int = 0) -> RunReport:
        del caller, after
        for run in self.runs:
            if run.run_id == run_id:
                return run
        raise NotFoundError("there is no such run", field="run_id")

    async def reports(self, after: str | None, limit: int) -> tuple[RunReport, ...]:
        newest = [run for run in reversed(self.runs) if after is None or run.run_id < after]
        return tuple(newest[:limit])

    async def pause(self, caller: Caller) -> None:
        del caller
        self.held = True

    async def resume(self, caller: Caller) -> None:
        del caller
        self.held = False

    async def paused(self) -> bool:
        return self.held

    async def last(self, kind: RunKind) -> RunReport | None:
        return next((run for run in reversed(self.runs) if run.kind is kind), None)

    async def go_on(self) -> None:
        self.went_on += 1
        if self.stuck is not None:
            raise self.stuck

    async def _ran(
        self,
        caller: Caller,
        kind: RunKind,
        agent_id: str | None,
        progress: Progress | None,
        *,
        dry_run: bool = False,
    ) -> RunReport:
        del caller
        self.begun += 1
        if self.fail is not None:
            raise self.fail
        now = from_us(self.clock.now_us())
        run = RunReport(
            run_id=f"run-{len(self.runs):04}",
            kind=kind,
            state=RunState.RUNNING,
            agent_id=agent_id,
            dry_run=dry_run,
            started_at=now,
        )
        self.running = run
        try:
            if self.gate is not None:
                await self.gate.wait()
            if self.late is not None:
                raise self.late
        finally:
            self.running = None
        if progress is not None:
            progress(1, 1)
        steps = (StepReport(name="consolidation", rows=3, steps=1),)
        done = run.model_copy(update={"state": RunState.DONE, "finished_at": now, "steps": steps})
        self.runs.append(done)
        return done


def a_rhythm(night: FakeNight) -> Rhythm:
    """Return the rhythm over *night* of a store that is empty: nothing is ever due."""

    async def since() -> datetime | None:
        return None

    return Rhythm(
        nights=cast("Any", night),
        clock=night.clock,
        interval=ConsolidationInterval.DAILY,
        enabled=lambda: True,
        since=since,
        on_battery=lambda: False,
        load=lambda: 0.0,
    )
