"""Compute stretches of days, weeks, months and years around a now, without time zones. Pure.

A stretch includes *begin* and excludes *end*. If words are ambiguous ("on Monday"), *other* is
the second reading. Functions raise ValueError or OverflowError for impossible dates.
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
    """A stretch of time, the precision of its words, and the moment that they mean as a limit."""

    begin: datetime
    end: datetime
    grain: Grain
    other: tuple[datetime, datetime] | None = None
    limit: datetime | None = None


class CalendarDate(NamedTuple):
    """A month, perhaps with a year and a day."""

    month: int
    year: int | None = None
    day: int | None = None

    def match(self, moment: datetime) -> float:
        """Return 1 for the same month (and year, and day within a week), 0.5 for another day."""
        if moment.month != self.month:
            return 0.0
        if self.year is not None and moment.year != self.year:
            return 0.0
        if self.day is None or abs(moment.day - self.day) <= DAYS_NEAR:
            return 1.0
        return 0.5


def day(now: datetime, shift: int) -> Stretch:
    """Return a day by its own word: "yesterday" is no other one, but a night may belong to it."""
    begin = _midnight(now) + shift * _DAY
    return Stretch(begin, begin + _DAY, Grain.HOUR)


def part_of(whole: Stretch, hours: tuple[int, int]) -> Stretch:
    """Return the *hours* of a day; they may reach into the next day."""
    first, last = (timedelta(hours=hour) for hour in hours)
    other = whole.other and (whole.other[0] + first, whole.other[0] + last)
    return Stretch(whole.begin + first, whole.begin + last, Grain.HOUR, other)


def ago(now: datetime, number: int, unit: str, *, vague: bool = False) -> Stretch:
    """Return the stretch around *number* units ago; *vague* is for "a few"."""
    if unit in {"minute", "hour"}:
        length = timedelta(**{f"{unit}s": 1})
        at = now - number * length
        around = max(length, timedelta(minutes=10)) / 2
        return Stretch(at - (2 if vague else 1) * around, at + around, Grain.HOUR, limit=at)
    at = _subtract(_midnight(now), number, unit)
    limit = at if unit != "day" or not vague else _subtract(_midnight(now), number + 1, unit)
    slack = {"day": 0, "week": 3, "month": 15, "year": 120}[unit] * _DAY
    if vague:
        return Stretch(
            _subtract(at, number + 1, unit),
            _subtract(at, -1, unit) + _DAY,
            Grain(unit),
            limit=limit,
        )
    return Stretch(at - slack, at + slack + _DAY, Grain(unit), limit=limit)


def recent(now: datetime, number: int, unit: str) -> Stretch:
    """Return the last *number* units, up to now."""
    if unit in {"minute", "hour"}:
        return Stretch(now - timedelta(**{f"{unit}s": number}), now, Grain.HOUR)
    return Stretch(_subtract(_midnight(now), number, unit), _midnight(now) + _DAY, Grain(unit))


def unit_of(now: datetime, unit: str, shift: int) -> Stretch:
    """Return the week, weekend, month, quarter or year *shift* units from the current one."""
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
    """Return the latest weekend that has begun; the other reading is the next one."""
    this, last = unit_of(now, "weekend", 0), unit_of(now, "weekend", -1)
    if now < this.begin:
        return last._replace(other=this[:2])
    return this._replace(other=unit_of(now, "weekend", 1)[:2])


def weekday(now: datetime, number: int, shift: int | None) -> Stretch:
    """Return the last, this week's or the next such day; without *shift* both last and next."""
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
    """Return the date; without a year the latest that has begun, and as other the next."""
    if named.year is not None:
        return _date_in(named, named.year)
    this = _date_in(named._replace(day=named.day and min(named.day, 28)), now.year)
    if shift == 0:
        return _date_in(named, now.year)
    running = this.begin <= now < this.end
    past = now.year if this.begin <= now else now.year - 1
    if shift == -1:
        return _date_in(named, past - running)
    if shift == 1:
        return _date_in(named, past + 1)
    return _date_in(named, past)._replace(other=_date_in(named, past + 1)[:2])


def year(number: int) -> Stretch:
    return Stretch(
        _first(number * _MONTHS_A_YEAR), _first((number + 1) * _MONTHS_A_YEAR), Grain.YEAR
    )


def season(now: datetime, number: int, of_year: int | None, shift: int | None) -> Stretch:
    """Return a season of the north; spring is 0. A winter begins in December of the year before."""
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


def shift_earlier(stretch: Stretch) -> Stretch:
    """Return the same weekday a week earlier, or the same date a year earlier."""
    back = _WEEK if stretch.grain in {Grain.HOUR, Grain.DAY} and stretch.other else None
    if back is None or (stretch.other and stretch.other[0] - stretch.begin > 3 * _WEEK):
        begin, end = (_subtract(at, 1, "year") for at in stretch[:2])
    else:
        begin, end = (at - back for at in stretch[:2])
    return Stretch(begin, end, stretch.grain)


def adjacent_week(edge: datetime, *, before: bool) -> Stretch:
    """Return the week before or after *edge*, in which "the Monday before" it lies."""
    begin = edge - _WEEK if before else edge
    return Stretch(begin, begin + _WEEK, Grain.WEEK)


def _date_in(named: CalendarDate, of_year: int) -> Stretch:
    if named.day is None:
        first = of_year * _MONTHS_A_YEAR + named.month - 1
        return Stretch(_first(first), _first(first + 1), Grain.MONTH)
    begin = datetime(of_year, named.month, named.day)  # noqa: DTZ001  # the zone comes last
    return Stretch(begin, begin + _DAY, Grain.DAY)


def _season(number: int, of_year: int) -> Stretch:
    # Meteorological: March, June, September, December.
    first = of_year * _MONTHS_A_YEAR + 2 + 3 * number - (_MONTHS_A_YEAR if number == 3 else 0)  # noqa: PLR2004  # winter
    return Stretch(_first(first), _first(first + 3), Grain.QUARTER)


def _subtract(at: datetime, number: int, unit: str) -> datetime:
    if unit in {"day", "week"}:
        return at - number * (_DAY if unit == "day" else _WEEK)
    months = number * (1 if unit == "month" else _MONTHS_A_YEAR)
    first = _first(at.year * _MONTHS_A_YEAR + at.month - 1 - months)
    longest = (_first(first.year * _MONTHS_A_YEAR + first.month) - first).days
    return first.replace(day=min(at.day, longest))


def _first(place: int) -> datetime:
    """Return the first of a month, given the number of months since the year 0."""
    return datetime(place // _MONTHS_A_YEAR, place % _MONTHS_A_YEAR + 1, 1)  # noqa: DTZ001  # the zone comes last


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)
