"""Stretches of days, weeks, months and years around a now, on one calendar without a zone. Pure.

A stretch begins with *begin* and ends before *end*. Where words leave open which of two
is meant ("on Monday"), *other* is the second. Raises ValueError or OverflowError for
what no calendar has.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from memd.extract.time_words import Grain

_DAY = timedelta(days=1)
_WEEK = timedelta(days=7)
_MONTHS_A_YEAR = 12
_SATURDAY = 5
DAYS_NEAR = 7


class Stretch(NamedTuple):
    """A stretch, how exact its words are, and the moment that they mean as a limit."""

    begin: datetime
    end: datetime
    grain: Grain
    other: tuple[datetime, datetime] | None = None
    limit: datetime | None = None


class CalendarDate(NamedTuple):
    """A date by its place in the calendar: a month, perhaps with a year and a day."""

    month: int
    year: int | None = None
    day: int | None = None

    def match(self, moment: datetime) -> float:
        """Return 1 for the same month (and year, day within a week), 0.5 for the month only."""
        if moment.month != self.month:
            return 0.0
        if self.year is not None and moment.year != self.year:
            return 0.0
        if self.day is None or abs(moment.day - self.day) <= DAYS_NEAR:
            return 1.0
        return 0.5


def day(now: datetime, shift: int) -> Stretch:
    begin = _midnight(now) + shift * _DAY
    return Stretch(begin, begin + _DAY, Grain.DAY)


def part_of(whole: Stretch, hours: tuple[int, int]) -> Stretch:
    """Return the hours of a day, up to those of the next one."""
    first, last = (timedelta(hours=hour) for hour in hours)
    other = whole.other and (whole.other[0] + first, whole.other[0] + last)
    return Stretch(whole.begin + first, whole.begin + last, Grain.HOUR, other)


def ago(now: datetime, number: int, unit: str, *, vague: bool = False) -> Stretch:
    """Return about when it was *number* units ago; *vague* is "a few"."""
    if unit in {"minute", "hour"}:
        length = timedelta(**{f"{unit}s": 1})
        at = now - number * length
        around = max(length, timedelta(minutes=10)) / 2
        return Stretch(at - (2 if vague else 1) * around, at + around, Grain.HOUR, limit=at)
    at = _back(_midnight(now), number, unit)
    limit = at if unit != "day" or not vague else _back(_midnight(now), number + 1, unit)
    slack = {"day": 0, "week": 3, "month": 15, "year": 120}[unit] * _DAY
    if vague:
        return Stretch(
            _back(at, number + 1, unit), _back(at, -1, unit) + _DAY, Grain(unit), limit=limit
        )
    return Stretch(at - slack, at + slack + _DAY, Grain(unit), limit=limit)


def recent(now: datetime, number: int, unit: str) -> Stretch:
    """Return the last *number* units, up to now."""
    if unit in {"minute", "hour"}:
        return Stretch(now - timedelta(**{f"{unit}s": number}), now, Grain.HOUR)
    return Stretch(_back(_midnight(now), number, unit), _midnight(now) + _DAY, Grain(unit))


def unit_of(now: datetime, unit: str, shift: int) -> Stretch:
    """Return the week, weekend, month, quarter or year that is *shift* away from now's."""
    today = _midnight(now)
    monday = today - today.weekday() * _DAY
    if unit == "week":
        begin = monday + shift * _WEEK
        return Stretch(begin, begin + _WEEK, Grain.WEEK)
    if unit == "weekend":
        begin = monday + _SATURDAY * _DAY + shift * _WEEK
        return Stretch(begin, begin + 2 * _DAY, Grain.DAY)
    length = {"month": 1, "quarter": 3, "year": _MONTHS_A_YEAR}[unit]
    place = today.year * _MONTHS_A_YEAR + today.month - 1
    first = place // length * length + shift * length
    return Stretch(_first(first), _first(first + length), Grain(unit))


def some_weekend(now: datetime) -> Stretch:
    """Return the latest weekend that has begun, or else the next one."""
    this, last = unit_of(now, "weekend", 0), unit_of(now, "weekend", -1)
    if now < this.begin:
        return last._replace(other=this[:2])
    return this._replace(other=unit_of(now, "weekend", 1)[:2])


