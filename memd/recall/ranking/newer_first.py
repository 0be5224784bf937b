"""Place newer memories before those that they outdate or correct. Pure.

"The staging host is heron" answers "what is the staging host?" in the words of the question. The
statement that outdates it uses others: "the pi under my desk died, staging is plover now". The
ranker compares each memory with the question alone, so it ranks the old one high and the new one
low. Therefore the best memories of an answer are compared with later ones. A later memory about
the same thing is placed before the older one, with at least its relevance. It is recognised in two
ways:

- A person's statement, by evidence that is summed as log odds (decision 0340): the similarity of
  both vectors, its own relevance, words that tell of a change, and names that it shares with the
  older memory but not with the question ("Ronja moved out" after "my flatmate is Ronja").
- A correction, by its words ("correction: ...", "... now") and a shared subject (decision 0314).
  It needs no vector. "My manager is now Tom" has the subject of "My manager is Priya". A text that
  gives up a name ("drop rayon") corrects the choice of that name ("rayon it is").

A memory with a subject of its own is about another thing, unless it also has the words that the
question shares with the older memory: the tyres of the winter bike do not outdate the road bike's.
An assistant's comment on a statement of the same session is placed after that statement.

Nothing is hidden: a wrong match costs one entry of the answer, not a memory. Turns of dialogues
between people are not moved, and a memory is never placed before one that is trusted more.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from operator import itemgetter
from typing import NamedTuple

from memd.domain.enums import Origin, Trust
from memd.domain.sleep.consolidation import DIGEST_TAG, user_part
from memd.extract.time_words import MONTHS, WEEKDAYS
from memd.recall.ranking.change_phrases import (
    CHANGE_STEMS,
    announces_change,
    corrects,
    find_given_up,
    gives_up_choice,
    without_lead,
)
from memd.recall.ranking.rankings import RankedCandidate
from memd.store.search.candidate_rows import SearchCandidate
from memd.text.languages import FUNCTION_WORDS, capitals_name, is_english
from memd.text.words import ENGLISH_FUNCTION_WORDS, content_stems

Kin = Mapping[int, Mapping[int, float]]
"""By key of one of the best memories: its cosines with the statements that may be newer, by key."""

LEADERS = 3  # best memories of an answer whose vectors are compared with later statements
COMPARED = 40  # best candidates among which newer memories are searched
CHARS_MAX = 300  # a longer text is about several things

_NEAR, _LIKELY, _CHANGE, _NAME = 10.0, 0.6, 1.5, 3.0
"""Weights of the evidence: the cosine, the log odds of the relevance, words of change, and the
share of the older memory's names that it has."""
_ENOUGH = 3.0  # evidence from which a statement counts as newer
_ALONE, _COMMON = 0.47, 4
"""Cosine below which a statement must share a word with the older memory, and in how many
statements a word is so common that it does not count, unless the question has it: "correction: we
release harbor on Wednesdays" is similar to all else that is said of harbor."""
_SOON, _SOON_US = 1.5, 3_600_000_000
"""Additional evidence needed within an hour: statements of one sitting are mostly two things."""
_SAME = 0.97  # cosine from which a statement repeats the older one
_ANSWERS = 0.4  # minimum cosine of an assistant's comment with the statement that it is about
_SURE = 1e-4  # keeps the log odds finite
_SHARED = 0.4  # minimum share of a correction's words in the older text: they name the subject
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
    |(?:\w+[tn]|sind|war)\ (?:jetzt|nun)|hat|est|sont|es|son|è|sono|het|zijn)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_SUBJECT_WORDS_MAX = 10
