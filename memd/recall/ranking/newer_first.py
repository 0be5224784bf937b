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
from memd.recall.ranking.change_phrases import (
    announces_change,
    corrects,
    find_given_up,
    gives_up_choice,
    without_lead,
)
from memd.recall.ranking.rankings import RankedCandidate
from memd.recall.ranking.subjects import (
    CALENDAR,
    FUNCTION_STEMS,
    correction_topic,
    left_side,
    name_stems,
    subject,
)
from memd.store.search.candidate_rows import SearchCandidate
from memd.text.languages import is_english
from memd.text.words import content_stems

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

_ASKS_BEFORE = re.compile(
    r"\b(?:used to|previous(?:ly)?|former(?:ly)?|original(?:ly)?|at first|in the beginning"
    r"|back then|(?:did|was|were|had)\b.*\b(?:before|first|earlier|begin)|früher|vorher|damals"
    r"|zuerst|ursprünglich|avant|auparavant|au début|antes|al principio|prima|all'inizio|no início"
    r"|vroeger|eerst|destijds)\b",
    re.IGNORECASE,
)
_ASKING = frozenset(
    "use get need take want go come keep make call live work tell say give put like".split()  # noqa: SIM905
)
"""Verbs that are common in questions, and say nothing of their subject."""
_NO_TOPIC = FUNCTION_STEMS | _ASKING.union(*map(content_stems, CALENDAR))
_RULES = re.compile(r"(?:nobody|no one|everybody|everyone|anybody|anyone)\b", re.IGNORECASE)
"""Begins a rule, which is no new value: "nobody may change the port"."""


