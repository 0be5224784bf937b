"""Which memories of earlier sessions tell the old value of what a later one says is otherwise now.

"The staging host is kite-9 now" is about what "the staging host is kite-7" is about: both begin
alike, and where they part stands a value of the same make, a number for a number, a name for a
name. Words that only follow the same preposition count as well ("from main", "from tags"), those
after "is" do not: "the car is broken now" says nothing of its colour. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile
from typing import NamedTuple

from memd.domain.sleep.consolidation import user_part
from memd.text.words import content_stems, sentences

_CHARS_MAX = 160  # of either sentence: more says more than a value
_ALIKE_MIN = 2  # tokens with which both begin, one of them with content
_CONTENT_CHARS, _UNITS = 3, 2
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
    ("the", "a", "an", "new", "now", "is", "are", "was", "been", "has", "have", "moved", "changed")
)
_VALUE_AFTER = frozenset(
    (
        *("from", "to", "on", "with", "at", "in", "via", "by", "for", "using", "use", "uses"),
        *("me", "called", "named", "under", "through"),
    )
)
_SAYS_LITTLE = content_stems("use have get like love need want add make do see go")
_CLAUSES = re.compile(r"[,;:.!?]+(?:\s+|$)|\s+[-\u2013\u2014]\s+")
_TOKEN = re.compile(r"[\w'\u2019@#%+./:-]*\w")


class _Token(NamedTuple):
    text: str
    folded: str


def says_update(text: str) -> bool:
    """Return whether the user says in *text* how something is from now on."""
    return _NOW.search(user_part(text)) is not None


def find_updated(text: str, earlier: Iterable[tuple[int, str]]) -> list[int]:
    """Return the keys of those *earlier* memories (key and text) whose value *text* replaces.

    >>> earlier = [(1, "the staging host is kite-7"), (2, "the staging host is slow")]
    >>> find_updated("the staging host is kite-9 now", earlier)
    [1]
    """
    clauses = [clause for one in sentences(user_part(text)) for clause in _clauses(one)]
    return [
        key
        for key, content in earlier
        if len(before := user_part(content)) <= _CHARS_MAX
        if any(_updates(new, old) for new in clauses for old in _first_clause(before))
    ]


def _clauses(sentence: str) -> list[list[_Token]]:
    """Return the tokens of the clauses of a *sentence* that says how something is now."""
    if len(sentence) > _CHARS_MAX or not _NOW.search(sentence) or sentence.endswith("?"):
        return []
    return [_tokens(clause) for clause in _CLAUSES.split(sentence)]


def _first_clause(text: str) -> list[list[_Token]]:
    """Return the tokens of the first clause of *text*: of a memory that says one thing."""
    parts = sentences(text)
    return [_tokens(_CLAUSES.split(parts[0])[0])] if len(parts) == 1 else []


def _tokens(clause: str) -> list[_Token]:
    words = [each.replace("\u2019", "'") for each in _TOKEN.findall(clause)]
    tokens = [_Token(each, each.casefold().partition("'")[0]) for each in words]
    return tokens[sum(1 for _ in takewhile(lambda each: each.folded in _OPENS, tokens)) :]


def _updates(new: list[_Token], old: list[_Token]) -> bool:
    """Return whether both begin alike, and part at a value of the same make."""
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
    about = _stems(old_kept[:alike])
    about |= _stems(new_kept[alike + 1 :]) & _stems(old_kept[alike + 1 :])
    if not about - _SAYS_LITTLE or old.index(old_kept[alike]) < _ALIKE_MIN:
        return False
    return _are_of_one_make(new_kept[alike:], old_kept[alike:], old_kept[alike - 1].folded)


def _stems(tokens: list[_Token]) -> frozenset[str]:
    """Return the stems of the words with content among *tokens*."""
    words = (each.folded for each in tokens if len(each.folded) >= _CONTENT_CHARS)
    return content_stems(" ".join(words))


def _are_of_one_make(new: list[_Token], old: list[_Token], before: str) -> bool:
    """Return whether *new* and *old* begin with values of one make; numbers have one unit."""
    values = new[0].text, old[0].text
    has_digits = [any(map(str.isdigit, each)) for each in values]
    if any(has_digits):
        units = {each[1].folded for each in (new, old) if len(each) > 1}
        return all(has_digits) and (len(units) < _UNITS or len(new) == 1 or len(old) == 1)
    is_name = [each[0].isupper() for each in values]
    return all(is_name) or (before in _VALUE_AFTER and not any(is_name))
