"""A query as the ranker sees it: terms, names, dates. Pure.

Function words say nothing about what is meant; known speakers' names say who,
not what, and would drag every turn of that person up in the vector space, so
they are taken out of the dense query and come back as a feature (RANKER).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime

from memd.base.limits import QUERY_TERMS_MAX
from memd.encode.function_words import FUNCTION_WORDS

WORD = re.compile(r"[^\W_]+")
NAME_WORDS_MAX = 3

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
_IN_SENTENCE = re.compile(r"(?<=[\w,;)] )[^\W_]{2,}")
_ASKS_WHEN = re.compile(r"\b(?:when|(?:what|which) (?:year|month|day|date)|how long|date)\b", re.I)
_DAY = re.compile(r"([0-3]?\d)(?:st|nd|rd|th)?")
_ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_MARKS = frozenset("?\uff1f\u061f")
DAYS_NEAR = 7


@dataclass(frozen=True, slots=True)
class AskedDate:
    """A date in a question: a month, perhaps with a year and a day."""

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


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. *terms* are stemmed and distinct; *content* are those that name nobody.

    *pairs* are terms that stand side by side, at least one of them in *terms*;
    *proper* are terms written like a name, in the middle of a sentence, that is
    nobody's who speaks.
    *dense* is what is embedded, *asks_when* whether a time is what is wanted.
    """

    text: str
    terms: tuple[str, ...]
    content: tuple[str, ...]
    pairs: frozenset[tuple[str, str]]
    proper: frozenset[str]
    names: frozenset[str]
    dense: str
    dates: tuple[AskedDate, ...]
    asks_when: bool

    @property
    def is_request(self) -> bool:
        """Whether it asks nothing, but says what is to be done."""
        return _MARKS.isdisjoint(self.text)


def name_candidates(text: str) -> list[str]:
    """Return every run of one to three words of *text*, casefolded: what may be a name."""
    words = [match.group().casefold() for match in WORD.finditer(text)]
    return list(
        dict.fromkeys(
            " ".join(words[start : start + size])
            for size in range(1, NAME_WORDS_MAX + 1)
            for start in range(len(words) - size + 1)
        )
    )


def question(text: str, names: frozenset[str], stem: Callable[[str], Iterable[str]]) -> Question:
    """Return *text* as a question; *names* are its known speakers, *stem* the index's own rule."""
    words = [match.group().casefold() for match in WORD.finditer(text)]
    meaning = [word for word in words if word not in FUNCTION_WORDS] or words
    terms = _stemmed(meaning, stem)
    spoken = {word for name in names for word in name.split()}
    content = _stemmed([word for word in meaning if word not in spoken], stem) or terms
    return Question(
        text=text,
        terms=terms,
        content=content,
        pairs=_pairs(stem(text), frozenset(terms)),
        proper=_proper(text, stem).intersection(content),
        names=names,
        dense=without_names(text, names),
        dates=dates_in(text),
        asks_when=_ASKS_WHEN.search(text) is not None,
    )


def _pairs(words: Iterable[str], terms: frozenset[str]) -> frozenset[tuple[str, str]]:
    """Return the neighbours in *words* of which one is in *terms*."""
    return frozenset(
        pair for pair in itertools.pairwise(words) if pair[0] in terms or pair[1] in terms
    )


def _proper(text: str, stem: Callable[[str], Iterable[str]]) -> frozenset[str]:
    found = (match.group() for match in _IN_SENTENCE.finditer(text))
    return frozenset(term for word in found if word[0].isupper() for term in stem(word))


def _stemmed(words: Iterable[str], stem: Callable[[str], Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(term for word in words for term in stem(word)))[:QUERY_TERMS_MAX]


def without_names(text: str, names: frozenset[str]) -> str:
    """Return *text* without the names, as whole words, and their possessive s.

    Returns *text* as it is when nothing would be left.

    >>> without_names("What did Tim's boss say that time?", frozenset({"tim"}))
    'What did boss say that time?'
    """
    for name in sorted(names, key=len, reverse=True):
        pattern = r"\s+".join(re.escape(word) for word in name.split())
        text_left = re.sub(rf"\b{pattern}\b(?:['\u2019]s)?", " ", text, flags=re.IGNORECASE)
        text = " ".join(text_left.split()) if WORD.search(text_left) else text
    return text


def dates_in(text: str) -> tuple[AskedDate, ...]:
    """Return the dates named in *text*; a bare "may" or "march" counts only as a capitalised word.

    >>> dates_in("What happened on 8 May, 2023?")
    (AskedDate(month=5, year=2023, day=8),)
    """
    found = [
        AskedDate(int(m), int(y), int(d)) for y, m, d in _ISO.findall(text) if _is_date(y, m, d)
    ]
    words = re.findall(r"\w+", text)
    for place, word in enumerate(words):
        month = _MONTHS.get(word.casefold())
        if month is None or (
            word.casefold() in {"may", "march", "mar", "sep", "dec", "jan"} and word.islower()
        ):
            continue
        beside = [*words[max(0, place - 2) : place], *words[place + 1 : place + 3]]
        found.append(AskedDate(month, _year(beside), _day(words, place)))
    return tuple(found)


def _is_date(year: str, month: str, day: str) -> bool:
    try:
        date(int(year), int(month), int(day))
    except ValueError:
        return False
    return True


def _year(words: Iterable[str]) -> int | None:
    years = [int(word) for word in words if len(word) == 4 and word.isascii() and word.isdigit()]  # noqa: PLR2004  # a year's digits
    return years[0] if years else None


def _day(words: list[str], place: int) -> int | None:
    for at in (place - 1, place + 1, place - 2):
        if 0 <= at < len(words) and (at != place - 2 or words[place - 1].casefold() == "of"):
            match = _DAY.fullmatch(words[at].casefold())
            if match and 1 <= int(match.group(1)) <= 31:  # noqa: PLR2004  # a month's days
                return int(match.group(1))
    return None
