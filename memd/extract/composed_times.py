"""Parse composed times: "vor gut zwei Wochen", "Ende März", "Tuesday of last week".

These are numbers of units, parts of a longer time, and times within another one. Simple times are
parsed by ``simple_times.py``. Each word is examined a bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from memd.extract import calendar_periods, simple_times
from memd.extract import time_words as words
from memd.extract.calendar_periods import CalendarDate, Stretch
from memd.extract.time_text import (
    AROUND,
    EDGE_JOINTS,
    EDGE_UNITS,
    EDGES,
    EDGES_OF_MONTH,
    EDGES_SURE,
    HALVES_OF,
    MONTH_PARTS,
    ORDINALS,
    Point,
    TimeText,
)
from memd.extract.time_words import Grain

_DIGITS = re.compile(r"\d{1,3}(?:[.,]\d)?")
_SATURDAY = 5
_FEW = 3  # "a few weeks ago"
_FEW_LAST = 5  # "the last few weeks", which may reach back further
_MOMENT = timedelta(seconds=1)
# The stretch of "two years ago" is shorter: it may contain another time. "Some years ago" is not.
_CONTAINER_MAX = timedelta(days=300)
_JOINTS = AROUND | EDGE_JOINTS | words.word_set("s im au nel nella dell")
_ABOUT = words.ABOUT - words.AHEAD
_RUNS = words.LASTS | words.NEXTS
_SEVERAL = words.PLURALS.keys() | {"mois"}
_COARSE = frozenset((Grain.WEEK, Grain.MONTH, Grain.QUARTER, Grain.YEAR))


def parse_point(text: TimeText, place: int) -> Point | None:
    """Return the time that begins at the word *place*, or None."""
    return parse_counted(text, place) or parse_uncounted(text, place)


def parse_counted(text: TimeText, place: int) -> Point | None:
    """Parse "vor drei Wochen", in which "vor" is no limit, and "letzte Woche Dienstag"."""
    counted = _parse_counted(text, place)
    outer = _as_container(text, place, counted)
    return counted if outer is None else _parse_outer(text, outer) or counted


def parse_uncounted(text: TimeText, place: int) -> Point | None:
    """Parse any other time."""
    return (
        _parse_edge(text, place)
        or _parse_ordinal(text, place)
        or _parse_inner(text, place)
        or simple_times.parse_simple(text, place)
    )


# Numbers of units.


class Amount(NamedTuple):
    """A number of units, whether it is vague ("a few"), and the index after it."""

    number: float
    unit: str
    vague: bool
    after: int


def _parse_counted(text: TimeText, place: int) -> Point | None:
    """Parse "3 days ago", "vor einer Woche", "in zwei Wochen", "the last few weeks"."""
    word = text.at(place)
    if word in words.AGO_LEADS:
        has_accent = word != "ha" or "\xe1" in text.words[place].text.lower()
        amount = parse_amount(text, place + 1, bare=True) if has_accent else None
        return None if amount is None else _ago(text, amount, place, amount.after)
    amount = parse_amount(text, place)
    if amount is None:
        return _parse_run(text, place)
    if _is_ago(text, amount):
        return _ago(text, amount, place, amount.after + 1)
    lead = _ahead_lead(text, place, amount)
    if lead is None:
        return None
    moment = calendar_periods.ahead(text.now, amount.number, amount.unit, vague=amount.vague)
    return Point(moment, lead, amount.after)


def _ago(text: TimeText, amount: Amount, place: int, after: int) -> Point:
    moment = calendar_periods.ago(text.now, amount.number, amount.unit, vague=amount.vague)
    return Point(moment, place, after)


def _is_ago(text: TimeText, amount: Amount) -> bool:
    """Return whether a word for "ago" follows; "her" and "zurück" only after German units."""
    word = text.at(amount.after)
    if word in words.AGO_OF_GERMAN and text.at(amount.after - 1) not in words.GERMAN_UNITS:
        return False
    return word in words.AGO


def _ahead_lead(text: TimeText, place: int, amount: Amount) -> int | None:
    """Return the index of the "in" before *amount*; None if it means a length: "once in a week"."""
    at = place - 1
    while at > place - 3 and text.at(at) in _ABOUT:
        at -= 1
    word = text.at(at)
    if word == "over":
        return at if text.at(amount.after - 1) in words.DUTCH_UNITS else None
    is_length = amount.unit in {"minute", "hour"} or text.at(place) in {"a", "an", "een"}
    is_french = text.at(amount.after - 1) in {"an", "ans"}
    if word == "in" and (is_french or (is_length and not amount.vague)):
        return None
    return at if word in words.AHEAD else None


def _parse_run(text: TimeText, place: int) -> Point | None:
    """Parse "the last 3 days", "die letzten Tage", "les deux dernières semaines"."""
    number = None if text.at(place) in _RUNS else _parse_number(text, place)
    at = number[2] if number else place
    lead, unit_word = text.at(at), text.at(at + 1)
    if lead not in _RUNS or unit_word in {"a", "an"}:  # "did it last a week?"
        return None
    if number is None:
        amount = parse_amount(text, at + 1, bare=text.at(at + 2) not in words.OF_THINGS)
    else:
        unit = words.COUNTED.get(unit_word) if unit_word in _SEVERAL else None
        amount = None if unit is None else Amount(number[0], unit, number[1], at + 2)
    if amount is None:
        return None
    run = calendar_periods.recent if lead in words.LASTS else calendar_periods.upcoming
    count = _FEW_LAST if amount.vague else amount.number
    return Point(run(text.now, count, amount.unit), place, amount.after)


def parse_amount(text: TimeText, place: int, *, bare: bool = False) -> Amount | None:
    """Parse "3 days", "gut zwei Wochen", "einem halben Jahr", "a year and a half".

    With *bare* also a plural without a number, "Tagen", as a few.
    """
    at = text.skip(place, words.ABOUT)
    if bare and text.at(at) in words.PLURALS:
        return Amount(_FEW, words.PLURALS[text.at(at)], vague=True, after=at + 1)
    parsed = _parse_number(text, at)
    if parsed is None:
        return None
    number, vague, after = parsed
    unit_at = _skip_half(text, after)
    unit = words.COUNTED.get(text.at(unit_at))
    if unit is None:
        return None
    end = _skip_half(text, unit_at + 1)
    halves = (unit_at > after) + (end > unit_at + 1)
    return Amount(number + halves / 2 if halves else number, unit, vague, end)


def _parse_number(text: TimeText, place: int) -> tuple[float, bool, int] | None:
    """Return a number, whether it is vague ("a few"), and the index after it."""
    word, following = text.at(place), text.at(place + 1)
    fraction = _parse_fraction(text, place)
    if fraction is not None:
        return fraction
    number = words.NUMBERS.get(word)
    if number == 1 and following in words.VAGUE:
        return _FEW, True, _skip_of(text, place + 2)
    if word not in words.VAGUE:
        return None if number is None else (number, False, place + 1)
    if following in words.NUMBERS and following not in words.VAGUE:
        return words.NUMBERS[following], False, place + 2  # "hace unas dos semanas"
    return None if number is None else (number, True, _skip_of(text, place + 1))


def _parse_fraction(text: TimeText, place: int) -> tuple[float, bool, int] | None:
    """Parse "3", "1,5", "anderthalb", "half a", "einem halben"."""
    word, following = text.at(place), text.at(place + 1)
    if _DIGITS.fullmatch(word):
        number = float(word.replace(",", "."))
        return (number, False, place + 1) if number else None
    if word in words.MIXED:
        return words.MIXED[word], False, place + 1
    if word in words.HALF and following not in words.PLURALS:  # "in half days"
        return 0.5, False, place + (2 if words.NUMBERS.get(following) == 1 else 1)
    is_half = words.NUMBERS.get(word) == 1 and following in words.HALF
    return (0.5, False, place + 2) if is_half else None


def _skip_of(text: TimeText, place: int) -> int:
    return place + (text.at(place) in {"of", "de", "di"})


def _skip_half(text: TimeText, place: int) -> int:
    """Return the index after "and a half"."""
    if text.at(place) not in words.AND:
        return place
    at = place + (2 if words.NUMBERS.get(text.at(place + 1)) == 1 else 1)
    return at + 1 if text.at(at) in words.HALF else place


# Parts of a longer time.


def _parse_edge(text: TimeText, place: int) -> Point | None:
    """Parse "Anfang der Woche", "Ende letzten Monats", "mid-October", "Jahresende"."""
    word = text.at(place)
    if word in EDGE_UNITS:
        unit, number = EDGE_UNITS[word]
        return _part_of_unit(text, unit, (place, place + 1), _third(number))
    if word not in EDGES:
        return None
    joined = text.at(place + 1) in EDGE_JOINTS and word not in {"half", "mi"}
    at = text.skip(place + 1, _EDGE_FILLERS)
    of_month = word in EDGES_OF_MONTH and text.at(at) in words.MONTHS
    if not (joined or of_month or word in EDGES_SURE):
        return None
    return _part_of(text, place, at, _third(EDGES[word]), joined=joined)


_EDGE_FILLERS = EDGE_JOINTS | words.FILLERS


def _third(number: int) -> Callable[[Stretch], Stretch]:
    return lambda whole: calendar_periods.third(whole, number)


def _parse_ordinal(text: TimeText, place: int) -> Point | None:
    """Parse "erste Augustwoche", "the last weekend of March", "zweite Hälfte des Jahres"."""
    number = ORDINALS.get(text.at(place))
    if number is None:
        return None
    word = text.at(place + 1)
    if word in MONTH_PARTS:
        month, unit = MONTH_PARTS[word]
        year = simple_times.parse_year(text, place + 2)
        date = CalendarDate(month, year and year.stretch.begin.year)
        part = _cut_of(unit, number)(calendar_periods.date(text.now, date))
        return Point(part, place, place + 2 if year is None else year.after)
    unit_part = "half" if word in HALVES_OF else words.UNITS.get(word, "")
    at = text.skip(place + 2, _JOINTS)
    if unit_part not in {"week", "weekend", "half"} or (unit_part != "half" and at == place + 2):
        return None
    if unit_part != "half" and text.at(at) not in words.MONTHS:
        return None
    return _part_of(text, place, at, _cut_of(unit_part, number), joined=at > place + 2)


def _cut_of(unit: str, number: int) -> Callable[[Stretch], Stretch]:
    """Return the function from a stretch to its half, week or weekend *number*."""
    if unit == "half":
        return lambda whole: calendar_periods.half(whole, number)
    first_day = _SATURDAY if unit == "weekend" else None
    return lambda whole: calendar_periods.week_of(whole, number, first_day)


def _part_of(
    text: TimeText, place: int, at: int, cut: Callable[[Stretch], Stretch], *, joined: bool
) -> Point | None:
    """Return the part of the month, season, quarter, year or week at *at*."""
    readers = (
        _parse_inner,
        simple_times.parse_unit,
        _sure_month if joined else simple_times.parse_month,
        simple_times.parse_season,
        simple_times.parse_quarter,
        simple_times.parse_year,
    )
    whole = next(filter(None, (read(text, at) for read in readers)), None)
    if whole is None:
        unit = words.UNITS.get(text.at(at)) if joined else None
        is_article = text.at(at) == "an" and text.at(at - 1) != "l"
        if unit is None or unit == "weekend" or is_article:
            return None
        return _part_of_unit(text, unit, (place, at + 1), cut)
    if whole.stretch.grain not in _COARSE:
        return None
    part = cut(whole.stretch)
    middle = part.begin + (part.end - part.begin) // 2
    year = whole.date and whole.date.year
    date = CalendarDate(middle.month, year, middle.day) if year else None
    return Point(part, place, whole.after, date)


def _part_of_unit(
    text: TimeText, unit: str, places: tuple[int, int], cut: Callable[[Stretch], Stretch]
) -> Point | None:
    """Return the part of the current unit, or of the year that follows.

    *places* are the index of its first word, and the one after its last word.
    """
    first, after = places
    year = simple_times.parse_year(text, after)
    if year is not None and unit == "year":
        return year._replace(stretch=cut(year.stretch), first=first)
    if text.at(after)[:1].isdigit():  # "the end of week 3"
        return None
    return Point(calendar_periods.some_unit(text.now, unit, cut), first, after)


# Times within others.


def _sure_month(text: TimeText, place: int) -> Point | None:
    return simple_times.parse_month(text, place, sure=True)


def _any_month(text: TimeText, place: int) -> Point | None:
    """Parse a month within a year, where an ambiguous word is the month if it is capitalised."""
    word = text.words[place].text if text.at(place) else ""
    is_named = word[:1].isupper() or text.at(place) not in words.CAPITAL
    return simple_times.parse_month(text, place, sure=is_named)


# The parsers of times within a week and within a year.
_NARROWER: dict[str, tuple[Callable[[TimeText, int], Point | None], ...]] = {
    "week": (simple_times.parse_weekday,),
    "year": (
        _any_month,
        simple_times.parse_numeric,
        simple_times.parse_season,
        simple_times.parse_feast,
        simple_times.parse_quarter,
    ),
}


def _parse_inner(text: TimeText, place: int) -> Point | None:
    """Parse "Dienstag letzter Woche", "March last year", "Weihnachten vor zwei Jahren"."""
    for unit, readers in _NARROWER.items():
        for read in readers:
            inner = read(text, place)
            if inner is None:
                continue
            at = text.skip(inner.after, _JOINTS)
            if not text.is_one_phrase(inner.after - 1, at):
                continue
            outer = _as_container(text, at, _parse_counted(text, at))
            if outer is None or outer.stretch.grain != unit:
                continue
            within = read(text._replace(now=_last_moment(outer)), place)
            return _definite(within, outer, place, outer.after)
    return None


def _parse_outer(text: TimeText, outer: Point) -> Point | None:
    """Parse "letzte Woche Dienstag", "last year in March", "vor zwei Jahren an Ostern"."""
    at = text.skip(outer.after, _JOINTS)
    if not text.is_one_phrase(outer.after - 1, at):
        return None
    moved = text._replace(now=_last_moment(outer))
    for read in _NARROWER[outer.stretch.grain]:
        inner = read(moved, at)
        if inner is not None:
            return _definite(inner, outer, outer.first, inner.after)
    return None


def _as_container(text: TimeText, place: int, counted: Point | None) -> Point | None:
    """Return a week or a year that another time may lie in: "last week", "vor zwei Wochen"."""
    if counted is None:
        point = simple_times.parse_unit(text, place)
        return point if point and point.stretch.grain in _NARROWER else None
    begin, end, grain, _, limit = counted.stretch
    if grain not in _NARROWER or limit is None or end - begin > _CONTAINER_MAX:
        return None
    return counted._replace(stretch=calendar_periods.unit_of(limit, grain, 0))


def _last_moment(outer: Point) -> datetime:
    """Return the moment from which "on Monday", or "in March", is the one within *outer*."""
    end = outer.stretch.end
    return end if outer.stretch.grain is Grain.WEEK else end - _MOMENT


def _definite(inner: Point | None, outer: Point, first: int, after: int) -> Point | None:
    """Return *inner* without its second reading, in the year of *outer*.

    None if it has only one reading, because it names its year itself.
    """
    if inner is None or inner.stretch.other is None:
        return None
    date = inner.date and inner.date._replace(year=outer.stretch.begin.year)
    return Point(inner.stretch._replace(other=None), first, after, date)
