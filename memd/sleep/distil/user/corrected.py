"""What the user corrects of what they said before in a session. Pure.

"Sorry, I meant Thursdays." says nothing a week later, and "The rehearsal is on Wednesdays" says
what is wrong. Together they are one memory. A message corrects an earlier one where it has another
value of the same kind (a day, a date, a time, a number) and says so, or where it names the value
that does not hold: "Malmo, not Lund".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memd.domain.enums import Origin
from memd.domain.sleep.consolidation import CORRECTED_PART, user_part
from memd.sleep.distil.compose import OwnExchange
from memd.sleep.distil.exchanges import USERS_KINDS, NapCandidate, NapKind
from memd.text.alternations import Phrases
from memd.text.languages import FUNCTION_WORDS
from memd.text.words import content_stems, sentences

_CHARS_MAX = 160  # of a correction; a longer one says itself of what
_STATEMENT_CHARS_MAX = 300
_TURNS_BACK = 8
_SAYS_SO = Phrases(
    r"^\W*(?:no,? )?(?:sorry|actual+y|wait|no wait|correction|scratch that|my mistake)\b"
    r"|\bi (?:meant|was wrong)\b|\b(?:moved|postponed|rescheduled|changed) (?:\w+ )?to\b"
    r"|\bmake (?:it|that)\b|\b(?:wants|says?|takes?|needs?)(?= (?:\S+ ){0,3}now\b)"
    r"|\bnow (?:wants|says|takes|needs)\b"
)
_IS_SO_NOW = re.compile(r"\bnow\W*$", re.IGNORECASE)
"""Says so of a day or a time; of a number it may be a report: "3 of 20 tests fail now"."""
_OLD_VALUE = Phrases(
    r"(?<!just)(?<!only)(?:,? (?:and )?not|,? instead of|,? rather than) (?:on |at |in |the )?"
    r"(?P<old>[\w'./:-]*\w)\W*$"
    r"|^(?:no,? )?not (?:on |at |in |the )?(?P<first>[\w'./:-]*\w), ?(?=\w)"
    r"|^(?P<too>\S*\d\S*(?: \w+)?) is (?:way |much |far )?too \w+(?=.*\d)"
)
_ASKS = Phrases(
    r"\W*(?:(?:no|wait|sorry|actual+y|hm+|oh|so)\W+)*(?:is|are|was|were|do|does|did|can|could|will"
    r"|would|should|has|have|what|when|where|who|why|how|which)\b"
)
_LISTED = re.compile(r"\W*\d{1,2}[.)]\s")
_WORD = re.compile(r"[^\W\d_]{2,}")
_SAYS_NOTHING = FUNCTION_WORDS | {"meant", "same", "time", "one", "make", "please", "pls"}
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()  # noqa: SIM905
_MONTH = rf"(?:{'|'.join(_MONTHS)})[a-z]*\.?"
_NUMBER = "number"
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
    turns: Sequence[OwnExchange], candidates: Sequence[NapCandidate]
) -> list[NapCandidate]:
    """Return *candidates*, each that the user corrects later in its session with the correction.

    *turns* are all of the session. A correction that is kept by itself is not kept twice.
    """
    made = list(candidates)
    begins = [turn.exchange.place for turn in turns]
    for number, place in enumerate(begins):
        since = begins[max(0, number - _TURNS_BACK)]
        for sentence in _corrections(turns[number]):
            near = [
                (at, statement)
                for at, each in enumerate(made)
                if since <= each.memory.places[0] < place and (statement := _statement(each))
            ]
            corrected = find_corrected(sentence, [statement for _, statement in near])
            if corrected is not None:
                at, statement = near[corrected]
                made = _merge(made, at, f"{sentence}{CORRECTED_PART}{statement}", place)
                break
    return made


def find_corrected(correction: str, statements: Sequence[str]) -> int | None:
    """Return the place of the latest of *statements* that *correction* corrects.

    >>> find_corrected("Sorry, I meant Thursdays.", ["The rehearsal is on Wednesdays", "I bake"])
    0
    >>> find_corrected("No wait, Malmo, not Lund.", ["He lives in Lund"])
    0
    >>> find_corrected("Remind me on Thursday.", ["The rehearsal is on Wednesdays"]) is None
    True
    """
    old = _OLD_VALUE.search(correction)
    named = next(filter(None, old.groups()), "") if old else ""
    values, subject = list(_values(correction)), _subject(correction)
    if not _SAYS_SO.search(correction):
        is_now = _IS_SO_NOW.search(correction) is not None
        values = [each for each in values if is_now and not each[0].startswith(_NUMBER)]
    for at in reversed(range(len(statements))):
        if named and _states(statements[at], named):
            return at
        if values and _differs(statements[at], values, subject):
            return at
    return None


def _states(statement: str, value: str) -> bool:
    """Return whether *statement* has *value*, and it is a name or a value of a known kind."""
    match = re.search(rf"(?<![\w.-]){re.escape(value)}(?![\w-])", statement, re.IGNORECASE)
    if match is None:
        return False
    is_name = match.start() > 0 and match.group()[0].isupper()
    return is_name or any(True for _ in _values(value))


def _differs(statement: str, values: Sequence[tuple[str, str]], subject: frozenset[str]) -> bool:
    """Return whether *statement* has another value of the kind of one of *values*, of one subject.

    A number without a unit, and a correction that names something, need a word that both have.
    """
    its = list(_values(statement))
    is_shared = bool(subject & content_stems(statement))
    if not is_shared and subject:
        return False
    return any(
        (kind == other or (is_shared and kind == _NUMBER in other))
        for kind, value in values
        for other, known in its
        if value != known and (is_shared or kind != _NUMBER)
    )


def _values(text: str) -> Iterator[tuple[str, str]]:
    """Yield the values of *text*, each with its kind; a number's is its unit."""
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
    """Return the stems of what a correction is about, without its values and how it says so."""
    plain = _SAYS_SO.sub(" ", correction)
    for pattern in _VALUES.values():
        plain = pattern.sub(" ", plain)
    words = (word.casefold() for word in _WORD.findall(plain))
    return content_stems(" ".join(word for word in words if word not in _SAYS_NOTHING))


