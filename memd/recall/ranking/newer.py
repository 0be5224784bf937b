"""What a person says now stands before what they said before, and before their assistant. Pure.

"The staging host is heron" answers "what is the staging host?" in its words. What ended it says so
in others: "the pi under my desk died, staging is plover now". The ranker compares each with the
question alone, and has the first as sure, the second as unlikely. So the best of an answer are
compared with what the person said later, and a later statement about the same thing takes the
place of the older one, as likely as that; the older one follows (decision 0340).

That it is about the same thing is evidence, summed as log odds: how near the two vectors are, how
likely it answers by itself, whether it speaks of a change ("now", "sold", "moved"), and whether it
names what only the older one names ("Ronja moved out" after "my flatmate is Ronja"). It is about
another thing where it has a subject of its own, and lacks what the question shares with the older
one: how wide the tyres of the winter bike are says nothing of the road bike's.

What an assistant says of a statement of the same conversation comes after it, however well put.

Nothing is hidden. Turns of a dialogue between people stay as they are, and all does where a
question asks for what was before.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from memd.domain.enums import Origin, Trust
from memd.domain.sleep.consolidation import DIGEST_TAG
from memd.recall.ranking.rankings import Ranked
from memd.store.search.candidate_rows import SearchCandidate
from memd.text.alternations import anywhere
from memd.text.languages import capitals_name
from memd.text.words import ENGLISH_FUNCTION_WORDS, content_stems

Kin = Mapping[int, Mapping[int, float]]
"""The cosine of each of the best memories with each statement that may be newer; by key."""

LEADERS = 3  # of an answer are compared
STATEMENTS = 40  # so many of the candidates, best first, are looked through for statements
CHARS_MAX = 300  # a longer text is about more than one thing

_NEAR, _LIKELY, _CHANGE, _NAME = 10.0, 0.6, 1.5, 3.0
"""What each piece of evidence weighs: the cosine, the log odds of the relevance, a word of change,
and the share of the older one's names that it names."""
_ENOUGH = 3.0
_SAME = 0.97  # a cosine of what says it again
_ANSWERS = 0.4  # the cosine of an assistant's sentence with the statement that it speaks of
_SURE = 1e-4

