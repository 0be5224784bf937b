"""What a window queues while it naps does the same as every report handled in order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from support.gate import drawn
from support.store import ADA

from memd.base.errors import BusyError
from memd.domain.settings.settings import UsageSettings
from memd.signals.usage import Usage
from memd.sleep.window.reports import QUEUED_REPORTS_MAX, ActiveNap, UsageReport, step
from memd.sleep.window.trigger import Emptying, Reason
from memd.store.session.windows import WindowRow

RULE = UsageSettings()
NAPPING = WindowRow(
    "ada", "codex", "s", 25_000, 30_000, None, None, None, None, None, None, False, 1, None
)
EVENTS = ("turn", "SessionEnd", "PreCompact", "PreCompress", "PostCompact", *(None,) * 15)
FILLS = (9_000, 13_000, 17_000, 17_900, 18_100, 20_000, 22_000, 23_900, 24_100, 25_000)
"""About the shares at which a window of 30,000 tokens naps and is armed again."""

a_report = st.builds(
    lambda **usage: UsageReport(ADA, Usage(source="codex", session_id="s", **usage), None),
    used_tokens=st.sampled_from((*FILLS, None)),
    window_tokens=st.sampled_from((None, None, None, 30_000, 20_000)),
    model=st.none() | st.sampled_from(["m", "n"]),
    transcript_path=st.none() | st.sampled_from(["/one", "/two"]),
    event=st.sampled_from(EVENTS),
    at=st.sampled_from((None, datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))),
)
Effects = list[tuple[Reason | None, Emptying | None]]


def handled(reports: Sequence[UsageReport]) -> tuple[WindowRow, Effects]:
    """Return the window after *reports*, and what they trigger."""
    row, effects = NAPPING, Effects()
    for report in reports:
        row, reason, emptying, _ = step(row, report, RULE, 7)
        if reason is not None or emptying is not None:
            effects.append((reason, emptying))
    return row, effects


@drawn(gate=200, long=20_000)
@given(st.lists(a_report, max_size=12))
def test_reports_that_wait_have_the_effects_of_all_that_were_taken(
    reports: list[UsageReport],
) -> None:
    nap, taken = ActiveNap(NAPPING), list[UsageReport]()
    for report in reports:
        try:
            row = nap.queue(report, RULE, 7)
        except BusyError:
            assert len(nap.queued) == QUEUED_REPORTS_MAX
            continue
        taken.append(report)
        assert row == handled(taken)[0]
    assert handled(nap.queued) == handled(taken)
    assert len(nap.queued) <= QUEUED_REPORTS_MAX
