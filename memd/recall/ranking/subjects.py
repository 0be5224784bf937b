"""What a statement is about: its subject, its names, the topic of a correction. Pure.

A rough reading of single sentences in several languages, for comparing two statements.
"""

from __future__ import annotations

import re

from memd.extract.time_words import MONTHS, WEEKDAYS
from memd.recall.ranking.change_phrases import CHANGE_STEMS, without_lead
from memd.text.languages import FUNCTION_WORDS, capitals_name
from memd.text.words import ENGLISH_FUNCTION_WORDS, content_stems

_WORD_CHARS_MIN = 3
_SUBJECT = re.compile(
    r"""(?P<subject>[^.,;:!?\n]{1,50}?)\s+
    (?:(?P<equates>is|are|was|were|ist|sind|war|waren)
    |(?:is|are|was|were|has|have|had|does|do)n't|has|have|had|does|do|can|may|must|will
    |no\ longer|now|gets?|got|comes?|runs?|lives?|hangs?|costs?|starts?|begins?|ends?|opens?
    |closes?|works?|goes|takes?|needs?|stands?|owns?|means?|owes?
    |(?:\w+[tn]|sind|war)\ (?:jetzt|nun)|hat|est|sont|es|son|è|sono|het|zijn)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_SUBJECT_WORDS_MAX = 10
_ARTICLES = frozenset(("the", "a", "an", "der", "die", "das"))
CALENDAR = frozenset((*MONTHS, *WEEKDAYS))
FUNCTION_STEMS = content_stems(" ".join(FUNCTION_WORDS))
_NAMED = re.compile(r"(?<=[\w,;)] )[A-Z][^\W_]{2,}|\b(?=\w*\d)(?=\w*[^\W\d_])[^\W_]+\b")


def subject(text: str) -> frozenset[str]:
    """Return the stems of the grammatical subject at the beginning of *text*, or none.

    >>> sorted(subject("the winter bike has 35 mm tyres")), subject("we no longer use Redis")
    (['bike', 'winter'], frozenset())
    """
    match = _SUBJECT.match(without_lead(text))
    if match is None or len(match["subject"].split()) > _SUBJECT_WORDS_MAX:
        return frozenset()
    return content_stems(match["subject"]) - ENGLISH_FUNCTION_WORDS


def left_side(text: str) -> tuple[str, ...]:
    """Return the words before "is" at the beginning of *text*, without articles, or none.

    >>> left_side("My manager is now Tom Fischer"), left_side("There is a key")
    (('my', 'manager'), ())
    """
    match = _SUBJECT.match(without_lead(text))
    words = match["subject"].casefold().split() if match and match["equates"] else []
    words = [word for word in words if word not in _ARTICLES]
    return () if ENGLISH_FUNCTION_WORDS.issuperset(words) else tuple(words)


def correction_topic(text: str) -> frozenset[str]:
    """Return the stems of a correction's topic: without words of change, numbers, short words.

    >>> sorted(correction_topic("Actually the console is at 921600 now"))
    ['consol']
    """
    return frozenset(
        stem
        for stem in content_stems(without_lead(text)) - CHANGE_STEMS - FUNCTION_STEMS
        if len(stem) >= _WORD_CHARS_MIN and not stem.isdecimal()
    )


def name_stems(text: str) -> frozenset[str]:
    """Return the stems of the names and codes in *text*; of codes only if it is German.

    German writes every noun with a capital. Months and weekdays are no names.

    >>> sorted(name_stems("my flatmate is Ronja, code X77"))
    ['ronja', 'x77']
    """
    names = [name for name in _NAMED.findall(text) if name.casefold() not in CALENDAR]
    if not capitals_name(frozenset(text.split())):
        names = [name for name in names if any(map(str.isdigit, name))]
    return frozenset().union(*map(content_stems, names))
