"""Compute stretches of days, weeks, months and years relative to a local time. Pure.

All times are naive, in the person's time zone. A *shift* counts from the current unit: -1 is the
last one, 0 this one, 1 the next. Functions raise ValueError or OverflowError for impossible dates.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from memd.extract.time_words import Grain

_DAY = timedelta(days=1)
_WEEK = timedelta(days=7)
_MONTHS_A_YEAR = 12
_SATURDAY = 5
DAYS_NEAR = 7
"""Days of a month that differ by at most this match in :meth:`CalendarDate.match`."""


class Stretch(NamedTuple):
    """A stretch of time from *begin* to before *end*, with the precision of the words.

    *other* is the second reading of ambiguous words: "on Monday" is the last one or the next.
    *limit* is the moment of the words in "since ..." or "until ..."; None is *begin*.
    """

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
    """Return the day *shift* days from now; its grain is HOUR, since "yesterday" is exact."""
    begin = _midnight(now) + shift * _DAY
    return Stretch(begin, begin + _DAY, Grain.HOUR)


def some_night(now: datetime) -> Stretch:
    """Return the last night; the other reading is the coming one."""
    last, coming = (part_of(day(now, shift), (18, 29)) for shift in (-1, 0))
    return last._replace(other=coming[:2])


def some_unit(now: datetime, unit: str, cut: Callable[[Stretch], Stretch]) -> Stretch:
    """Return the latest part of a unit that has begun; the other reading is the next one."""
    before, this, following = (cut(unit_of(now, unit, shift)) for shift in (-1, 0, 1))
    if now < this.begin:
        return before._replace(other=this[:2])
    return this._replace(other=following[:2])


def part_of(whole: Stretch, hours: tuple[int, int]) -> Stretch:
    """Return the *hours* of a day; they may reach into the next day."""
    first, last = (timedelta(hours=hour) for hour in hours)
    other = whole.other and (whole.other[0] + first, whole.other[0] + last)
    return Stretch(whole.begin + first, whole.begin + last, Grain.HOUR, other)


def ago(now: datetime, number: float, unit: str, *, vague: bool = False) -> Stretch:
    """Return the stretch around *number* units ago; *vague* is for "a few".

    It is longer for longer units, and shorter for "a year and a half ago" than "a year ago".
    """
    if unit in {"minute", "hour"}:
        length = timedelta(**{f"{unit}s": 1})
        at = now - number * length
        around = max(length, timedelta(minutes=10)) / 2
        return Stretch(at - (2 if vague else 1) * around, at + around, Grain.HOUR, limit=at)
    at = _subtract(_midnight(now), number, unit)
    limit = at if unit != "day" or not vague else _subtract(_midnight(now), number + 1, unit)
    slack = {"day": 0, "week": 3, "month": 15, "year": 120}[unit] // (1 + number % 1 * 2) * _DAY
    if vague:
        return Stretch(
            _subtract(at, number + 1, unit),
            _subtract(at, -1, unit) + _DAY,
            Grain(unit),
            limit=limit,
        )
    return Stretch(at - slack, at + slack + _DAY, Grain(unit), limit=limit)


def ahead(now: datetime, number: float, unit: str, *, vague: bool = False) -> Stretch:
    """Return the stretch around *number* units from now; *vague* is for "a few"."""
    whole = ago(now, -number, unit)
    if not vague:
        return whole
    return whole._replace(begin=now, end=ago(now, -number - 2, unit).end, limit=now)


def upcoming(now: datetime, number: float, unit: str) -> Stretch:
    """Return the next *number* units, from now on."""
    if unit in {"minute", "hour"}:
        return Stretch(now, now + timedelta(**{f"{unit}s": number}), Grain.HOUR)
    today = _midnight(now)
    return Stretch(today, _subtract(today, -number, unit) + _DAY, Grain(unit))


def recent(now: datetime, number: float, unit: str) -> Stretch:
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
    return some_unit(now, "weekend", lambda whole: whole)


def weekday(now: datetime, number: int, shift: int | None) -> Stretch:
    """Return the last, this week's or the next such day; without *shift* both last and next."""
    today = _midnight(now)
    since = (today.weekday() - number) % 7
    last = today - (since or 7) * _DAY
    coming = last + (2 if since == 0 else 1) * _WEEK
    if shift == 0:
        begin = today - today.weekday() * _DAY + number * _DAY
        return Stretch(begin, begin + _DAY, Grain.DAY)
    if shift is not None and shift > 0:
        begin = coming + (shift - 1) * _WEEK
        return Stretch(begin, begin + _DAY, Grain.DAY)
    if shift is not None:
        last += (shift + 1) * _WEEK
    other = (coming, coming + _DAY) if shift is None else None
    return Stretch(last, last + _DAY, Grain.DAY, other)


