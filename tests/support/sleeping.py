"""Nights that remember that they were, and do nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from memd.base.clock import Clock, from_us
from memd.domain.caller import Caller
from memd.domain.enums import RunKind, RunState
from memd.domain.sleep.sleep import RunReport, StepReport
from memd.sleep.night.backoff import PostponedRun

Progress = Callable[[int, int], None]


@dataclass
class FakeNight:
    """Satisfies what the scheduler needs of a night.

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
    postponed: PostponedRun | None = None

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

    async def is_paused(self) -> bool:
        return self.held

    async def last(self, kind: RunKind) -> RunReport | None:
        return next((run for run in reversed(self.runs) if run.kind is kind), None)

    async def resume_unfinished(self) -> None:
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