_ARTICLES = frozenset(("the", "a", "an", "der", "die", "das"))
_CALENDAR = frozenset((*MONTHS, *WEEKDAYS))
_ASKING = frozenset(
    "use get need take want go come keep make call live work tell say give put like".split()  # noqa: SIM905
)
"""Verbs that are common in questions, and say nothing of their subject."""
_FUNCTION_STEMS = content_stems(" ".join(FUNCTION_WORDS))
_NO_TOPIC = _FUNCTION_STEMS | _ASKING.union(*map(content_stems, _CALENDAR))
_RULES = re.compile(r"(?:nobody|no one|everybody|everyone|anybody|anyone)\b", re.IGNORECASE)
"""Begins a rule, which is no new value: "nobody may change the port"."""
_NAMED = re.compile(r"(?<=[\w,;)] )[A-Z][^\W_]{2,}|\b(?=\w*\d)(?=\w*[^\W\d_])[^\W_]+\b")


def find_kin(
    items: Sequence[RankedCandidate],
    read_vectors: Callable[[Sequence[int]], Mapping[int, bytes]],
    *,
    english_alone: bool,
) -> Kin:
    """Return the cosines of the best ``LEADERS`` memories with the statements of a person.

    *items* are ranked, best first. *read_vectors* returns the unit vectors of the keys that have
    one. With *english_alone* texts of other languages are left out: the default model gives all
    of them similar vectors.
    """
    worth = (item.measured.candidate for item in items if _is_worth(item))
    leaders = (
        each
        for each in worth
        if each.kind != DIGEST_TAG
        and _is_of_one_thing(each)
        and not (english_alone and not is_english(each.own))
    )
    first = [leader.memory_key for leader in itertools.islice(leaders, LEADERS)]
    compared = (item.measured.candidate for item in items[:COMPARED])
    stated = [
        candidate.memory_key
        for candidate in compared
        if candidate.origin == Origin.PERSON
        and candidate.trust == Trust.OWNER
        and _is_of_one_thing(candidate)
        and not (english_alone and not is_english(candidate.own))
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
    """Return whether *query* asks for an earlier value: "what did we use before?"."""
    return _ASKS_BEFORE.search(query) is not None


def put_newer_first(
    items: Sequence[RankedCandidate], kin: Kin, query: str
) -> list[RankedCandidate]:
    """Return *items*, best first, with newer memories moved before those that they outdate.

    A moved memory gets the higher relevance and the lower bar of the two. If *query* asks for an
    earlier value, only corrections are moved.
    """
    compared = [(item.measured.candidate, item) for item in items[:COMPARED]]
    corrections = [
        item
        for candidate, item in compared
        if candidate.trust != Trust.UNTRUSTED
        and _is_of_one_thing(candidate)
        and (corrects(candidate.own) or find_given_up(user_part(candidate.own)))
    ]
    if asks_before(query):
        kin = {}
    if not kin and not corrections:
        return list(items)
    known = frozenset().union(*kin.values())
    stated = [item for candidate, item in compared if candidate.memory_key in known]
    corrections.sort(key=lambda item: -item.measured.candidate.moment_us)
    topics = [(item, _topic(item.measured.candidate.own)) for item in corrections]
    later = _Later(stated, topics, kin, content_stems(query))
    ordered: list[RankedCandidate] = []
    for item in items:
        candidate = item.measured.candidate
        if candidate.memory_key in later.placed:
            continue
        later.placed.add(candidate.memory_key)
        if not _is_worth(item):
            ordered.append(item)
            continue
        older = _Older(candidate, later.stems_of(candidate.own), _stem_names(candidate.own))
        for find in (later.find_newer, later.find_correction):
            first = find(older)
            if first is not None:
                later.placed.add(first.measured.candidate.memory_key)
                relevance, bar = max(first.relevance, item.relevance), min(first.bar, item.bar)
                ordered.append(replace(first, relevance=relevance, passes=True, bar=bar))
        ordered.append(item)
    return ordered


class _Older(NamedTuple):
    """A memory before which a newer one may be placed."""

    candidate: SearchCandidate
    stems: frozenset[str]
    names: frozenset[str]


@dataclass(frozen=True)
class _Later:
    """The memories that may be moved before an older one, and those that are placed already."""

    stated: Sequence[RankedCandidate]
    corrections: Sequence[tuple[RankedCandidate, frozenset[str]]]
    """The newest first, each with the stems of its topic."""
    kin: Kin
    asked: frozenset[str]
    """The stems of the question."""
    placed: set[int] = field(default_factory=set)
    """Keys of the memories that have their place."""
    stems_of: Callable[[str], frozenset[str]] = field(default_factory=lambda: cache(content_stems))
    """``content_stems``, once for each text: each is compared with several."""

    @cached_property
    def common(self) -> frozenset[str]:
        """The stems that are in ``_COMMON`` of the statements or more."""
        texts = (self.stems_of(item.measured.candidate.own) for item in self.stated)
        counts = Counter(itertools.chain.from_iterable(texts))
        return frozenset(stem for stem, count in counts.items() if count >= _COMMON)

    def find_newer(self, older: _Older) -> RankedCandidate | None:
        """Return the newer statement with the most evidence, or None.

        If *older* is an assistant's comment and there is no newer statement, return the statement
        that it is about.
        """
        cosines = self.kin.get(older.candidate.memory_key)
        if not cosines:
            return None
        newer: list[tuple[float, RankedCandidate]] = []
        answers: list[tuple[float, RankedCandidate]] = []
        for item in self.stated:
            candidate = item.measured.candidate
            cosine = cosines.get(candidate.memory_key, _SAME)
            if cosine >= _SAME or not self._may_lead(candidate, older.candidate):
                continue
            if candidate.moment_us <= older.candidate.moment_us:
                if cosine >= _ANSWERS and _is_answered(item, older.candidate):
                    answers.append((cosine, item))
                continue
            is_soon = candidate.moment_us < older.candidate.moment_us + _SOON_US
            evidence = _evidence(item, older, cosine, self)
            if evidence >= _ENOUGH + (_SOON if is_soon else 0.0):
                newer.append((evidence, item))
        return max(newer or answers, key=itemgetter(0), default=(0.0, None))[1]

    def find_correction(self, older: _Older) -> RankedCandidate | None:
        """Return the newest correction of *older*: later, and with the same subject; or None."""
        if not self.corrections or len(older.candidate.own) > CHARS_MAX:
            return None
        left_side = _left_side(older.candidate.own)
        choice = user_part(older.candidate.own)
        for item, topic in self.corrections:
            candidate = item.measured.candidate
            is_later = candidate.moment_us > older.candidate.moment_us
            if not is_later or not self._may_lead(candidate, older.candidate):
                continue
            if gives_up_choice(user_part(candidate.own), choice):
                return item
            is_shared = len(older.stems & topic) >= max(1, _SHARED * len(topic))
            is_same = left_side and left_side == _left_side(candidate.own)
            if not (is_shared or is_same) or not corrects(candidate.own):
                continue
            if not _has_other_subject(candidate.own, older.stems, self.asked):
                return item
        return None

    def _may_lead(self, candidate: SearchCandidate, older: SearchCandidate) -> bool:
        if candidate.memory_key in self.placed or candidate.trust < older.trust:
            return False
        return candidate.project_id in {None, older.project_id}


def _evidence(item: RankedCandidate, older: _Older, cosine: float, later: _Later) -> float:
    """Return the log odds that *item* outdates *older*.

    They are -inf for a special case ("the nginx port of the old host is 80"), a rule ("nobody may
    change the nginx port"), another subject, and a text that has nothing in common with *older* but
    some similarity.
    """
    own = item.measured.candidate.own
    chance = min(max(item.relevance, _SURE), 1 - _SURE)
    evidence = _NEAR * cosine + _LIKELY * math.log(chance / (1 - chance))
    if evidence + _CHANGE + _NAME < _ENOUGH:
        return evidence  # the rest, which costs more, could not make it enough
    stems = later.stems_of(own)
    if unasked := older.names - later.asked:
        evidence += _NAME * len(unasked & stems) / len(older.names)
    if evidence + _CHANGE < _ENOUGH:
        return evidence
    if cosine < _ALONE and not (stems & older.stems) - (later.common - later.asked) - _NO_TOPIC:
        return -math.inf
    changes = announces_change(own)
    if not changes:
        is_case = _subject(own) > _subject(older.candidate.own) > frozenset()
        if is_case or _RULES.match(without_lead(own)):
            return -math.inf
    if _has_other_subject(own, older.stems, later.asked):
        return -math.inf
    return evidence + _CHANGE * changes


def _has_other_subject(newer: str, older: frozenset[str], asked: frozenset[str]) -> bool:
    """Return whether the text *newer* is about another thing than the older text.

    *older* and *asked* are the stems (``content_stems``) of the older text and of the question.

    >>> tyres, asked = content_stems("the road bike has 28 mm tyres"), content_stems("road bike")
    >>> _has_other_subject("the winter bike has 35 mm tyres now", tyres, asked)
    True
    >>> _has_other_subject("it has 32 mm tyres now", tyres, asked)
    False
    """
    if _subject(newer) <= older | asked:
        return False
    return not (asked & older) - _ASKING <= content_stems(newer)


def _is_answered(item: RankedCandidate, leader: SearchCandidate) -> bool:
    """Return whether *leader* is an assistant's comment on the statement *item*, in its session."""
    statement = item.measured.candidate
    if leader.origin != Origin.ASSISTANT or leader.is_composed or statement.session_key is None:
        return False
    is_of_session = statement.session_key == leader.session_key
    return is_of_session and _is_worth(item) and "?" not in statement.own


def _is_worth(item: RankedCandidate) -> bool:
    return item.passes and item.relevance >= item.bar


def _is_of_one_thing(candidate: SearchCandidate) -> bool:
    """Return whether *candidate* is a short text, and not a turn of a dialogue between people."""
    is_turn = candidate.speaker is not None and not candidate.is_composed
    return not is_turn and len(candidate.own) <= CHARS_MAX


def _subject(text: str) -> frozenset[str]:
    """Return the stems of the grammatical subject at the beginning of *text*, or none.

    >>> sorted(_subject("the winter bike has 35 mm tyres")), _subject("we no longer use Redis")
    (['bike', 'winter'], frozenset())
    """
    match = _SUBJECT.match(without_lead(text))
    if match is None or len(match["subject"].split()) > _SUBJECT_WORDS_MAX:
        return frozenset()
    return content_stems(match["subject"]) - ENGLISH_FUNCTION_WORDS


def _left_side(text: str) -> tuple[str, ...]:
    """Return the words before "is" at the beginning of *text*, without articles, or none.

    >>> _left_side("My manager is now Tom Fischer"), _left_side("There is a key")
    (('my', 'manager'), ())
    """
    match = _SUBJECT.match(without_lead(text))
    words = match["subject"].casefold().split() if match and match["equates"] else []
    words = [word for word in words if word not in _ARTICLES]
    return () if ENGLISH_FUNCTION_WORDS.issuperset(words) else tuple(words)


def _topic(text: str) -> frozenset[str]:
    """Return the stems of a correction's topic: without words of change, numbers, short words.

    >>> sorted(_topic("Actually the console is at 921600 now"))
    ['consol']
    """
    return frozenset(
        stem
        for stem in content_stems(without_lead(text)) - CHANGE_STEMS - _FUNCTION_STEMS
        if len(stem) >= _WORD_CHARS_MIN and not stem.isdecimal()
    )


def _stem_names(text: str) -> frozenset[str]:
    """Return the stems of the names and codes in *text*; of codes only if it is German.

    German writes every noun with a capital. Months and weekdays are no names.

    >>> sorted(_stem_names("my flatmate is Ronja, code X77"))
    ['ronja', 'x77']
    """
    names = [name for name in _NAMED.findall(text) if name.casefold() not in _CALENDAR]
    if not capitals_name(frozenset(text.split())):
        names = [name for name in names if any(map(str.isdigit, name))]
    return frozenset().union(*map(content_stems, names))
