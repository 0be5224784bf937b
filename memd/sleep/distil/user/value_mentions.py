"""Find the values that a sentence states: dates, weekdays, times, shares, numbers, names. Pure.

The words for them are those of the seven languages of ``extract/time_words``. Values are
normalised, so that "14 December" and "December 14th" are one, as are "9.200" and "9,200 euro".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from memd.extract.time_words import FEIRAS, JOINTS, MONTHS, WEEKDAYS, fold
from memd.text.languages import FUNCTION_WORDS

NUMBER = "number"
"""The kind of a number without a unit; that of "3 cups" is "number cup"."""
_CURRENCIES = {
    "€": "euro", "eur": "euro", "euro": "euro", "$": "dollar", "dollar": "dollar",
    "£": "pound", "pound": "pound", "chf": "chf", "franc": "chf", "franken": "chf",
}  # fmt: skip
# "dec", "December", also misspelt ("febuary"); but not "maybe", "marked" or "novels".
_MISSPELT = (
    r"jan(?:u[a-z]*)?|feb[a-z]*|aug(?:ust)?|sept?(?:[ae]?m[a-z]*)?|oct(?:ob[a-z]*)?"
    r"|nov(?:e?m[a-z]*)?|dec(?:e?m[a-z]*)?"
)
_MONTH = rf"(?P<month>(?:{'|'.join(MONTHS)}|{_MISSPELT})\b)\.?"
_MONTH_FIRST = _MONTH.replace("<month>", "<month_first>")
_YEAR = r"(?:,? \d{4}\b)?"
_TH = r"(?:st|nd|rd|th|er|re|e|\.|\u00ba|\u00b0)?"
_AMOUNT = r"\d+(?:[.,]\d+)*(?![\w:/-]|[.,]\d)"
# The kinds of values in folded text; the first pattern that matches a span decides its kind.
_PATTERNS: dict[str, re.Pattern[str]] = {
    "date": re.compile(
        rf"\b{_MONTH_FIRST} (?P<day_after>\d{{1,2}}){_TH}\b{_YEAR}"
        rf"|\b(?P<day_before>\d{{1,2}}){_TH}(?: (?:{'|'.join(sorted(JOINTS))}))? {_MONTH}{_YEAR}"
        r"|\b(?P<day>\d{1,2})(?:st|nd|rd|th)\b|\b(?P<iso>\d{4}-\d\d-\d\d)\b"
    ),
    "day": re.compile(
        rf"\b(?:(?P<weekday>{'|'.join(WEEKDAYS)})s?|(?P<feira>{'|'.join(FEIRAS)})[- ]feira)\b"
    ),
    "time": re.compile(
        r"\b(?P<hour>\d{1,2})(?:[:.h](?P<minute>\d\d))? ?(?:(?P<half>[ap]m)|uhr|uur)\b"
        r"|\b(?P<h>\d{1,2})[:h](?P<min>\d\d)\b|\b(?P<full>\d{1,2}) ?h\b"
    ),
    "part": re.compile(r"\b(?:half|whole|full|quarter|double)\b"),
    NUMBER: re.compile(
        rf"(?<![\w.:/-])(?:(?P<sign>[\u20ac$\u00a3]) ?)?(?P<amount>{_AMOUNT})"
        r"(?: ?(?P<unit>[a-z]+|[%\u20ac$\u00a3]))?"
    ),
}
# Full stops and commas that separate thousands: "9.200", "1,950", "1.234.567".
_THOUSANDS = re.compile(r"[.,](?=\d{3}(?!\d))")
_NOON, _LATE_HOUR, _LATE_DAY = 12, 24, 31
_CALENDAR = frozenset((*MONTHS, *WEEKDAYS))
_CAPITAL = r"[^\W\d_a-z\u00df-\u00ff]"
_NAME = re.compile(rf"(?<=[\w,;:)] ){_CAPITAL}[^\W\d_]+(?: {_CAPITAL}[^\W\d_]+)*")


class ValueMention(NamedTuple):
    """A value and its *kind*: date, day, time, part, name, "number", or "number" and its unit.

    *month* is that of a date, 0 if it names none.
    """

    kind: str
    value: str
    month: int = 0

    def differs(self, other: ValueMention) -> bool:
        """Return whether *other* is another value; a date without a month may be of any."""
        has_months = self.month and other.month
        return self.value != other.value or bool(has_months and self.month != other.month)


def find_values(text: str) -> list[ValueMention]:
    """Return the values in *text* except names, by their kinds.

    >>> [tuple(each) for each in find_values("il 13 gennaio alle 9:30, 1.450 euro")]
    [('date', '13', 1), ('time', '9:30', 0), ('number euro', '1450', 0)]
    """
    return list(_find_values(fold(text)))


def _find_values(folded: str) -> Iterator[ValueMention]:
    places: list[tuple[int, int]] = []
    for kind, pattern in _PATTERNS.items():
        for match in pattern.finditer(folded):
            if any(start < match.end() and match.start() < end for start, end in places):
                continue
            places.append(match.span())
            yield _READERS[kind](match)


def without_values(text: str) -> str:
    """Return *text*, folded, with a space in place of each value."""
    plain = fold(text)
    for pattern in _PATTERNS.values():
        plain = pattern.sub(" ", plain)
    return plain


def find_names(text: str) -> list[ValueMention]:
    """Return the names in *text*: words with a capital that do not begin a sentence.

    >>> [each.value for each in find_names("Our contact at Hofer is Julia Stern.")]
    ['Hofer', 'Julia Stern']
    """
    return [
        ValueMention(f"name {len(match.group().split())}", match.group())
        for match in _NAME.finditer(text)
        if fold(match.group()) not in _CALENDAR
    ]


def is_replaceable(
    new: ValueMention, old: Sequence[ValueMention], repeated: Sequence[ValueMention] = ()
) -> bool:
    """Return whether *new* is another value for the only one of *old* that it may stand for.

    *repeated* are values of an answer to the old ones, which may not be others either. A number
    without a unit may be of any kind that is written with one: "no, the 13" is a day of a month.

    >>> is_replaceable(ValueMention("number", "13"), find_values("the visit is on 12 January"))
    True
    """
    replaced = [each for each in old if _may_stand_for(new, each)]
    alike = [*replaced, *(each for each in repeated if _may_stand_for(new, each))]
    if not replaced or any(each.differs(replaced[0]) for each in alike):
        return False
    return new.differs(replaced[0])


def _may_stand_for(new: ValueMention, old: ValueMention) -> bool:
    if new.kind == old.kind:
        return True
    if NUMBER not in {new.kind, old.kind}:
        return False
    bare, other = (new, old) if new.kind == NUMBER else (old, new)
    most = {"date": _LATE_DAY, "time": _LATE_HOUR}.get(other.kind)
    if most is not None:
        return bare.value.isdecimal() and int(bare.value) <= most
    kind, _, unit = other.kind.partition(" ")
    return kind == NUMBER and (bare is new or unit in _CURRENCIES.values())


def _read_date(match: re.Match[str]) -> ValueMention:
    if iso := match["iso"]:
        _, month, day = iso.split("-")
        return ValueMention("date", str(int(day)), int(month))
    day = match["day_after"] or match["day_before"] or match["day"]
    word = match["month_first"] or match["month"] or ""
    alike = (at for name, at in MONTHS.items() if word and name.startswith(word[:3]))
    return ValueMention("date", str(int(day)), MONTHS.get(word) or next(alike, 0))


def _read_day(match: re.Match[str]) -> ValueMention:
    number = WEEKDAYS[match["weekday"]] if match["weekday"] else FEIRAS[match["feira"]]
    return ValueMention("day", str(number))


def _read_time(match: re.Match[str]) -> ValueMention:
    hour = int(match["hour"] or match["h"] or match["full"])
    minute = int(match["minute"] or match["min"] or 0)
    hour += _NOON if match["half"] == "pm" and hour < _NOON else 0
    return ValueMention("time", f"{hour}:{minute:02}" if minute else str(hour))


def _read_number(match: re.Match[str]) -> ValueMention:
    unit = match["sign"] or match["unit"] or ""
    unit = unit if unit.endswith("ss") else unit.rstrip("s")
    unit = _CURRENCIES.get(unit, unit)
    is_unit = unit and (match["unit"] or unit) not in FUNCTION_WORDS
    amount = _THOUSANDS.sub("", match["amount"])
    return ValueMention(f"{NUMBER} {unit}" if is_unit else NUMBER, amount)


_READERS: dict[str, Callable[[re.Match[str]], ValueMention]] = {
    "date": _read_date,
    "day": _read_day,
    "time": _read_time,
    "part": lambda match: ValueMention("part", match.group()),
    NUMBER: _read_number,
}
