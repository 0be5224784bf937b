"""Parse single expressions of time: "yesterday", "last week", "8 May 2023", "il y a trois jours".

The word tables are in ``time_words.py``, calendar arithmetic in ``calendar_periods.py``, numbers of
units and times within others in ``composed_times.py``. Parsers take the index of a word (*place*)
and return the time that begins there, or None. Each word is examined a bounded number of times, so
parsing takes linear time.

``parse_feast`` also accepts a bare name, for use within another time; ``_parse_feast_alone`` needs
a context that shows a time. Seasons, quarters and years have the same two parsers.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo

from memd.extract import calendar_periods
from memd.extract import time_words as words
from memd.extract.calendar_periods import CalendarDate, Stretch
from memd.extract.time_text import (
    AROUND,
    FEAST_LEADS,
    FEAST_LEADS_OF,
    FEASTS,
    FEASTS_UNSURE,
    ORDINALS,
    QUARTERS,
    YEAR_JOINTS,
    Point,
    TimeText,
)

_DAY = re.compile(r"([0-3]?\d)(?:st|nd|rd|th|er|e)?")
_YEAR = re.compile(r"(?:19|20)\d\d")


def parse_simple(text: TimeText, place: int) -> Point | None:
    """Return the time that begins at the word *place*; None for composed times and other words."""
    for parse in (
        parse_numeric,
        _parse_named_day,
        parse_unit,
        _parse_shifted,
        parse_month,
        parse_weekday,
        _parse_season_alone,
        _parse_feast_alone,
        _parse_quarter_alone,
        _parse_week_number,
        _parse_year_alone,
    ):
        point = parse(text, place)
        if point is not None:
            return point
    return None


def parse_numeric(text: TimeText, place: int) -> Point | None:
    """Parse 2025-03-01, 2025-03, 1.3.2025, and "am 1.3." (without "am" it may be a version)."""
    word = text.at(place)
    if not word[:1].isdigit():
        return None
    numbers = [int(part) for part in re.split(r"[.-]", word) if part.isdecimal()]
    if len(numbers) < 2 or "," in word:  # noqa: PLR2004  # a day and a month
        return None
    if "-" in word:
        date = CalendarDate(numbers[1], numbers[0], numbers[2] if numbers[2:] else None)
    elif numbers[2:] or _is_day_and_month(text, place):
        date = CalendarDate(numbers[1], numbers[2] if numbers[2:] else None, numbers[0])
    else:
        return None
    return Point(calendar_periods.date(text.now, date), place, place + 1, date)


def _is_day_and_month(text: TimeText, place: int) -> bool:
    """Return whether the words around "1.3." show that it is a date, not a version.

    For example "am 1.3.", "Montag 1.3.", and the second one of "1.3. bis 5.3.".
    """
    before = text.at(place - 1)
    if not text.at(place).endswith("."):
        return before == "am" and text.at(place - 2) != "i"
    is_second = before in {"bis", "und"} and text.at(place - 2).endswith(".")
    return before in words.DAY_LEADS or before in words.WEEKDAYS or is_second


def _parse_named_day(text: TimeText, place: int) -> Point | None:
    """Parse "yesterday", "gestern Abend", "tonight", "this morning", "last night"."""
    word = text.at(place)
    if word in words.NIGHTS:
        return Point(calendar_periods.some_night(text.now), place, place + 1)
    if word in words.DAY_PARTS:
        shift, hours = words.DAY_PARTS[word]
        whole = calendar_periods.day(text.now, shift)
        return Point(calendar_periods.part_of(whole, hours), place, place + 1)
    if word in words.BOTH_NIGHTS and words.PARTS.get(text.at(place + 1)) == words.NIGHT:
        return Point(calendar_periods.some_night(text.now), place, place + 2)
    if word in words.SHIFTS and text.at(place + 1) in words.PARTS:
        shift = words.SHIFTS[word]
        whole = calendar_periods.part_of(
            calendar_periods.day(text.now, shift), words.PARTS[text.at(place + 1)]
        )
        return Point(whole, place, place + 2) if shift <= 0 else None
    day_shift = words.DAYS.get(word)
    if day_shift is None or _has_other_meaning(text, place):
        return None
    return _with_part(text, Point(calendar_periods.day(text.now, day_shift), place, place + 1))


def _has_other_meaning(text: TimeText, place: int) -> bool:
    """Return whether a word for a day means something else here, as in "guten Morgen"."""
    word, before = text.at(place), text.at(place - 1)
    if word == "hier":  # French; a place in German and Dutch
        return any(word.word in words.GERMANIC for word in text.words)
    return word in {"morgen", "manana"} and before in {"am", "guten", "la", "jeden", "der", "s"}


def _with_part(text: TimeText, day: Point) -> Point:
    """Return the part of *day* that the next words name ("gestern *Abend*"), else *day*."""
    for at in range(day.after, day.after + 3):
        hours = words.PARTS.get(text.at(at))
        if hours is not None:
            return day._replace(stretch=calendar_periods.part_of(day.stretch, hours), after=at + 1)
        if text.at(at) not in words.PART_LEADS:
            break
    return day


def parse_unit(text: TimeText, place: int) -> Point | None:
    """Parse "last week", "le mois dernier", "heuer", "Vorjahr"."""
    if text.at(place) in words.UNIT_DAYS:
        return Point(
            calendar_periods.unit_of(text.now, *words.UNIT_DAYS[text.at(place)]), place, place + 1
        )
    unit_at = place + (text.at(place) in words.SHIFTS)
    return _parse_shifted(text, place) if text.at(unit_at) in words.UNITS else None


def _parse_shifted(text: TimeText, place: int) -> Point | None:
    """Parse "last week", "nächsten Montag", "le mois dernier", "this March"."""
    shift = words.SHIFTS.get(text.at(place))
    at, after = place + 1, place + 2
    if shift is None:
        shift = words.SHIFTS_AFTER.get(text.at(place + 1))
        at = place
    if shift is None:
        return None
    stretch = _shift_noun(text, at, shift)
    if stretch is None or text.at(after) == "of":
        return None
    point = Point(stretch, place, after)
    return _with_part(text, point) if text.at(at) in words.WEEKDAYS else point


def _shift_noun(text: TimeText, place: int, shift: int) -> Stretch | None:
    """Return the unit, weekday, month, season or feast at *place*, *shift* from the current one."""
    word = text.at(place)
    if word in words.UNITS:
        return calendar_periods.unit_of(text.now, words.UNITS[word], shift)
    if word in words.WEEKDAYS:
        return calendar_periods.weekday(text.now, words.WEEKDAYS[word], shift)
    if word in words.MONTHS:
        return calendar_periods.date(text.now, CalendarDate(words.MONTHS[word]), shift)
    if word in words.SEASONS and _is_season(text, place):
        return calendar_periods.season(text.now, words.SEASONS[word], None, shift)
    if word in FEASTS:
        return calendar_periods.feast(text.now, FEASTS[word], None, shift)
    return None


def parse_month(text: TimeText, place: int, *, sure: bool = False) -> Point | None:
    """Parse "March", "8 May 2023", "May 8th", "el 8 de mayo de 2023", "March 2025".

    *sure*: an ambiguous word such as "may" is known to be the month.
    """
    at, day = place, _day(text, place)
    if day is not None:
        at = place + (2 if text.at(place + 1) in words.JOINTS else 1)
    month = words.MONTHS.get(text.at(at))
    if month is None:
        return None
    after = at + 1
    if day is None and (day := _day(text, after)) is not None:
        after += 1
    year_at = after + 1 if text.at(after) in words.JOINTS else after
    year = _year_number(text, year_at)
    if year is not None:
        after = year_at + 1
    else:
        year = _year_number(text, place - 1)  # "2023 May 8"
    if day is None and year is None and not sure and not _is_month(text, at):
        return None
    date = CalendarDate(month, year, day)
    return Point(calendar_periods.date(text.now, date), place, after, date)


def _day(text: TimeText, place: int) -> int | None:
    """Return the day of the month in "8", "8th" or "1er", None for another word."""
    match = _DAY.fullmatch(text.at(place))
    return int(match[1]) if match and 1 <= int(match[1]) <= 31 else None  # noqa: PLR2004  # a month's days


def _year_number(text: TimeText, place: int) -> int | None:
    """Return the number at *place* if it may be a year, else None."""
    word = text.at(place)
    return int(word) if _YEAR.fullmatch(word) and text.may_be_year(place) else None


def _is_month(text: TimeText, place: int) -> bool:
    """Return whether an ambiguous name of a month means the month, by its context."""
    word = text.at(place)
    before = text.at(place - 1)
    if word not in words.UNSURE or before in words.MONTH_LEADS:
        return True
    if (before in words.AND or before in words.TO) and text.at(place - 2) in words.MONTHS:
        return True
    capital = text.words[place].text[0].isupper()
    return word in words.CAPITAL and capital and not text.begins_sentence(place)


def parse_weekday(text: TimeText, place: int) -> Point | None:
    """Parse "on Monday", "samedi soir", "Freitagabend", "segunda-feira", "at the weekend"."""
    word, before = text.at(place), text.at(place - 1)
    if words.UNITS.get(word) == "weekend" and before in AROUND and word != "weekends":
        return Point(calendar_periods.some_weekend(text.now), place, place + 1)
    number = words.WEEKDAYS.get(word)
    after = place + 1
    if word in words.FEIRAS and text.at(place + 1) == "feira":
        number, after = words.FEIRAS[word], place + 2
    day_and_hours = words.WEEKDAY_PARTS.get(word)
    if day_and_hours is not None:
        number = day_and_hours[0]
    if number is None or before in words.HABITS:
        return None
    day = Point(calendar_periods.weekday(text.now, number, None), place, after)
    if day_and_hours is not None:
        return day._replace(stretch=calendar_periods.part_of(day.stretch, day_and_hours[1]))
    return _date_after(text, day) or _with_part(text, day)


def _date_after(text: TimeText, day: Point) -> Point | None:
    """Return the date that follows a weekday: "Friday, 13 March"."""
    at = day.after + (text.at(day.after) in words.WEEKDAY_JOINTS)
    date = parse_numeric(text, at) or parse_month(text, at)
    is_date = date is not None and date.date is not None and date.date.day is not None
    return date._replace(first=day.first) if date is not None and is_date else None


def parse_season(text: TimeText, place: int) -> Point | None:
    """Parse "spring", "summer 2024"; None unless the time zone is in the north."""
    number = words.SEASONS.get(text.at(place))
    if number is None or not _is_season(text, place):
        return None
    year = _year_number(text, place + 1)
    stretch = calendar_periods.season(text.now, number, year, None)
    return Point(stretch, place, place + (1 if year is None else 2))


def _parse_season_alone(text: TimeText, place: int) -> Point | None:
    """Parse "in spring", "summer 2024"; without a lead or a year, "the spring" may be a coil."""
    point = parse_season(text, place)
    has_year = point is not None and point.after > place + 1
    return point if has_year or _has_lead(text, place) else None


def _is_season(text: TimeText, place: int) -> bool:
    """Return whether a word for a season means one of the north, by time zone or language."""
    if text.at(place - 1) in words.HABITS:
        return False
    if is_northern(text.now, text.zone):
        return True
    is_german = text.at(place) in words.NORTHERN or text.at(place - 1) in words.NORTHERN_LEADS
    return is_german and not has_summer_time(text.now, text.zone)


def _has_lead(text: TimeText, place: int) -> bool:
    """Return whether a word of SEASON_LEADS precedes the word, perhaps with a filler between."""
    before = text.at(place - 1)
    leads = words.SEASON_LEADS
    return before in leads or (before in words.FILLERS and text.at(place - 2) in leads)


def parse_feast(text: TimeText, place: int) -> Point | None:
    """Parse "Ostern", "Christmas 2024", "Weihnachten"."""
    word = text.at(place)
    feast = FEASTS.get(word)
    if feast is None or text.at(place - 1) in words.HABITS:
        return None
    year = _year_number(text, place + 1)
    stretch = calendar_periods.feast(text.now, feast, year, None)
    begin = stretch.begin
    date = CalendarDate(begin.month, year, begin.day) if year else None
    return Point(stretch, place, place + (1 if year is None else 2), date)


def _parse_feast_alone(text: TimeText, place: int) -> Point | None:
    """Parse a feast that is no name: "at Easter", "Weihnachten", and not "a Christmas tree"."""
    point = parse_feast(text, place)
    if point is None or point.date or text.at(place) not in FEASTS_UNSURE:
        return point
    before = text.at(place - 1)
    is_lead = before in FEAST_LEADS or before == FEAST_LEADS_OF.get(text.at(place))
    return point if is_lead else None


def parse_quarter(text: TimeText, place: int) -> Point | None:
    """Parse "Q3", "first quarter of 2025", "2. Quartal"."""
    number, after = QUARTERS.get(text.at(place)), place + 1
    if number is None and words.UNITS.get(text.at(place + 1)) == "quarter":
        number, after = ORDINALS.get(text.at(place)), place + 2
    if number is None or number < 1:
        return None
    year_at = text.skip(after, YEAR_JOINTS)
    year = int(text.at(year_at)) if _YEAR.fullmatch(text.at(year_at)) else None
    stretch = calendar_periods.quarter(text.now, number, year)
    return Point(stretch, place, after if year is None else year_at + 1)


def _parse_quarter_alone(text: TimeText, place: int) -> Point | None:
    """Parse "in Q3", "Q3 2025"; a bare "Q3" may be a question's number."""
    point = parse_quarter(text, place)
    if point is None or point.stretch.other is None:
        return point
    return point if _has_lead(text, place) else None


