"""From what a usage file says to a nap: the windows, when they call for one, and that it happens.

A window's new state is stored with the nap that it calls for, in one transaction:
killed before, memd sees the same file again and naps; killed after, it does not.
What is said while a session naps is looked at when the nap is done. One session
naps once at a time, few nap at once, and no fault of one file, transcript or nap
ends the watching.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

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
from memd.domain.caller import LOCAL, Caller
from memd.domain.settings.settings import UsageSettings
from memd.domain.sleep.sleep import NapResult, Window
from memd.domain.values import Emit, EventName, unheard
from memd.guard.outgoing import outgoing
from memd.signals.usage import Usage
from memd.signals.watch import UsageWatcher
from memd.sleep.window import rows, trigger
from memd.sleep.window.trigger import METHOD, Emptying, Reason, project_of
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.session import windows
from memd.store.session.windows import WindowRow

if TYPE_CHECKING:  # loaded when the first nap is called for, or a window is half full
    from memd.ingest.sessions import Sessions
    from memd.sleep.nap.cleaning import Message
    from memd.sleep.nap.nap import Nap

Key = tuple[str, str]
"""Source and session of a window."""

NAPS_AT_ONCE = 2
READY_FILL = 0.5  # of a window, when the first nap is made ready for
SAID_MEANWHILE_MAX = 8
RETRY_SECONDS = (1.0, 5.0, 25.0)
KEPT_US = 30 * 86_400_000_000  # a window that nothing is said of so long is dropped


class _Notice(NamedTuple):
    """One thing that was said of a window, by whom or in which file."""

    caller: Caller
    usage: Usage
    file: Path | None
    messages: Sequence[Message] | None = None
    """The list that it has, where it said so."""
    answer: asyncio.Future[NapResult | None] | None = None
    """Wanted: what the nap made that this calls for, None when it calls for none."""
    emptying: Emptying | None = None


class _Napping(NamedTuple):
    """A window whose nap is under way or waits."""

    row: WindowRow
    """Stored with the nap; until then only memory has it."""
    later: deque[_Notice]
    """What was said of it meanwhile."""


@dataclass
class Watching:
    """Owns the windows, the naps that they called for, and the task that watches."""

    db: Database
    clock: Clock
    nap: Nap
    sessions: Sessions
    rule: UsageSettings
    place: Path
    """The usage file, or the folder of them, that is watched."""
    default_dir: Path | None = None
    """That folder, where it is memd's own: it is made."""
    emit: Emit = field(default=unheard)
    _napping: dict[Key, _Napping] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _taking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _ready: bool = False
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(NAPS_AT_ONCE))

    async def report(
        self,
        caller: Caller,
        usage: Usage,
        messages: Sequence[Message] | None = None,
        *,
        returns: bool = False,
    ) -> Window:
        """Take what an assistant says of its window (``usage.report``); a nap follows by itself.

        With *messages* it is of these, not of the transcript. With *returns* the nap is
        waited for and the window has what it made, unless it called for none or the
        session naps already; raises what ``Nap.nap`` raises. Raises BusyError when too many
        naps wait: nothing is noted then, so that the same report again is as good.
        """
        answer = asyncio.get_running_loop().create_future() if returns else None
        window = await self._take(_Notice(caller, _screened(usage), None, messages, answer))
        made = None if answer is None else await answer
        if made is None:
            return window
        row = await self.db.read(windows.get, *_key(usage))
        napped = window if row is None else self._window(row)
        return napped.model_copy(update={"consolidated": made})

    async def list(self, caller: Caller) -> tuple[Window, ...]:
        """Return the windows of the caller's agent, the one last heard of first."""
        naps = self._napping_of(caller.agent_id)  # before: a nap that ends meanwhile leaves it
        stored = await self.db.read(windows.list_windows, caller.agent_id)
        naps |= {(row.source, row.session_id): row for row in stored}
        naps |= self._napping_of(caller.agent_id)
        newest = sorted(naps.values(), key=lambda row: row.seen_at_us, reverse=True)
        return tuple(self._window(row) for row in newest)

    def _napping_of(self, agent_id: str) -> dict[Key, WindowRow]:
        napping = {key: each.row for key, each in self._napping.items()}
        return {key: row for key, row in napping.items() if row.agent_id == agent_id}

    def unreadable(self) -> tuple[int, str | None]:
        """Return how many usage files cannot be read, and why the last one cannot.

        The reason names what is wrong with it, never what it says.
        """
        reasons = tuple(self.watcher.unreadable.values())
        return len(reasons), reasons[-1] if reasons else None

    @property
    def waiting(self) -> int:
        """How many sessions nap or wait for it."""
        return len(self._napping)

    @cached_property
    def watcher(self) -> UsageWatcher:
        """What looks at the usage files."""
        return UsageWatcher([self.place], self.on_usage, own=self.default_dir)

    async def run(self) -> None:
        """Watch for ever; what is under way is given up when the daemon stops."""
        try:
            await self._drop_old()
            await self.watcher.run()
        finally:
            for task in list(self._tasks):
                task.cancel()

    async def settled(self) -> None:
        """Wait until every nap that was called for is over."""
        while self._tasks:
            await asyncio.gather(*self._tasks)

    async def on_usage(self, path: Path, usage: Usage) -> None:
        """Take what a usage file says (``UsageWatcher``)."""
        usage = _screened(usage)
        caller = Caller(client=LOCAL, session_id=usage.session_id, method=METHOD)
        await self._take(_Notice(caller, usage, path))

    # What is made of it.

    async def _take(self, notice: _Notice) -> Window:
        key = _key(notice.usage)
        async with self._taking:
            before = await self.db.read(windows.get, *key)
            if before is not None and before.agent_id != notice.caller.agent_id:
                before = None  # another agent's session of the same name has a window of its own
            after, reason = trigger.step(
                rows.state(before),
                notice.usage,
                max_tokens=self.rule.max_tokens,
                threshold=self.rule.threshold_pct,
                rearm=self.rule.rearm_pct,
                drop=self.rule.drop_pct,
            )
            row = rows.updated(
                notice.caller.agent_id, notice.usage, before, after, self.clock.now_us()
            )
            if key in self._napping:
                self._napping[key].later.append(notice._replace(answer=None))
                _answer(notice, None)
                return self._window(row)
            notice = notice._replace(
                emptying=trigger.emptying(
                    rows.state(before), notice.usage, reason, self.rule.drop_pct
                )
            )
            if reason is None:
                await self._store(row, notice.emptying)
                _answer(notice, None)
            else:
                self._begin(notice, row, reason)
        window = self._window(row)
        self.emit(notice.caller.agent_id, EventName.USAGE, rows.event(window, reason))
        if reason is None and (window.fill or 0.0) >= READY_FILL:
            self._make_ready()
        return window

    def _make_ready(self) -> None:
        """Have read what the process's first nap would wait for, while the window still fills."""
        if not self._ready:
            self._ready = True
            self._keep_going(self._rehearse())

    async def _rehearse(self) -> None:
        try:
            await self.nap.warm_up()
        except MemdError as error:  # the nap itself will say so, too
            log.warning("no nap could be made ready for", kind=error.kind)

    def _keep_going(self, doing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _begin(self, notice: _Notice, row: WindowRow, reason: Reason) -> None:
        if len(self._napping) >= NAPS_WAITING_MAX:
            raise BusyError(f"{NAPS_WAITING_MAX} naps are waiting")
        self._napping[_key(notice.usage)] = _Napping(row, deque(maxlen=SAID_MEANWHILE_MAX))
        self._keep_going(self._nap(notice, row, reason))

    async def _nap(self, notice: _Notice, row: WindowRow, reason: Reason) -> None:
        key = _key(notice.usage)
        try:
            async with self._gate:
                made = await self._until_done(notice, row, reason)
            if reason is Reason.ENDED:
                with suppress(NotFoundError):
                    await self.sessions.end(notice.caller, key[1])
            _answer(notice, made)  # last: who reports again at once is not told that it naps
        except MemdError as error:
            _answer(notice, error)
            log.error("a nap failed", kind=error.kind)
        except Exception as error:  # noqa: BLE001  # a bug in one nap must not end the watching
            _answer(notice, error)
            log.error("a nap failed", trace=log.trace_of(error))
        finally:
            waiting = self._napping.pop(key).later
        for later in waiting:
            with suppress(MemdError):
                await self._take(later)

    async def _until_done(
        self, notice: _Notice, row: WindowRow, reason: Reason
    ) -> NapResult | None:
        """Nap; what the disk or the load prevents is tried again, anything else is given up.

        Given up or done, the window has fired. Who waits for the list hears at once why it
        does not come.
        """
        for seconds in (*RETRY_SECONDS, None):
            try:
                return await self._over_something(notice, row, reason)
            except CallerError as error:
                _answer(notice, error)
                log.warning("no nap", kind=error.kind, why=error.message)
                await self._store(row, notice.emptying)
                return None
            except MemdError as error:
                _answer(notice, error)
                if seconds is None:
                    raise
                log.warning("a nap waits", kind=error.kind)
                await asyncio.sleep(seconds)
        return None

    async def _over_something(self, notice: _Notice, row: WindowRow, reason: Reason) -> NapResult:
        """Nap over what was handed over, else the transcript, else what the session told memd."""
        from memd.sleep.nap.transaction import NapRequest

        def store_napped(conn: Writing, now_us: int) -> None:
            rows.store(conn, row._replace(napped_at_us=now_us), now_us, notice.emptying)

        request = NapRequest(
            transcript_path=row.transcript_path,
            session_id=row.session_id,
            reason=reason.value,
            max_tokens=rows.room(row, self.rule.max_tokens),
            last=reason is not Reason.FULL,
            on_write=store_napped,
            usage_file=notice.file,
        )
        project_id = notice.caller.project_id or project_of(row.cwd)
        caller = replace(notice.caller, session_id=row.session_id, project_id=project_id)
        if notice.messages is not None:
            swaps = notice.answer is not None
            return await self.nap.nap(
                caller, replace(request, messages=notice.messages, replaces_window=swaps)
            )
        if row.transcript_path is not None:
            try:
                return await self.nap.nap(caller, request)
            except InvalidError as error:
                log.warning("a nap without transcript", why=error.message)
        return await self.nap.nap(caller, replace(request, transcript_path=None))

    async def _store(self, row: WindowRow, emptying: Emptying | None) -> None:
        now_us = self.clock.now_us()
        await self.db.write(
            _CALLER.acting_for(row.agent_id), lambda conn: rows.store(conn, row, now_us, emptying)
        )

    async def _drop_old(self) -> None:
        before_us = self.clock.now_us() - KEPT_US
        try:
            await self.db.write(_CALLER, lambda conn: windows.delete_idle(conn, before_us))
        except MemdError as error:
            log.warning("old windows stay", kind=error.kind)

    def _window(self, row: WindowRow) -> Window:
        return rows.window(row, self.rule.max_tokens)


_CALLER = Caller(client="memd", method="usage")


def _answer(notice: _Notice, made: NapResult | Exception | None) -> None:
    """Tell who waits for what the nap made, once; whoever went away waits no more."""
    if notice.answer is None or notice.answer.done():
        return
    if isinstance(made, Exception):
        notice.answer.set_exception(made)
    else:
        notice.answer.set_result(made)


def _screened(usage: Usage) -> Usage:
    """Return *usage* without secrets: a path that holds one leads nowhere any more."""
    fields: dict[str, Any] = {
        name: outgoing(value)
        for name in ("source", "session_id", "model", "cwd", "transcript_path", "event")
        if (value := getattr(usage, name)) is not None
    }
    return replace(usage, **fields)


def _key(usage: Usage) -> Key:
    assert usage.source is not None
    assert usage.session_id is not None
    return usage.source, usage.session_id
