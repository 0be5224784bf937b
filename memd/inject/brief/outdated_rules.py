"""Drop parts of rules that the user changed later, and past or moved appointments. Pure.

A rule like "british spelling, and APA citations. limit is 20,000 words" has three parts, which may
be changed one by one, months apart. So each part is compared with later sentences of the user:
"IEEE citations instead of APA", "american spelling after all", "cut the limit to 15,000 words". In
doubt a part stays: the brief shows the dates of the rule and of its change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple

from memd.base.clock import from_us
from memd.domain.enums import Origin
from memd.domain.sleep.consolidation import DIGEST_JOINT, DIGEST_TAG, OUTCOME_PART, user_part
from memd.extract.calendar_periods import CalendarDate
from memd.extract.times import Period, find_periods
from memd.inject.brief.lines import REQUEST_LABELS
from memd.recall.ranking.change_phrases import (
    CHANGE_STEMS,
    announces_change,
    changes_number,
    holds_now,
)
from memd.sleep.distil.language.prose import things
from memd.sleep.distil.user.ended_wishes import WishEnd
from memd.store.session.briefs import RULE_KINDS, BriefRow
from memd.text.harms import HARMS
from memd.text.languages import FUNCTION_WORDS
from memd.text.words import content_stems, sentences

_CHANGED_KINDS = RULE_KINDS | {"environment"}
"""Kinds whose parts are changed by later sentences."""
_USERS_KINDS = frozenset({"decision", "correction", "preference", "constraint", "environment"})
_CHARS_MAX = 200
"""Characters of a sentence that changes a rule; a longer one makes several statements."""
_PART_BREAK = re.compile(r",\s+(?:and\s+|but\s+)?|;\s+|\s+and\s+(?=\w)")
# "instead of APA", "no longer the blue theme": the old value has at most three words.
_REPLACED = re.compile(
    r"\b(?:instead of|rather than|no longer) (?P<old>[\w.+#'-]+(?: [\w.+#'-]+){0,2}?)"
    r"(?=\W*$|[.,;:!]|\s(?:because|since|as|and|but|so)\b)",
    re.IGNORECASE,
)
# A conditional change leaves the rule for all other cases.
_CONDITION = re.compile(r"\b(?:in|for|when|if|on|unless|except|only)\b", re.IGNORECASE)
# A number or a time, and its unit: "20,000 words", "05:30 UTC".
_NUMBER = re.compile(r"(?<![\w.,:])(\d[\d.,:]*\d|\d)(?: ([a-z%]+))?", re.IGNORECASE)
_NAME_CHARS = 6
_WORD = re.compile(r"[^\W_]+")
_FILLERS = content_stems("please always never only use want")

# A time of day: "9:30", "14h00", "3 pm", "at 7".
_CLOCK = re.compile(
    r"\b\d{1,2}[:.h]\d\d\b|\b\d{1,2} ?(?:am|pm|o'clock)\b"
    r"|\bat \d{1,2}(?: in the (?:morning|afternoon|evening))?(?=\W|$)",
    re.IGNORECASE,
)
_RECURS = re.compile(
    r"\b(?:every|each|yearly|annual(?:ly)?|anniversary|always|weekly|daily|monthly|due|until|valid)\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days\b",
    re.IGNORECASE,
)


# "comes only on the 8th", in German without a word for a change.
_LATER = re.compile(r"\berst (?:am|um|im|ab)\b", re.IGNORECASE)
_FUNCTION_STEMS = content_stems(" ".join(FUNCTION_WORDS))  # of all languages
_MOVED_STEMS, _MOVED_SHARE = 2, 0.7
"""A sentence moves an appointment if both share 2 stems, and 70 % of those of the sentence."""


class DayChange(NamedTuple):
    """A sentence of the user that names another *day* for something, its time and its stems."""

    day: date
    at_us: int
    stems: frozenset[str]


class RuleChange(NamedTuple):
    """A sentence of the user that may change an earlier rule, its time, and the wish it ends.

    *names* are those in the outcome of the change, which tell what was changed.
    """

    text: str
    at_us: int
    end: WishEnd = WishEnd((), frozenset())
    names: frozenset[str] = frozenset()


def current_rows(rows: Sequence[BriefRow], now_us: int) -> list[BriefRow]:
    """Return *rows* without past or moved appointments, and without changed parts of rules.

    Only rules in the user's own words are changed, and none that is about harm.
    """
    changes, moves = list_changes(rows), list_moves(rows)
    current: list[BriefRow] = []
    for row in rows:
        content = row.content
        if (
            row.kind in _CHANGED_KINDS
            and user_part(content) == content
            and not HARMS.search(content)
        ):
            content = drop_changed(content, row.at_us, changes)
        if moves and row.kind != DIGEST_TAG and row.origin == Origin.PERSON:
            content = drop_moved(content, row.at_us, moves)
        if content and not is_over(row, now_us):
            current.append(row._replace(content=content))
    return current


def list_changes(rows: Iterable[BriefRow]) -> list[RuleChange]:
    """Return the sentences of the user in *rows* that state a change."""
    return [
        RuleChange(sentence, row.at_us, WishEnd.of(sentence), _outcome_names(row))
        for row in rows
        if row.kind in _USERS_KINDS
        for sentence in sentences(_users_words(row))
        if len(sentence) <= _CHARS_MAX and not sentence.endswith("?")
        if announces_change(sentence)
    ]


def _outcome_names(row: BriefRow) -> frozenset[str]:
    """Return the names, such as "daily_report", in the outcome of *row*, none of another text."""
    names = things(row.content.partition(OUTCOME_PART)[2]) if row.is_as_written else ()
    return frozenset(name for name in names if len(name) >= _NAME_CHARS)


def list_moves(rows: Iterable[BriefRow]) -> list[DayChange]:
    """Return the sentences of the user, also in digests, that move something to another day."""
    moves: list[DayChange] = []
    for row in rows:
        for sentence in sentences(_users_words(row) if row.kind != DIGEST_TAG else _requests(row)):
            if announces_change(sentence) or _LATER.search(sentence):
                move = _named_day(sentence, row.at_us)
                moves += [move] if move is not None else []
    return moves


def drop_moved(text: str, at_us: int, moves: Sequence[DayChange]) -> str:
    """Return *text*, stated at *at_us*, without the sentences that later *moves* outdate."""
    parts = sentences(text)
    kept = [part for part in parts if not _is_moved(_named_day(part, at_us), moves)]
    return text if kept == parts else " ".join(kept)


def _is_moved(earlier: DayChange | None, moves: Sequence[DayChange]) -> bool:
    if earlier is None:
        return False
    return any(
        move.at_us > earlier.at_us
        and move.day != earlier.day
        and len(move.stems & earlier.stems) >= max(_MOVED_STEMS, _MOVED_SHARE * len(move.stems))
        for move in moves
    )


def _named_day(sentence: str, at_us: int) -> DayChange | None:
    """Return the only day that *sentence* names, None without one or with several."""
    periods = find_periods(sentence, at_us) if len(sentence) <= _CHARS_MAX else ()
    dates = [named for period in periods for named in period.dates]
    day = _next_day(dates[0], from_us(at_us).date()) if len(dates) == 1 else None
    if day is None:
        return None
    rest = "".join(letter for at, letter in enumerate(sentence) if not _is_in(at, periods))
    return DayChange(day, at_us, content_stems(rest) - CHANGE_STEMS - _FUNCTION_STEMS)


def _is_in(place: int, periods: Sequence[Period]) -> bool:
    return any(period.start <= place < period.end for period in periods)


def _requests(digest: BriefRow) -> str:
    """Return the user's words in a *digest* as a nap wrote it."""
    if not digest.is_as_written:
        return ""
    lines = digest.content.splitlines()
    words = (line.partition(":")[2] for line in lines if line.startswith(REQUEST_LABELS))
    return "\n".join(words).replace(DIGEST_JOINT, "\n")


