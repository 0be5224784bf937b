"""How well a memory's time fits the times that a question names. Pure.

A memory's time is when it happened, else when it was told. A date of the calendar
("in May 2023") fits by ``date``, which the ranker and its gate were fitted with; any other
stretch ("last week", "since then") and what a text itself says of when it was by
``period``, which moves what is found and opens no gate. A stretch in which no candidate
lies lifts nothing: asked years later, "last week" is only words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from memd.base.clock import DAY_US, from_us
from memd.extract.periods import Period, periods
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
"""How far beside a stretch a memory still half fits: words of time are seldom exact."""
BESIDE = 0.5
WIDE = 0.5  # what fits all since then, a whole year, or the day of an event, says less
LATEST = 0.3  # more for a month's latest year, where no year is said


class Fit(NamedTuple):
    """How well a memory fits, from 0 to 1."""

    date: float = 0.0
    period: float = 0.0


def fits(asked: Sequence[Period], candidates: Sequence[SearchCandidate]) -> list[Fit]:
    """Return how well each of *candidates* fits the times *asked* for."""
    if not asked:
        return [Fit()] * len(candidates)
    meant = _meant(asked)
    return [_fit(meant, candidate) for candidate in candidates]


def _meant(asked: Sequence[Period]) -> Sequence[Period]:
    """Return the times to go by: "last week, on 8 May 2023" is not our last week."""
    dated = [one for one in asked if _is_dated(one)]
    return dated or asked


def _is_dated(period: Period) -> bool:
    return any(date.year for date in period.dates)


def _fit(asked: Sequence[Period], candidate: SearchCandidate) -> Fit:
    moment_us = candidate.occurred_at_us
    if moment_us is None:
        moment_us = candidate.created_at_us
    moment = from_us(moment_us)
    date = max((named.match(moment) for one in asked for named in one.dates), default=0.0)
    others = (one for one in asked if one.bounds or not _is_dated(one))  # a date has its feature
    inside = max((_inside(one, moment_us, moment_us) for one in others), default=0.0)
    if inside < 1.0 and (_YEAR.search(candidate.own) or not _is_dated(asked[0])):
        times = periods(candidate.own[:TEXT_CHARS], moment_us)
        inside = max([inside, *(_meets(one, its) for one in asked for its in times)])
    return Fit(date, inside)


def _inside(asked: Period, begin_us: int, end_us: int) -> float:
    """Return how well a stretch of time lies in what is asked for; a moment has no length."""
    full = _full(asked)
    if _holds(asked.from_us, asked.to_us, begin_us, end_us):
        return full
    if asked.other is not None and _holds(*asked.other, begin_us, end_us):
        return full
    edge = EDGE_US[asked.grain]
    low = None if asked.from_us is None else asked.from_us - edge
    high = None if asked.to_us is None else asked.to_us + edge
    return full * BESIDE if _holds(low, high, begin_us, end_us) else 0.0


def _full(asked: Period) -> float:
    if asked.dates and not asked.bounds and not _is_dated(asked):
        return LATEST
    wide = asked.from_us is None or asked.to_us is None or asked.grain is Grain.YEAR
    return WIDE if wide or asked.by_event else 1.0


def _holds(low: int | None, high: int | None, begin_us: int, end_us: int) -> bool:
    return (low is None or low <= begin_us) and (high is None or end_us <= high)


def _meets(asked: Period, period: Period) -> float:
    """Return how well a time that a text names fits: a day in the month that is asked for.

    Where a date with a year is asked for, only such a date: that of a turn which says
    "last Friday" was found to mislead.
    """
    if _is_dated(asked) and not _is_dated(period):
        return 0.0
    stretches = [(period.from_us, period.to_us), *([period.other] if period.other else [])]
    return max(
        (
            _inside(asked, begin, end)
            for begin, end in stretches
            if begin is not None and end is not None
        ),
        default=0.0,
    )
