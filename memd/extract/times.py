"""Find the times that a text names: periods ("last week", "2025-03"), and events ("the release").

Periods in seven languages are relative to a *now* in the person's time zone; ``time_mentions.py``
finds those of statements, in UTC. An :class:`Event` has the words of the event, whose date may be
in a memory (``recall/times.py``), and whether the time lies before or after it.

Precision comes before completeness. "May I", "the last line" and "port 2024" name no period. An
event must be definite ("the release", "our move"), so "after a walk" names none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from memd.base.clock import from_us, localize
from memd.extract import calendar_periods
from memd.extract import time_words as words
from memd.extract.calendar_periods import CalendarDate
from memd.extract.composed_times import parse_amount, parse_counted, parse_point, parse_uncounted
from memd.extract.time_text import AROUND, CORE, DIGITS, EDGES, FIRST, Point, TimeText, split_words
from memd.extract.time_words import Grain, fold
from memd.text.words import WORD

_NUMBER = re.compile(DIGITS)
_LAST = 2  # of EDGES
_LIMIT_CHARS_MAX = 200  # of a text that is only a time


@dataclass(frozen=True, slots=True)
class Period:
    """A period of time, named by characters *start* to *end* of a text.

    It includes *from_us* and excludes *to_us*; either may be None, for no limit. *grain* is the
    precision of the words, *other* the second reading of ambiguous ones: "on Monday" is the last
    one or the next. *limit_us* is the moment meant after "since" or "until". *bounds*: the words
    are a limit themselves ("since", "until", "between"). *dates*: calendar dates in it.
    *by_event*: the time is that of a memory of an event, perhaps of the wrong event.
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


def find_periods(text: str, now_us: int, zone: tzinfo | None = None) -> tuple[Period, ...]:
    """Return the periods that *text* names, in order, as a person in *zone* means them at *now_us*.

    Without *zone*, the machine's. Impossible dates are left out.

    >>> from datetime import UTC
    >>> [(p.from_us, p.to_us) for p in find_periods("What did I cook yesterday?", 0, UTC)]
    [(-86400000000, 0)]
    """
    plain = fold(text)
    if CORE.isdisjoint(WORD.findall(plain)) and not _NUMBER.search(plain):
        return ()  # the usual case
    now = localize(from_us(now_us), zone).replace(tzinfo=None)
    reading = TimeText(text, split_words(text), now, zone)
    result: list[Period] = []
    place = 0
    while place < len(reading.words):
        period, after = _parse(reading, place)
        if period is not None:
            result.append(period)
        place = max(after, place + 1)
    return tuple(result)


def parse_limit(text: str, now_us: int, zone: tzinfo | None = None) -> datetime | None:
    """Parse *text* as one time and return the moment at which it begins; None for another text.

    >>> from datetime import UTC
    >>> parse_limit("last week", 0, UTC).isoformat()
    '1969-12-22T00:00:00+00:00'
    """
    if len(text) > _LIMIT_CHARS_MAX:
        return None
    for whole in (text, f"in {text}"):
        spans = find_periods(whole, now_us, zone)
        if len(spans) == 1 and not spans[0].bounds:
            remainder = f"{whole[: spans[0].start]} {whole[spans[0].end :]}"
            if {word.word for word in split_words(remainder)} <= AROUND:
                return from_us(spans[0].limit_us)
    return None


def _parse(text: TimeText, place: int) -> tuple[Period | None, int]:
    """Return the period that begins at a word, and the index after it."""
    if text.at(place) not in FIRST and not text.at(place)[:1].isdigit():
        return None, place + 1
    try:
        past = parse_counted(text, place)
        if past is not None:
            return _to_period(text, past), past.after
        bound = _parse_between(text, place) or _parse_bound(text, place)
        bound = bound or _parse_range(text, place)
        if bound is not None:
            return bound
        point = _parse_adjacent(text, place) or parse_uncounted(text, place)
    except (ValueError, OverflowError):  # such as the thirtieth of February
        return None, place + 1
    return (None, place + 1) if point is None else (_to_period(text, point), point.after)


def _to_period(text: TimeText, named: Point) -> Period:
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


def _parse_between(text: TimeText, place: int) -> tuple[Period, int] | None:
    """Parse "between A and B", "from A to B"; A may take the month and year of B."""
    word = text.at(place)
    joints = words.AND if word in words.BETWEEN else words.TO if word in words.FROM else None
    if joints is None:
        return None
    at = text.skip_fillers(place + 1)
    first = parse_point(text, at) or _parse_day_before(text, at, joints)
    if first is None or text.at(first.after) not in joints:
        return None
    return _join(text, place, first)