def date(now: datetime, named: CalendarDate, shift: int | None = None) -> Stretch:
    """Return the date; without a year the latest that has begun, and as other the next."""
    if named.year is not None:
        return _date_in(named, named.year)
    return _of_some_year(now, partial(_date_in, named), shift)


def year(number: int) -> Stretch:
    return Stretch(
        _first(number * _MONTHS_A_YEAR), _first((number + 1) * _MONTHS_A_YEAR), Grain.YEAR
    )


def season(now: datetime, number: int, of_year: int | None, shift: int | None) -> Stretch:
    """Return a northern season, 0 for spring; winter begins in December of the year before."""
    if of_year is not None:
        return _season(number, of_year)
    if shift != 0:
        return _of_some_year(now, partial(_season, number), shift)
    latest = _of_some_year(now, partial(_season, number), None)
    return latest._replace(other=None) if now < latest.end else latest


def quarter(now: datetime, number: int, of_year: int | None) -> Stretch:
    """Return a quarter of a year, from 1 to 4."""
    if of_year is not None:
        return _quarter(number, of_year)
    return _of_some_year(now, partial(_quarter, number), None)


def calendar_week(now: datetime, number: int, of_year: int | None) -> Stretch:
    """Return a week by its number in ISO 8601."""
    if of_year is not None:
        return _calendar_week(number, of_year)
    return _of_some_year(now, partial(_calendar_week, number), None)


def feast(
    now: datetime, place: tuple[int, int, int], of_year: int | None, shift: int | None
) -> Stretch:
    """Return a feast, by its month, day and length in days; in month 0 by days from Easter."""
    if of_year is not None:
        return _feast(place, of_year)
    return _of_some_year(now, partial(_feast, place), shift)


