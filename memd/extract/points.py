"""Parse single expressions of time: "yesterday", "last week", "8 May 2023", "il y a trois jours".

The word tables are in ``time_words.py``, the calendar in ``stretches.py``; this module has the
grammar. Each word is examined a bounded number of times, so parsing takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import NamedTuple

from memd.base.clock import to_us
from memd.extract import stretches
from memd.extract import time_words as words
from memd.extract.stretches import CalendarDate, Stretch
from memd.extract.time_words import fold

_WORD = re.compile(
    r"(?<![\w.:/-])(?:\d{4}-\d{2}-\d{2}|\d{4}-\d{2}|\d{1,2}\.\d{1,2}\.\d{4})(?![\w/-]|[.:]\d)"
    r"|[^\W_]+"
)
_DAY = re.compile(r"([0-3]?\d)(?:st|nd|rd|th|er|e)?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_SENTENCE_END = frozenset(".!?:\n")
_COMPOUND_WORDS = 3
_COMPOUND_FIRST = frozenset(compound[0] for compound in words.COMPOUNDS)


class DateWord(NamedTuple):
    """A word in the tables' spelling, as written, and its position in the text."""

    word: str
    text: str
    start: int
    end: int


class TimeText(NamedTuple):
    """A text's words, and the reader's time and time zone."""

    whole: str
    words: tuple[DateWord, ...]
    now: datetime
    zone: tzinfo | None

    def at(self, place: int) -> str:
        """Return a word; "" before the first and after the last."""
        return self.words[place].word if 0 <= place < len(self.words) else ""

    def skip_fillers(self, place: int) -> int:
        """Return the index of the first of three words from *place* on that is no filler."""
        return next((at for at in range(place, place + 3) if self.at(at) not in _FILLERS), place)

    def us(self, local: datetime) -> int:
        return to_us(local.replace(tzinfo=self.zone) if self.zone else local.astimezone())

    def begins_sentence(self, place: int) -> bool:
        start = self.words[place].start
        before = self.whole[max(0, start - 4) : start].rstrip()[-1:]
        return not before or before in _SENTENCE_END

    def follows_year(self, place: int) -> bool:
        """Return whether the number at *place* may be a year, by its context."""
        number = self.words[place]
        after = self.whole[number.end : number.end + 2]
        return (
            self.whole[max(0, number.start - 1) : number.start]
            not in {".", ":", "/", "-", "#", "_", "$"}
            and not (after[:1] in {".", ":", "/", "-"} and after[1:].isalnum())
            and after[:1] not in {"%", "\u20ac", "_"}
            and self.at(place + 1) not in words.NO_YEAR
        )


class Point(NamedTuple):
    """The time that the words from *first* until before *after* name."""

    stretch: Stretch
    first: int
    after: int
    date: CalendarDate | None = None


_FILLERS = words.FILLERS
AROUND = _FILLERS | frozenset(("on", "at", "am", "in", "over"))


def split_words(text: str) -> tuple[DateWord, ...]:
    """Return the words, folded; a compound is one word."""
    single = [DateWord(fold(m.group()), m.group(), *m.span()) for m in _WORD.finditer(text)]
    joined: list[DateWord] = []
    place = 0
    while place < len(single):
        compound: str | None = None
        part: Sequence[DateWord] = single[place : place + 1]
        if part[0].word in _COMPOUND_FIRST:
            part, compound = _compound(single, place)
        start, end = part[0].start, part[-1].end
        joined.append(DateWord(compound, text[start:end], start, end) if compound else part[0])
        place += len(part)
    return tuple(joined)


def _compound(single: Sequence[DateWord], place: int) -> tuple[Sequence[DateWord], str | None]:
    """Return the words of the longest compound at *place*, and its word; None without one."""
    for length in range(_COMPOUND_WORDS, 0, -1):
        part = single[place : place + length]
        compound = words.COMPOUNDS.get(tuple([word.word for word in part]))
        if compound is not None:
            return part, compound
    return single[place : place + 1], None


