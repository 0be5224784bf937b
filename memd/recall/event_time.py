"""Date a question's event: "before the release" is dated by the memory that tells of the release.

A memory tells of an event if it holds every word of it. One that asks, or that itself only dates
something by the event ("frozen until the release"), does not. Where no memory tells of it, the
question is treated as naming no time (decision 0209).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from memd.base.clock import DAY_US, from_us, to_us
from memd.extract.events import Event, Side, asks_ahead, find_events
from memd.extract.periods import Period, find_periods
from memd.extract.time_words import Grain
from memd.recall.scope import SearchScope
from memd.store.file.connect import Reading
from memd.store.search import candidate_rows, fulltext
from memd.store.search.candidate_rows import SearchCandidate
from memd.text.function_words import FUNCTION_WORDS

ROWS = 32  # memories examined, the best by their words
QUESTION_CHARS_MAX = 300  # a longer text is no question about a time
SAME_EVENT_US = 7 * DAY_US  # memories further apart tell of several events
TEXT_CHARS = 1_000  # of a memory, in which times are looked for

Stem = Callable[[str], list[str]]


def event_periods(
    conn: Reading, scopes: Sequence[SearchScope], text: str, stem: Stem
) -> tuple[Period, ...]:
    """Return the periods beside the events that the question *text* names, where they are known."""
    if "?" not in text or len(text) > QUESTION_CHARS_MAX:
        return ()
    named = find_events(text)
    if not named or asks_ahead(text):
        return ()
    found_periods = (_event_period(conn, scopes, event, stem) for event in named)
    return tuple(period for period in found_periods if period is not None)


def _event_period(
    conn: Reading, scopes: Sequence[SearchScope], event: Event, stem: Stem
) -> Period | None:
    content = [word for word in event.words if word.casefold() not in FUNCTION_WORDS]
    terms = frozenset(term for word in content for term in stem(word))
    if not terms:
        return None
    for scope in scopes:
        match = fulltext.match_query(content, scope.owners)
        keys = [hit.memory_key for hit in fulltext.search(conn, match, ROWS)]
        by_key = {
            row.memory_key: row for row in candidate_rows.read_candidates(conn, scope.indexed, keys)
        }
        candidates = [by_key[key] for key in keys if key in by_key]
        times = [event_time(row) for row in candidates if tells_of(row.own, terms, stem)]
        if times:
            return _period_beside(event.side, times)
    return None


def tells_of(own: str, terms: frozenset[str], stem: Stem) -> bool:
    """Return whether a memory of the text *own* tells of what *terms* name."""
    if own.rstrip().endswith("?") or not terms <= frozenset(stem(own)):
        return False
    dating = (
        frozenset(term for word in event.words for term in stem(word)) for event in find_events(own)
    )
    return not any(terms <= event_terms for event_terms in dating)


class EventTime(NamedTuple):
    """When an event was: the period that its memory names, or else the moment of the memory."""

    begin_us: int
    end_us: int
    grain: Grain = Grain.DAY


def event_time(candidate: SearchCandidate) -> EventTime:
    """Return when the event of *candidate* was: as its text says, if that names one time."""
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
    """Return the period on *side* of the event; None where *times* are those of several events."""
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
