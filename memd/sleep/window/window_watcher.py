"""Handle usage reports: store the state of each window and run the naps that it triggers.

The new state of a window is stored in the transaction of the nap that it triggers. After a kill
before it, memd reads the usage file again and naps; after a kill behind it, it does not. Reports
that arrive during a nap of their session are handled after it (``reports.py``). A session has one
nap at a time, and NAPS_AT_ONCE naps run concurrently. No error ends the watching.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memd.base import log
from memd.base.clock import Clock
from memd.base.errors import (
    BusyError,
    CallerError,
    InvalidError,
    MemdError,
    NotFoundError,
)
from memd.base.limits import NAPS_WAITING_MAX
from memd.base.project import project_of
from memd.domain.caller import LOCAL, Caller
from memd.domain.settings.settings import UsageSettings
from memd.domain.sleep.sleep import NapResult, Window
from memd.domain.values import Emit, EventName, unheard
from memd.guard.redaction import redact
from memd.signals.usage import Usage
from memd.signals.watch import UsageWatcher
from memd.sleep.window import reports, rows
from memd.sleep.window.reports import ActiveNap, Step, UsageReport
from memd.sleep.window.trigger import METHOD, Reason
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.session import windows
from memd.store.session.windows import Key, WindowRow

if TYPE_CHECKING:  # loaded when the first nap is called for, or a window is half full
    from memd.ingest.sessions import Sessions
    from memd.sleep.nap.nap import Nap
    from memd.sleep.transcript.messages import Message

NAPS_AT_ONCE = 2
WARM_UP_FILL = 0.5  # the fill of a window at which the modules for naps are loaded
PROBLEMS_MAX = 256  # windows whose reason for a failed nap is remembered
RETRY_SECONDS = (1.0, 5.0, 25.0)  # pauses between the tries of a nap
IDLE_US_MAX = 30 * 86_400_000_000  # windows without a report for 30 days are deleted


@dataclass
class WindowWatcher:
    """Handles usage reports, runs the naps that they trigger, and watches usage files."""

    db: Database
    clock: Clock
    nap: Nap
    sessions: Sessions
    rule: UsageSettings
    usage_path: Path
    """The watched usage file, or folder of usage files."""
    default_dir: Path | None = None
    """memd's own folder of usage files, which is created if missing."""
    emit: Emit = field(default=unheard)
    _active_naps: dict[Key, ActiveNap] = field(default_factory=dict)
    _problems: dict[Key, str] = field(default_factory=dict)
    """Why the last nap of a window failed."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _is_warm: bool = False
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(NAPS_AT_ONCE))

    async def report(
        self,
        caller: Caller,
        usage: Usage,
        messages: Sequence[Message] | None = None,
        *,
        returns: bool = False,
    ) -> Window:
        """Handle an assistant's report of its window (``usage.report``); it may trigger a nap.

        A nap is over *messages* if given, else over the transcript. With *returns*, wait for the
        nap and return its result in the window, unless no nap was triggered or the session has one
        already; then what ``Nap.nap`` raises is raised. Raises BusyError if too many naps, or
        reports of this window, are waiting; nothing is stored, so the report can be repeated.
        """
        reply = asyncio.get_running_loop().create_future() if returns else None
        report = UsageReport(caller, _screen(usage), None, messages, reply)
        window = await self._handle(report)
        result = None if reply is None else await reply
        if result is None:
            return window
        row = await self.db.read(windows.get, *report.key)
        napped = window if row is None else self._window(row)
        return napped.model_copy(update={"consolidated": result})

    async def restore_texts(
        self, caller: Caller, window: Window, messages: Sequence[Message] | None
    ) -> Window:
        """Return *window*, the stored answer to a report, with the texts of its nap.

        They are extracted again of *messages*, or of the transcript, and nothing is stored. Raises
        InvalidError for a transcript that cannot be read.
        """
        if window.consolidated is None:
            return window
        from memd.sleep.nap.source import NapRequest

        request = NapRequest(
            messages=messages,
            transcript_path=window.transcript_path,
            session_id=window.session_id,
            reason=Reason.FULL.value,
            max_tokens=rows.summary_window(window, self.rule.max_tokens),
        )
        result = await self.nap.restore_texts(caller, request, window.consolidated)
        return window.model_copy(update={"consolidated": result})

    async def list(self, caller: Caller) -> tuple[Window, ...]:
        """Return the windows of the caller's agent, latest report first."""
        # Also before the read: a nap that ends during it may be missing in both later lists.
        rows_by_key = self._active_windows(caller.agent_id)
        stored = await self.db.read(windows.list_windows, caller.agent_id)
        rows_by_key |= {row.key: row for row in stored}
        rows_by_key |= self._active_windows(caller.agent_id)
        newest = sorted(rows_by_key.values(), key=lambda row: row.seen_at_us, reverse=True)
        return tuple(self._window(row) for row in newest)

    def _active_windows(self, agent_id: str) -> dict[Key, WindowRow]:
        rows_by_key = {key: nap.row for key, nap in self._active_naps.items()}
        return {key: row for key, row in rows_by_key.items() if row.agent_id == agent_id}

    def unreadable(self) -> tuple[int, str | None]:
        """Return the number of usage files that cannot be read, and the reason for the last one."""
        reasons = tuple(self.watcher.unreadable.values())
        return len(reasons), reasons[-1] if reasons else None

    @property
    def waiting(self) -> int:
        """The number of naps that are running or waiting."""
        return len(self._active_naps)

    @cached_property
    def watcher(self) -> UsageWatcher:
        """The watcher of the usage files."""
        return UsageWatcher([self.usage_path], self.on_usage, own=self.default_dir)

    async def run(self) -> None:
        """Watch usage files for ever; when cancelled, cancel the naps in progress."""
        try:
            await self._drop_old()
            await self.watcher.run()
        finally:
            for task in list(self._tasks):
                task.cancel()

    async def settle(self) -> None:
        """Wait until every triggered nap is over."""
        while self._tasks:
            await asyncio.gather(*self._tasks)

    async def on_usage(self, path: Path, usage: Usage) -> None:
        """Handle a usage file; called by the ``UsageWatcher``."""
        usage = _screen(usage)
        caller = Caller(client=LOCAL, session_id=usage.session_id, method=METHOD)
        await self._handle(UsageReport(caller, usage, path))

    # Reports and naps.

    async def _handle(self, report: UsageReport) -> Window:
        async with self._lock:
            active = self._active_naps.get(report.key)
            if active is not None:
                row = active.queue(report, self.rule, self.clock.now_us())
                report.resolve(None)
                return self._window(row)
            before = await self.db.read(windows.get, *report.key)
            if report.file is None:
                rows.require_fill(before, report.usage)
            step = self._step(before, report)
            if step.reason is None:
                await self._store(step)
                report.resolve(None)
            else:
                self._start_nap(report, step)
        window = self._emit(step)
        if step.reason is None and (window.fill or 0.0) >= WARM_UP_FILL:
            self._warm_up_once()
        return window

    def _step(self, before: WindowRow | None, report: UsageReport) -> Step:
        return reports.step(before, report, self.rule, self.clock.now_us())

    def _emit(self, step: Step) -> Window:
        window = self._window(step.row)
        payload = rows.event_payload(window, step.reason)
        self.emit(step.row.agent_id, EventName.USAGE, payload)
        return window

    def _warm_up_once(self) -> None:
        """Load the modules and models for naps, once, before the first nap is due."""
        if not self._is_warm:
            self._is_warm = True
            self._start_task(self._warm_up())

    async def _warm_up(self) -> None:
        try:
            await self.nap.warm_up()
        except MemdError as error:  # the nap itself will report it
            log.warning("naps could not be prepared", kind=error.kind)

    def _start_task(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _start_nap(self, report: UsageReport, step: Step) -> None:
        if len(self._active_naps) >= NAPS_WAITING_MAX:
            raise BusyError(f"{NAPS_WAITING_MAX} naps are waiting")
        self._active_naps[report.key] = ActiveNap(step.row)
        self._start_task(self._nap_and_go_on(report, step))

    async def _nap_and_go_on(self, report: UsageReport, step: Step) -> None:
        """Nap, then handle the reports that arrived meanwhile.

        The nap counts as active until all are handled, so that no later report overtakes them.
        """
        active = self._active_naps[report.key]
        try:
            await self._nap(report, step)
            while active.queued:
                await self._handle_queued(active, active.queued.popleft())
        finally:  # no await since the last reply, so its caller's next report finds no active nap
            del self._active_naps[report.key]

    async def _handle_queued(self, active: ActiveNap, report: UsageReport) -> None:
        try:
            before = await self.db.read(windows.get, *report.key)
            step = self._step(before, report)
            active.row = step.row
            if step.reason is None:
                await self._store(step)
        except MemdError as error:
            log.warning("a report of a window is lost", kind=error.kind)
            return
        self._emit(step)
        if step.reason is not None:
            await self._nap(report, step)

    async def _nap(self, report: UsageReport, step: Step) -> None:
        self._problems.pop(report.key, None)
        try:
            async with self._gate:
                result = await self._nap_with_retries(report, step)
            if step.reason is Reason.ENDED:
                with suppress(NotFoundError):
                    await self.sessions.end(report.caller, step.row.session_id)
            report.resolve(result)  # last, see _nap_and_go_on
        except MemdError as error:
            self._note_problem(step.row, error)
            report.resolve(error)
            log.error("a nap failed", kind=error.kind)
        except Exception as error:  # noqa: BLE001  # a bug in one nap must not end the watching
            report.resolve(error)
            log.error("a nap failed", trace=log.trace_of(error))

    async def _nap_with_retries(self, report: UsageReport, step: Step) -> NapResult | None:
        """Nap, with retries after errors of disk or load; return None after an error of the caller.

        A caller that waits gets the first error at once, and the retries continue. After the error
        of the caller, the new state of the window is stored, so that it does not trigger again.
        """
        for seconds in (*RETRY_SECONDS, None):
            try:
                return await self._nap_once(report, step)
            except CallerError as error:
                report.resolve(error)
                log.warning("no nap", kind=error.kind, why=error.message)
                await self._store(step)
                self._note_problem(step.row, error)
                return None
            except MemdError as error:
                report.resolve(error)
                if seconds is None:
                    raise
                log.warning("a nap waits", kind=error.kind)
                await asyncio.sleep(seconds)
        return None

    async def _nap_once(self, report: UsageReport, step: Step) -> NapResult:
        """Nap over the reported messages, the transcript, or the memories of the session."""
        from memd.sleep.nap.source import NapRequest

        row, reason = step.row, step.reason
        assert reason is not None

        def store_napped(conn: Writing, now_us: int) -> None:
            rows.store_row(conn, row._replace(napped_at_us=now_us), now_us, step.emptying)

        request = NapRequest(
            transcript_path=row.transcript_path,
            session_id=row.session_id,
            reason=reason.value,
            max_tokens=rows.summary_window(row, self.rule.max_tokens),
            last=reason is not Reason.FULL,
            on_write=store_napped,
            usage_file=report.file,
        )
        project_id = report.caller.project_id or project_of(row.cwd)
        caller = replace(report.caller, session_id=row.session_id, project_id=project_id)
        if report.messages is not None:
            replaces_window = report.reply is not None
            return await self.nap.nap(
                caller,
                replace(request, messages=report.messages, replaces_window=replaces_window),
            )
        try:
            return await self.nap.nap(caller, request)
        except InvalidError as error:
            if row.transcript_path is None:
                raise
            log.warning("a nap without transcript", why=error.message)
            self._note_problem(row, error)
            try:
                return await self.nap.nap(caller, replace(request, transcript_path=None))
            except NotFoundError:
                raise error from None

    def _note_problem(self, row: WindowRow, error: MemdError) -> None:
        """Remember why a nap failed, for reports about the window."""
        while len(self._problems) >= PROBLEMS_MAX:
            del self._problems[next(iter(self._problems))]
        reason = error.message if error.hint is None else f"{error.message}: {error.hint}"
        self._problems[row.key] = reason

    async def _store(self, step: Step) -> None:
        now_us = self.clock.now_us()
        await self.db.write(
            _CALLER.acting_for(step.row.agent_id),
            lambda conn: rows.store_row(conn, step.row, now_us, step.emptying),
        )

    async def _drop_old(self) -> None:
        before_us = self.clock.now_us() - IDLE_US_MAX
        try:
            await self.db.write(_CALLER, lambda conn: windows.delete_idle(conn, before_us))
        except MemdError as error:
            log.warning("old windows stay", kind=error.kind)

    def _window(self, row: WindowRow) -> Window:
        problem = self._problems.get(row.key)
        window = rows.to_window(row, self.rule.max_tokens)
        is_napping = row.key in self._active_naps
        return window.model_copy(update={"nap_problem": problem, "napping": is_napping})


_CALLER = Caller(client="memd", method="usage")


def _screen(usage: Usage) -> Usage:
    """Return *usage* without secrets; a path that contained one no longer resolves."""
    fields: dict[str, Any] = {
        name: redact(value)
        for name in ("source", "session_id", "model", "cwd", "transcript_path", "event")
        if (value := getattr(usage, name)) is not None
    }
    return replace(usage, **fields)
