"""When the event was that a question dates itself by: "before the release".

The memory that tells of it says when it was. Only one that holds every word of the event tells
of it, and one that asks, or that itself only dates something by it ("frozen until the
release"), does not. Where none does, the question is asked as if it named no time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from memd.base.clock import DAY_US, from_us, to_us
from memd.extract.events import Event, Side, asks_ahead, events
from memd.extract.periods import Period, periods
from memd.extract.time_words import Grain
from memd.recall.search import SearchScope
from memd.store.file.connect import Reading
from memd.store.search import ranked, words
from memd.store.search.ranked import SearchCandidate
from memd.text.function_words import FUNCTION_WORDS

ROWS = 32  # memories that are looked through, the best by their words
QUESTION_CHARS_MAX = 300  # a long text is no question about a time
APART_US = 7 * DAY_US  # memories farther apart tell of several events
TEXT_CHARS = 1_000  # of a memory, in which times are looked for


def dated(
    conn: Reading, scopes: Sequence[SearchScope], text: str, stem: Callable[[str], list[str]]
) -> tuple[Period, ...]:
    """Return the time beside the event that the question *text* names, where a memory knows it."""
    if "?" not in text or len(text) > QUESTION_CHARS_MAX:
        return ()
    named = events(text)
    if not named or asks_ahead(text):
        return ()
    found = (_dated(conn, scopes, event, stem) for event in named)
    return tuple(period for period in found if period is not None)


def _dated(
    conn: Reading,
    scopes: Sequence[SearchScope],
    event: Event,
    stem: Callable[[str], list[str]],
) -> Period | None:
    telling = [word for word in event.words if word.casefold() not in FUNCTION_WORDS]
    terms = frozenset(term for word in telling for term in stem(word))
    if not terms:
        return None
    for scope in scopes:
        match = words.match_text(telling, scope.owners)
        keys = [hit.memory_key for hit in words.search(conn, match, ROWS)]
        by_key = {its.memory_key: its for its in ranked.candidates(conn, scope.candidates, keys)}
        found = [by_key[key] for key in keys if key in by_key]
        telling_of = [when(its) for its in found if tells_of(its.own, terms, stem)]
        if telling_of:
            return _beside(event.side, telling_of)
    return None


def tells_of(own: str, terms: frozenset[str], stem: Callable[[str], list[str]]) -> bool:
    """Return whether a memory of the text *own* tells of what *terms* name."""
    if own.rstrip().endswith("?") or not terms <= frozenset(stem(own)):
        return False
    dates = (frozenset(term for word in one.words for term in stem(word)) for one in events(own))
    return not any(terms <= its for its in dates)


class EventTime(NamedTuple):
    """When an event was: the stretch that its memory names, or the moment the memory is of."""

    begin_us: int
    end_us: int
    grain: Grain = Grain.DAY


def when(its: SearchCandidate) -> EventTime:
    """Return when it was what a memory tells of: as its text says, if that says one time."""
    moment_us = its.created_at_us if its.occurred_at_us is None else its.occurred_at_us
    told = [one for one in periods(its.own[:TEXT_CHARS], moment_us) if not one.bounds]
    if len(told) == 1 and told[0].from_us is not None and told[0].to_us is not None:
        return EventTime(told[0].from_us, told[0].to_us, told[0].grain)
    return EventTime(moment_us, moment_us)


def _beside(side: Side, moments: Sequence[EventTime]) -> Period | None:
    """Return the time on *side* of the event; None where *moments* are those of several."""
    begins = [one.begin_us for one in moments]
    if max(begins) - min(begins) > APART_US:
        return None
    begin_us, end_us, grain = moments[0]
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