def _parse_range(text: TimeText, place: int) -> tuple[Period, int] | None:
    """Parse "Montag bis Freitag", "3. bis 5. November"."""
    first = _parse_day_before(text, place, words.RANGE)
    if first is None and text.at(place) in _RANGED:
        first = parse_point(text, place)
    if first is None or text.at(first.after) not in words.RANGE:
        return None
    return _join(text, place, first) if text.is_one_phrase(place, first.after + 1) else None


_RANGED = frozenset(words.WEEKDAYS) | frozenset(words.MONTHS)


def _parse_day_before(text: TimeText, place: int, joints: frozenset[str]) -> Point | None:
    """Parse the first day of "3. und 5. November"."""
    day = text.at(place)
    if not day.isdecimal() or len(day) > len("31") or text.at(place + 1) not in joints:
        return None
    second = parse_point(text, text.skip_fillers(place + 2))
    if second is None or second.date is None or second.date.day is None:
        return None
    date = second.date._replace(day=int(day))
    return Point(calendar_periods.date(text.now, date), place, place + 1, date)


def _join(text: TimeText, place: int, first: Point) -> tuple[Period, int] | None:
    """Return the time from *first* to the one after the word that follows it."""
    second = parse_point(text, text.skip_fillers(first.after + 1))
    if second is None:
        return None
    if first.date and second.date and first.date.year is None and second.date.year:
        date = first.date._replace(year=second.date.year)
        first = first._replace(stretch=calendar_periods.date(text.now, date))
    if first.stretch.begin >= second.stretch.end:
        first = first._replace(stretch=calendar_periods.shift_earlier(first.stretch))
    low, high = _to_period(text, first), _to_period(text, second)
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


def _parse_bound(text: TimeText, place: int) -> tuple[Period, int] | None:
    """Parse "since A", "after A", "until A", "before A"."""
    word = text.at(place)
    if word not in _LIMITS:
        return _parse_lasting(text, place)
    point = parse_point(text, text.skip_fillers(place + 1))
    if point is None:
        return _parse_lasting(text, place)
    period = _to_period(text, point)
    begin: int | None = None
    end: int | None = None
    if word in words.SINCE:
        begin = period.limit_us
    elif word in words.AFTER:
        begin = period.to_us
    elif word in words.UNTIL:
        end = period.to_us
    else:
        end = period.to_us if EDGES.get(text.at(point.first)) == _LAST else period.from_us
    start = text.words[place].start
    limited = replace(period, start=start, from_us=begin, to_us=end, other=None, bounds=True)
    return limited, point.after


def _parse_lasting(text: TimeText, place: int) -> tuple[Period, int] | None:
    """Parse "seit zwei Wochen", "depuis trois jours", "da una settimana"."""
    amount = parse_amount(text, place + 1, bare=True) if text.at(place) in _LASTING else None
    if amount is None:
        return None
    stretch = calendar_periods.ago(text.now, amount.number, amount.unit, vague=amount.vague)
    period = _to_period(text, Point(stretch, place, amount.after))
    return replace(period, from_us=period.limit_us, to_us=None, bounds=True), amount.after


_LASTING = (words.SINCE | {"da"}) - {"ab", "vanaf"}
_LIMITS = words.SINCE | words.AFTER | words.UNTIL | words.BEFORE


def _parse_adjacent(text: TimeText, place: int) -> Point | None:
    """Parse "the Monday before 24 July", "the week after Easter Monday"."""
    side = text.at(place + 1)
    if side not in words.BEFORE and side not in words.AFTER:
        return None
    if text.at(place) not in words.WEEKDAYS and text.at(place) not in words.UNITS:
        return None
    edge = parse_point(text, text.skip_fillers(place + 2))
    if edge is None:
        return None
    is_before = side in words.BEFORE
    at = edge.stretch.begin if is_before else edge.stretch.end
    return edge._replace(stretch=calendar_periods.adjacent_week(at, before=is_before), first=place)


# Events.


WORDS_MAX = 8  # of an event
_SHORT = 3  # the letters up to which a word is taken for a function word, except in English


class Side(StrEnum):
    """Where the time lies, relative to the event."""

    BEFORE = "before"
    AFTER = "after"
    SINCE = "since"
    DURING = "during"


class Event(NamedTuple):
    """An event's words, and where the time lies relative to it."""

    side: Side
    words: tuple[str, ...]


