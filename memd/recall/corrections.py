"""Which memories correct others: a correction stands before what it corrects. Pure.

"Correction: watchdog is 8 seconds, 4 was too short" says in its first word that it is the later
truth, but a question is asked in the words of the statement that it corrects, and so is ranked by
it. Where that statement is worth a place in an answer, its correction has one, too: before it, as
likely. Nothing is hidden, since a correction that is none costs one entry, not a memory.

A correction says so (:data:`_CORRECTS`), shares its subject with an older memory, and is trusted no
less. "My manager is now Tom" names its subject before its verb, as "My manager is Priya" does.
What is foreign corrects nothing, and turns of a dialogue, which stand beside what they correct,
do not count; nor does what is about another thing than the question names (``newer.py``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memd.domain.enums import Trust
from memd.recall.ranking.newer import STATEMENTS, is_of_another, raise_to
from memd.recall.ranking.rankings import Ranked
from memd.store.search.candidate_rows import SearchCandidate
from memd.text.alternations import any_of
from memd.text.words import ENGLISH_FUNCTION_WORDS, content_stems

CORRECTION_CHARS_MAX = 240  # a longer text is about more than one thing, and says itself of which
CORRECTED_CHARS_MAX = 400
_SHARED = 0.4  # of the correction's words: they say the subject, the others what is new of it
_WORD_CHARS_MIN = 3
_ARTICLES = frozenset(("the", "a", "an", "der", "die", "das"))

_OPENINGS = """
    correction, erratum, updated?(?=:), actually, i was wrong, my mistake, scratch that,
    not any ?more, on second thoughts?, korrektur, berichtigung, doch nicht, richtigstellung,
    en fait, corrección, en realidad, correzione, correção, na verdade, correctie, eigenlijk
"""
_ANYWHERE = """
    no longer, any ?more, used to be, (?:is|are|was|were) (?:now|wrong), turned out (?:to be|that),
    (?:moved|changed|switched|went back) (?:from|to), instead of, rather than, nicht mehr,
    (?:ist|sind|war|waren) (?:jetzt|nun|falsch), statt, ne \\S+ plus, au lieu d\\w*, ya no, en vez
    de, non più, invece di, já não, em vez de, niet meer, in plaats van
"""
# One of these is in each phrase above; to look for them costs a twentieth of the pattern.
_MARKS = tuple(
    re.split(
        r",\s+",
        "now, longer, more, used to, wrong, turned out, moved, changed, switched, back, instead, "
        "rather, mehr, jetzt, nun, falsch, statt, plus, lieu, ya no, vez de, più, invece, já não, "
        "meer, plaats",
    )
)
_MARK_STEMS = content_stems(" ".join(_MARKS))
_LEAD = r"\W*(?:(?:user|note|fyi|no|nope|nein|non|ok|okay|oh|sorry|oops|wait)\b\W+)*"
_OPENS = re.compile(rf"{_LEAD}(?:{any_of(_OPENINGS)})\b\W*", re.IGNORECASE)
_CORRECTS = re.compile(rf"\b(?:{any_of(_ANYWHERE)})\b|\bnow\W*$", re.IGNORECASE)
_IS = re.compile(
    rf"{_LEAD}(?P<subject>[^.!?;\n]{{2,60}}?)\s(?:is|are|was|were|ist|sind|war|waren)\b",
    re.IGNORECASE,
)


def corrects(text: str) -> bool:
    """Return whether *text* says that something is otherwise than it was said.

    >>> corrects("Correction: watchdog is 8 seconds, 4 was too short")
    True
    >>> corrects("The watchdog timeout is 4 seconds")
    False
    """
    if len(text) > CORRECTION_CHARS_MAX:
        return False
    if _OPENS.match(text) is not None:
        return True
    folded = text.casefold()
    return any(mark in folded for mark in _MARKS) and _CORRECTS.search(text) is not None


def put_corrections_first(items: Sequence[Ranked], query: str) -> list[Ranked]:
    """Return *items*, best first, with each correction before the best of what it corrects.

    It gets the relevance and the bar of that memory where it had a lower one.
    """
    near = items[:STATEMENTS]
    corrections = [item for item in near if _is_correction(item.measured.candidate)]
    if not corrections:
        return list(items)
    corrections.sort(key=lambda item: -item.measured.candidate.moment_us)
    subjects = [(item, _subject(item.measured.candidate.own)) for item in corrections]
    asked = content_stems(query)
    placed: set[int] = set()
    ordered: list[Ranked] = []
    for item in items:
        key = item.measured.candidate.memory_key
        if key in placed:
            continue
        if item.passes and item.relevance >= item.bar:
            first = _find_correction(item, subjects, placed, asked)
            if first is not None:
                placed.add(first.measured.candidate.memory_key)
                ordered.append(raise_to(first, item))
        placed.add(key)
        ordered.append(item)
    return ordered


def _is_correction(its: SearchCandidate) -> bool:
    is_turn = its.speaker is not None and not its.is_composed
    return not is_turn and its.trust != Trust.UNTRUSTED and corrects(its.own)


def _find_correction(
    item: Ranked,
    subjects: Sequence[tuple[Ranked, frozenset[str]]],
    placed: set[int],
    asked: frozenset[str],
) -> Ranked | None:
    """Return the newest of the corrections of *item* that has no place yet."""
    its = item.measured.candidate
    if len(its.own) > CORRECTED_CHARS_MAX:
        return None
    words, stated = content_stems(its.own), _stated_subject(its.own)
    for correction, subject in subjects:
        other = correction.measured.candidate
        if other.memory_key in placed or other.memory_key == its.memory_key:
            continue
        if other.moment_us <= its.moment_us or other.trust < its.trust:
            continue
        if other.project_id not in {None, its.project_id}:
            continue
        is_shared = len(words & subject) >= max(1, _SHARED * len(subject))
        if not is_shared and not (stated and stated == _stated_subject(other.own)):
            continue
        if not is_of_another(other.own, words, asked):
            return correction
    return None


def _subject(text: str) -> frozenset[str]:
    """Return the stems of what a correction is about: no mark, no number, no very short word.

    >>> sorted(_subject("Actually the console is at 921600 now"))
    ['consol']
    """
    words = content_stems(_OPENS.sub("", text)) - _MARK_STEMS
    return frozenset(
        word for word in words if len(word) >= _WORD_CHARS_MIN and not word.isdecimal()
    )


def _stated_subject(text: str) -> tuple[str, ...]:
    """Return the words of what *text* says that it is something; none where that is not plain.

    >>> _stated_subject("My manager is now Tom Fischer"), _stated_subject("There is a key")
    (('my', 'manager'), ())
    """
    match = _IS.match(text)
    words = match["subject"].casefold().split() if match else []
    words = [word for word in words if word not in _ARTICLES]
    return () if ENGLISH_FUNCTION_WORDS.issuperset(words) else tuple(words)
