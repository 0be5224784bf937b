"""Usage reports: what each does to its window, and those that wait while their window naps.

Reports that arrive during a nap are handled after it, in order, and none that has an effect is
dropped: an end of the session is followed by turns, and must not be lost to them. Memory stays
bounded. Neighbours without an effect become one report, and when QUEUED_REPORTS_MAX wait, the next
one is refused.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memd.base.errors import BusyError
from memd.domain.caller import Caller
from memd.domain.settings.settings import UsageSettings
from memd.domain.sleep.sleep import NapResult
from memd.signals.usage import Usage
from memd.sleep.window import rows, trigger
from memd.sleep.window.trigger import Emptying, Reason
from memd.store.session.windows import Key, WindowRow

if TYPE_CHECKING:  # loaded with the first nap
    from memd.sleep.transcript.messages import Message

QUEUED_REPORTS_MAX = 8  # of one window, as each may have the messages of a whole frame


class UsageReport(NamedTuple):
    """One usage report: its caller, and the file if it came from one."""

    caller: Caller
    usage: Usage
    file: Path | None
    messages: Sequence[Message] | None = None
    """The session's list of messages, if the caller sent it."""
    reply: asyncio.Future[NapResult | None] | None = None
    """Resolved with the result of the nap that this triggers, None when it triggers none."""

    @property
    def key(self) -> Key:
        """The key of its window."""
        assert self.usage.source is not None
        assert self.usage.session_id is not None
        return self.caller.agent_id, self.usage.source, self.usage.session_id

    def resolve(self, result: NapResult | Exception | None) -> None:
        """Resolve the reply once; a caller that has gone cancelled it."""
        if self.reply is None or self.reply.done():
            return
        if isinstance(result, Exception):
            self.reply.set_exception(result)
        else:
            self.reply.set_result(result)


class Step(NamedTuple):
    """What a report does to its window: the row after it, and why a nap is due or None."""

    row: WindowRow
    reason: Reason | None
    emptying: Emptying | None
    has_effect: bool
    """Whether it naps, empties the window, or changes what the next report does."""


def step(before: WindowRow | None, report: UsageReport, rule: UsageSettings, now_us: int) -> Step:
    """Return what *report* does to a window that was *before*; None is a first report."""
    state = rows.to_state(before)
    after, reason = trigger.step(
        state,
        report.usage,
        max_tokens=rule.max_tokens,
        threshold=rule.threshold_pct,
        rearm=rule.rearm_pct,
        drop=rule.drop_pct,
    )
    emptying = trigger.detect_emptying(state, report.usage, reason, rule.drop_pct)
    has_effect = reason is not None or emptying is not None or after.armed != state.armed
    row = rows.update_row(report.caller.agent_id, report.usage, before, after, now_us)
    return Step(row, reason, emptying, has_effect)


@dataclass
class ActiveNap:
    """A window whose nap is running or waiting, and the reports that arrived meanwhile."""

    row: WindowRow
    """Stored with the nap; until then it is only in memory."""
    queued: deque[UsageReport] = field(default_factory=deque)

    def queue(self, report: UsageReport, rule: UsageSettings, now_us: int) -> WindowRow:
        """Queue *report*; return the window as it will be when the naps before have succeeded.

        Raises BusyError when too many wait.
        """
        states = [self.row]
        for waiting in self.queued:
            states.append(step(states[-1], waiting, rule, now_us).row)
        if self.queued:
            last, merged = self.queued[-1], _merge(self.queued[-1], report)
            steps = (
                step(states[-2], last, rule, now_us),
                step(states[-1], report, rule, now_us),
                step(states[-2], merged, rule, now_us),
            )
            if not any(each.has_effect for each in steps):
                self.queued[-1] = merged
                return steps[-1].row
        if len(self.queued) >= QUEUED_REPORTS_MAX:
            raise BusyError(f"{QUEUED_REPORTS_MAX} reports of a window wait for its nap")
        self.queued.append(report._replace(reply=None))
        return step(states[-1], report, rule, now_us).row


def _merge(older: UsageReport, newer: UsageReport) -> UsageReport:
    """Return *newer* with what only *older* reports; tokens and percentage are alternatives."""
    usage = newer.usage
    names = {each.name for each in fields(usage) if getattr(usage, each.name) is None} - {"at"}
    if usage.used_tokens is not None or usage.used_percent is not None:
        names -= {"used_tokens", "used_percent"}
    kept = {name: getattr(older.usage, name) for name in names}
    return newer._replace(usage=replace(usage, **kept), reply=None)
