"""Compute the effect of usage reports, and queue those that arrive during a nap.

Queued reports are handled after the nap, in order. None that has an effect is dropped; for example
the end of a session must not be replaced by a later turn. To bound memory, adjacent reports without
an effect are merged, and beyond QUEUED_REPORTS_MAX a report is refused.
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

QUEUED_REPORTS_MAX = 8  # of one window; each may have messages as large as a whole frame


class UsageReport(NamedTuple):
    """One usage report: its caller, and the file if it came from one."""

    caller: Caller
    usage: Usage
    file: Path | None
    messages: Sequence[Message] | None = None
    """The session's list of messages, if the caller sent it."""
    reply: asyncio.Future[NapResult | None] | None = None
    """Resolved with the result of the nap that the report triggers, None if it triggers none."""

    @property
    def key(self) -> Key:
        """The key of the window: agent, source and session."""
        assert self.usage.source is not None
        assert self.usage.session_id is not None
        return self.caller.agent_id, self.usage.source, self.usage.session_id

    def resolve(self, result: NapResult | Exception | None) -> None:
        """Resolve the reply, if there is one that is neither resolved nor cancelled."""
        if self.reply is None or self.reply.done():
            return
        if isinstance(result, Exception):
            self.reply.set_exception(result)
        else:
            self.reply.set_result(result)


class Step(NamedTuple):
    """The effect of a report: the window's row after it, and why a nap is due, or None."""

    row: WindowRow
    reason: Reason | None
    emptying: Emptying | None
    has_effect: bool
    """Whether it triggers a nap, empties the window, or changes whether later reports trigger."""


def step(before: WindowRow | None, report: UsageReport, rule: UsageSettings, now_us: int) -> Step:
    """Return the effect of *report* on a window; *before* is its row, None for a first report."""
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
    """The row that the nap will store."""
    queued: deque[UsageReport] = field(default_factory=deque)

    def queue(self, report: UsageReport, rule: UsageSettings, now_us: int) -> WindowRow:
        """Queue *report*; return the row of the window after all queued reports are handled.

        Raises BusyError if too many are queued.
        """
        rows_after = [self.row]
        for queued_report in self.queued:
            rows_after.append(step(rows_after[-1], queued_report, rule, now_us).row)
        if self.queued:
            last, merged = self.queued[-1], _merge(self.queued[-1], report)
            steps = (
                step(rows_after[-2], last, rule, now_us),
                step(rows_after[-1], report, rule, now_us),
                step(rows_after[-2], merged, rule, now_us),
            )
            if not any(effect.has_effect for effect in steps):
                self.queued[-1] = merged
                return steps[-1].row
        if len(self.queued) >= QUEUED_REPORTS_MAX:
            raise BusyError(f"{QUEUED_REPORTS_MAX} reports of a window wait for its nap")
        self.queued.append(report._replace(reply=None))
        return step(rows_after[-1], report, rule, now_us).row


def _merge(older: UsageReport, newer: UsageReport) -> UsageReport:
    """Return *newer* with the values that only *older* reports.

    Tokens and percentage are alternatives: if *newer* has one, neither is taken from *older*.
    """
    usage = newer.usage
    missing = {field.name for field in fields(usage) if getattr(usage, field.name) is None} - {"at"}
    if usage.used_tokens is not None or usage.used_percent is not None:
        missing -= {"used_tokens", "used_percent"}
    older_values = {name: getattr(older.usage, name) for name in missing}
    return newer._replace(usage=replace(usage, **older_values), reply=None)