def find_kin(
    items: Sequence[RankedCandidate],
    read_vectors: Callable[[Sequence[int]], Mapping[int, bytes]],
    *,
    english_alone: bool,
) -> Kin:
    """Return the cosines of the best ``LEADERS`` memories with the statements that may lead them.

    *items* are ranked, best first. *read_vectors* returns the unit vectors of the keys that have
    one. With *english_alone* texts of other languages are left out: the default model gives all
    of them similar vectors.
    """
    leaders = (
        item
        for item in items
        if _is_worth(item)
        and _is_of_one_thing(item.measured.candidate)
        and item.measured.candidate.kind != DIGEST_TAG
        and not (english_alone and not is_english(item.measured.candidate.own))
    )
    first = list(itertools.islice(leaders, LEADERS))
    stated = [item for item in items[:COMPARED] if _is_statement(item.measured.candidate)]
    if not first or not stated:
        return {}
    import numpy as np  # the model that made the question's vector has loaded it

    vectors = read_vectors([*{*map(_key, first), *map(_key, stated)}])
    first = [item for item in first if _key(item) in vectors]
    stated = [item for item in stated if _key(item) in vectors]
    if not first or not stated:
        return {}
    rows, columns = (
        np.frombuffer(b"".join(vectors[_key(item)] for item in each), np.float32)
        for each in (first, stated)
    )
    cosines = rows.reshape(len(first), -1) @ columns.reshape(len(stated), -1).T
    return {
        _key(leader): {
            _key(item): cosine
            for item, cosine in zip(stated, row, strict=True)
            if _may_lead(item, leader.measured.candidate, cosine)
            and not (english_alone and not is_english(item.measured.candidate.own))
        }
        for leader, row in zip(first, cosines.tolist(), strict=True)
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
    worth = [item.measured.candidate.moment_us for item in items if _is_worth(item)]
    corrections = _list_corrections(items[:COMPARED], min(worth)) if worth else []
    if asks_before(query):
        kin = {}
    if not worth or not (kin or corrections):
        return list(items)
    known = frozenset().union(*kin.values())
    compared = [(item.measured.candidate, item) for item in items[:COMPARED]]
    later = _Later(
        [item for candidate, item in compared if candidate.memory_key in known],
        corrections,
        kin,
        content_stems(query),
        [candidate.own for candidate, _ in compared if _is_statement(candidate)],
    )
    ordered: list[RankedCandidate] = []
    for item in items:
        candidate = item.measured.candidate
        if candidate.memory_key in later.placed:
            continue
        later.placed.add(candidate.memory_key)
        if not _is_worth(item):
            ordered.append(item)
            continue
        older = _Older(candidate, later.stems_of(candidate.own), name_stems(candidate.own))
        for find in (later.find_newer, later.find_correction):
            first = find(older)
            if first is not None:
                later.placed.add(first.measured.candidate.memory_key)
                relevance, bar = max(first.relevance, item.relevance), min(first.bar, item.bar)
                ordered.append(replace(first, relevance=relevance, passes=True, bar=bar))
        ordered.append(item)
    return ordered


def _list_corrections(
    items: Sequence[RankedCandidate], after_us: int
) -> list[tuple[RankedCandidate, frozenset[str]]]:
    """Return which *items* correct something, each with its topic; the newest first."""
    corrections = [
        (item, correction_topic(candidate.own))
        for item, candidate in ((item, item.measured.candidate) for item in items)
        if candidate.moment_us > after_us
        and candidate.trust != Trust.UNTRUSTED
        and _is_of_one_thing(candidate)
        and (corrects(candidate.own) or find_given_up(user_part(candidate.own)))
    ]
    return sorted(corrections, key=lambda each: -each[0].measured.candidate.moment_us)


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
    statements: Sequence[str]
    """What a person stated, among the memories that are compared."""
    placed: set[int] = field(default_factory=set)
    """Keys of the memories that have their place."""
    stems_of: Callable[[str], frozenset[str]] = field(default_factory=lambda: cache(content_stems))
    """``content_stems``, once for each text: each is compared with several."""

    @cached_property
    def common(self) -> frozenset[str]:
        """The stems that are in ``_COMMON`` of the statements or more."""
        counts = Counter(itertools.chain.from_iterable(map(self.stems_of, self.statements)))
        return frozenset(stem for stem, count in counts.items() if count >= _COMMON)

    def share_topic(self, text: str, older: _Older) -> bool:
        """Return whether both have a stem that is asked for, or that is not in most statements."""
        shared = (self.stems_of(text) & older.stems) - _NO_TOPIC
        return bool(shared & self.asked or (shared and shared - self.common))

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
            if cosine >= _SAME or not self._is_free(candidate, older.candidate):
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
        equated = left_side(older.candidate.own)
        choice = user_part(older.candidate.own)
        for item, topic in self.corrections:
            candidate = item.measured.candidate
            is_later = candidate.moment_us > older.candidate.moment_us
            if not is_later or not self._is_free(candidate, older.candidate):
                continue
            if gives_up_choice(user_part(candidate.own), choice):
                return item
            is_shared = len(older.stems & topic) >= max(1, _SHARED * len(topic))
            is_same = equated and equated == left_side(candidate.own)
            if not (is_shared or is_same) or not corrects(candidate.own):
                continue
            if not _has_other_subject(candidate.own, older.stems, self.asked):
                return item
        return None

    def _is_free(self, candidate: SearchCandidate, older: SearchCandidate) -> bool:
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
    evidence = _nearness(item, cosine)
    if evidence + _CHANGE + _NAME < _ENOUGH:
        return evidence  # the rest, which costs more, could not make it enough
    if unasked := older.names - later.asked:
        evidence += _NAME * len(unasked & later.stems_of(own)) / len(older.names)
    if evidence + _CHANGE < _ENOUGH:
        return evidence
    if cosine < _ALONE and not later.share_topic(own, older):
        return -math.inf
    changes = announces_change(own)
    if not changes:
        is_case = subject(own) > subject(older.candidate.own) > frozenset()
        if is_case or _RULES.match(without_lead(own)):
            return -math.inf
    if _has_other_subject(own, older.stems, later.asked):
        return -math.inf
    return evidence + _CHANGE * changes


def _nearness(item: RankedCandidate, cosine: float) -> float:
    chance = min(max(item.relevance, _SURE), 1 - _SURE)
    return _NEAR * cosine + _LIKELY * math.log(chance / (1 - chance))


def _may_lead(item: RankedCandidate, older: SearchCandidate, cosine: float) -> bool:
    """Return whether *item* may be newer than *older*, or what *older* comments on."""
    if item.measured.candidate.moment_us <= older.moment_us:
        return cosine >= _ANSWERS and older.origin == Origin.ASSISTANT
    return _nearness(item, cosine) + _CHANGE + _NAME >= _ENOUGH


def _has_other_subject(newer: str, older: frozenset[str], asked: frozenset[str]) -> bool:
    """Return whether the text *newer* is about another thing than the older text.

    *older* and *asked* are the stems (``content_stems``) of the older text and of the question.

    >>> tyres, asked = content_stems("the road bike has 28 mm tyres"), content_stems("road bike")
    >>> _has_other_subject("the winter bike has 35 mm tyres now", tyres, asked)
    True
    >>> _has_other_subject("it has 32 mm tyres now", tyres, asked)
    False
    """
    if subject(newer) <= older | asked:
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


def _key(item: RankedCandidate) -> int:
    return item.measured.candidate.memory_key


def _is_statement(candidate: SearchCandidate) -> bool:
    """Return whether *candidate* is a short text that the owner has said or written."""
    is_owners = candidate.origin == Origin.PERSON and candidate.trust == Trust.OWNER
    return is_owners and _is_of_one_thing(candidate)


def _is_of_one_thing(candidate: SearchCandidate) -> bool:
    """Return whether *candidate* is a short text, and not a turn of a dialogue between people."""
    is_turn = candidate.speaker is not None and not candidate.is_composed
    return not is_turn and len(candidate.own) <= CHARS_MAX
