"""Times of questions and memories: events as dates, matching, plans, and where work stopped.

``event_periods`` dates an event that a question names. For "before the release" it looks for a
memory about the release: one that has every word of the event, and that neither asks nor only
mentions it as a date ("frozen until the release"). If there is none, the question is treated as one
without a time (decision 0209).

``fit_times`` matches memories to the times of a question. A memory's time is when it happened, or
else when it was stored. Calendar dates ("in May 2023") become the feature ``date``, with which the
ranker and its gate were fitted. Other periods ("last week", "since then") and times in the memory's
own text become ``period``, which reorders memories after the gate and never opens it. A period
without candidates has no effect.

``find_plans`` answers "what is planned this week?", and ``asks_for_last_session`` recognises "where
did we leave off?".
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from memd.base.clock import DAY_US, from_us, localize, to_us
from memd.extract import time_words
from memd.extract.time_words import Grain
from memd.extract.times import Event, Period, Side, asks_ahead, find_events, find_periods
from memd.recall.scope import SearchScope
from memd.store.file.connect import Reading
from memd.store.search import candidate_rows, fulltext
from memd.store.search.candidate_rows import SearchCandidate
from memd.store.session import slots
from memd.text.words import ENGLISH_FUNCTION_WORDS

ROWS = 32  # memories examined, the best by their words
QUESTION_CHARS_MAX = 300  # a longer text is no question about a time
SAME_EVENT_US = 7 * DAY_US  # memories further apart tell of several events
TEXT_CHARS = 1_000  # of a memory, in which times are looked for

Stem = Callable[[str], list[str]]


def event_periods(
    conn: Reading, scopes: Sequence[SearchScope], text: str, stem: Stem
) -> tuple[Period, ...]:
    """Return the periods before, after or at the events of the question *text* that are known."""
    if "?" not in text or len(text) > QUESTION_CHARS_MAX:
        return ()
    named = find_events(text)
    if not named or asks_ahead(text):
        return ()
    periods = (_event_period(conn, scopes, event, stem) for event in named)
    return tuple(period for period in periods if period is not None)


def _event_period(
    conn: Reading, scopes: Sequence[SearchScope], event: Event, stem: Stem
) -> Period | None:
    content = [word for word in event.words if word.casefold() not in ENGLISH_FUNCTION_WORDS]
    terms = frozenset(term for word in content for term in stem(word))
    if not terms:
        return None
    for scope in scopes:
        match = fulltext.match_query(content, scope.owners)
        keys = fulltext.search(conn, match, ROWS)
        by_key = {
            row.memory_key: row
            for row in candidate_rows.read_candidates(conn, scope.index_filter, keys)
        }
        candidates = [by_key[key] for key in keys if key in by_key]
        times = [event_time(row) for row in candidates if tells_of(row.own, terms, stem)]
        if times:
            return _period_beside(event.side, times)
    return None


def tells_of(own: str, terms: frozenset[str], stem: Stem) -> bool:
    """Return whether a memory of the text *own* is about the event named by the stems *terms*."""
    if own.rstrip().endswith("?") or not terms <= frozenset(stem(own)):
        return False
    dating = (
        frozenset(term for word in event.words for term in stem(word)) for event in find_events(own)
    )
    return not any(terms <= event_terms for event_terms in dating)


class EventTime(NamedTuple):
    """The time of an event: the period that its memory names, or else the memory's own time."""

    begin_us: int
    end_us: int
    grain: Grain = Grain.DAY


def event_time(candidate: SearchCandidate) -> EventTime:
    """Return the time of the event in *candidate*: the one that its text names, if exactly one."""
    moment_us = candidate.moment_us
    times = [
        period
        for period in find_periods(candidate.own[:TEXT_CHARS], moment_us)
        if not period.bounds
    ]
    if len(times) == 1 and times[0].from_us is not None and times[0].to_us is not None:
        return EventTime(times[0].from_us, times[0].to_us, times[0].grain)
    return EventTime(moment_us, moment_us)


def _period_beside(side: Side, times: Sequence[EventTime]) -> Period | None:
    """Return the period on *side* of the event; None if *times* are of several events."""
    begins = [time.begin_us for time in times]
    if max(begins) - min(begins) > SAME_EVENT_US:
        return None
    begin_us, end_us, grain = times[0]
    low_us: int | None = begin_us
    high_us: int | None = end_us
    if side is Side.BEFORE:
        low_us, high_us = None, begin_us
    elif side is Side.AFTER:
        low_us, high_us = end_us, None
    elif side is Side.SINCE:
        high_us = None
    elif begin_us == end_us:
        midnight = from_us(begin_us).replace(hour=0, minute=0, second=0, microsecond=0)
        low_us, high_us = to_us(midnight), to_us(midnight) + DAY_US
    return Period(0, 0, low_us, high_us, grain, begin_us, bounds=True, by_event=True)


