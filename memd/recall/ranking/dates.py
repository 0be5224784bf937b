"""How well a memory's time fits the times that a question names. Pure.

A memory's time is when it happened, else when it was stored. A calendar date ("in May 2023") is
matched as ``date``, which the ranker and its gate were fitted with. Any other period ("last week",
"since then"), and times named in the memory's own text, are matched as ``period``, which reorders
what the gate lets pass and does not open it. A period without candidates has no effect.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from memd.base.clock import DAY_US, from_us
from memd.extract.periods import Period, find_periods
from memd.extract.time_words import Grain
from memd.store.search.candidate_rows import SearchCandidate

TEXT_CHARS = 1_000  # of a memory, in which times are looked for
_YEAR = re.compile(r"(?:19|20)\d\d")
_HOUR_US = DAY_US // 24
EDGE_US = {
    Grain.HOUR: 3 * _HOUR_US,
    Grain.DAY: DAY_US,
    Grain.WEEK: 3 * DAY_US,
    Grain.MONTH: 7 * DAY_US,
    Grain.QUARTER: 14 * DAY_US,
    Grain.YEAR: 14 * DAY_US,
}
"""How far outside a period a memory still half fits: words of time are seldom exact."""
NEAR_FIT = 0.5
WIDE_FIT = 0.5  # an open period, a whole year or the day of an event tells less
LATEST_YEAR_FIT = 0.3  # for a month of the latest year, where no year is named


class Fit(NamedTuple):
    """How well a memory fits, from 0 to 1."""

    date: float = 0.0
    period: float = 0.0


def fit_times(asked: Sequence[Period], candidates: Sequence[SearchCandidate]) -> list[Fit]:
    """Return how well each of *candidates* fits the times *asked* about."""
    if not asked:
        return [Fit()] * len(candidates)
    asked = _decisive(asked)
    return [_fit(asked, candidate) for candidate in candidates]


def _decisive(asked: Sequence[Period]) -> Sequence[Period]:
    """Return the periods to match: in "last week, on 8 May 2023" the date decides."""
    dated = [period for period in asked if _is_dated(period)]
    return dated or asked


def _is_dated(period: Period) -> bool:
    return any(date.year for date in period.dates)


def _fit(asked: Sequence[Period], candidate: SearchCandidate) -> Fit:
    moment_us = candidate.moment_us
    moment = from_us(moment_us)
    date = max((named.match(moment) for period in asked for named in period.dates), default=0.0)
    undated = (period for period in asked if period.bounds or not _is_dated(period))
    inside = max((_inside(period, moment_us, moment_us) for period in undated), default=0.0)
    if inside < 1.0 and (_YEAR.search(candidate.own) or not _is_dated(asked[0])):
        times = find_periods(candidate.own[:TEXT_CHARS], moment_us)
        inside = max([inside, *(_overlap(period, time) for period in asked for time in times)])
    return Fit(date, inside)


def _inside(asked: Period, begin_us: int, end_us: int) -> float:
    """Return how well a span of time lies within *asked*; a moment has no length."""
    full = _full_fit(asked)
    if _contains(asked.from_us, asked.to_us, begin_us, end_us):
        return full
    if asked.other is not None and _contains(*asked.other, begin_us, end_us):
        return full
    edge = EDGE_US[asked.grain]
    low = None if asked.from_us is None else asked.from_us - edge
    high = None if asked.to_us is None else asked.to_us + edge
    return full * NEAR_FIT if _contains(low, high, begin_us, end_us) else 0.0


def _full_fit(asked: Period) -> float:
    if asked.dates and not asked.bounds and not _is_dated(asked):
        return LATEST_YEAR_FIT
    wide = asked.from_us is None or asked.to_us is None or asked.grain is Grain.YEAR
    return WIDE_FIT if wide or asked.by_event else 1.0


def _contains(low: int | None, high: int | None, begin_us: int, end_us: int) -> bool:
    return (low is None or low <= begin_us) and (high is None or end_us <= high)


def _overlap(asked: Period, period: Period) -> float:
    """Return how well a time named in a memory fits: a day within the month that is asked about.

    A date with a year is matched by such dates only: "last Friday" in a memory misled.
    """
    if _is_dated(asked) and not _is_dated(period):
        return 0.0
    spans = [(period.from_us, period.to_us), *([period.other] if period.other else [])]
    return max(
        (
            _inside(asked, begin, end)
            for begin, end in spans
            if begin is not None and end is not None
        ),
        default=0.0,
    )