def weekday(now: datetime, number: int, shift: int | None) -> Stretch:
    """Return the last, this week's or the next such day; without *shift* the last or the next."""
    today = _midnight(now)
    since = (today.weekday() - number) % 7
    last = today - (since or 7) * _DAY
    coming = last + (2 if since == 0 else 1) * _WEEK
    if shift == 0:
        begin = today - today.weekday() * _DAY + number * _DAY
        return Stretch(begin, begin + _DAY, Grain.DAY)
    if shift == 1:
        return Stretch(coming, coming + _DAY, Grain.DAY)
    other = (coming, coming + _DAY) if shift is None else None
    return Stretch(last, last + _DAY, Grain.DAY, other)


def date(now: datetime, named: CalendarDate, shift: int | None = None) -> Stretch:
    """Return the date; one without a year is the latest that has begun, or else the next."""
    if named.year is not None:
        return _dated(named, named.year)
    this = _dated(named._replace(day=named.day and min(named.day, 28)), now.year)
    if shift == 0:
        return _dated(named, now.year)
    running = this.begin <= now < this.end
    past = now.year if this.begin <= now else now.year - 1
    if shift == -1:
        return _dated(named, past - running)
    if shift == 1:
        return _dated(named, past + 1)
    return _dated(named, past)._replace(other=_dated(named, past + 1)[:2])


def year(number: int) -> Stretch:
    return Stretch(
        _first(number * _MONTHS_A_YEAR), _first((number + 1) * _MONTHS_A_YEAR), Grain.YEAR
    )


def season(now: datetime, number: int, of_year: int | None, shift: int | None) -> Stretch:
    """Return a season of the north; spring is 0. A winter begins in the December before."""
    if of_year is not None:
        return _season(number, of_year)
    this = _season(number, now.year)
    running = this.begin <= now < this.end
    past = now.year if this.begin <= now else now.year - 1
    if shift == -1:
        return _season(number, past - running)
    if shift == 1:
        return _season(number, past + 1)
    period = _season(number, past)
    return (
        period if shift == 0 and running else period._replace(other=_season(number, past + 1)[:2])
    )


def earlier(stretch: Stretch) -> Stretch:
    """Return the same weekday a week, or the same month a year, earlier."""
    back = _WEEK if stretch.grain in {Grain.HOUR, Grain.DAY} and stretch.other else None
    if back is None or (stretch.other and stretch.other[0] - stretch.begin > 3 * _WEEK):
        begin, end = (_back(at, 1, "year") for at in stretch[:2])
    else:
        begin, end = (at - back for at in stretch[:2])
    return Stretch(begin, end, stretch.grain)


def week_beside(edge: datetime, *, before: bool) -> Stretch:
    """Return the week before, or after, *edge*: where "the Monday before" it lies."""
    begin = edge - _WEEK if before else edge
    return Stretch(begin, begin + _WEEK, Grain.WEEK)


def _dated(named: CalendarDate, of_year: int) -> Stretch:
    if named.day is None:
        first = of_year * _MONTHS_A_YEAR + named.month - 1
        return Stretch(_first(first), _first(first + 1), Grain.MONTH)
    begin = datetime(of_year, named.month, named.day)  # noqa: DTZ001  # the zone comes last
    return Stretch(begin, begin + _DAY, Grain.DAY)


def _season(number: int, of_year: int) -> Stretch:
    # Meteorological: March, June, September, December.
    first = of_year * _MONTHS_A_YEAR + 2 + 3 * number - (_MONTHS_A_YEAR if number == 3 else 0)  # noqa: PLR2004  # winter
    return Stretch(_first(first), _first(first + 3), Grain.QUARTER)


def _back(at: datetime, number: int, unit: str) -> datetime:
    if unit in {"day", "week"}:
        return at - number * (_DAY if unit == "day" else _WEEK)
    months = number * (1 if unit == "month" else _MONTHS_A_YEAR)
    first = _first(at.year * _MONTHS_A_YEAR + at.month - 1 - months)
    longest = (_first(first.year * _MONTHS_A_YEAR + first.month) - first).days
    return first.replace(day=min(at.day, longest))


def _first(place: int) -> datetime:
    """Return the first of a month, by how many months lie before it since the year 0."""
    return datetime(place // _MONTHS_A_YEAR, place % _MONTHS_A_YEAR + 1, 1)  # noqa: DTZ001  # the zone comes last


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)
