"""Merge the user's corrections with the earlier statements that they correct. Pure.

"Sorry, I meant Thursdays." means nothing alone, and "The rehearsal is on Wednesdays" is wrong.
Both become one memory. A sentence corrects an earlier statement in three cases:

- it has another value of the same kind (day, date, time, number) and announces a correction,
- it names the value that is wrong: "Malmo, not Lund", or
- it denies the user's message just before ("no, Thursdays") and says nothing but another value. If
  the agent asked a question in between, or named a value of this kind itself, that is answered.

A statement of the message just before becomes a memory with its correction even if it was not worth
one: who corrects a value wants it to be known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from memd.domain.enums import Origin
from memd.domain.sleep.consolidation import (
    CORRECTED_PART,
    corrected_part,
    user_part,
    without_outcome,
)
from memd.extract.time_words import fold
from memd.sleep.distil.compose import UserTurn
from memd.sleep.distil.exchanges import USERS_KINDS, NapCandidate, NapKind, NapMemory
from memd.sleep.distil.user.speech_acts import STANDING, judge, states
from memd.sleep.distil.user.value_mentions import (
    NUMBER,
    ValueMention,
    find_names,
    find_values,
    is_replaceable,
    without_values,
)
from memd.text.alternations import Phrases
from memd.text.languages import FUNCTION_WORDS
from memd.text.words import content_stems, sentences

_CHARS_MAX = 160  # of a correction; a longer one names its subject itself
_STATEMENT_CHARS_MAX = 300
_REPLY_CHARS_MAX = 600  # of the agent to a statement; in a longer one something else may be denied
_TURNS_BACK = 8  # how many turns before a correction are searched
# Announces a correction: "sorry", "I meant", "moved to Friday", "make it 4".
_ANNOUNCES = Phrases(
    r"^\W*(?:no,? )?(?:sorry|actual+y|wait|no wait|correction|scratch that|my mistake)\b"
    r"|\bi (?:meant|was wrong)\b|\b(?:moved|postponed|rescheduled|changed) (?:\w+ )?to\b"
    r"|\bmake (?:it|that)\b|\b(?:wants|says?|takes?|needs?)(?= (?:\S+ ){0,3}now\b)"
    r"|\bnow (?:wants|says|takes|needs)\b"
)
# Words that deny what was said, or apologise for it, at the beginning of a correction.
_DENIALS = """
    no nope nah wrong incorrect sorry wait oops actually correction mistake
    nein nee ne nö falsch quatsch moment warte entschuldigung korrektur eigentlich vielmehr
    non faux pardon attends désolé désolée plutôt erreur
    perdón perdona espera corrección incorrecto mal mejor dicho
    anzi scusa scusi aspetta sbagliato correzione errore
    não nao desculpa desculpe errado aliás correção
    fout wacht correctie
"""
_LEADS = "and oh ah hm hmm uh okay ok well ach ja äh och ma pero mas maar mais e"
_BEGINS = re.compile(
    rf"^\W*(?:(?:{'|'.join(_LEADS.split())})\b\W+)*+"
    rf"(?:(?:{'|'.join(_DENIALS.split())})\b[\s,.:;!\u2013\u2014-]+)+",
    re.IGNORECASE,
)
# A pronoun for the subject, or for who said the value, with its verb: "he said", "sie kommt".
_PRONOUN = re.compile(
    r"\b(?:he|she|it|they|that|er|sie|es|das|il|elle|ils|elles|ce|cela|[eé]l|ella|lui|lei|ele|ela"
    r"|hij|zij|ze|het|dat) (?:ha |hat |a |heeft |had )?[^\W\d_]+",
    re.IGNORECASE,
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
_SAYS_NOTHING = frozenset(
    map(
        fold,
        FUNCTION_WORDS.union(
            "meant same time one make please pls said says per alle ore uhr uur às las".split(),  # noqa: SIM905
            _DENIALS.split(),
        ),
    )
)


def with_corrections(
    turns: Sequence[UserTurn], candidates: Sequence[NapCandidate]
) -> list[NapCandidate]:
    """Return *candidates*, with each corrected statement merged with its correction.

    *turns* are all turns of the session. A correction that is also a candidate of its own is
    dropped once it is merged.
    """
    merged = list(candidates)
    begins = [turn.exchange.place for turn in turns]
    talk = {turn.exchange.place: turn.own for turn in turns if not turn.exchange.runs}
    for number, place in enumerate(begins):
        since = begins[max(0, number - _TURNS_BACK)]
        before = turns[number - 1] if number else None
        for sentence in _corrections(turns[number]):
            pool = [*merged, *(_unkept_statement(before, merged) if before else ())]
            earlier = [
                (index, statement)
                for index, candidate in enumerate(pool)
                if since <= candidate.memory.places[0] < place
                and (statement := _statement(candidate, talk))
                and sentence not in statement  # who says it again corrects nothing
            ]
            corrected = find_corrected(sentence, [statement for _, statement in earlier])
            if corrected is None and before is not None:
                corrected = next(
                    (
                        at
                        for at, (index, statement) in reversed([*enumerate(earlier)])
                        if pool[index].memory.places[0] >= before.exchange.place
                        and denies_value(sentence, statement, _reply(before))
                    ),
                    None,
                )
            if corrected is not None:
                index, statement = earlier[corrected]
                pool = pool[: max(len(merged), index + 1)]
                merged = _merge(pool, index, f"{sentence}{CORRECTED_PART}{statement}", place)
                break
    return merged


def _unkept_statement(turn: UserTurn, kept: Sequence[NapCandidate]) -> Iterator[NapCandidate]:
    """Yield a candidate of what the user states in *turn*, if none of those *kept* has it."""
    place = turn.exchange.place
    is_kept = any(
        candidate.memory.kind in USERS_KINDS and place in candidate.memory.places
        for candidate in kept
    )
    if not is_kept and len(turn.own) <= _STATEMENT_CHARS_MAX and states(judge(turn.own)):
        memory = NapMemory(turn.own, NapKind.ENVIRONMENT, (place,), turn.slot, Origin.PERSON)
        yield NapCandidate(memory, STANDING)


def _reply(turn: UserTurn) -> str:
    """Return the agent's last text in *turn*, "" if there is none."""
    return turn.exchange.texts[-1].text if turn.exchange.texts else ""


