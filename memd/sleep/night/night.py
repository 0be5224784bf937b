"""Run and undo nights: retention, consolidation, compression, ageing, and the cap.

A night is a series of steps for one agent after another. Each step is one transaction that has its
record. So a night that was killed, or interrupted by the disk (``backoff.py``), resumes where it
stopped, a write waits for at most one step, and a night can be undone. The clock is read once, at
the start, so that what is due does not change during the night.
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
from memd.sleep.night import reports
from memd.sleep.night.backoff import DiskRetries, PostponedRun, is_disk_error
from memd.sleep.night.reports import build_report
from memd.sleep.night.tasks import Cursor, NightScope, NightTask, PlannedStep
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.memory import groups
from memd.store.memory.transitions import RunStep
from memd.store.run import runs, undo
from memd.store.run.runs import RunRow
from memd.store.search.caches import compact

STEP_MS = 50.0  # the target duration of a step
ROWS_MIN, ROWS_FIRST, ROWS_MAX = 8, 32, 512  # rows of a step: least, at first, most
STEPS = ("retention", "consolidation", "compression", "ageing", "cap")

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class _ActiveRun:
    """A run in progress, its caller, and the callback for its progress."""

    caller: Caller
    row: RunRow
    progress: Progress | None = None
    errors: list[str] = field(default_factory=list)
    """The kinds of the errors that ended it for single agents."""


@dataclass
class Night:
    """Runs and undoes nights, one run at a time."""

    db: Database
    clock: Clock
    ids: Ids
    tasks: Callable[[Mapping[str, Any]], Sequence[NightTask]]
    """Returns the tasks of a request: its ``steps``, or ``force`` and ``sessions`` to compress."""
    emit: Emit
    on_finished: Callable[[RunRow], Awaitable[None]]
    """Called with each finished run; its summaries may not have vectors yet."""
    enabled: Callable[[], bool]
    """Returns the kill switch of the settings."""
    undo_us: int
    """How long the trash keeps the memories of an undone nap."""
    model_usage: Callable[[], dict[str, Any]] = dict
    """Returns the requests to a language model since the last call, for the report."""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _checking: bool = False
    """Whether the lock is held only to look for unfinished runs, which refuses no request."""
    _running: RunReport | None = None
    _retries: DiskRetries = field(init=False)

    def __post_init__(self) -> None:
        self._retries = DiskRetries(self.db, self.clock)

    @property
    def running(self) -> RunReport | None:
        """The report of the run in progress."""
        return self._running

    @property
    def postponed(self) -> PostponedRun | None:
        """The run that waits for the disk; None if there is none or its wait is over."""
        return self._retries.current

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
        """Run a night now, or with *dry_run* only report what it would do and write nothing.

        *steps* and *agent_id* restrict it to these steps and this agent. A dry run is simulated
        *ahead_us* in the future. With the kill switch off, or while paused, nothing runs. Raises
        InvalidStateError while another run is in progress.
        """
        unknown = (steps or frozenset()) - frozenset(STEPS)
        if unknown:
            raise InvalidError(
                f"no such step: {', '.join(sorted(unknown))}",
                field="steps",
                hint=f"steps are {', '.join(STEPS)}",
            )
        names = [name for name in STEPS if steps is None or name in steps]
        dry_run_fields = {"ahead_us": ahead_us} if dry_run else {}
        request = {"steps": names, "agent_id": agent_id, **dry_run_fields}
        return await self._start(caller, RunKind.NIGHT, request, progress, dry_run=dry_run)

    async def compress(
        self,
        caller: Caller,
        *,
        force: bool = False,
        sessions: int | None = None,
        progress: Progress | None = None,
    ) -> RunReport:
        """Compress the caller's oldest sessions (SPEC 3).

        Without *force*, only if there are more uncompressed sessions than the threshold.
        """
        if sessions is not None and sessions < 1:
            raise InvalidError("at least one session", field="sessions")
        request = {
            "steps": ["compression"],
            "agent_id": caller.agent_id,
            "force": force,
            "sessions": sessions,
        }
        return await self._start(caller, RunKind.COMPRESS, request, progress, dry_run=False)

    async def _start(
        self,
        caller: Caller,
        kind: RunKind,
        request: dict[str, Any],
        progress: Progress | None,
        *,
        dry_run: bool,
    ) -> RunReport:
        if self._lock.locked() and not self._checking:
            raise reports.busy_error(self._running)
        async with self._lock:
            now_us = self.clock.now_us() + request.get("ahead_us", 0)
            run_id = self.ids.new()
            if dry_run or not await self._is_allowed():
                row = RunRow(0, run_id, kind, None, "done", request, {}, {}, now_us, now_us)
                steps = await self._simulate(row) if dry_run else []
                return build_report(row, steps).model_copy(update={"dry_run": dry_run})
            await self._finish_unfinished(caller)
            await self.db.write(
                caller, lambda conn: runs.start(conn, run_id, kind, None, request, now_us)
            )
            return await self._execute(_ActiveRun(caller, await self._find_run(run_id), progress))

    async def _is_allowed(self) -> bool:
        return self.enabled() and not await self.is_paused()

    async def resume_unfinished(self) -> None:
        """Finish interrupted runs, unless one waits for the disk; a disk error postpones them."""
        if self.postponed is not None:
            return
        async with self._lock:
            self._checking = True
            try:
                unfinished = (
                    await self.db.read(runs.list_unfinished) if await self._is_allowed() else []
                )
            finally:
                self._checking = False
            if unfinished:
                try:
                    await self._finish_unfinished(Caller(client="memd", method="sleep.run"))
                except MemdError:
                    if self.postponed is None:
                        raise

    async def _finish_unfinished(self, caller: Caller) -> None:
        for row in await self.db.read(runs.list_unfinished):
            if row.state == RunState.UNDOING:
                await self._undo(caller, row, None)
            else:
                await self._execute(_ActiveRun(caller, row))

    # Execution.

    async def _execute(self, run: _ActiveRun) -> RunReport:
        """Do all steps of a run, from its cursor on, and return its report.

        The run stays unfinished if it is paused or if the disk fails; the disk's error is raised.
        """
        row = run.row
        self._running = build_report(row, [])
        try:
            async with self._retries.postpone_on_error(run.caller, row):
                for scope in await self._scopes(row):
                    if not await self._try_agent(run, scope):
                        return build_report(row, await self.db.read(runs.sum_steps, row.run_key))
                return await self._finish(run)
        finally:
            self._running = None

    async def _try_agent(self, run: _ActiveRun, scope: NightScope) -> bool:
        """Do all steps for one agent and note its error; return False if sleep was switched off."""
        try:
            return await self._run_agent(run, scope)
        except MemdError as error:
            if is_disk_error(error) and not self._retries.is_exhausted(run.row):
                raise
            log.error("a night failed for an agent", kind=error.kind)
            run.errors.append(error.kind)
        except Exception as error:  # noqa: BLE001  # a bug must not repeat every night
            log.error("bug", method=run.caller.method, trace=log.trace_of(error))
            run.errors.append(InternalError.kind)
        return True

    async def _scopes(self, row: RunRow) -> list[NightScope]:
        after = int(row.cursor.get("agent_key", 1)) - 1
        only_agent = row.asked.get("agent_id")
        return [
            NightScope(key, agent_id, row.started_at_us)
            for key, agent_id in await self.db.read(groups.list_agents, after)
            if only_agent is None or agent_id == only_agent
        ]

    async def _run_agent(self, run: _ActiveRun, scope: NightScope) -> bool:
        """Do all steps for one agent; return False if sleep was switched off."""
        WORKING_FOR.set(scope.agent_id)
        tasks, cursor = self.tasks(run.row.asked), run.row.cursor
        names = [task.name for task in tasks]
        is_resumed = cursor.get("agent_key") == scope.agent_key
        start = names.index(cursor["task"]) if is_resumed and cursor["task"] in names else 0
        for task in tasks[start:]:
            position: Cursor = cursor["at"] if is_resumed and task.name == cursor["task"] else {}
            limit, done = ROWS_FIRST, 0
            ERASURES_SEEN.set(self.db.files.erasure_count)
            while (planned := await task.plan(scope, position, limit)) is not None:
                if not await self._is_allowed():
                    return False
                position = planned.cursor
                begin_s = time.perf_counter()
                rows = await self._run_step(run, scope, task, planned)
                took_s = time.perf_counter() - begin_s
                limit = next_limit(limit, 1_000 * took_s)
                done += rows
                if run.progress is not None:
                    run.progress(done, 0)
                await asyncio.sleep(took_s)  # leave half of the time to other writers
                ERASURES_SEEN.set(self.db.files.erasure_count)
        return True

    async def _run_step(
        self, run: _ActiveRun, scope: NightScope, task: NightTask, planned: PlannedStep
    ) -> int:
        row = run.row
        cursor = {"agent_key": scope.agent_key, "task": task.name, "at": planned.cursor}
        step = RunStep(row.run_key, row.run_id, scope.now_us, self.ids.new)

        def work(conn: Writing) -> int:
            rows = planned.apply(conn, step)
            runs.step(conn, row.run_key, task.name, rows, cursor, self.clock.now_us())
            return rows

        return await self.db.write(run.caller, work, batch=row.run_id)

    async def _finish(self, run: _ActiveRun) -> RunReport:
        row, now_us = run.row, self.clock.now_us()
        state = RunState.FAILED if run.errors else RunState.DONE
        extra = ({"errors": run.errors} if run.errors else {}) | self.model_usage()

        def work(conn: Writing) -> None:
            detail = {"summaries": runs.count_made(conn, row.run_key), **extra}
            runs.finish(conn, row.run_key, state, {"detail": detail}, now_us)

        await compact(self.db, run.caller)
        await self.db.write(run.caller, work)
        report = await self.report(row.run_id, run.caller)
        await self.on_finished(await self._find_run(row.run_id))
        for agent_id in {scope.agent_id for scope in await self._scopes(row)}:
            event = await reports.event_payload(self.db, row, agent_id)
            self.emit(agent_id, EventName.CONSOLIDATED, event)
        return report

    async def _simulate(self, row: RunRow) -> list[runs.StepSum]:
        """Return the number of rows and steps of each task, without executing them."""
        sums: dict[str, runs.StepSum] = {}
        for scope in await self._scopes(row):
            for task in self.tasks(row.asked | {"dry_run": True}):
                position: Cursor = {}
                while (planned := await task.plan(scope, position, _NO_LIMIT)) is not None:
                    position = planned.cursor
                    total = sums.get(task.name, runs.StepSum(task.name, 0, 0))
                    sums[task.name] = total._replace(
                        rows=total.rows + planned.rows, steps=total.steps + 1
                    )
        return list(sums.values())

    # Undoing.

    async def undo(
        self, caller: Caller, run_id: str, *, progress: Progress | None = None
    ) -> RunReport:
        """Restore every memory that a run changed to its state before the run.

        Memories that a nap made go to the trash; the messages that it stored are kept. Undoing an
        interrupted run ends it. An undo that is killed resumes at the next start. Raises
        NotFoundError, InvalidStateError during a run or if the run is undone already, and
        ConflictError if one of its memories was changed since; then nothing is changed.
        """
        if self._lock.locked() and not self._checking:
            raise reports.busy_error(self._running)
        async with self._lock:
            row = await self._find_run(run_id)
            if row.state == RunState.UNDONE:
                raise InvalidStateError("this run is undone", hint="a run can be undone once")
            await self.db.read_dedicated(lambda conn: undo.check(conn, row))
            await self.db.write(
                caller, lambda conn: runs.set_state(conn, row.run_key, RunState.UNDOING)
            )
            return await self._undo(caller, row, progress)

    async def _undo(self, caller: Caller, row: RunRow, progress: Progress | None) -> RunReport:
        async with self._retries.postpone_on_error(caller, row):
            await self._undo_steps(caller, row, progress)
        return await self.report(row.run_id, caller)

    async def _undo_steps(self, caller: Caller, row: RunRow, progress: Progress | None) -> None:
        limit, done = ROWS_FIRST, 0
        while True:
            begin_s = time.perf_counter()
            now_us = self.clock.now_us()
            work = partial(
                undo.undo_step, run=row, now_us=now_us, undo_us=self.undo_us, limit=limit
            )
            count = await self.db.write(caller, work, batch=row.run_id)
            if not count:
                break
            took_s = time.perf_counter() - begin_s
            limit, done = next_limit(limit, 1_000 * took_s), done + count
            if progress is not None:
                progress(done, 0)
            await asyncio.sleep(took_s)
        await self.db.write(caller, lambda conn: runs.set_state(conn, row.run_key, RunState.UNDONE))

    # Reports.

    async def report(self, run_id: str, caller: Caller, after: int = 0) -> RunReport:
        """Return the report of a run (``reports.load_report``); raises NotFoundError."""
        return await reports.load_report(self.db, run_id, self._retries, caller, after)

    async def reports(self, after: str | None, limit: int) -> tuple[RunReport, ...]:
        """Return the reports of runs before *after*, newest first."""
        return await reports.load_page(self.db, after, limit, self._retries)

    async def last(self, kind: RunKind) -> RunReport | None:
        """Return the last run of a kind; of nights, the last with all steps and agents."""
        return await reports.load_last(self.db, kind, STEPS, self._retries)

    async def _find_run(self, run_id: str) -> RunRow:
        return await reports.find_run(self.db, run_id)

    # The kill switch at run time.

    async def is_paused(self) -> bool:
        """Return whether sleep is paused."""
        return await self.db.read(runs.is_paused)

    async def pause(self, caller: Caller) -> None:
        """Pause sleep until :meth:`resume`; a night in progress stops before its next step."""
        await self.db.write(caller, lambda conn: runs.set_paused(conn, paused=True))

    async def resume(self, caller: Caller) -> None:
        """Allow sleep again; an interrupted night is finished before the next one begins."""
        await self.db.write(caller, lambda conn: runs.set_paused(conn, paused=False))


_NO_LIMIT = 1 << 30


def next_limit(limit: int, took_ms: float) -> int:
    """Return the number of memories for the next step, so that it takes about STEP_MS.

    *limit* is that of the step that took *took_ms*; one step changes it by at most 4 or 2 times.

    >>> next_limit(32, 50.0), next_limit(32, 200.0), next_limit(32, 1.0)
    (32, 8, 64)
    """
    target = limit * STEP_MS / max(took_ms, 1.0)
    return round(min(max(target, limit / 4, ROWS_MIN), limit * 2, ROWS_MAX))