class _Language(NamedTuple):
    """Patterns: words before an event, its definite article or subject, question words after it."""

    before: str
    after: str
    since: str
    during: str
    known: str
    asks: str


_ENGLISH = _Language(
    "before|until|till|prior to",
    "after",
    "since",
    "during",
    "the|that|this|our|my|your|his|her|their|we|i|you|they|he|she|it",
    "what|which|who|whose|where|when|why|how|did",
)
_GERMAN = _Language(
    "vor|bevor|bis zu",
    "nach|nachdem",
    "seit|seitdem",
    "während",
    "dem|der|den|des|die|das|unser(?:e[mnrs]?)?|mein(?:e[mnrs]?)?|wir|ich",
    "was|welche\\w*|wer|wann|wo|wie|warum",
)
_LANGUAGES = (
    _ENGLISH,
    _GERMAN,
    _Language(
        "avant(?: que)?",
        "après(?: que)?",
        "depuis(?: que)?",
        "pendant|durant",
        "le|la|les|notre|nos|mon|ma|nous|on",
        "que|quand|où|qui|quel\\w*|comment|pourquoi",
    ),
    _Language(
        "antes",
        "después",
        "desde",
        "durante",
        "el|la|los|las|del|de la|de los|de las|de nuestr[oa]|de mi|nuestr[oa]|mi|que",
        "qué|quién|dónde|cuándo|cómo",
    ),
    _Language(
        "prima",
        "dopo",
        "da quando",
        "durante",
        "il|lo|la|le|del|dello|della|nostr[oa]|siamo|abbiamo",
        "che|cosa|chi|dove|quando|come",
    ),
    _Language(
        "antes",
        "depois",
        "desde",
        "durante",
        "o|a|os|as|do|da|dos|das|d?[oa] noss[oa]|que",
        "quem|onde|quando|como",
    ),
    _Language(
        "voor|voordat",
        "na|nadat",
        "sinds",
        "tijdens",
        "de|het|onze|ons|mijn|we|wij|ik",
        "wat|welke?|waar|wanneer|wie|hoe",
    ),
)
_FIRST = frozenset(WORD.findall(" ".join(lead for language in _LANGUAGES for lead in language[:4])))
"""Every lead contains one of these words."""
_ELIDED = r"(?:dell?|l)['\u2019]"
_NAMED = r"(?=[A-Z\xc0-\xde][\w-]+['\u2019]s\s)"
_END = r"(?=[.,;:?!\n()]|$"
_AHEAD = re.compile(
    r"""\b(?:do\ (?:i|we|you|they)|does|will|shall|should|can|could|would|might|must|may|need|wants?
    |plans?|going\ to|soll\w*|werde\w*|wird|muss|müssen|kann|können)\b""",
    re.IGNORECASE | re.VERBOSE,
)


@cache
def _pattern(language: _Language) -> re.Pattern[str]:
    """Return the pattern of *language*, compiled on first use."""
    leads = "|".join(f"(?P<{side}>{getattr(language, side)})" for side in Side)
    return re.compile(
        rf"(?<![\w-])(?i:{leads})\s+(?:(?i:{language.known})\s+|(?i:{_ELIDED})|{_NAMED})"
        rf"(?P<words>[^.,;:?!\n()]+?){_END}|\s+(?i:{language.asks})\b)"
    )


def find_events(text: str) -> tuple[Event, ...]:
    """Return the events that *text* refers to for a time.

    >>> [(e.side.value, e.words) for e in find_events("What broke after the last release?")]
    [('after', ('last', 'release'))]
    """
    if _FIRST.isdisjoint(WORD.findall(text.casefold())):
        return ()  # the usual case
    events = []
    for language in _LANGUAGES:
        for match in _pattern(language).finditer(text):
            words = WORD.findall(match["words"])
            if language is _GERMAN:
                words = _with_noun(words)
            if language is not _ENGLISH:
                words = [word for word in words if len(word) > _SHORT or not word.islower()]
            if 0 < len(words) <= WORDS_MAX:
                side = next(side for side in Side if match[side])
                events.append(Event(side, tuple(words)))
    return tuple(dict.fromkeys(events))


def _with_noun(words: list[str]) -> list[str]:
    """Return *words* up to the last noun, since in "vor dem Umzug gekocht" the verb is not part."""
    last = max((at for at, word in enumerate(words, 1) if word[0].isupper()), default=0)
    return words[: last or None]


def asks_ahead(text: str) -> bool:
    """Return whether *text* asks about the future or about habits, not about the past.

    >>> asks_ahead("What should I do before the release?")
    True
    """
    return _AHEAD.search(text) is not None