# Matching the times of memories to those of a question. Pure.


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
"""Distance outside a period within which a memory still fits by half: people are seldom exact."""
NEAR_FIT = 0.5
WIDE_FIT = 0.5  # of an open period, a whole year, or the day of an event, which say less
LATEST_YEAR_FIT = 0.3  # of a month that is named without its year


class Fit(NamedTuple):
    """How well a memory fits, from 0 to 1."""

    date: float = 0.0
    period: float = 0.0


def fit_times(asked: Sequence[Period], candidates: Sequence[SearchCandidate]) -> list[Fit]:
    """Return how well each of *candidates* fits the times *asked* about."""
    asked = _decisive(asked)
    return [_fit(asked, candidate) for candidate in candidates]


def _decisive(asked: Sequence[Period]) -> Sequence[Period]:
    """Return the periods to match: only the dates, if there are any ("last week, on 8 May")."""
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


def contain_moment(asked: Sequence[Period], moment_us: int) -> bool:
    """Return whether a moment lies in one of the times *asked* about."""
    times = _decisive(asked)
    spans = [span for period in times for span in ((period.from_us, period.to_us), period.other)]
    return any(span is not None and _contains(*span, moment_us, moment_us) for span in spans)


def names_time(asked: Sequence[Period], fit: float) -> bool:
    """Return whether the value *fit* of ``period`` means within a time *asked*, not just near."""
    return fit > NEAR_FIT * max(map(_full_fit, asked), default=math.inf)


