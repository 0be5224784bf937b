"""Find the times that a statement names: "until March 2026", "since 2025-03", "in Q2 2026".

A time has a start and an end; either may be open. Days, months, quarters and years are in UTC.
An end is the *start* of the named unit ("until March" ends with February), unless the words say
otherwise ("through March", "until the end of March"). Relative words count from a given *now*;
without it they are ignored, like impossible dates.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import NamedTuple

from memd.base.clock import from_us, to_us


class TimeMention(NamedTuple):
    """A time named by characters *start* to *end* of a text."""

    start: int
    end: int
    from_us: int | None
    to_us: int | None


class _Unit(NamedTuple):
    begin: int
    close: int


_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR = r"(?:19|20)\d\d"
_POINT = (
    rf"(?:{_YEAR}-\d\d-\d\d|{_YEAR}-\d\d(?![\d-])|{_YEAR}[ -]?q[1-4]|q[1-4],? (?:of )?{_YEAR}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH},? {_YEAR}"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? {_YEAR}|{_MONTH},? (?:of )?{_YEAR}"
    rf"|(?:last|this|next) (?:week|month|quarter|year)|\d{{1,3}} (?:day|week|month|year)s? ago"
    rf"|yesterday|today|tomorrow|{_YEAR})"
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
    rf"|(?P<adverb>yesterday|today|tomorrow|(?:last|this|next) (?:week|month|quarter|year)"
    rf"|\d{{1,3}} (?:day|week|month|year)s? ago)"
    rf")(?![\w-])"
)
_ISO = re.compile(rf"(?P<year>{_YEAR})-(?P<month>\d\d)(?:-(?P<day>\d\d))?", re.IGNORECASE)
_QUARTER = re.compile(rf"(?:(?P<before>{_YEAR})[ -]?)?q(?P<number>[1-4])(?:\D*(?P<after>{_YEAR}))?")
_NAMED = re.compile(rf"(?P<month>{_MONTH})(?:\W|$)")
_DAY = re.compile(r"(?<!\d)\d{1,2}(?!\d)")
_NUMBER = re.compile(r"\d{1,4}")
_YEARS = re.compile(rf"{_YEAR}$")
_MONTHS_A_YEAR = 12


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
    """Return the day, month, quarter or year that *word* names, or None."""
    text = " ".join(word.casefold().split())
    try:
        return _relative(text, now_us) if _is_relative(text) else _absolute(text)
    except (ValueError, OverflowError):  # such as the thirtieth of February
        return None


def _is_relative(text: str) -> bool:
    return text.endswith("ago") or text.split(maxsplit=1)[0] in {
        "last", "this", "next", "yesterday", "today", "tomorrow",
    }  # fmt: skip


def _absolute(text: str) -> _Unit | None:
    iso = _ISO.fullmatch(text)
    if iso:
        day = int(iso["day"]) if iso["day"] else None
        return _calendar(int(iso["year"]), int(iso["month"]), day)
    quarter = _QUARTER.fullmatch(text)
    if quarter:
        year = int(quarter["before"] or quarter["after"] or 0)
        return _months(year, 3 * int(quarter["number"]) - 2, 3) if year else None
    if _YEARS.fullmatch(text):
        return _months(int(text), 1, _MONTHS_A_YEAR)
    named, year_said = _NAMED.search(text), _YEARS.search(text)
    if named is None or year_said is None:
        return None
    place = next(i for i, name in enumerate(_MONTHS, 1) if name.startswith(named["month"][:3]))
    day_said = _DAY.search(text)
    return _calendar(int(year_said.group()), place, int(day_said.group()) if day_said else None)


def _relative(text: str, now_us: int | None) -> _Unit | None:
    if now_us is None:
        return None
    today = from_us(now_us).date()
    number = _NUMBER.match(text)
    if text in {"yesterday", "today", "tomorrow"}:
        shift = {"yesterday": -1, "today": 0, "tomorrow": 1}[text]
        return _days(today + timedelta(days=shift), 1)
    if number:
        return _around(today, text.split()[1].rstrip("s"), -int(number.group()), exact=True)
    which, unit = text.split()
    return _around(today, unit, {"last": -1, "this": 0, "next": 1}[which], exact=False)


def _around(today: date, unit: str, shift: int, *, exact: bool) -> _Unit:
    """Return the unit *shift* units from now; *exact*: the day, or month, exactly so long ago."""
    if unit in {"day", "week"}:
        length = 1 if unit == "day" else 7
        first = today if exact else today - timedelta(days=today.weekday())
        return _days(first + timedelta(days=length * shift), 1 if exact else length)
    length = {"month": 1, "quarter": 3, "year": _MONTHS_A_YEAR}[unit]
    place = today.year * _MONTHS_A_YEAR + today.month - 1
    place = (place if exact else place // length * length) + length * shift
    return _months(place // _MONTHS_A_YEAR, place % _MONTHS_A_YEAR + 1, 1 if exact else length)


def _calendar(year: int, month: int, day: int | None) -> _Unit:
    return _months(year, month, 1) if day is None else _days(date(year, month, day), 1)


def _days(first: date, length: int) -> _Unit:
    return _Unit(_us(first), _us(first + timedelta(days=length)))


def _months(year: int, month: int, length: int) -> _Unit:
    after = year * _MONTHS_A_YEAR + month - 1 + length
    close = date(after // _MONTHS_A_YEAR, after % _MONTHS_A_YEAR + 1, 1)
    return _Unit(_us(date(year, month, 1)), _us(close))


def _us(day: date) -> int:
    return to_us(datetime(day.year, day.month, day.day, tzinfo=UTC))