def parse_point(text: TimeText, place: int) -> Point | None:
    """Return the time that begins at the word *place*, or None."""
    for read in (
        parse_ago,
        _parse_numeric,
        _parse_named_day,
        _parse_shifted,
        _parse_month,
        _parse_weekday,
        _parse_season,
        _parse_year,
    ):
        point_read = read(text, place)
        if point_read is not None:
            return point_read
    return None


def _parse_number(text: TimeText, place: int) -> tuple[int, bool, int] | None:
    """Return a number, whether it is vague ("a few"), and the index after it."""
    word = text.at(place)
    if word.isdecimal() and len(word) <= 3:  # noqa: PLR2004  # digits
        return int(word), False, place + 1
    number = words.NUMBERS.get(word)
    if number is None:
        return None
    after = text.at(place + 1)
    if number == 1 and after in words.VAGUE:
        return 3, True, place + (3 if text.at(place + 2) in {"of", "de", "di"} else 2)
    return number, word in words.VAGUE, place + 1


def parse_ago(text: TimeText, place: int) -> Point | None:
    """Parse "3 days ago", "vor einer Woche", "il y a deux mois", "the last few weeks"."""
    word = text.at(place)
    leads = word in words.AGO_LEADS and (word != "ha" or "\xe1" in text.words[place].text.lower())
    lasts = word in words.LASTS
    number = _parse_number(text, place + 1 if leads or lasts else place)
    unit = words.COUNTED.get(text.at(number[2])) if number else None
    if number is None or unit is None:
        return None
    value, vague, at = number
    if lasts:
        return Point(stretches.recent(text.now, value, unit), place, at + 1)
    if leads:
        return Point(stretches.ago(text.now, value, unit, vague=vague), place, at + 1)
    if text.at(at + 1) in words.AGO:
        return Point(stretches.ago(text.now, value, unit, vague=vague), place, at + 2)
    return None


def _parse_numeric(text: TimeText, place: int) -> Point | None:
    """Parse 2025-03-01, 2025-03 and 1.3.2025."""
    word = text.at(place)
    if word.count("-") == 0 and word.count(".") == 0:
        return None
    parts = [int(part) for part in re.split(r"[.-]", word)]
    if "." in word:
        parts.reverse()
    date = CalendarDate(parts[1], parts[0], parts[2] if len(parts) > 2 else None)  # noqa: PLR2004  # with a day
    return Point(stretches.date(text.now, date), place, place + 1, date)


def _parse_named_day(text: TimeText, place: int) -> Point | None:
    """Parse "yesterday", "gestern Abend", "tonight", "this morning", "last night"."""
    word = text.at(place)
    if word in words.DAY_PARTS:
        shift, hours = words.DAY_PARTS[word]
        whole = stretches.day(text.now, shift)
        return Point(stretches.part_of(whole, hours), place, place + 1)
    if word in words.SHIFTS and text.at(place + 1) in words.PARTS:
        shift = words.SHIFTS[word]
        whole = stretches.part_of(stretches.day(text.now, shift), words.PARTS[text.at(place + 1)])
        return Point(whole, place, place + 2) if shift <= 0 else None
    shift_of = words.DAYS.get(word)
    if shift_of is None or _has_other_meaning(text, place):
        return None
    return _with_part(text, Point(stretches.day(text.now, shift_of), place, place + 1))


def _has_other_meaning(text: TimeText, place: int) -> bool:
    """Return whether a word for a day has another meaning in this context."""
    word, before = text.at(place), text.at(place - 1)
    if word == "hier":  # French; a place in German and Dutch
        return any(word.word in words.GERMANIC for word in text.words)
    return word in {"morgen", "manana"} and before in {"am", "guten", "la", "jeden", "der", "s"}


def _with_part(text: TimeText, day: Point) -> Point:
    """Return *day*, or the part of it that follows."""
    for at in range(day.after, day.after + 3):
        hours = words.PARTS.get(text.at(at))
        if hours is not None:
            return day._replace(stretch=stretches.part_of(day.stretch, hours), after=at + 1)
        if text.at(at) not in words.PART_LEADS:
            break
    return day


