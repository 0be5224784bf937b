"""Merge the user's corrections with the earlier statements that they correct. Pure.

"Sorry, I meant Thursdays." means nothing alone, and "The rehearsal is on Wednesdays" is wrong.
Both become one memory. A sentence corrects an earlier statement in two cases:

- it has another value of the same kind (day, date, time, number) and announces a correction, or
- it names the value that is wrong: "Malmo, not Lund".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memd.domain.enums import Origin
from memd.domain.sleep.consolidation import CORRECTED_PART, user_part
from memd.sleep.distil.compose import UserTurn
from memd.sleep.distil.exchanges import USERS_KINDS, NapCandidate, NapKind
from memd.text.alternations import Phrases
from memd.text.languages import FUNCTION_WORDS
from memd.text.words import content_stems, sentences

_CHARS_MAX = 160  # of a correction; a longer one names its subject itself
_STATEMENT_CHARS_MAX = 300
_TURNS_BACK = 8  # how many turns before a correction are searched
# Announces a correction: "sorry", "I meant", "moved to Friday", "make it 4".
_ANNOUNCES = Phrases(
    r"^\W*(?:no,? )?(?:sorry|actual+y|wait|no wait|correction|scratch that|my mistake)\b"
    r"|\bi (?:meant|was wrong)\b|\b(?:moved|postponed|rescheduled|changed) (?:\w+ )?to\b"
    r"|\bmake (?:it|that)\b|\b(?:wants|says?|takes?|needs?)(?= (?:\S+ ){0,3}now\b)"
    r"|\bnow (?:wants|says|takes|needs)\b"
)
# "On Thursdays now" corrects a day or a time; "3 tests fail now" is a report.
_ENDS_WITH_NOW = re.compile(r"\bnow\W*$", re.IGNORECASE)
# Names the wrong value: "Malmo, not Lund", "not Lund, Malmo", "4 is too early, 5 is better".
_OLD_VALUE = Phrases(
    r"(?<!just)(?<!only)(?:,? (?:and )?not|,? instead of|,? rather than) (?:on |at |in |the )?"
    r"(?P<old>[\w'./:-]*\w)\W*$"
    r"|^(?:no,? )?not (?:on |at |in |the )?(?P<first>[\w'./:-]*\w), ?(?=\w)"
    r"|^(?P<too>\S*\d\S*(?: \w+)?) is (?:way |much |far )?too \w+(?=.*\d)"
)
# "5 attempts instead of 8": the wrong value has the unit of the right one.
_OLD_COUNT = re.compile(
    r"\b\d[\d.,]* (?P<unit>[a-z]{3,}),? (?:instead of|rather than|not) (?P<count>\d+)\b(?! \w)",
    re.IGNORECASE,
)
# A question, also without a question mark: "no wait, is it Thursday".
_ASKS = Phrases(
    r"\W*(?:(?:no|wait|sorry|actual+y|hm+|oh|so)\W+)*(?:is|are|was|were|do|does|did|can|could|will"
    r"|would|should|has|have|what|when|where|who|why|how|which)\b"
)
_NUMBERED_ITEM = re.compile(r"\W*\d{1,2}[.)]\s")
_WORD = re.compile(r"[^\W\d_]{2,}")
_SAYS_NOTHING = FUNCTION_WORDS | {"meant", "same", "time", "one", "make", "please", "pls"}
# "dec", "December", also misspelt ("febuary"); but not "maybe", "marked" or "novels".
_MONTH = (
    r"(?:jan(?:u[a-z]*)?|feb[a-z]*|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:[ae]?m[a-z]*)?|oct(?:ob[a-z]*)?|nov(?:e?m[a-z]*)?|dec(?:e?m[a-z]*)?)\b\.?"
)
_NUMBER = "number"
# The kinds of values; the first pattern that matches a span decides its kind.
_VALUES: dict[str, re.Pattern[str] | Phrases] = {
    "date": Phrases(
        rf"\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b|\b\d{{1,2}}(?:st|nd|rd|th|\.)?(?: of)? {_MONTH}\b"
        r"|\b\d{1,2}(?:st|nd|rd|th)\b|\b\d{4}-\d\d-\d\d\b"
    ),
    "day": re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b", re.IGNORECASE),
    "time": re.compile(r"\b\d{1,2}(?::\d\d)? ?(?:am|pm)\b|\b\d{1,2}:\d\d\b", re.IGNORECASE),
    "part": re.compile(r"\b(?:half|whole|full|quarter|double)\b", re.IGNORECASE),
    _NUMBER: re.compile(r"(?<![\w.:/-])\d+(?:[.,]\d+)?(?![\w:/-]|\.\d)(?: ?(?P<unit>[a-z%]+))?"),
}


def with_corrections(
    turns: Sequence[UserTurn], candidates: Sequence[NapCandidate]
) -> list[NapCandidate]:
    """Return *candidates*, with each corrected statement merged with its correction.

    *turns* are all turns of the session. A correction that is also a candidate of its own is
    dropped once it is merged.
    """
    merged = list(candidates)
    begins = [turn.exchange.place for turn in turns]
    for number, place in enumerate(begins):
        since = begins[max(0, number - _TURNS_BACK)]
        for sentence in _corrections(turns[number]):
            earlier = [
                (index, statement)
                for index, candidate in enumerate(merged)
                if since <= candidate.memory.places[0] < place
                and (statement := _statement(candidate))
            ]
            corrected = find_corrected(sentence, [statement for _, statement in earlier])
            if corrected is not None:
                index, statement = earlier[corrected]
                merged = _merge(merged, index, f"{sentence}{CORRECTED_PART}{statement}", place)
                break
    return merged


def find_corrected(correction: str, statements: Sequence[str]) -> int | None:
    """Return the index of the latest of *statements* that *correction* corrects, None if none.

    >>> find_corrected("Sorry, I meant Thursdays.", ["The rehearsal is on Wednesdays", "I bake"])
    0
    >>> find_corrected("No wait, Malmo, not Lund.", ["He lives in Lund"])
    0
    >>> find_corrected("Remind me on Thursday.", ["The rehearsal is on Wednesdays"]) is None
    True
    """
    old_value = _old_value(correction)
    values, subject = list(_values(correction)), _subject(correction)
    if not _ANNOUNCES.search(correction):
        is_now = _ENDS_WITH_NOW.search(correction) is not None
        values = [value for value in values if is_now and not value[0].startswith(_NUMBER)]
    for index in reversed(range(len(statements))):
        if old_value and _states(statements[index], old_value):
            return index
        if values and _differs(statements[index], values, subject):
            return index
    return None


def _old_value(correction: str) -> str:
    """Return the value that *correction* names as wrong, "" if it names none.

    >>> _old_value("Malmo, not Lund"), _old_value("make it 5 attempts instead of 8, she says")
    ('Lund', '8 attempts')
    """
    if counted := _OLD_COUNT.search(correction):
        return f"{counted['count']} {counted['unit']}"
    match = _OLD_VALUE.search(correction)
    return next(filter(None, match.groups()), "") if match else ""


def _states(statement: str, value: str) -> bool:
    """Return whether *statement* contains *value*, and that is a name or has a known kind."""
    match = re.search(rf"(?<![\w.-]){re.escape(value)}(?![\w-])", statement, re.IGNORECASE)
    if match is None:
        return False
    is_name = match.start() > 0 and match.group()[0].isupper()
    return is_name or any(True for _ in _values(value))


def _differs(statement: str, values: Sequence[tuple[str, str]], subject: frozenset[str]) -> bool:
    """Return whether *statement* has a different value of the same kind as one of *values*.

    If the correction names a *subject*, or the value is a number without a unit, both texts must
    share a word.
    """
    stated = list(_values(statement))
    is_shared = bool(subject & content_stems(statement))
    if not is_shared and subject:
        return False
    return any(
        (kind == other or (is_shared and kind == _NUMBER in other))
        for kind, value in values
        for other, stated_value in stated
        if value != stated_value and (is_shared or kind != _NUMBER)
    )


def _values(text: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, value) for each value in *text*; the kind of "3 cups" is "number cups"."""
    taken: list[tuple[int, int]] = []
    for kind, pattern in _VALUES.items():
        for match in pattern.finditer(text):
            if any(start < match.end() and match.start() < end for start, end in taken):
                continue
            taken.append(match.span())
            value = match.group().casefold().rstrip("s")
            unit = (match["unit"] or "").casefold() if kind == _NUMBER else ""
            is_unit = unit and unit not in FUNCTION_WORDS
            yield (f"number {unit}" if is_unit else kind), value