def _users_words(row: BriefRow) -> str:
    """Return the words of the user in *row*, "" if they may be those of somebody else."""
    words = user_part(row.content)
    is_by_user = row.origin == Origin.PERSON or (row.is_as_written and words != row.content)
    return words if is_by_user else ""


def drop_changed(text: str, at_us: int, changes: Sequence[RuleChange]) -> str:
    """Return *text*, stated at *at_us*, without the parts that later *changes* replace.

    >>> changes = [RuleChange("She wants IEEE citations instead of APA.", 2)]
    >>> drop_changed("APA citations, please. Never use em dashes.", 1, changes)
    'Never use em dashes.'
    """
    later = [change for change in changes if change.at_us > at_us]
    if not later:
        return text
    split = [(sentence, _PART_BREAK.split(sentence)) for sentence in sentences(text)]
    outdated = frozenset(
        part
        for sentence, parts in split
        for part in parts
        if any(_replaces(change, part, sentence) for change in later)
    )
    remaining = [_without(sentence, parts, outdated) for sentence, parts in split]
    return " ".join(filter(None, remaining)) if outdated else text


def _without(sentence: str, parts: Sequence[str], outdated: frozenset[str]) -> str:
    """Return *sentence* without its *outdated* parts, "" if no part is left."""
    if outdated.isdisjoint(parts):
        return sentence
    # A part of fillers, like "please", is dropped as well.
    current = [part for part in parts if part not in outdated and content_stems(part) - _FILLERS]
    end = sentence[-1:] if sentence.endswith((".", "!")) else ""
    return ", ".join(current).rstrip(".!") + end if current else ""