def _parse_week_number(text: TimeText, place: int) -> Point | None:
    """Parse "KW 45", "KW45/2025", "Kalenderwoche 3"."""
    number = text.at(place + 1)
    if text.at(place) not in words.CALENDAR_WEEKS or not number.isdecimal():
        return None
    if not text.is_one_phrase(place, place + 1):
        return None
    after = place + 2
    year = int(text.at(after)) if _YEAR.fullmatch(text.at(after)) else None
    stretch = calendar_periods.calendar_week(text.now, int(number), year)
    return Point(stretch, place, after + (year is not None))


def _parse_year_alone(text: TimeText, place: int) -> Point | None:
    """Parse "in 2024", "seit 2024"; a bare number is no year."""
    return parse_year(text, place) if text.at(place - 1) in words.YEAR_LEADS else None


def parse_year(text: TimeText, place: int) -> Point | None:
    """Parse a number of four digits that may be a year."""
    year = _year_number(text, place)
    return None if year is None else Point(calendar_periods.year(year), place, place + 1)


def is_northern(now: datetime, zone: tzinfo | None) -> bool:
    """Return whether the zone has daylight saving time in July, as in the north."""
    return _summer_shift(now, zone) > timedelta()


def has_summer_time(now: datetime, zone: tzinfo | None) -> bool:
    """Return whether the zone has daylight saving time at all."""
    return _summer_shift(now, zone) != timedelta()


def _summer_shift(now: datetime, zone: tzinfo | None) -> timedelta:
    """Return how far the clocks of July are ahead of those of January."""
    winter, summer = (
        (at.replace(tzinfo=zone) if zone else at.astimezone()).utcoffset()
        for at in (now.replace(month=1, day=1), now.replace(month=7, day=1))
    )
    return timedelta() if winter is None or summer is None else summer - winter