def _inside(asked: Period, begin_us: int, end_us: int) -> float:
    """Return how well the span lies within *asked*, from 0 to 1; a moment begins where it ends."""
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
    """Return how well a time named in a memory fits *asked*: a day fits within its month.

    A question with a year is matched only by dates with a year: others ("last Friday") misled.
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


# Plans: "what is on this week?" (decision 0367).
#
# The question shares hardly a word with its answers, which can be of any earlier day ("the dentist
# is next Friday"). So the latest memories that name a time are read, relative to their own day.


PLAN_ROWS = 128  # of the latest that name a time; as many as other questions have candidates
PLAN_CHARS = 400  # of each, in which times are looked for
PLANS_MAX = 8
_PLAN_WORDS = tuple(
    sorted(
        {*time_words.MONTHS, *time_words.WEEKDAYS, *time_words.UNITS, *time_words.DAY_PARTS}
        | {word for word, days in time_words.DAYS.items() if days >= 0}
    )
)
_DAY_OR_LESS = frozenset((Grain.HOUR, Grain.DAY))
_DAYS_MAX = 31  # of a period whose days are looked for as "2026-12-04"


def find_plans(conn: Reading, scope: SearchScope, asked: Sequence[Period]) -> tuple[int, ...]:
    """Return the keys of memories that name a time within one of *asked*, the soonest first."""
    days = [day for period in asked for day in _list_days(period)]
    match = fulltext.match_query([*_PLAN_WORDS, *days], scope.owners)
    keys = fulltext.search_latest(conn, match, PLAN_ROWS)
    plans: list[tuple[int, int]] = []
    for row in candidate_rows.read_candidates(conn, scope.index_filter, keys):
        times = find_periods(row.own[:PLAN_CHARS], row.moment_us)
        begins = [
            begin
            for period in asked
            for time in times
            for begin in _begins_within(period, time, row.moment_us)
        ]
        if begins:
            plans.append((min(begins), row.memory_key))
    return tuple(key for _, key in sorted(plans)[:PLANS_MAX])


def _list_days(period: Period) -> list[str]:
    """Return the days of *period* as ISO dates to search for; none if it is longer than a month."""
    low_us, high_us = period.from_us, period.to_us
    if low_us is None or high_us is None or high_us - low_us > _DAYS_MAX * DAY_US:
        return []
    return [f"{localize(from_us(at)):%Y-%m-%d}" for at in range(low_us, high_us, DAY_US)]


def _begins_within(asked: Period, time: Period, moment_us: int) -> list[int]:
    """Return the begins of *time* within *asked*, one for each reading of an ambiguous time.

    *moment_us* is the time of the memory that names *time*. What was over then is no plan. If
    *asked* is longer than a day, neither is what the memory says of its own day ("I fixed it
    today").
    """
    if time.bounds:
        return []
    is_short = asked.grain in _DAY_OR_LESS
    spans = [(time.from_us, time.to_us), *([time.other] if time.other else [])]
    return [
        begin_us
        for begin_us, end_us in spans
        if begin_us is not None
        and end_us is not None
        and end_us > moment_us
        and (is_short or begin_us > moment_us or time.grain not in _DAY_OR_LESS)
        and _contains(asked.from_us, asked.to_us, begin_us, end_us)
    ]


# The last session: "where did we leave off?", "what is still to do?".
#
# The question shares hardly a word with its answer, the digest of the last session, which says how
# it ended and what is open. So that digest comes first. Others that match by their words follow,
# because "where were we?" may be about a holiday. A project has its own last session; without a
# project the last sessions of all count.


SESSIONS_MAX = 3
"""Number of digests that answer outside of a project."""
_ASKING_CHARS_MAX = 120  # a longer text asks for more than that

_WE = r"(?:we|i|you|you and i)"
_ASKS = re.compile(
    r"\W*(?:(?:so|ok(?:ay)?|hi|hello|hey|again|now|and|please|(?:can|could) you (?:tell|remind) me"
    r"|remind me|tell me|do you (?:know|remember))\W+)*"
    r"(?:"
    rf"where (?:did {_WE} (?:leave (?:it |things )?off|stop)|(?:are|were) we(?: at)?"
    rf"|{_WE} (?:left (?:it |things )?off|stopped)|we were)"
    r"|what(?:'s| is| are)? (?:(?:still |the things )?(?:left|pending|outstanding|unfinished|to do"
    r"|remaining)|still (?:open|left |(?:left |open )?to (?:do|be done))|remains)"
    r"(?: open)?(?: to (?:do|be done))?"
    r"|what(?:'s| is) next"
    rf"|what (?:did|have) {_WE} (?:do|done|work(?:ed)? on)(?: in)?"
    r" (?:last(?: time)?|(?:the |our )?last session)"
    rf"|what (?:was|were|have|had) {_WE} (?:been )?(?:doing|working on)(?: last(?: time)?)?"
    rf"|(?:continue|(?:let's |let us )?(?:go on|continue|pick up|resume))(?: from)? where {_WE}"
    r" (?:left off|stopped|were)"
    r"|wo (?:waren|(?:sind|haben)(?= wir \w)) wir"
    r"(?: (?:zuletzt|gerade|stehen ?geblieben|aufgehört))*"
    r"|was (?:ist|steht|bleibt|gibt es) (?:jetzt |denn )?noch (?:alles )?(?:offen|zu tun|übrig|an)"
    r"|was haben wir (?:zuletzt|(?:das )?letzte(?:s)? mal) gemacht"
    r"|où en (?:étions|sommes)[- ]nous|que(?:'est-ce qu'il)? reste[- ](?:t-il )?à faire"
    r"|qu'est-ce qu'il reste à faire"
    r"|d[óo]nde (?:lo )?(?:nos quedamos|dejamos)|qu[ée] queda(?: pendiente)?(?: por hacer)?"
    r"|dove (?:eravamo|siamo) (?:rimasti|arrivati)|cosa (?:resta|rimane) da fare"
    r"|onde (?:é que )?(?:paramos|ficamos)|o que falta(?: fazer)?"
    r"|waar (?:waren|zijn) we (?:gebleven)?|wat (?:is|moet) er nog (?:te doen|gebeuren)"
    r")"
    r"(?:\W+(?:here|in this (?:project|repo(?:sitory)?)|on this|with (?:this|it)|last time"
    r"|again|now|then|please|hier|bitte))*\W*",
    re.IGNORECASE,
)


def asks_for_last_session(text: str) -> bool:
    """Return whether *text* asks for nothing but where the work stopped.

    >>> asks_for_last_session("Where did we leave off?"), asks_for_last_session("What is left?")
    (True, True)
    >>> asks_for_last_session("What is left of the budget?")
    False
    """
    return len(text) <= _ASKING_CHARS_MAX and _ASKS.fullmatch(text) is not None


def list_last_digests(conn: Reading, scope: SearchScope) -> tuple[int, ...]:
    """Return the digests that tell where the work stopped, newest first."""
    shown = scope.result_filter
    if shown.active_project_id is not None:
        own = slots.list_digests(conn, shown, 1, project_id=shown.active_project_id)
        if own:
            return tuple(own)
    return tuple(slots.list_digests(conn, shown, SESSIONS_MAX))