def _parse_shifted(text: TimeText, place: int) -> Point | None:
    """Parse "last week", "nächsten Montag", "le mois dernier", "this March"."""
    shift = words.SHIFTS.get(text.at(place))
    at, after = place + 1, place + 2
    if shift is None:
        shift = words.SHIFTS_AFTER.get(text.at(place + 1))
        at = place
    if shift is None:
        return None
    moment = _shift_noun(text, text.at(at), shift)
    if moment is None or text.at(after) == "of":
        return None
    parse_point = Point(moment, place, after)
    return _with_part(text, parse_point) if text.at(at) in words.WEEKDAYS else parse_point


def _shift_noun(text: TimeText, word: str, shift: int) -> Stretch | None:
    if word in words.UNITS:
        unit = words.UNITS[word]
        return stretches.unit_of(text.now, unit, shift)
    if word in words.WEEKDAYS:
        return stretches.weekday(text.now, words.WEEKDAYS[word], shift)
    if word in words.MONTHS:
        return stretches.date(text.now, CalendarDate(words.MONTHS[word]), shift)
    if word in words.SEASONS and is_northern(text.now, text.zone):
        return stretches.season(text.now, words.SEASONS[word], None, shift)
    return None


def _parse_month(text: TimeText, place: int) -> Point | None:
    """Parse "March", "8 May 2023", "May 8th", "el 8 de mayo de 2023", "March 2025"."""
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
    elif (year := _year_number(text, place - 1)) is not None:
        pass
    if day is None and year is None and not _is_month(text, at):
        return None
    date = CalendarDate(month, year, day)
    return Point(stretches.date(text.now, date), place, after, date)


def _day(text: TimeText, place: int) -> int | None:
    match = _DAY.fullmatch(text.at(place))
    return int(match[1]) if match and 1 <= int(match[1]) <= 31 else None  # noqa: PLR2004  # a month's days


def _year_number(text: TimeText, place: int) -> int | None:
    word = text.at(place)
    return int(word) if _YEAR.fullmatch(word) and text.follows_year(place) else None


def _is_month(text: TimeText, place: int) -> bool:
    """Return whether an ambiguous name of a month means the month, by its context."""
    word = text.at(place)
    if word not in words.UNSURE or text.at(place - 1) in words.MONTH_LEADS:
        return True
    capital = text.words[place].text[0].isupper()
    return word in words.CAPITAL and capital and not text.begins_sentence(place)


def _parse_weekday(text: TimeText, place: int) -> Point | None:
    """Parse "on Monday", "samedi soir", "segunda-feira", "at the weekend"."""
    word, before = text.at(place), text.at(place - 1)
    if words.UNITS.get(word) == "weekend" and before in AROUND and word != "weekends":
        return Point(stretches.some_weekend(text.now), place, place + 1)
    number = words.WEEKDAYS.get(word)
    after = place + 1
    if word in words.FEIRAS and text.at(place + 1) == "feira":
        number, after = words.FEIRAS[word], place + 2
    if number is None or before in words.HABITS:
        return None
    return _with_part(text, Point(stretches.weekday(text.now, number, None), place, after))


def _parse_season(text: TimeText, place: int) -> Point | None:
    """Parse "in spring", "summer 2024"; None unless the time zone is in the north."""
    number = words.SEASONS.get(text.at(place))
    if number is None or not is_northern(text.now, text.zone):
        return None
    leads = [text.at(place - 1), text.at(place - 2)]
    year = _year_number(text, place + 1)
    if year is None and leads[leads[0] in _FILLERS - words.SEASON_LEADS] not in words.SEASON_LEADS:
        return None
    point_in = stretches.season(text.now, number, year, None)
    return Point(point_in, place, place + (1 if year is None else 2))


def _parse_year(text: TimeText, place: int) -> Point | None:
    """Parse "in 2024", "seit 2024"; a bare number is no year."""
    year = _year_number(text, place)
    if year is None or text.at(place - 1) not in words.YEAR_LEADS:
        return None
    return Point(stretches.year(year), place, place + 1)


def is_northern(now: datetime, zone: tzinfo | None) -> bool:
    """Return whether the zone's clocks go forward for July; False where they never change."""
    winter, summer = (
        (at.replace(tzinfo=zone) if zone else at.astimezone()).utcoffset()
        for at in (now.replace(month=1, day=1), now.replace(month=7, day=1))
    )
    return winter is not None and summer is not None and summer > winter
