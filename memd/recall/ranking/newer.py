"""What is newer stands before what it outdates, and a correction before what it corrects. Pure.

"The staging host is heron" answers "what is the staging host?" in its words. What ended it says so
in others: "the pi under my desk died, staging is plover now". The ranker compares each with the
question alone, and has the first as sure, the second as unlikely. So the best of an answer are
compared with what comes later; what is later and about the same thing takes the place of the older
one, as likely as that, and the older one follows. There are two ways to know it:

- What a person stated is known by evidence, summed as log odds (decision 0340): how near the two
  vectors are, how likely it answers by itself, whether it tells of a change, and whether it names
  what only the older one names ("Ronja moved out" after "my flatmate is Ronja").
- A correction says that it is one (decision 0314), shares its subject with the older one, and needs
  no vector. "My manager is now Tom" names its subject before its verb, as "My manager is Priya"
  does.

Neither is about the same thing where it has a subject of its own, and lacks what the question
shares with the older one: how wide the tyres of the winter bike are says nothing of the road
bike's. What an assistant says of a statement of the same conversation comes after it, however well
put.

Nothing is hidden, since a wrong match costs one entry, not a memory. Turns of a dialogue between
people lead nothing, they stand beside what they change; nor does what is trusted less.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import NamedTuple

from memd.domain.enums import Origin, Trust
from memd.domain.sleep.consolidation import DIGEST_TAG
from memd.recall.ranking.changes import CHANGE_STEMS, corrects, tells_change, without_lead
from memd.recall.ranking.rankings import Ranked
from memd.store.search.candidate_rows import SearchCandidate
from memd.text.languages import capitals_name
from memd.text.words import ENGLISH_FUNCTION_WORDS, content_stems

Kin = Mapping[int, Mapping[int, float]]
"""The cosine of each of the best memories with each statement that may be newer; by key."""

LEADERS = 3  # of an answer are compared by their vectors
COMPARED = 40  # so many of the candidates, best first, are looked through for what is newer
CHARS_MAX = 300  # a longer text is about more than one thing

_NEAR, _LIKELY, _CHANGE, _NAME = 10.0, 0.6, 1.5, 3.0
"""What each piece of evidence weighs: the cosine, the log odds of the relevance, a word of change,
and the share of the older one's names that it names."""
_ENOUGH = 3.0
_SOON, _SOON_US = 1.5, 3_600_000_000
"""How much more there has to be where both were said in one sitting: that is mostly two things."""
_SAME = 0.97  # a cosine of what says it again
_ANSWERS = 0.4  # the cosine of an assistant's sentence with the statement that it speaks of
_SURE = 1e-4
_SHARED = 0.4  # of a correction's words: they say the subject, the others what is new of it
_WORD_CHARS_MIN = 3

