"""Find memories of earlier sessions with a value that a later memory replaces. Pure.

"The staging host is kite-9 now" replaces "the staging host is kite-7": both begin alike, differ in
a value of the same form (two numbers or two names), and continue alike. A name is only replaced if
there is one at a time: after "is", "call me", "live in", or if the old one is denied ("from tags
now, not main"). "The car is broken now" does not replace its colour, nor "we deploy to Fly now" a
deployment to Hetzner. "Raise it to 1.80", in answer to "1.70", replaces 1.70 in memories about the
same subject. What harms somebody is never replaced: there may be several allergies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile
from typing import NamedTuple

from memd.domain.sleep.consolidation import ANSWER_PART, user_part, without_outcome
from memd.sleep.distil.language.words import SAYS_LITTLE
from memd.text.harms import HARMS
from memd.text.words import content_stems, sentences

_CHARS_MAX = 160  # of either sentence; a longer one has more than a value
_ALIKE_MIN = 2  # tokens before the value, which both have
_CONTENT_CHARS = 3
_NOW = re.compile(
    r"(?<!right )(?<!just )\bnow\b(?! that\b)|\bfrom now on\b|\bas of \w+|\bnew\b"
    r"|\b(?:moved|changed|switched|went|gone) (?:to|from)\b",
    re.IGNORECASE,
)
_OPENS = frozenset(
    (
        *("actually", "well", "so", "and", "but", "ok", "okay", "btw", "hey", "hi", "no"),
        *("yes", "also", "please", "pls", "just", "oh", "sorry", "fyi"),
    )
)
_PASSED_OVER = frozenset(
    (
        *("the", "a", "an", "new", "now", "is", "are", "was", "been", "has", "have", "moved"),
        *("changed", "will", "be"),
    )
)
_IS = frozenset(("is", "are", "was"))
_ONE_AT_A_TIME = re.compile(
    r"(?:\bcall me|\bi go by|\b(?:named|called)|\b(?:live|lives|work|works|based|hosted)"
    r" (?:in|at|for|on))$"
)
_ADDS = re.compile(
    r"\b(?:too|also|as well|another|both|until|till|sometimes|mostly|today|tonight"
    r"|for (?:now|the (?:week|day|month|moment)|a (?:week|day|month|while))"
    r"|this (?:week|month|time))\b",
    re.IGNORECASE,
)
_MARKS = re.compile(
    r"\b(?:from now on|now|please|pls|anymore|any more|instead|lol)\b", re.IGNORECASE
)
_CLAUSES = re.compile(
    r"[,;:.!?]+(?:\s+|$)|\s+[-\u2013\u2014]\s+|\s+(?:so|but|because|since)\s+", re.IGNORECASE
)
_TIMES = re.compile(r"\b(?P<often>once|twice|thrice)(?= (?:an?|every|each|per)\b)", re.IGNORECASE)
_NUMBERS = {
    word: str(at)
    for words in (
        "one two three four five six seven eight nine ten eleven twelve",
        "first second third fourth fifth",
        "once twice thrice",
    )
    for at, word in enumerate(words.split(), 1)
}
_DAYS = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?")
_MONTHS = re.compile(
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
# A new value: "raise the minimum to 1.80", "it is 14:00 now".
_SETS = re.compile(
    r"\b(?:raise|lower|bump|increase|decrease|reduce|change|set|move|switch|upgrade|downgrade|go(?:es)?)"
    r"\b(?: [^\s,;]+){0,6}? to v?(?P<to>\d[\d.:]*)|\b(?:is|are) now v?(?P<now>\d[\d.:]*)"
    r"|\bv?(?P<so>\d[\d.:]*) now\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.:/+-])v?(\d+(?:[.:]\d+)*)(?![\w/]|[.:-]\d)")
_OF_BEFORE = re.compile(
    r"\b(?:from|instead of|rather than|(?:and |but |, ?)not) v?(\d[\d.:]*)", re.IGNORECASE
)
_EARLIER_CHARS_MAX = 300  # of the user's part; a longer one is about several things
_ABOUT_MIN = 2  # words with content that are in both
_TOKEN = re.compile(r"[\w'\u2019@#%+./:-]*\w")


class _Token(NamedTuple):
    """A word, and its folded form without a suffix such as "'s"."""

    text: str
    folded: str


def announces_update(text: str) -> bool:
    """Return whether the user says in *text* how something is from now on."""
    return any(map(_clauses, sentences(user_part(text))))


def find_replaced_values(text: str, earlier: Iterable[tuple[int, str]]) -> list[int]:
    """Return the keys of those *earlier* memories (key and text) whose value *text* replaces.

    >>> earlier = [(1, "the staging host is kite-7"), (2, "the staging host is slow")]
    >>> find_replaced_values("the staging host is kite-9 now", earlier)
    [1]
    """
    own = user_part(text)
    clauses = [clause for sentence in sentences(own) for clause in _clauses(sentence)]
    return [
        key
        for key, content in earlier
        if len(before := user_part(content)) <= _CHARS_MAX and not HARMS.search(before)
        if any(_updates(new, old, own) for new in clauses for old in _first_clause(before))
    ]


def _clauses(sentence: str) -> list[list[_Token]]:
    """Return the tokens of each clause of a *sentence* that states a new value, else []."""
    is_update = _NOW.search(sentence) and not (_ADDS.search(sentence) or sentence.endswith("?"))
    if len(sentence) > _CHARS_MAX or not is_update:
        return []
    return [_tokens(clause) for clause in _CLAUSES.split(sentence)]


def _first_clause(text: str) -> list[list[_Token]]:
    """Return the tokens of the first clause of *text* in a list, [] if it has several sentences."""
    parts = sentences(text)
    return [_tokens(_CLAUSES.split(parts[0])[0])] if len(parts) == 1 else []


def _tokens(clause: str) -> list[_Token]:
    """Return the tokens of *clause* without opening words; numerals become digits."""
    clause = _TIMES.sub(r"\g<often> times", _MARKS.sub(" ", clause))
    words = [each.replace("\u2019", "'") for each in _TOKEN.findall(clause)]
    words = [_NUMBERS.get(each.casefold(), each) for each in words]
    tokens = [_Token(each, each.casefold().partition("'")[0]) for each in words]
    return tokens[sum(1 for _ in takewhile(lambda each: each.folded in _OPENS, tokens)) :]


def _updates(new: list[_Token], old: list[_Token], own: str) -> bool:
    """Return whether both begin alike, differ in a value of the same form, and continue alike."""
    new_kept, old_kept = (
        [each for each in tokens if each.folded not in _PASSED_OVER] for tokens in (new, old)
    )
    alike = sum(
        1
        for _ in takewhile(
            lambda pair: pair[0].folded == pair[1].folded, zip(new_kept, old_kept, strict=False)
        )
    )
    if not alike or alike >= min(len(new_kept), len(old_kept)):
        return False
    tails = _stems(new_kept[alike + 1 :]), _stems(old_kept[alike + 1 :])
    about = _stems(old_kept[:alike]) | (tails[0] & tails[1])
    if not about - SAYS_LITTLE or old.index(old_kept[alike]) < _ALIKE_MIN:
        return False
    values = new_kept[alike].text, old_kept[alike].text
    if any(map(_has_digits, values)):
        return all(map(_has_digits, values)) and _has_same_unit(new_kept[alike:], old_kept[alike:])
    if all(_DAYS.fullmatch(each.casefold()) for each in values):
        return True
    if tails[0] & tails[1]:  # "Postgres for the ledger"
        return all(_is_for(tokens[alike + 1 :]) for tokens in (new_kept, old_kept))
    return not any(tails) and _is_one_at_a_time(old, old_kept[alike], values, own)


def _stems(tokens: list[_Token]) -> frozenset[str]:
    """Return the stems of the words with content among *tokens*."""
    words = (each.folded for each in tokens if len(each.folded) >= _CONTENT_CHARS)
    return content_stems(" ".join(words))


def _is_for(tokens: list[_Token]) -> bool:
    return bool(tokens) and tokens[0].folded == "for"


def _has_digits(value: str) -> bool:
    return any(map(str.isdigit, value))


def _has_same_unit(new: list[_Token], old: list[_Token]) -> bool:
    """Return whether the words after two numbers are the same, where both have one."""
    if len(new) == 1 or len(old) == 1:
        return True
    units = new[1].folded, old[1].folded
    is_date = all(map(_MONTHS.fullmatch, units))
    return is_date or units[0].removesuffix("s") == units[1].removesuffix("s")


def _is_one_at_a_time(old: list[_Token], value: _Token, values: tuple[str, str], own: str) -> bool:
    """Return whether a new name replaces the *value* of *old*: it is denied, or one at a time."""
    if re.search(rf"\b(?:not|instead of|no longer) {re.escape(value.text)}\b", own, re.IGNORECASE):
        return True
    before = [each.folded for each in old[: old.index(value)]]
    is_name = all(each[0].isupper() for each in values)
    follows_is = before[-1] in _IS
    return is_name and (follows_is or _ONE_AT_A_TIME.search(" ".join(before)) is not None)


def sets_new_value(text: str) -> bool:
    """Return whether the user sets a new value, and *text* has the old one."""
    return bool(_old_values(text))


def find_old_values(text: str, earlier: Iterable[tuple[int, str]]) -> list[int]:
    r"""Return the keys of those *earlier* memories with the old value that *text* replaces.

    >>> text = "User: raise the minimum to 1.80 for Debian\nIn answer to: The minimum is 1.70."
    >>> find_old_values(text, [(1, "the minimum stays 1.70 for Debian"), (2, "1.70 EUR a cup")])
    [1]
    """
    old = _old_values(text)
    about = content_stems(without_outcome(text))
    own = _values_now(user_part(text))
    return [
        key
        for key, content in earlier
        if len(before := user_part(content)) <= _EARLIER_CHARS_MAX and not HARMS.search(before)
        if (values := set(map(_plain, _NUMBER.findall(before)))) & old and not values & own
        if len(_without_numbers(content_stems(before)) & about) >= _ABOUT_MIN
    ]


def _old_values(text: str) -> frozenset[str]:
    """Return the old values with the form of the new one that the user sets.

    They are in the user's words ("not 11:00"), or in the agent's statement that they answer.
    """
    own = user_part(text)
    new = next((one for match in _SETS.finditer(own) for one in match.groups() if one), "")
    answered = without_outcome(text).partition(ANSWER_PART)[2]
    both = {*map(_plain, _NUMBER.findall(answered)), *map(_plain, _OF_BEFORE.findall(own))}
    before = both - _values_now(own)
    return frozenset(one for one in before if new and _form(one) == _form(_plain(new)))


def _values_now(own: str) -> frozenset[str]:
    """Return the values in the user's words, without those that they call old."""
    return frozenset(map(_plain, _NUMBER.findall(_OF_BEFORE.sub(" ", own))))


def _plain(value: str) -> str:
    """Return *value* without punctuation and full hours' minutes: "14:00" is "14"."""
    return value.strip(".:").removesuffix(":00")


def _form(value: str) -> tuple[int, int]:
    """Return the numbers of dots and colons, which a version, a time and a count differ in."""
    return value.count("."), value.count(":")


def _without_numbers(stems: frozenset[str]) -> frozenset[str]:
    return frozenset(stem for stem in stems if not any(map(str.isdigit, stem)))