def denies_value(correction: str, statement: str, reply: str = "") -> bool:
    """Return whether *correction* denies *statement* and says nothing but another value for its.

    *reply* is what the agent said in between. If it asks something, has another value, or is long,
    that is what the user answers.

    >>> denies_value("no, wednesday at 9", "the service is on tuesday at 9", "Noted, tuesday.")
    True
    >>> denies_value("no, wednesday", "the service is on tuesday", "Shall I tell them?")
    False
    """
    begin = _BEGINS.match(correction)
    rest = next(iter(sentences(correction[begin.end() :])), "") if begin else ""
    if not rest or "?" in reply or len(reply) > _REPLY_CHARS_MAX:
        return False
    rest = f", {rest}"  # a name at the beginning of a sentence is none
    find = find_values if find_values(rest) else find_names
    values, old, repeated = find(rest), find(statement), find(reply)
    names = content_stems(fold(" ".join(each.value for each in values)))
    about = _subject(_PRONOUN.sub(" ", rest)) - names
    is_about_it = about <= content_stems(fold(statement))
    return is_about_it and any(is_replaceable(new, old, repeated) for new in values)


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
    values, subject = find_values(correction), _subject(_ANNOUNCES.sub(" ", correction))
    if not _ANNOUNCES.search(correction):
        is_now = _ENDS_WITH_NOW.search(correction) is not None
        values = [value for value in values if is_now and not value.kind.startswith(NUMBER)]
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
    return is_name or bool(find_values(value))


def _differs(statement: str, values: Sequence[ValueMention], subject: frozenset[str]) -> bool:
    """Return whether *statement* has a different value of the same kind as one of *values*.

    If the correction names a *subject*, or the value is a number without a unit, both texts must
    share a word.
    """
    stated = find_values(statement)
    is_shared = bool(subject & content_stems(fold(statement)))
    if not is_shared and subject:
        return False
    return any(
        (new.kind == old.kind or (is_shared and new.kind == NUMBER in old.kind))
        for new in values
        for old in stated
        if new.differs(old) and (is_shared or new.kind != NUMBER)
    )


def _subject(text: str) -> frozenset[str]:
    """Return the stems of the subject of a correction: its words without values and phrases."""
    words = (word for word in _WORD.findall(without_values(text)) if word not in _SAYS_NOTHING)
    return content_stems(" ".join(words))


def _corrections(turn: UserTurn) -> Iterator[str]:
    """Yield the sentences of *turn* that may be corrections: short statements with a sign."""
    for paragraph in turn.fresh.paragraphs:
        for sentence in [paragraph] if len(paragraph) <= _CHARS_MAX else sentences(paragraph):
            is_question = sentence.endswith("?") or _ASKS.match(sentence)
            is_other = is_question or _NUMBERED_ITEM.match(sentence) or len(sentence) > _CHARS_MAX
            if not is_other and _has_sign(sentence):
                yield sentence


def _has_sign(sentence: str) -> bool:
    return any(sign.search(sentence) for sign in (_ANNOUNCES, _BEGINS, _ENDS_WITH_NOW, _OLD_VALUE))


def _statement(candidate: NapCandidate, talk: Mapping[int, str]) -> str:
    """Return the user's statement in *candidate*, "" if it is not theirs or is too long.

    Of a merged correction, return the corrected statement, because it names the subject. *talk* are
    the user's messages upon which the agent did nothing, by their places: what follows one as an
    outcome only repeats it.
    """
    memory = candidate.memory
    if memory.kind not in USERS_KINDS or len(user_part(memory.text)) > _STATEMENT_CHARS_MAX:
        return ""
    own = without_outcome(memory.text)
    if own == talk.get(memory.places[0]):
        return own
    return corrected_part(memory.users_words) or memory.users_words


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