_ASKS_BEFORE = re.compile(
    r"\b(?:used to|previous(?:ly)?|former(?:ly)?|original(?:ly)?|at first|in the beginning"
    r"|back then|(?:did|was|were|had)\b.*\b(?:before|first|earlier|begin)|früher|vorher|damals"
    r"|zuerst|ursprünglich|avant|auparavant|au début|antes|al principio|prima|all'inizio|no início"
    r"|vroeger|eerst|destijds)\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"""(?P<subject>[^.,;:!?\n]{1,50}?)\s+
    (?:(?P<equates>is|are|was|were|ist|sind|war|waren)
    |(?:is|are|was|were|has|have|had|does|do)n't|has|have|had|does|do|can|may|must|will
    |no\ longer|now|gets?|got|comes?|runs?|lives?|hangs?|costs?|starts?|begins?|ends?|opens?
    |closes?|works?|goes|takes?|needs?|stands?|owns?|means?|owes?
    |hat|est|sont|es|son|è|sono|het|zijn)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_SUBJECT_WORDS_MAX = 10
_ARTICLES = frozenset(("the", "a", "an", "der", "die", "das"))
_ASKING = frozenset(
    "use get need take want go come keep make call live work tell say give put like".split()  # noqa: SIM905
)
"""Verbs of questions: they are not what is asked about."""
_RULES = re.compile(r"(?:nobody|no one|everybody|everyone|anybody|anyone)\b", re.IGNORECASE)
"""Who says what nobody or everybody does gives a rule, and no new value."""
_NAMED = re.compile(r"(?<=[\w,;)] )[A-Z][^\W_]{2,}|\b(?=\w*\d)(?=\w*[^\W\d_])[^\W_]+\b")


def find_kin(
    items: Sequence[Ranked], read_vectors: Callable[[Sequence[int]], Mapping[int, bytes]]
) -> Kin:
    """Return how near each of the best of *items*, best first, comes to what a person stated.

    *read_vectors* returns the vectors, of length 1, of those keys that have one.
    """
    worth = (item.measured.candidate for item in items if _is_worth(item))
    leaders = (its for its in worth if its.kind != DIGEST_TAG and _is_of_one_thing(its))
    first = [its.memory_key for its in itertools.islice(leaders, LEADERS)]
    near = (item.measured.candidate for item in items[:COMPARED])
    stated = [
        its.memory_key
        for its in near
        if its.origin == Origin.PERSON and its.trust == Trust.OWNER and _is_of_one_thing(its)
    ]
    if not first or not stated:
        return {}
    import numpy as np  # the model that made the question's vector has loaded it

    vectors = read_vectors([*{*first, *stated}])
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


def asks_before(query: str) -> bool:
    """Return whether *query* asks for what was before."""
    return _ASKS_BEFORE.search(query) is not None


def put_newer_first(items: Sequence[Ranked], kin: Kin, query: str) -> list[Ranked]:
    """Return *items*, best first, with what is newer before what it outdates or corrects.

    It gets the relevance and the bar of that one, where it had a lower one. Where *query* asks for
    what was before, only corrections move.
    """
    near = [(item.measured.candidate, item) for item in items[:COMPARED]]
    corrections = [
        item
        for its, item in near
        if its.trust != Trust.UNTRUSTED and _is_of_one_thing(its) and corrects(its.own)
    ]
    if asks_before(query):
        kin = {}
    if not kin and not corrections:
        return list(items)
    compared = frozenset().union(*kin.values())
    stated = [item for its, item in near if its.memory_key in compared]
    corrections.sort(key=lambda item: -item.measured.candidate.moment_us)
    topics = [(item, _topic(item.measured.candidate.own)) for item in corrections]
    later = _Later(stated, topics, kin, content_stems(query))
    ordered: list[Ranked] = []
    for item in items:
        its = item.measured.candidate
        if its.memory_key in later.placed:
            continue
        later.placed.add(its.memory_key)
        if not _is_worth(item):
            ordered.append(item)
            continue
        older = _Older(its, content_stems(its.own), _stem_names(its.own))
        for find in (later.find_newer, later.find_correction):
            first = find(older)
            if first is not None:
                later.placed.add(first.measured.candidate.memory_key)
                relevance, bar = max(first.relevance, item.relevance), min(first.bar, item.bar)
                ordered.append(replace(first, relevance=relevance, passes=True, bar=bar))
        ordered.append(item)
    return ordered


class _Older(NamedTuple):
    """A memory before which something else may be told, with what that is compared with."""

    its: SearchCandidate
    stems: frozenset[str]
    names: frozenset[str]


@dataclass(frozen=True)
class _Later:
    """What may be told before an older memory, and what has its place already."""

    stated: Sequence[Ranked]
    corrections: Sequence[tuple[Ranked, frozenset[str]]]
    """The newest first, each with what it is about."""
    kin: Kin
    asked: frozenset[str]
    placed: set[int] = field(default_factory=set)

    def find_newer(self, older: _Older) -> Ranked | None:
        """Return the statement to tell before *older*: the surest of the newer, or what it says.

        An assistant's sentence comes after the statement that it answers, if nothing newer leads.
        """
        cosines = self.kin.get(older.its.memory_key)
        if not cosines:
            return None
        newer: list[tuple[float, Ranked]] = []
        answers: list[tuple[float, Ranked]] = []
        for item in self.stated:
            its = item.measured.candidate
            cosine = cosines.get(its.memory_key, _SAME)
            if cosine >= _SAME or not self._may_lead(its, older.its):
                continue
            if its.moment_us <= older.its.moment_us:
                if cosine >= _ANSWERS and _is_answered(item, older.its):
                    answers.append((cosine, item))
                continue
            is_soon = its.moment_us < older.its.moment_us + _SOON_US
            evidence = _evidence(item, older, cosine, self.asked)
            if evidence >= _ENOUGH + (_SOON if is_soon else 0.0):
                newer.append((evidence, item))
        return max(newer or answers, key=itemgetter(0), default=(0.0, None))[1]

    def find_correction(self, older: _Older) -> Ranked | None:
        """Return the newest correction that is later than *older*, and of the same subject."""
        if not self.corrections or len(older.its.own) > CHARS_MAX:
            return None
        left_side = _left_side(older.its.own)
        for item, subject in self.corrections:
            its = item.measured.candidate
            if its.moment_us <= older.its.moment_us or not self._may_lead(its, older.its):
                continue
            is_shared = len(older.stems & subject) >= max(1, _SHARED * len(subject))
            if not is_shared and not (left_side and left_side == _left_side(its.own)):
                continue
            if not _has_other_subject(its.own, older.stems, self.asked):
                return item
        return None

    def _may_lead(self, its: SearchCandidate, older: SearchCandidate) -> bool:
        if its.memory_key in self.placed or its.trust < older.trust:
            return False
        return its.project_id in {None, older.project_id}


def _evidence(item: Ranked, older: _Older, cosine: float, asked: frozenset[str]) -> float:
    """Return how much says that *item* is about the same thing as *older*, as log odds.

    Nothing does where it is about one case of that: "the nginx port of the old host is 80" leaves
    what the nginx port is, and so does "nobody may change the nginx port".
    """
    own = item.measured.candidate.own
    chance = min(max(item.relevance, _SURE), 1 - _SURE)
    evidence = _NEAR * cosine + _LIKELY * math.log(chance / (1 - chance))
    if evidence + _CHANGE + _NAME < _ENOUGH:
        return evidence  # whatever it says
    if unasked := older.names - asked:
        evidence += _NAME * len(unasked & content_stems(own)) / len(older.names)
    if evidence + _CHANGE < _ENOUGH:
        return evidence
    changes = tells_change(own)
    if not changes:
        is_case = _subject(own) > _subject(older.its.own) > frozenset()
        if is_case or _RULES.match(without_lead(own)):
            return -math.inf
    if _has_other_subject(own, older.stems, asked):
        return -math.inf
    return evidence + _CHANGE * changes


def _has_other_subject(newer: str, older: frozenset[str], asked: frozenset[str]) -> bool:
    """Return whether *newer* states another subject than the one that is asked about.

    *older* and *asked* are stems (``content_stems``) of an older text and of the question.

    >>> tyres, asked = content_stems("the road bike has 28 mm tyres"), content_stems("road bike")
    >>> _has_other_subject("the winter bike has 35 mm tyres now", tyres, asked)
    True
    >>> _has_other_subject("it has 32 mm tyres now", tyres, asked)
    False
    """
    if _subject(newer) <= older | asked:
        return False
    return not (asked & older) - _ASKING <= content_stems(newer)


def _is_answered(item: Ranked, leader: SearchCandidate) -> bool:
    """Return whether *leader* is what an assistant said after the statement *item* was told."""
    its = item.measured.candidate
    if leader.origin != Origin.ASSISTANT or leader.is_composed or its.session_key is None:
        return False
    return its.session_key == leader.session_key and _is_worth(item) and "?" not in its.own


def _is_worth(item: Ranked) -> bool:
    return item.passes and item.relevance >= item.bar


def _is_of_one_thing(its: SearchCandidate) -> bool:
    """Return whether *its* text is short, and no turn of a dialogue, which is read with others."""
    is_turn = its.speaker is not None and not its.is_composed
    return not is_turn and len(its.own) <= CHARS_MAX


def _subject(text: str) -> frozenset[str]:
    """Return the stems of what *text* begins to speak of; none where that is not plain.

    >>> sorted(_subject("the winter bike has 35 mm tyres")), _subject("we no longer use Redis")
    (['bike', 'winter'], frozenset())
    """
    match = _SUBJECT.match(without_lead(text))
    if match is None or len(match["subject"].split()) > _SUBJECT_WORDS_MAX:
        return frozenset()
    return content_stems(match["subject"]) - ENGLISH_FUNCTION_WORDS


def _left_side(text: str) -> tuple[str, ...]:
    """Return the words of what *text* says that it is something; none where that is not plain.

    >>> _left_side("My manager is now Tom Fischer"), _left_side("There is a key")
    (('my', 'manager'), ())
    """
    match = _SUBJECT.match(without_lead(text))
    words = match["subject"].casefold().split() if match and match["equates"] else []
    words = [word for word in words if word not in _ARTICLES]
    return () if ENGLISH_FUNCTION_WORDS.issuperset(words) else tuple(words)


def _topic(text: str) -> frozenset[str]:
    """Return the stems of what a correction is about: no sign of one, no number, no short word.

    >>> sorted(_topic("Actually the console is at 921600 now"))
    ['consol']
    """
    return frozenset(
        stem
        for stem in content_stems(without_lead(text)) - CHANGE_STEMS
        if len(stem) >= _WORD_CHARS_MIN and not stem.isdecimal()
    )


def _stem_names(text: str) -> frozenset[str]:
    """Return the stems of names; of codes alone in German, which has every noun in capitals.

    >>> sorted(_stem_names("my flatmate is Ronja, code X77"))
    ['ronja', 'x77']
    """
    names = _NAMED.findall(text)
    if not capitals_name(frozenset(text.split())):
        names = [name for name in names if any(map(str.isdigit, name))]
    return frozenset().union(*map(content_stems, names))