def _replaces(change: RuleChange, part: str, sentence: str) -> bool:
    """Return whether *change* replaces *part* of a *sentence*."""
    is_named = not change.names.isdisjoint(things(sentence))
    return (
        change.end.ends(part)
        or _names_old_value(change.text, part)
        or _has_new_number(change.text, part, is_named=is_named)
        or _has_new_value(change.text, part)
    )


def _names_old_value(later: str, part: str) -> bool:
    """Return whether *later* replaces a value in *part*, naming it: "instead of APA".

    Both must also share a word besides the value ("citations"), unless *part* is only the value.
    """
    match = _REPLACED.search(later)
    if match is None or _CONDITION.search(later):
        return False
    value = content_stems(match["old"])
    words = content_stems(part) - _FILLERS
    return value <= words and (value == words or bool((words - value) & content_stems(later)))


def _has_new_number(later: str, part: str, *, is_named: bool) -> bool:
    """Return whether *later* changes the only number of *part*.

    Both must have the same unit and share another word, unless its outcome names the thing
    (*is_named*).
    """
    new, old = _NUMBER.findall(later), _NUMBER.findall(part)
    if len(new) != 1 or len(old) != 1 or not changes_number(later):
        return False
    [(new_number, new_unit)], [(old_number, old_unit)] = new, old
    shared = _words_without_number(part, old_unit) & _words_without_number(later, new_unit)
    is_same = new_unit == old_unit and (":" in new_number) == (":" in old_number)
    return is_same and new_number != old_number and (is_named or bool(shared))


def _words_without_number(text: str, unit: str) -> frozenset[str]:
    words = content_stems(_NUMBER.sub(" ", text))
    return words - content_stems(unit) - _FILLERS if unit else words - _FILLERS


def _has_new_value(later: str, part: str) -> bool:
    """Return whether *part* is a value and a noun, and *later* has another value before the noun.

    "american spelling after all" replaces "british spelling".
    """
    if not holds_now(later) or _CONDITION.search(later):
        return False
    content = [word for word in _WORD.findall(part.casefold()) if content_stems(word) - _FILLERS]
    if len(content) != 2:  # noqa: PLR2004  # a value and a noun
        return False
    value, noun = content
    words = _WORD.findall(later.casefold())
    values = [words[at - 1] for at, word in enumerate(words) if at and word == noun]
    return bool(values) and value not in words and bool(content_stems(values[0]) - _FILLERS)


def is_over(row: BriefRow, now_us: int) -> bool:
    """Return whether *row* is about an appointment, with day and time, and the day is past."""
    text = user_part(row.content)
    if row.kind not in _USERS_KINDS or not _CLOCK.search(text) or _RECURS.search(text):
        return False
    dates = [named for period in find_periods(text, row.at_us) for named in period.dates]
    since, today = from_us(row.at_us).date(), from_us(now_us).date()
    days = [_next_day(named, since) for named in dates]
    return bool(days) and all(day is not None and day < today for day in days)


def _next_day(named: CalendarDate, since: date) -> date | None:
    """Return the day that a text of the day *since* names; None without a day of the month.

    A date without a year is the next one at or after *since*.
    """
    if named.day is None:
        return None
    for year in [named.year] if named.year else [since.year, since.year + 1]:
        try:
            day = date(year, named.month, named.day)
        except ValueError:  # 29 February of another year
            continue
        if named.year or day >= since:
            return day
    return None