def _corrections(turn: OwnExchange) -> Iterator[str]:
    """Yield what of the words of a turn may be a correction: it is short, and has a sign of one."""
    for paragraph in turn.fresh.paragraphs:
        for sentence in [paragraph] if len(paragraph) <= _CHARS_MAX else sentences(paragraph):
            is_asked = sentence.endswith("?") or _ASKS.match(sentence)
            is_short = len(sentence) <= _CHARS_MAX and not is_asked
            if is_short and not _LISTED.match(sentence) and _has_sign(sentence):
                yield sentence


def _has_sign(sentence: str) -> bool:
    return any(each.search(sentence) for each in (_SAYS_SO, _IS_SO_NOW, _OLD_VALUE))


def _statement(candidate: NapCandidate) -> str:
    """Return what the user stated, "" for what is none of their words, or long.

    Of a correction it is what that corrects, which says of what it is.
    """
    memory = candidate.memory
    if memory.kind not in USERS_KINDS or len(user_part(memory.text)) > _STATEMENT_CHARS_MAX:
        return ""
    words = memory.users_words
    return words.partition(CORRECTED_PART)[2] or words


def _merge(
    candidates: Sequence[NapCandidate], at: int, text: str, place: int
) -> list[NapCandidate]:
    """Return *candidates* with *text*, said at *place*, for the one *at*, and not by itself too."""
    memory = candidates[at].memory
    corrected = memory._replace(
        text=text,
        kind=NapKind.CORRECTION,
        places=(place, *memory.places),
        origin=Origin.PERSON,
        is_everywhere=False,
    )
    made = list(candidates)
    made[at] = candidates[at]._replace(memory=corrected)
    return [
        each
        for each in made
        if each.memory is corrected
        or each.memory.places[0] != place
        or user_part(each.memory.text) != user_part(text)
    ]
