"""What of a brief's lines no longer holds: parts of rules with another value since, appointments.

A rule does not age, but "british spelling, and APA citations. limit is 20,000 words" has three
parts, each of which somebody may change by itself and months apart. So each part is compared with
what the user said later: "IEEE citations instead of APA", "american spelling after all", "cut the
limit to 15,000 words". What only sounds like it leaves the part: a rule that is told beside its
change is read with its day. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple

from memd.base.clock import from_us
from memd.domain.enums import Origin
from memd.domain.sleep.consolidation import user_part
from memd.extract.stretches import CalendarDate
from memd.extract.times import find_periods
from memd.recall.ranking.changes import changes_number, holds_now, tells_change
from memd.sleep.distil.user.ended_wishes import WishEnd
from memd.store.session.briefs import RULE_KINDS, BriefRow
from memd.text.harms import HARMS
from memd.text.words import content_stems, sentences

_USERS_KINDS = frozenset({"decision", "correction", "preference", "constraint", "environment"})
_CHARS_MAX = 200  # of a later sentence: more says more than one thing
_PARTS = re.compile(r",\s+(?:and\s+|but\s+)?|;\s+|\s+and\s+(?=\w)")
_REPLACED = re.compile(
    r"\b(?:instead of|rather than|no longer) (?P<old>[\w.+#'-]+(?: [\w.+#'-]+){0,2}?)"
    r"(?=\W*$|[.,;:!]|\s(?:because|since|as|and|but|so)\b)",
    re.IGNORECASE,
)
# What holds in one case leaves the rule for the others.
_IN_CASE = re.compile(r"\b(?:in|for|when|if|on|unless|except|only)\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.,])(\d[\d.,]*\d|\d)(?: ([a-z%]+))?", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_SAYS_LITTLE = content_stems("please always never only use want")

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


class RuleChange(NamedTuple):
    """A sentence of the user that may change what was said before, its time, what it ends."""

    text: str
    at_us: int
    end: WishEnd = WishEnd((), frozenset())


def current_rows(rows: Sequence[BriefRow], now_us: int) -> list[BriefRow]:
    """Return *rows* as they hold: without what is over, and rules without what changed of them."""
    changes = list_changes(rows)
    current: list[BriefRow] = []
    for row in rows:
        content = row.content
        if row.kind in RULE_KINDS and user_part(content) == content and not HARMS.search(content):
            content = drop_changed(content, row.at_us, changes)
        if content and not is_over(row, now_us):
            current.append(row._replace(content=content))
    return current


def list_changes(rows: Iterable[BriefRow]) -> list[RuleChange]:
    """Return the sentences of the user in *rows* that say of something that it is otherwise."""
    return [
        RuleChange(sentence, row.at_us, WishEnd.of(sentence))
        for row in rows
        if row.kind in _USERS_KINDS
        for sentence in sentences(_users_words(row))
        if len(sentence) <= _CHARS_MAX and not sentence.endswith("?")
        if tells_change(sentence)
    ]


def _users_words(row: BriefRow) -> str:
    """Return what of *row* the user said, "" where it may be another's."""
    own = user_part(row.content)
    is_told = row.origin == Origin.PERSON or (row.is_as_written and own != row.content)
    return own if is_told else ""


def drop_changed(text: str, at_us: int, changes: Sequence[RuleChange]) -> str:
    """Return *text* of the time *at_us* without the parts that later *changes* replace.

    >>> changes = [RuleChange("She wants IEEE citations instead of APA.", 2)]
    >>> drop_changed("APA citations, please. Never use em dashes.", 1, changes)
    'Never use em dashes.'
    """
    later = [each for each in changes if each.at_us > at_us]
    if not later:
        return text
    split = [(sentence, _PARTS.split(sentence)) for sentence in sentences(text)]
    every = frozenset(part for _, parts in split for part in parts)
    dropped = frozenset(part for part in every if any(_replaces(each, part) for each in later))
    left = [_without(sentence, parts, dropped) for sentence, parts in split]
    return " ".join(filter(None, left)) if dropped else text


def _without(sentence: str, parts: Sequence[str], dropped: frozenset[str]) -> str:
    """Return *sentence* without those of its *parts* that are *dropped*, "" where none is left."""
    if dropped.isdisjoint(parts):
        return sentence
    # A part that only ends politely what is gone goes with it.
    kept = [part for part in parts if part not in dropped and content_stems(part) - _SAYS_LITTLE]
    end = sentence[-1:] if sentence.endswith((".", "!")) else ""
    return ", ".join(kept).rstrip(".!") + end if kept else ""


def _replaces(change: RuleChange, part: str) -> bool:
    ways = (_names_old, _has_new_number, _has_new_value)
    return change.end.ends(part) or any(replaces(change.text, part) for replaces in ways)


def _names_old(later: str, part: str) -> bool:
    """Return whether *later* names what it replaces, and that stands in *part* with what it is."""
    old = _REPLACED.search(later)
    if old is None or _IN_CASE.search(later):
        return False
    named = content_stems(old["old"])
    words = content_stems(part) - _SAYS_LITTLE
    return named <= words and (named == words or bool((words - named) & content_stems(later)))


def _has_new_number(later: str, part: str) -> bool:
    """Return whether *later* changes the one number of *part*, of the same unit and thing."""
    new, old = _NUMBER.findall(later), _NUMBER.findall(part)
    if len(new) != 1 or len(old) != 1 or not changes_number(later):
        return False
    [(new_number, new_unit)], [(old_number, old_unit)] = new, old
    about = _named_words(part, old_unit) & _named_words(later, new_unit)
    return new_unit == old_unit and new_number != old_number and bool(about)


def _named_words(text: str, unit: str) -> frozenset[str]:
    words = content_stems(_NUMBER.sub(" ", text))
    return words - content_stems(unit) - _SAYS_LITTLE if unit else words - _SAYS_LITTLE


def _has_new_value(later: str, part: str) -> bool:
    """Return whether *part* is a value before its noun, and *later* has another one there now."""
    if not holds_now(later) or _IN_CASE.search(later):
        return False
    folded = [word for word in _WORD.findall(part.casefold()) if content_stems(word) - _SAYS_LITTLE]
    if len(folded) != 2:  # noqa: PLR2004  # "british spelling"
        return False
    value, noun = folded
    words = _WORD.findall(later.casefold())
    before = [words[at - 1] for at, word in enumerate(words) if at and word == noun]
    return bool(before) and value not in words and bool(content_stems(before[0]) - _SAYS_LITTLE)


def is_over(row: BriefRow, now_us: int) -> bool:
    """Return whether *row* tells of an appointment, with day and hour, and the day is over."""
    own = user_part(row.content)
    if row.kind not in _USERS_KINDS or not _CLOCK.search(own) or _RECURS.search(own):
        return False
    days = [date for period in find_periods(own, row.at_us) for date in period.dates]
    since, now = from_us(row.at_us).date(), from_us(now_us).date()
    return bool(days) and all(
        (day := _next_day(each, since)) is not None and day < now for each in days
    )


def _next_day(named: CalendarDate, since: date) -> date | None:
    """Return the day that is *named*, of one without a year the next one *since*."""
    if named.day is None:
        return None
    for year in [named.year] if named.year else [since.year, since.year + 1]:
        try:
            day = date(year, named.month, named.day)
        except ValueError:  # the 29th of February of another year
            continue
        if named.year or day >= since:
            return day
    return None
