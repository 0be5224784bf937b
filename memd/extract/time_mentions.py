"""Find the times that a statement names: "until March 2026", "since 2025-03", "in Q2 2026".

A time has a start and an end; either may be open. Days, months, quarters and years are in UTC.
An end is the *start* of the named unit ("until March" ends with February), unless the words say
otherwise ("through March", "until the end of March"). Relative words count from a given *now*;
without it they are ignored, like impossible dates.
"""

from __future__ import annotations

import re
from datetime import UTC
from functools import cache
from typing import NamedTuple

from memd.base.clock import from_us, to_us
from memd.extract import calendar_periods
from memd.extract.calendar_periods import CalendarDate
from memd.extract.time_words import Grain
from memd.extract.times import Period, find_periods


class TimeMention(NamedTuple):
    """A time named by characters *start* to *end* of a text."""

    start: int
    end: int
    from_us: int | None
    to_us: int | None


class _Unit(NamedTuple):
    begin: int
    close: int


_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR = r"(?:19|20)\d\d"
_RELATIVE = (
    r"(?:yesterday|today|tomorrow|(?:last|this|next) (?:week|month|quarter|year)"
    r"|\d{1,3} (?:day|week|month|year)s? ago)"
)
_POINT = (
    rf"(?:{_YEAR}-\d\d-\d\d|{_YEAR}-\d\d(?![\d-])|{_YEAR}[ -]?q[1-4]|q[1-4],? (?:of )?{_YEAR}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH},? {_YEAR}"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? {_YEAR}|{_MONTH},? (?:of )?{_YEAR}"
    rf"|{_RELATIVE}|{_YEAR})"
)
# In "from January to March 2026" the first month takes the second one's year.
_BARE = rf"(?:{_POINT}|{_MONTH})"
_WORDS = (
    rf"\b(?:"
    rf"(?:from|between) (?:the )?(?P<first>{_BARE})(?: up)? (?P<joint>to|till|until|through|and)"
    rf" (?:the )?(?P<second>{_POINT})"
    rf"|(?P<start>since|from|as of|as from|starting(?: in| on| from| with)?|effective(?: from)?"
    rf"|beginning(?: in| on)?|after) (?:the )?(?:(?:beginning|start) of )?(?P<opening>{_POINT})"
    rf"(?: on(?:wards?)?)?"
    rf"|(?P<stop>until|till|up to|before|through|thru)(?P<whole> (?:the )?end of)?"
    rf" (?:the )?(?P<closing>{_POINT})"
    rf"|(?:in|on|during|at|within|back in) (?:the )?(?P<unit>{_POINT})"
    rf"|(?P<adverb>{_RELATIVE}))(?![\w-])"
)
_YEAR_FIRST = re.compile(rf"({_YEAR})[ -]?(q[1-4])", re.IGNORECASE)
_YEARS = re.compile(rf"{_YEAR}$")
_IS_RELATIVE = re.compile(_RELATIVE)
_LEAD = "in "  # before a number, so that it is read as a year
_AGO_MONTHLY = frozenset((Grain.MONTH, Grain.YEAR))


@cache
def _pattern() -> re.Pattern[str]:
    """Return the pattern of all times, compiled on first use, since that takes 20 ms."""
    return re.compile(_WORDS, re.IGNORECASE)


def find_times(sentence: str, now_us: int | None = None) -> tuple[TimeMention, ...]:
    """Return the times in *sentence*, in order, without impossible ones.

    >>> [(time.from_us, time.to_us is None) for time in find_times("since 1970-13", None)]
    []
    """
    moments = (_read(match, now_us) for match in _pattern().finditer(sentence))
    return tuple(moment for moment in moments if moment is not None)


def _read(match: re.Match[str], now_us: int | None) -> TimeMention | None:
    start, end = match.span()
    if match["first"]:
        return _stretch(match, now_us)
    word = match["opening"] or match["closing"] or match["unit"] or match["adverb"]
    unit = _unit(word, now_us)
    if unit is None:
        return None
    if match["opening"]:
        late = match["start"].casefold() == "after"
        return TimeMention(start, end, unit.close if late else unit.begin, None)
    if match["closing"]:
        late = bool(match["whole"]) or match["stop"].casefold() in {"through", "thru"}
        return TimeMention(start, end, None, unit.close if late else unit.begin)
    return TimeMention(start, end, unit.begin, unit.close)


def _stretch(match: re.Match[str], now_us: int | None) -> TimeMention | None:
    second = _unit(match["second"], now_us)
    first = _unit(match["first"], now_us)
    year = _YEARS.search(match["second"])
    if first is None and year:
        first = _unit(f"{match['first']} {year.group()}", now_us)
    if first is None or second is None:
        return None
    close = second.close if match["joint"].casefold() == "through" else second.begin
    if first.begin >= close:
        return None
    return TimeMention(*match.span(), first.begin, close)


def _unit(word: str, now_us: int | None) -> _Unit | None:
    """Return the day, month, quarter or year that *word* names; None without a year or a now."""
    text = _YEAR_FIRST.sub(r"\2 \1", word.casefold())
    if now_us is None and _IS_RELATIVE.fullmatch(text):
        return None
    periods = find_periods(f"{_LEAD}{text}", now_us or 0, UTC)
    if [(period.start, period.end) for period in periods] != [(len(_LEAD), len(_LEAD) + len(text))]:
        return None  # such as the thirtieth of February
    [period] = periods
    if text.endswith("ago"):
        return _unit_ago(period)
    if period.other is not None or period.from_us is None or period.to_us is None:
        return None
    return _Unit(period.from_us, period.to_us)


def _unit_ago(period: Period) -> _Unit:
    """Return the day at the distance "... ago"; its whole month if counted in months or years."""
    day = from_us(period.limit_us).replace(tzinfo=None)
    whole = (
        calendar_periods.date(day, CalendarDate(day.month, day.year))
        if period.grain in _AGO_MONTHLY
        else calendar_periods.day(day, 0)
    )
    begin, end = (to_us(edge.replace(tzinfo=UTC)) for edge in whole[:2])
    return _Unit(begin, end)
