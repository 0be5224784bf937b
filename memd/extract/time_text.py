"""Split a text into words for the time parser, with compounds ("il y a") as one word.

Also tables of the parts of a time ("end of"), of feasts, and of the words that may begin a time,
in the languages and spelling of ``time_words.py``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import NamedTuple

from memd.base.clock import to_us
from memd.extract import time_words as words
from memd.extract.calendar_periods import CalendarDate, Stretch
from memd.extract.time_words import MONTHS, UNITS, fold, number_words, value_words, word_set

EDGES = number_words(
    "anfang beginn beginning start early debut principio principios comienzo comienzos inicio"
    " inicios inizio comeco begin",
    "mitte middle mid half milieu mi mediados meta meados midden",
    "ende end late fin finales fines final fine fim eind einde",
    first=0,
)
"""Words for the first (0), middle (1) and last (2) third of the time that follows."""
EDGES_SURE = word_set("anfang beginn mitte ende early mid late debut fin eind einde midden")
"""Words of EDGES that need no "of"; "it may start next week" names no part of that week."""
EDGES_OF_MONTH = word_set("mi half inizio meta fine begin")
"""Words of EDGES that need no "of" before a month."""
EDGE_JOINTS = word_set("of der des von vom de del du di della dell do da van d")
EDGE_UNITS = {
    noun + edge: (unit, EDGES[edge])
    for noun, unit in {
        "wochen": "week",
        "monats": "month",
        "quartals": "quarter",
        "jahres": "year",
    }.items()
    for edge in ("anfang", "beginn", "mitte", "ende")
    if noun + edge not in UNITS
}
ORDINALS = value_words(
    {
        1: "1 first erste ersten erster erstes premier premiere primer primera primo prima primeira"
        " primeiro eerste",
        2: "2 second zweite zweiten zweiter zweites deuxieme segundo segunda secondo seconda"
        " tweede",
        3: "3 third dritte dritten dritter drittes troisieme tercer tercera terzo terza terceiro"
        " terceira derde",
        4: "4 fourth vierte vierten vierter viertes quatrieme cuarto cuarta quarto quarta vierde",
        -1: "last letzte letzten letzter letztes derniere dernier ultima ultimo laatste",
    }
)
QUARTERS = {"q1": 1, "q2": 2, "q3": 3, "q4": 4}
YEAR_JOINTS = word_set("of de des del di van von im in jahres")
HALVES_OF = word_set("half hälfte moitie mitad meta metade helft")
_GERMAN_MONTHS = word_set(
    "januar februar märz april mai juni juli august september oktober november dezember"
)
MONTH_PARTS = {
    month + part: (number, unit)
    for month, number in MONTHS.items()
    if month in _GERMAN_MONTHS
    for part, unit in {
        "woche": "week",
        "wochenende": "weekend",
        "halfte": "half",
        "haelfte": "half",
    }.items()
}
"""Parts of a month in one word: "die erste Augustwoche"."""
FEASTS = value_words(
    {
        (12, 24, 3): "weihnachten weihnacht christmas xmas noel navidad natale natal kerst"
        " kerstmis",
        (12, 24, 1): "heiligabend weihnachtsabend nochebuena kerstavond",
        (12, 25, 1): "weihnachtstag christmasday",
        (12, 26, 1): "boxingday",
        (12, 31, 1): "silvester nochevieja oudejaarsavond oudejaarsdag",
        (1, 1, 1): "neujahr newyear capodanno nieuwjaar nieuwjaarsdag",
        (8, 15, 1): "ferragosto",
        (10, 31, 1): "halloween",
        (11, 1, 1): "allerheiligen toussaint",
        (12, 5, 2): "sinterklaas",
        (0, -48, 1): "rosenmontag",
        (0, -46, 1): "aschermittwoch",
        (0, -7, 8): "karwoche semanasanta",
        (0, -3, 1): "gründonnerstag",
        (0, -2, 1): "karfreitag",
        (0, -2, 4): "ostern osterwochenende easter paques pascua pasqua pascoa pasen",
        (0, 0, 1): "ostersonntag",
        (0, 1, 1): "ostermontag pasquetta",
        (0, 39, 1): "himmelfahrt hemelvaart hemelvaartsdag ascension",
        (0, 49, 2): "pfingsten pfingstwochenende pentecost whitsun pentecote pentecostes"
        " pinksteren",
        (0, 49, 1): "pfingstsonntag",
        (0, 50, 1): "pfingstmontag",
        (0, 60, 1): "fronleichnam",
    }
)
"""The first day and the length of feasts: month, day, days; in month 0, days from Easter Sunday."""
FEASTS_UNSURE = word_set(
    "christmas xmas easter pentecost whitsun halloween newyear noel natale natal pascua ascension"
)
"""Feasts that are also names or often precede a noun, and count only after a lead."""
FEAST_LEADS = word_set(
    """at over on since before after until till during around by zu an uber nach vor seit bis am
    por para pour avant apres depuis desde hasta antes despues durante pendant per dopo no pelo em
    ate op voor na sinds tot"""
)
FEAST_LEADS_OF = {"noel": "a", "natale": "a", "natal": "de", "pascua": "en"}
"""Leads that show a time before one feast only: "a Natale", but not "a Christmas tree"."""

COMPOUNDS = {
    tuple(words.split()): compound
    for compound, phrases in {
        "aujourdhui": "aujourd hui",
        "avanthier": "avant hier",
        "apresdemain": "apres demain",
        "apresmidi": "apres midi",
        "vorletzte": "avant derniere, avant dernier",
        "pasadomanana": "pasado manana",
        "altroieri": "altro ieri",
        "weekend": "week end",
        "finesettimana": "fine settimana",
        "findesemana": "fin de semana",
        "fimdesemana": "fim de semana, final de semana",
        "vorgestern": "day before yesterday",
        "ubermorgen": "day after tomorrow",
        "vor": "il y a",
        "dentro": "dentro de",
        "daqui": "daqui a",
        "proximo": "que viene, que vem",
        "prossimo": "il prossimo",
        "heiligabend": "christmas eve, veille de noel, vespera de natal",
        "christmasday": "christmas day",
        "boxingday": "boxing day",
        "newyear": "new year, new years, new year s, new year s day, new years day",
        "silvester": "new year s eve, new years eve, saint sylvestre, san silvestro",
        "karfreitag": "good friday, vendredi saint, viernes santo, venerdi santo"
        ", sexta feira santa, goede vrijdag",
        "ostersonntag": "easter sunday",
        "ostermontag": "easter monday, lundi de paques",
        "neujahr": "jour de l an, nouvel an, ano nuevo, ano novo",
        "semanasanta": "semana santa",
    }.items()
    for words in phrases.split(", ")
}
"""Sequences of words that are read as one word."""

CORE = (
    frozenset(words.MONTHS)
    | frozenset(words.WEEKDAYS)
    | frozenset(words.FEIRAS)
    | frozenset(words.DAYS)
    | frozenset(words.PARTS)
    | frozenset(words.DAY_PARTS)
    | words.NIGHTS
    | frozenset(words.UNITS)
    | frozenset(words.COUNTED)
    | frozenset(words.SEASONS)
    | frozenset(words.WEEKDAY_PARTS)
    | frozenset(words.UNIT_DAYS)
    | frozenset(EDGE_UNITS)
    | frozenset(MONTH_PARTS)
    | frozenset(FEASTS)
    | frozenset(QUARTERS)
    | words.CALENDAR_WEEKS
    | frozenset(("aujourd", "sylvestre", "silvestro"))
)
"""Every expression of time contains one of these words, or digits as in ``DIGITS``."""
DIGITS = r"\d{4}|\d\.\d|kw\d"
FIRST = CORE.union(
    words.SHIFTS,
    words.LASTS,
    words.NEXTS,
    words.AGO_LEADS,
    words.NUMBERS,
    words.MIXED,
    words.HALF,
    words.SINCE,
    words.AFTER,
    words.UNTIL,
    words.BEFORE,
    words.BETWEEN,
    words.FROM,
).union(EDGES, ORDINALS)
"""Words that may begin a time; so may any number."""

# A word: a date such as "2025-03-01" or "1.3.", a decimal "1,5", "KW" before a number, or letters.
_WORD = re.compile(
    r"(?<![\w.:/-])(?:\d{4}-\d{2}-\d{2}|\d{4}-\d{2}|\d{1,2}\.\d{1,2}(?:\.(?:\d{4})?)?|\d{1,2},5)"
    r"(?![\w/-]|[.:]\d)"
    r"|(?<!\w)[Kk][Ww](?=\d\d?(?!\w))|[^\W_]+"
)
_SENTENCE_END = frozenset(".!?:\n")
_BREAKS = re.compile('[.!?:;,\n()"\u201c\u201d\u201e\xab\xbb]')
_COMPOUND_WORDS_MAX = 4
_COMPOUND_FIRST = frozenset(compound[0] for compound in COMPOUNDS)


class DateWord(NamedTuple):
    """A folded word, the *text* it is written as, and its position."""

    word: str
    text: str
    start: int
    end: int


class TimeText(NamedTuple):
    """A text with its words, and the person's local time and time zone (None: the machine's)."""

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

    def skip(self, place: int, skipped: frozenset[str]) -> int:
        """Return the index after at most three of the words *skipped*."""
        return next((at for at in range(place, place + 3) if self.at(at) not in skipped), place + 3)

    def is_one_phrase(self, first: int, last: int) -> bool:
        """Return whether no mark ends a clause between two words."""
        return last < len(self.words) and not _BREAKS.search(
            self.whole, self.words[first].end, self.words[last].start
        )

    def us(self, local: datetime) -> int:
        """Return a local time in microseconds since 1970, UTC."""
        return to_us(local.replace(tzinfo=self.zone) if self.zone else local.astimezone())

    def begins_sentence(self, place: int) -> bool:
        start = self.words[place].start
        previous = self.whole[max(0, start - 4) : start].rstrip()[-1:]
        return not previous or previous in _SENTENCE_END

    def may_be_year(self, place: int) -> bool:
        """Return whether the context of the number at *place* allows a year.

        It does not in "1.2024", "#2024", "2024 %" and "2024 lines".
        """
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
    """The time named by the words from *first* to before *after*; *date* if it is a date."""

    stretch: Stretch
    first: int
    after: int
    date: CalendarDate | None = None


_FILLERS = words.FILLERS
AROUND = _FILLERS | word_set("on at am in over über übers fürs zum vom zu an")


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
    for length in range(_COMPOUND_WORDS_MAX, 0, -1):
        part = single[place : place + length]
        compound = COMPOUNDS.get(tuple([word.word for word in part]))
        if compound is not None:
            return part, compound
    return single[place : place + 1], None