def easter(of_year: int) -> datetime:
    """Return Easter Sunday, by the computus of Oudin.

    >>> easter(2026).date().isoformat()
    '2026-04-05'
    """
    century = of_year // 100
    golden = of_year % 19
    corrected = century - century // 4 - (8 * century + 13) // 25 + 19 * golden + 15
    epact = corrected % 30
    epact -= epact // 28 * (1 - 29 // (epact + 1) * ((21 - golden) // 11))
    leap = of_year + of_year // 4 + epact + 2 - century + century // 4
    sunday = epact - leap % 7
    month = 3 + (sunday + 40) // 44
    return datetime(of_year, month, sunday + 28 - 31 * (month // 4))  # noqa: DTZ001  # the zone comes last


def third(whole: Stretch, number: int) -> Stretch:
    """Return the first (0), second (1) or last (2) third of a stretch."""
    grain = {Grain.WEEK: Grain.DAY, Grain.MONTH: Grain.WEEK, Grain.QUARTER: Grain.MONTH}
    return _within(whole, (number, number + 1), 3, grain.get(whole.grain, Grain.QUARTER))


def half(whole: Stretch, number: int) -> Stretch:
    """Return the first or the second half of a stretch, or the last for -1."""
    if number not in {1, 2, -1}:
        raise ValueError(number)
    first = 0 if number == 1 else 1
    grain = Grain.QUARTER if whole.grain is Grain.YEAR else Grain.WEEK
    return _within(whole, (first, first + 1), 2, grain)


def _within(whole: Stretch, parts: tuple[int, int], of: int, grain: Grain) -> Stretch:
    """Return the *parts* (first, last) of a stretch that is cut into *of* parts.

    The edges are at whole days, for quarters and years at whole months.
    """
    months = {Grain.QUARTER: 3, Grain.YEAR: _MONTHS_A_YEAR}.get(whole.grain)

    def cut(begin: datetime, end: datetime) -> tuple[datetime, datetime]:
        length, unit = (months, "month") if months else ((end - begin).days, "day")
        first, last = length * parts[0] // of, -(-length * parts[1] // of)
        return _subtract(begin, -first, unit), _subtract(begin, -last, unit)

    other = whole.other and cut(*whole.other)
    return Stretch(*cut(*whole[:2]), grain, other)


def week_of(month: Stretch, number: int, first_day: int | None = None) -> Stretch:
    """Return the week *number* of a month, counted from its first day; -1 is the last one.

    With *first_day*, the number of a weekday, return the weekend that begins on it in that week.
    """

    def cut(begin: datetime, end: datetime) -> tuple[datetime, datetime]:
        first = end - _WEEK if number < 0 else begin + (number - 1) * _WEEK
        if first_day is None:
            return first, first + _WEEK
        first += (first_day - first.weekday()) % 7 * _DAY
        return first, first + 2 * _DAY

    other = month.other and cut(*month.other)
    return Stretch(*cut(*month[:2]), Grain.DAY, other)


def shift_earlier(stretch: Stretch) -> Stretch:
    """Return the same weekday a week earlier, or the same date a year earlier."""
    back = _WEEK if stretch.grain in {Grain.HOUR, Grain.DAY} and stretch.other else None
    if back is None or (stretch.other and stretch.other[0] - stretch.begin > 3 * _WEEK):
        begin, end = (_subtract(at, 1, "year") for at in stretch[:2])
    else:
        begin, end = (at - back for at in stretch[:2])
    return Stretch(begin, end, stretch.grain)


def adjacent_week(edge: datetime, *, before: bool) -> Stretch:
    """Return the seven days before or after *edge*, for "the Monday before Easter"."""
    begin = edge - _WEEK if before else edge
    return Stretch(begin, begin + _WEEK, Grain.WEEK)


def _date_in(named: CalendarDate, of_year: int) -> Stretch:
    begin = datetime(of_year, named.month, named.day or 1)  # noqa: DTZ001  # the zone comes last
    if named.day is None:
        return Stretch(begin, _subtract(begin, -1, "month"), Grain.MONTH)
    return Stretch(begin, begin + _DAY, Grain.DAY)


def _of_some_year(now: datetime, in_year: Callable[[int], Stretch], shift: int | None) -> Stretch:
    """Return the latest stretch that has begun; its *other* is that of the next year.

    *shift* selects another one: 0 this year's, 1 the next, -1 the last one that has ended.
    """
    if shift == 0:
        return in_year(now.year)
    years = (now.year + 1, now.year, now.year - 1)
    latest = next(year for year in years if year < now.year or in_year(year).begin <= now)
    if shift is None:
        return in_year(latest)._replace(other=in_year(latest + 1)[:2])
    is_running = now < in_year(latest).end
    return in_year(latest + shift if shift > 0 else latest + shift + 1 - is_running)


def _quarter(number: int, of_year: int) -> Stretch:
    first = of_year * _MONTHS_A_YEAR + 3 * (number - 1)
    return Stretch(_first(first), _first(first + 3), Grain.QUARTER)


def _calendar_week(number: int, of_year: int) -> Stretch:
    if not 1 <= number <= 53:  # noqa: PLR2004  # weeks
        raise ValueError(number)
    begin = datetime.fromisocalendar(of_year, 1, 1) + (number - 1) * _WEEK
    return Stretch(begin, begin + _WEEK, Grain.WEEK)


def _feast(place: tuple[int, int, int], of_year: int) -> Stretch:
    month, shift, days = place
    begin = datetime(of_year, month, shift) if month else easter(of_year) + shift * _DAY  # noqa: DTZ001  # the zone comes last
    return Stretch(begin, begin + days * _DAY, Grain.DAY)


def _season(number: int, of_year: int) -> Stretch:
    # Meteorological: March, June, September, December.
    first = of_year * _MONTHS_A_YEAR + 2 + 3 * number - (_MONTHS_A_YEAR if number == 3 else 0)  # noqa: PLR2004  # winter
    return Stretch(_first(first), _first(first + 3), Grain.QUARTER)


def _subtract(at: datetime, number: float, unit: str) -> datetime:
    """Return the midnight *number* units before *at*."""
    if unit in {"day", "week"}:
        return _midnight(at - number * (_DAY if unit == "day" else _WEEK))
    whole = int(number)
    if unit == "month" and whole != number:
        at -= timedelta(days=int(30 * (number - whole)))
    months = whole if unit == "month" else int(number * _MONTHS_A_YEAR)
    first = _first(at.year * _MONTHS_A_YEAR + at.month - 1 - months)
    longest = (_first(first.year * _MONTHS_A_YEAR + first.month) - first).days
    return first.replace(day=min(at.day, longest))


def _first(place: int) -> datetime:
    """Return the first of a month, given the number of months since the year 0."""
    return datetime(place // _MONTHS_A_YEAR, place % _MONTHS_A_YEAR + 1, 1)  # noqa: DTZ001  # the zone comes last


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)
