"""Which stretches of time a question or an option names: "last week", "seit März", "2025-03".

Read in seven languages, against a *now* on the clock of the person's own time zone.
Careful before complete: "may I", "the last line", "port 2024" name no time.
``when.py`` reads statements, in UTC, and decides what holds; this only says what is meant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from memd.base.clock import from_us
from memd.extract import stretches
from memd.extract import time_words as words
from memd.extract.points import AROUND, Point, Text, ago, point, split
from memd.extract.stretches import CalendarDate
from memd.extract.time_words import Grain, folded

_WORDS = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d{4}")
_LIMIT_CHARS_MAX = 200  # of words that are a time and nothing else


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time that characters *start* to *end* of a text name.

    From *from_us* until before *to_us*; either may be open. *grain* is how exact the words
    are, *other* the second reading where there are two: "on Monday" is the last one, or the
    next. *limit_us* is the moment that they mean as a limit. *bounds* are words that limit
    ("since", "until", "between"). *dates* are those said by their place in the calendar.
    *by_event*: a memory says when it was, and it may be a wrong one.
    """

    start: int
    end: int
    from_us: int | None
    to_us: int | None
    grain: Grain
    limit_us: int
    other: tuple[int, int] | None = None
    bounds: bool = False
    dates: tuple[CalendarDate, ...] = ()
    by_event: bool = False


def periods(text: str, now_us: int, zone: tzinfo | None = None) -> tuple[Period, ...]:
    """Return the times that *text* names, in order, as a person in *zone* means them at *now_us*.

    Without *zone* the machine's own. What no calendar has is left out.

    >>> from datetime import UTC
    >>> [(one.from_us, one.to_us) for one in periods("What did I cook yesterday?", 0, UTC)]
    [(-86400000000, 0)]
    """
    plain = folded(text)
    if words.CORE.isdisjoint(_WORDS.findall(plain)) and not _NUMBER.search(plain):
        return ()  # most texts name no time, and this is soon known
    now = from_us(now_us).astimezone(zone).replace(tzinfo=None)
    reading = Text(text, split(text), now, zone)
    result: list[Period] = []
    place = 0
    while place < len(reading.words):
        period, after = _read(reading, place)
        if period is not None:
            result.append(period)
        place = max(after, place + 1)
    return tuple(result)


def limit(text: str, now_us: int, zone: tzinfo | None = None) -> datetime | None:
    """Return the moment with which the time that is all of *text* begins; None if it is none.

    >>> from datetime import UTC
    >>> limit("last week", 0, UTC).isoformat()
    '1969-12-22T00:00:00+00:00'
    """
    if len(text) > _LIMIT_CHARS_MAX:
        return None
    for whole in (text, f"in {text}"):
        spans = periods(whole, now_us, zone)
        if len(spans) == 1 and not spans[0].bounds:
            rest = f"{whole[: spans[0].start]} {whole[spans[0].end :]}"
            if {each.word for each in split(rest)} <= AROUND:
                return from_us(spans[0].limit_us)
    return None


def _read(text: Text, place: int) -> tuple[Period | None, int]:
    """Return the time that begins with a word, and the place after it."""
    if text.at(place) not in words.FIRST and not text.at(place)[:1].isdigit():
        return None, place + 1
    try:
        past = ago(text, place)
        if past is not None:
            return _period(text, past), past.after
        bounded = _between(text, place) or _bounded(text, place)
        if bounded is not None:
            return bounded
        named = _beside(text, place) or point(text, place)
    except (ValueError, OverflowError):  # the thirtieth of February
        return None, place + 1
    return (None, place + 1) if named is None else (_period(text, named), named.after)


def _period(text: Text, named: Point) -> Period:
    begin, end, grain, other, limited = named.stretch
    return Period(
        start=text.words[named.first].start,
        end=text.words[named.after - 1].end,
        from_us=text.us(begin),
        to_us=text.us(end),
        grain=grain,
        limit_us=text.us(limited or begin),
        other=other and (text.us(other[0]), text.us(other[1])),
        dates=(named.date,) if named.date else (),
    )


def _between(text: Text, place: int) -> tuple[Period, int] | None:
    """Read "between A and B", "from A to B"; A may borrow the year of B."""
    word = text.at(place)
    joints = words.AND if word in words.BETWEEN else words.TO if word in words.FROM else None
    first = point(text, text.unfilled(place + 1)) if joints else None
    if joints is None or first is None or text.at(first.after) not in joints:
        return None
    second = point(text, text.unfilled(first.after + 1))
    if second is None:
        return None
    if first.date and second.date and first.date.year is None and second.date.year:
        lent = first.date._replace(year=second.date.year)
        first = first._replace(stretch=stretches.date(text.now, lent))
    if first.stretch.begin >= second.stretch.end:
        first = first._replace(stretch=stretches.earlier(first.stretch))
    low, high = _period(text, first), _period(text, second)
    if low.limit_us >= (high.to_us or 0):
        return None
    whole = replace(
        low,
        start=text.words[place].start,
        end=high.end,
        to_us=high.to_us,
        other=None,
        bounds=True,
        dates=low.dates + high.dates,
    )
    return whole, second.after


def _bounded(text: Text, place: int) -> tuple[Period, int] | None:
    """Read "since A", "after A", "until A", "before A"."""
    word = text.at(place)
    if word not in _LIMITS:
        return None
    named = point(text, text.unfilled(place + 1))
    if named is None:
        return None
    one = _period(text, named)
    begin: int | None = None
    end: int | None = None
    if word in words.SINCE:
        begin = one.limit_us
    elif word in words.AFTER:
        begin = one.to_us
    elif word in words.UNTIL:
        end = one.to_us
    else:
        end = one.from_us
    start = text.words[place].start
    limited = replace(one, start=start, from_us=begin, to_us=end, other=None, bounds=True)
    return limited, named.after


_LIMITS = words.SINCE | words.AFTER | words.UNTIL | words.BEFORE


def _beside(text: Text, place: int) -> Point | None:
    """Read "the Monday before 24 July", "the week after Easter Monday": beside another time."""
    side = text.at(place + 1)
    if side not in words.BEFORE and side not in words.AFTER:
        return None
    if text.at(place) not in words.WEEKDAYS and text.at(place) not in words.UNITS:
        return None
    edge = point(text, text.unfilled(place + 2))
    if edge is None:
        return None
    before = side in words.BEFORE
    at = edge.stretch.begin if before else edge.stretch.end
    return edge._replace(stretch=stretches.week_beside(at, before=before), first=place)