def _subject(correction: str) -> frozenset[str]:
    """Return the stems of the subject of *correction*: its words without values and phrases."""
    plain = _ANNOUNCES.sub(" ", correction)
    for pattern in _VALUES.values():
        plain = pattern.sub(" ", plain)
    words = (word.casefold() for word in _WORD.findall(plain))
    return content_stems(" ".join(word for word in words if word not in _SAYS_NOTHING))


def _corrections(turn: UserTurn) -> Iterator[str]:
    """Yield the sentences of *turn* that may be corrections: short statements with a sign."""
    for paragraph in turn.fresh.paragraphs:
        for sentence in [paragraph] if len(paragraph) <= _CHARS_MAX else sentences(paragraph):
            is_question = sentence.endswith("?") or _ASKS.match(sentence)
            is_other = is_question or _NUMBERED_ITEM.match(sentence) or len(sentence) > _CHARS_MAX
            if not is_other and _has_sign(sentence):
                yield sentence


def _has_sign(sentence: str) -> bool:
    return any(sign.search(sentence) for sign in (_ANNOUNCES, _ENDS_WITH_NOW, _OLD_VALUE))


def _statement(candidate: NapCandidate) -> str:
    """Return the user's statement in *candidate*, "" if it is not theirs or is too long.

    Of a merged correction, return the corrected statement, because it names the subject.
    """
    memory = candidate.memory
    if memory.kind not in USERS_KINDS or len(user_part(memory.text)) > _STATEMENT_CHARS_MAX:
        return ""
    words = memory.users_words
    return words.partition(CORRECTED_PART)[2] or words


def _merge(
    candidates: Sequence[NapCandidate], index: int, text: str, place: int
) -> list[NapCandidate]:
    """Return *candidates* with *text*, said at *place*, as the text of the one at *index*.

    Candidates that consist of the correction alone are dropped.
    """
    memory = candidates[index].memory
    corrected = memory._replace(
        text=text,
        kind=NapKind.CORRECTION,
        places=(place, *memory.places),
        origin=Origin.PERSON,
        is_everywhere=False,
    )
    merged = list(candidates)
    merged[index] = candidates[index]._replace(memory=corrected)
    return [
        candidate
        for candidate in merged
        if candidate.memory is corrected
        or candidate.memory.places[0] != place
        or user_part(candidate.memory.text) != user_part(text)
    ]