_CHANGE_WORDS = frozenset(
    """
    now nowadays anymore instead again actually correction new move moved moves changed changing
    switch switched switches switching swap swapped replace replaced replaces
    replacing rename renamed renaming migrate migrated bump bumped gone left quit stop stops stopped
    cancel cancelled canceled cancels drop dropped sold died broke split retire retired retires
    wrong postpone postponed extension extended closed threw lost stolen became forget ended cut
    jetzt nun stattdessen statt wieder doch neu neue neuer neues neuen umgezogen gewechselt
    gekündigt verkauft aufgehört verschoben korrektur maintenant désormais nouveau nouvelle nouvel
    changé déménagé vendu ahora nuevo nueva cambiado cambió vendí adesso ora nuovo nuova cambiato
    agora novo nova mudou mudei nu nieuw nieuwe verhuisd verkocht
    """.split()  # noqa: SIM905
)
_CHANGE_PHRASES = anywhere(
    """
    no longer, any more, no more, rather than, these days, in the meantime, after all,
    (?:from|as of|since|starting) (?:today|this|then|last|next|\\w+day|january|february|march
        |april|may|june|july|august|september|october|november|december), back to,
    (?:went|goes?|put|is|are|was|be) (?:up|down|back|off|out|over), (?:took|takes) over, stood down,
    turn(?:s|ed) out, rid of, no need, no \\w+ needed, down to, up to,
    nicht mehr, kein\\w* mehr, ab (?:heute|sofort), ne \\S+ plus, au lieu d\\w*, en fait, ya no,
    en vez de, en realidad, non più, invece di, já não, em vez de, niet meer, in plaats van
    """
)
_ASKS_BEFORE = re.compile(
    r"\b(?:used to|previous(?:ly)?|former(?:ly)?|original(?:ly)?|at first|in the beginning"
    r"|back then|(?:did|was|were|had)\b.*\b(?:before|first|earlier|begin)|früher|vorher|damals"
    r"|zuerst|ursprünglich|avant|auparavant|au début|antes|al principio|prima|all'inizio|no início"
    r"|vroeger|eerst|destijds)\b",
    re.IGNORECASE,
)
_LEAD = r"\W*(?:(?:and|also|so|but|oh|ok|okay|by the way|btw|actually|no|correction)\b\W*)*"
_SUBJECT = re.compile(
    rf"""{_LEAD}(?P<subject>[^.,;:!?\n]{{1,50}}?)\s+
    (?:(?:is|are|was|were|has|have|had|does|do)(?:n't)?|can|may|must|will|no\ longer|now
    |gets?|got|comes?|runs?|lives?|hangs?|costs?|starts?|begins?|ends?|opens?|closes?|works?|goes
    |takes?|needs?|stands?|owns?|means?|owes?
    |ist|sind|war|waren|hat|est|sont|es|son|è|sono|het|zijn)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_SUBJECT_WORDS_MAX = 10
_WORD = re.compile(r"[^\W_]+")
_ASKING = frozenset(
    "use get need take want go come keep make call live work tell say give put like".split()  # noqa: SIM905
)
"""Verbs of questions: they are not what is asked about."""
_RULES = re.compile(rf"{_LEAD}(?:nobody|no one|everybody|everyone|anybody|anyone)\b", re.IGNORECASE)
"""Who says what nobody or everybody does gives a rule, and no new value."""
_NAMED = re.compile(r"(?<=[\w,;)] )[A-Z][^\W_]{2,}|\b(?=\w*\d)(?=\w*[^\W\d_])[^\W_]+\b")


@dataclass(frozen=True)
class _Statement:
    """A memory with what it is compared by."""

    item: Ranked

    @property
    def its(self) -> SearchCandidate:
        return self.item.measured.candidate

    @cached_property
    def stems(self) -> frozenset[str]:
        return content_stems(self.its.own)

    @cached_property
    def names(self) -> frozenset[str]:
        return _stem_names(self.its.own)

    @cached_property
    def changes(self) -> bool:
        """Whether it says that something is otherwise than it was."""
        words = _WORD.findall(self.its.own.casefold())
        return not _CHANGE_WORDS.isdisjoint(words) or bool(_CHANGE_PHRASES.search(self.its.own))

    @cached_property
    def log_odds(self) -> float:
        chance = min(max(self.item.relevance, _SURE), 1 - _SURE)
        return math.log(chance / (1 - chance))


class _Newer(NamedTuple):
    """A statement that takes the place of an older one, and how sure that is."""

    evidence: float
    statement: _Statement


def leaders(items: Sequence[Ranked]) -> list[int]:
    """Return the keys of the first of *items*, best first, that statements are compared with."""
    return [item.measured.candidate.memory_key for item in items if _leads(item)][:LEADERS]


def statements(items: Sequence[Ranked]) -> list[int]:
    """Return the keys of those of *items*, best first, that a person stated."""
    return [item.measured.candidate.memory_key for item in _list_statements(items)]


def find_kin(first: Sequence[int], stated: Sequence[int], vectors: Mapping[int, bytes]) -> Kin:
    """Return the cosine of each of *first* with each of *stated*; *vectors* are of length 1."""
    import numpy as np  # the model that made the question's vector has loaded it

    first = [key for key in first if key in vectors]
    stated = [key for key in stated if key in vectors]
    if not first or not stated:
        return {}
    rows, columns = (
        np.frombuffer(b"".join(vectors[key] for key in keys), np.float32).reshape(len(keys), -1)
        for keys in (first, stated)
    )
    cosines = (rows @ columns.T).tolist()
    return {
        key: dict(zip(stated, row, strict=True)) for key, row in zip(first, cosines, strict=True)
    }


def put_newer_first(items: Sequence[Ranked], kin: Kin, query: str) -> list[Ranked]:
    """Return *items*, best first, with a newer statement before the leader that it outdates.

    It gets the relevance and the bar of that one, where it had a lower one.
    """
    if not kin or _ASKS_BEFORE.search(query) is not None:
        return list(items)
    asked = content_stems(query)
    candidates = [_Statement(item) for item in _list_statements(items)]
    placed: set[int] = set()
    ordered: list[Ranked] = []
    for item in items:
        key = item.measured.candidate.memory_key
        if key in placed:
            continue
        near = kin.get(key, {})
        if near and _leads(item):
            others = (each for each in candidates if each.its.memory_key not in placed)
            first = _find_first(_Statement(item), others, near, asked)
            if first is not None:
                placed.add(first.its.memory_key)
                ordered.append(raise_to(first.item, item))
        placed.add(key)
        ordered.append(item)
    return ordered


def _find_first(
    leader: _Statement,
    others: Iterator[_Statement],
    near: Mapping[int, float],
    asked: frozenset[str],
) -> _Statement | None:
    """Return the statement that is told before *leader*: the surest of the newer, or what it says.

    An assistant's sentence comes after the statement that it answers, if nothing newer leads.
    """
    newer: list[_Newer] = []
    answers: list[_Newer] = []
    for other in others:
        cosine = near.get(other.its.memory_key, _SAME)
        if cosine >= _SAME or not _may_lead(other.its, leader.its):
            continue
        if other.its.moment_us > leader.its.moment_us:
            evidence = _evidence(leader, other, cosine, asked)
            if evidence >= _ENOUGH and not _is_of_another(other, leader, asked):
                newer.append(_Newer(evidence, other))
        elif cosine >= _ANSWERS and _is_answered(other.item, leader.its):
            answers.append(_Newer(cosine, other))
    best = max(newer or answers, key=lambda each: each.evidence, default=None)
    return None if best is None else best.statement


def _evidence(leader: _Statement, other: _Statement, cosine: float, asked: frozenset[str]) -> float:
    """Return how much says that *other* is about the same as *leader*, as log odds."""
    evidence = _NEAR * cosine + _LIKELY * other.log_odds
    names = leader.names - asked
    if evidence + _CHANGE + (_NAME if names else 0.0) < _ENOUGH:
        return evidence  # whatever it says
    if names:
        evidence += _NAME * len(names & other.stems) / len(leader.names)
    return evidence + _CHANGE * other.changes if evidence + _CHANGE >= _ENOUGH else evidence


def _is_of_another(newer: _Statement, older: _Statement, asked: frozenset[str]) -> bool:
    """Return whether *newer* is about another thing, or about one case of the older one's.

    "The nginx port of the old host is 80" leaves what the nginx port is, and so does "nobody may
    change the nginx port".
    """
    if not newer.changes:
        is_case = _subject(newer.its.own) > _subject(older.its.own) > frozenset()
        if is_case or _RULES.match(newer.its.own):
            return True
    return is_of_another(newer.its.own, older.stems, asked)


def is_of_another(newer: str, older: frozenset[str], asked: frozenset[str]) -> bool:
    """Return whether *newer* states another subject than the one that is asked about.

    *older* and *asked* are stems (``content_stems``) of an older text and of the question.

    >>> tyres, asked = content_stems("the road bike has 28 mm tyres"), content_stems("road bike")
    >>> is_of_another("the winter bike has 35 mm tyres now", tyres, asked)
    True
    >>> is_of_another("it has 32 mm tyres now", tyres, asked)
    False
    """
    if _subject(newer) <= older | asked:
        return False
    return not (asked & older) - _ASKING <= content_stems(newer)


def _may_lead(its: SearchCandidate, leader: SearchCandidate) -> bool:
    if its.memory_key == leader.memory_key or its.trust < leader.trust:
        return False
    return its.project_id in {None, leader.project_id}


def _is_answered(item: Ranked, leader: SearchCandidate) -> bool:
    """Return whether *leader* is what an assistant said after the statement *item* was told."""
    its = item.measured.candidate
    if leader.origin != Origin.ASSISTANT or leader.is_composed or its.session_key is None:
        return False
    return its.session_key == leader.session_key and _is_worth(item) and "?" not in its.own


def _list_statements(items: Sequence[Ranked]) -> list[Ranked]:
    return [item for item in items[:STATEMENTS] if _is_statement(item)]


def _leads(item: Ranked) -> bool:
    its = item.measured.candidate
    return _is_worth(item) and _is_of_one_thing(its) and its.kind != DIGEST_TAG


def _is_worth(item: Ranked) -> bool:
    return item.passes and item.relevance >= item.bar


def _is_statement(item: Ranked) -> bool:
    its = item.measured.candidate
    is_person = its.origin == Origin.PERSON and its.trust == Trust.OWNER
    return is_person and _is_of_one_thing(its)


def _is_of_one_thing(its: SearchCandidate) -> bool:
    """Return whether *its* text is short, and no turn of a dialogue, which is read with others."""
    is_turn = its.speaker is not None and not its.is_composed
    return not is_turn and len(its.own) <= CHARS_MAX


def raise_to(newer: Ranked, older: Ranked) -> Ranked:
    """Return *newer* with the relevance and the bar of *older*, where its own are worse."""
    return replace(
        newer,
        relevance=max(newer.relevance, older.relevance),
        passes=True,
        bar=min(newer.bar, older.bar),
    )


def _subject(text: str) -> frozenset[str]:
    """Return the stems of what *text* begins to speak of; none where that is not plain.

    >>> sorted(_subject("the winter bike has 35 mm tyres")), _subject("we no longer use Redis")
    (['bike', 'winter'], frozenset())
    """
    match = _SUBJECT.match(text)
    if match is None or len(match["subject"].split()) > _SUBJECT_WORDS_MAX:
        return frozenset()
    return content_stems(match["subject"]) - ENGLISH_FUNCTION_WORDS


def _stem_names(text: str) -> frozenset[str]:
    """Return the stems of names; of codes alone in German, which has every noun in capitals.

    >>> sorted(_stem_names("my flatmate is Ronja, code X77"))
    ['ronja', 'x77']
    """
    names = _NAMED.findall(text)
    if not capitals_name(frozenset(text.split())):
        names = [name for name in names if any(map(str.isdigit, name))]
    return frozenset().union(*map(content_stems, names))
