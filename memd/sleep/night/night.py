"""A night: retention, consolidation, compression, ageing, the cap, in steps of about 50 ms.

Each step is one transaction and is recorded in it, so a night that was killed, or
that the disk ended, goes on where it was (backoff.py says when), an interactive write
waits for one step at most, and the whole night can be undone. Agents come one after
another. The night reads the clock once, at its beginning: what is due does not change
under its hands.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from memd.base import log
from memd.base.clock import Clock
from memd.base.errors import InternalError, InvalidError, InvalidStateError, MemdError
from memd.base.ids import Ids
from memd.domain.caller import ERASURES_SEEN, WORKING_FOR, Caller
from memd.domain.enums import RunKind, RunState
from memd.domain.sleep.sleep import RunReport
from memd.domain.values import Emit, EventName
from memd.sleep.night import reports, way_back
from memd.sleep.night.backoff import PutOff, Waits, of_the_disk
from memd.sleep.night.reports import report_of
from memd.sleep.night.task import Cursor, NightScope, NightTask, PlannedStep
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.memory import groups
from memd.store.memory.transitions import RunStep
from memd.store.run import runs
from memd.store.run.runs import RunRow
from memd.store.search import fulltext

STEP_MS = 50.0
ROWS_MIN, ROWS_FIRST, ROWS_MAX = 8, 32, 512
STEPS = ("retention", "consolidation", "compression", "ageing", "cap")

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class _Run:
    """A run that is going on, for whom, and who hears how far it is."""

    caller: Caller
    row: RunRow
    progress: Progress | None = None
    failed: list[str] = field(default_factory=list)
    """The kinds of the errors that ended it for an agent."""


@dataclass
class Night:
    """The room's needs, handed in by the daemon."""

    db: Database
    clock: Clock
    ids: Ids
    tasks: Callable[[Mapping[str, Any]], Sequence[NightTask]]
    """The tasks of what was asked: ``steps``, or a compression's ``force`` and ``sessions``."""
    emit: Emit
    done: Callable[[RunRow], Awaitable[None]]
    """Told of a run that is finished, also that summaries may wait for their vectors."""
    enabled: Callable[[], bool]
    """The settings' kill switch."""
    undo_us: int
    """How long the trash keeps what an undone nap had learnt."""
    of_model: Callable[[], dict[str, Any]] = dict
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _looking: bool = False
    """The lock is only held to see whether something was left over."""
    _running: RunReport | None = None
    _waits: Waits = field(init=False)

    def __post_init__(self) -> None:
        self._waits = Waits(self.db, self.clock)

    @property
    def running(self) -> RunReport | None:
        """What is going on now."""
        return self._running

    @property
    def put_off(self) -> PutOff | None:
        """The run that waits for the disk; None when none does, or its time has come."""
        return self._waits.now

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
        """Run a night now, or with *dry_run* only say what it would do; nothing is written then.

        *steps*: only those; *agent_id*: only that agent's memories; *ahead_us*: how much later it
        is rehearsed. With the kill switch off, or paused, nothing runs. Raises InvalidStateError
        while another run is going on.
        """
        wrong = (steps or frozenset()) - frozenset(STEPS)
        if wrong:
            raise InvalidError(
                f"no such step: {', '.join(sorted(wrong))}",
                field="steps",
                hint=f"steps are {', '.join(STEPS)}",
            )
        chosen = [name for name in STEPS if steps is None or name in steps]
        ahead = {"ahead_us": ahead_us} if dry_run else {}
        asked = {"steps": chosen, "agent_id": agent_id, **ahead}
        return await self._asked(caller, RunKind.NIGHT, asked, progress, dry_run=dry_run)

    async def compress(
        self,
        caller: Caller,
        *,
        force: bool = False,
        sessions: int | None = None,
        progress: Progress | None = None,
    ) -> RunReport:
        """Compress the caller's oldest sessions (SPEC 3), with *force* however few there are."""
        if sessions is not None and sessions < 1:
            raise InvalidError("at least one session", field="sessions")
        asked = {
            "steps": ["compression"],
            "agent_id": caller.agent_id,
            "force": force,
            "sessions": sessions,
        }
        return await self._asked(caller, RunKind.COMPRESS, asked, progress, dry_run=False)

    async def _asked(
        self,
        caller: Caller,
        kind: RunKind,
        asked: dict[str, Any],
        progress: Progress | None,
        *,
        dry_run: bool,
    ) -> RunReport:
        if self._lock.locked() and not self._looking:
            raise InvalidStateError("memd is asleep already", hint="see how far it is: memd sleep")
        async with self._lock:
            now_us = self.clock.now_us() + asked.get("ahead_us", 0)
            run_id = self.ids.new()
            if dry_run or not await self._may():
                row = RunRow(0, run_id, kind, None, "done", asked, {}, {}, now_us, now_us)
                steps = await self._tried(row) if dry_run else []
                return report_of(row, steps).model_copy(update={"dry_run": dry_run})
            await self._finish_old(caller)
            await self.db.write(
                caller, lambda conn: runs.start(conn, run_id, kind, None, asked, now_us)
            )
            return await self._work(_Run(caller, await self._run(run_id), progress))

    async def _may(self) -> bool:
        return self.enabled() and not await self.paused()

    async def go_on(self) -> None:
        """Finish what a kill interrupted, or the disk ended; another error puts it off."""
        if self.put_off is not None:
            return
        async with self._lock:
            self._looking = True
            try:
                left = await self.db.read(runs.unfinished) if await self._may() else []
            finally:
                self._looking = False
            if left:
                try:
                    await self._finish_old(Caller(client="memd", method="sleep.run"))
                except MemdError:
                    if self.put_off is None:
                        raise

    async def _finish_old(self, caller: Caller) -> None:
        for row in await self.db.read(runs.unfinished):
            if row.state == RunState.UNDOING:
                await self._take_back(caller, row, None)
            else:
                await self._work(_Run(caller, row))

    # The work.

    async def _work(self, run: _Run) -> RunReport:
        """Do all steps of a run, from its cursor on.

        When told to stop, and when the disk refuses, which is raised, it stays unfinished.
        """
        row = run.row
        self._running = report_of(row, [])
        try:
            async with self._waits.heeding(run.caller, row):
                for scope in await self._scopes(row):
                    if not await self._did_agent(run, scope):
                        return report_of(row, await self.db.read(runs.steps, row.run_key))
                return await self._finished(run)
        finally:
            self._running = None

    async def _did_agent(self, run: _Run, scope: NightScope) -> bool:
        """Do all steps for one agent, and note what it fails of; False when told to stop."""
        try:
            return await self._of_agent(run, scope)
        except MemdError as error:
            if of_the_disk(error) and not self._waits.are_over(run.row):
                raise
            log.error("a night failed for an agent", kind=error.kind)
            run.failed.append(error.kind)
        except Exception as error:  # noqa: BLE001  # a bug must not be met again every night
            log.error("bug", method=run.caller.method, trace=log.trace_of(error))
            run.failed.append(InternalError.kind)
        return True

    async def _scopes(self, row: RunRow) -> list[NightScope]:
        after = int(row.cursor.get("agent_key", 1)) - 1
        only = row.asked.get("agent_id")
        return [
            NightScope(key, agent_id, row.started_at_us)
            for key, agent_id in await self.db.read(groups.list_agents, after)
            if only is None or agent_id == only
        ]

    async def _of_agent(self, run: _Run, scope: NightScope) -> bool:
        """Do all steps for one agent; False when told to stop."""
        WORKING_FOR.set(scope.agent_id)
        tasks, cursor = self.tasks(run.row.asked), run.row.cursor
        names = [task.name for task in tasks]
        mine = cursor.get("agent_key") == scope.agent_key
        first = names.index(cursor["task"]) if mine and cursor["task"] in names else 0
        for task in tasks[first:]:
            at: Cursor = cursor["at"] if mine and task.name == cursor["task"] else {}
            limit, done = ROWS_FIRST, 0
            ERASURES_SEEN.set(self.db.files.erasure_count)
            while (planned := await task.plan(scope, at, limit)) is not None:
                if not await self._may():
                    return False
                at = planned.cursor
                began = time.perf_counter()
                rows = await self._step(run, scope, task, planned)
                took_ms = 1_000 * (time.perf_counter() - began)
                limit = next_limit(limit, took_ms)
                done += rows
                if run.progress is not None:
                    run.progress(done, 0)
                await asyncio.sleep(took_ms / 1_000)  # half of the time belongs to others
                ERASURES_SEEN.set(self.db.files.erasure_count)
        return True

    async def _step(
        self, run: _Run, scope: NightScope, task: NightTask, planned: PlannedStep
    ) -> int:
        row = run.row
        cursor = {"agent_key": scope.agent_key, "task": task.name, "at": planned.cursor}
        step = RunStep(row.run_key, row.run_id, scope.now_us, self.ids.new)

        def work(conn: Writing) -> int:
            rows = planned.apply(conn, step)
            runs.step(conn, row.run_key, task.name, rows, cursor, self.clock.now_us())
            return rows

        return await self.db.write(run.caller, work, batch=row.run_id)

    async def _finished(self, run: _Run) -> RunReport:
        row, failed, now_us = run.row, run.failed, self.clock.now_us()
        state = RunState.FAILED if failed else RunState.DONE
        errors = ({"errors": failed} if failed else {}) | self.of_model()

        def work(conn: Writing) -> None:
            detail = {"summaries": runs.made_count(conn, row.run_key), **errors}
            runs.finish(conn, row.run_key, state, {"detail": detail}, now_us)

        while await self.db.write(run.caller, fulltext.merge):
            pass  # others' writes come in between
        await self.db.write(run.caller, work)
        report = await self.report(row.run_id, run.caller)
        await self.done(await self._run(row.run_id))
        for agent_id in {scope.agent_id for scope in await self._scopes(row)}:
            event = await reports.event(self.db, row, agent_id)
            self.emit(agent_id, EventName.CONSOLIDATED, event)
        return report

    async def _tried(self, row: RunRow) -> list[runs.StepSum]:
        """Return what each task would do first to last, without doing it."""
        sums: dict[str, runs.StepSum] = {}
        for scope in await self._scopes(row):
            for task in self.tasks(row.asked | {"dry_run": True}):
                at: Cursor = {}
                while (planned := await task.plan(scope, at, _ALL)) is not None:
                    at = planned.cursor
                    before = sums.get(task.name, runs.StepSum(task.name, 0, 0))
                    sums[task.name] = before._replace(
                        rows=before.rows + planned.rows, steps=before.steps + 1
                    )
        return list(sums.values())

    # Undoing.

    async def undo(
        self, caller: Caller, run_id: str, *, progress: Progress | None = None
    ) -> RunReport:
        """Bring back, exactly, the state before a run of every memory that it touched.

        Of a nap: what it learnt goes to the trash, the messages that it kept stay. A run
        that was stopped on its way can be undone, too, and ends with that. Raises
        NotFoundError, InvalidStateError while a run is going on or when it was undone,
        ConflictError when somebody touched one of its memories since: nothing is
        changed then. Killed half-way, it goes on at the next start.
        """
        if self._lock.locked() and not self._looking:
            raise InvalidStateError("memd is asleep", hint="try again when it is awake: memd sleep")
        async with self._lock:
            row = await self._run(run_id)
            if row.state == RunState.UNDONE:
                raise InvalidStateError("this run is undone", hint="a run can be undone once")
            await self.db.read_dedicated(lambda conn: way_back.check(conn, row))
            await self.db.write(
                caller, lambda conn: runs.set_state(conn, row.run_key, RunState.UNDOING)
            )
            return await self._take_back(caller, row, progress)

    async def _take_back(self, caller: Caller, row: RunRow, progress: Progress | None) -> RunReport:
        async with self._waits.heeding(caller, row):
            await self._took_back(caller, row, progress)
        return await self.report(row.run_id, caller)

    async def _took_back(self, caller: Caller, row: RunRow, progress: Progress | None) -> None:
        limit, done = ROWS_FIRST, 0
        while True:
            began = time.perf_counter()
            now_us = self.clock.now_us()
            work = partial(way_back.step, run=row, now_us=now_us, undo_us=self.undo_us, limit=limit)
            count = await self.db.write(caller, work, batch=row.run_id)
            if not count:
                break
            took_ms = 1_000 * (time.perf_counter() - began)
            limit, done = next_limit(limit, took_ms), done + count
            if progress is not None:
                progress(done, 0)
            await asyncio.sleep(took_ms / 1_000)
        await self.db.write(caller, lambda conn: runs.set_state(conn, row.run_key, RunState.UNDONE))

    # What was done.

    async def report(self, run_id: str, caller: Caller, after: int = 0) -> RunReport:
        """Return what a run did (``reports.one``); raises NotFoundError."""
        return await reports.one(self.db, run_id, self._waits, caller, after)

    async def reports(self, after: str | None, limit: int) -> tuple[RunReport, ...]:
        """Return what runs did, newest first, from the one before *after* on."""
        return await reports.page(self.db, after, limit, self._waits)

    async def last(self, kind: RunKind) -> RunReport | None:
        """Return the last run of a kind; of nights only one of all steps and every agent counts."""
        return await reports.last(self.db, kind, STEPS, self._waits)

    async def _run(self, run_id: str) -> RunRow:
        return await reports.find_run(self.db, run_id)

    # The kill switch at run time.

    async def paused(self) -> bool:
        """Return whether somebody told memd not to sleep."""
        return await self.db.read(runs.paused)

    async def pause(self, caller: Caller) -> None:
        """Do not sleep, until told otherwise; a night that is going on stops at its next step."""
        await self.db.write(caller, lambda conn: runs.set_paused(conn, paused=True))

    async def resume(self, caller: Caller) -> None:
        """Sleep again; a night that was stopped goes on before the next one begins."""
        await self.db.write(caller, lambda conn: runs.set_paused(conn, paused=False))


_ALL = 1 << 30


def next_limit(limit: int, took_ms: float) -> int:
    """Return how many memories the next step takes, so that it is done in about STEP_MS.

    >>> next_limit(32, 50.0), next_limit(32, 200.0), next_limit(32, 1.0)
    (32, 8, 64)
    """
    target = limit * STEP_MS / max(took_ms, 1.0)
    return round(min(max(target, limit / 4, ROWS_MIN), limit * 2, ROWS_MAX))
