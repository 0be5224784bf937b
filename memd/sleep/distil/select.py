"""Select the candidates that a session keeps: no duplicates, and the best of each stretch. Pure.

A session is cut into stretches of equal length from its beginning, each of which keeps a bounded
number of memories. So the selection of an early stretch does not change as the session grows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import ceil, inf
from typing import NamedTuple

from memd.domain.enums import Origin
from memd.domain.sleep.consolidation import (
    ANSWER_PART,
    OUTCOME_PART,
    USER_PREFIX,
    is_answer,
    user_part,
    without_outcome,
)
from memd.recall.ranking.change_phrases import CHOICE_CHARS
from memd.sleep.distil.environment.commands import COMMANDS_SLOT
from memd.sleep.distil.environment.places import moves
from memd.sleep.distil.environment.replacements import Withdrawal
from memd.sleep.distil.exchanges import NapCandidate, NapKind, NapMemory
from memd.sleep.distil.language.phrases import BECAUSE
from memd.sleep.distil.language.replies import RETRACTS
from memd.sleep.distil.language.words import content_words
from memd.sleep.distil.user.ended_wishes import WishEnd
from memd.sleep.distil.user.speech_acts import ASKED, STANDING
from memd.sleep.transcript.consolidator import CHARS_PER_TOKEN
from memd.sleep.transcript.messages import Message, text_to_store
from memd.text.harms import states_health_risk

STRETCH_TOKENS = 30_000
STRETCH_MEMORIES, SURE_MEMORIES = 12, 24
"""The memories that a stretch keeps, and the limit for what the user clearly states to last."""
_STRETCH_CHARS = STRETCH_TOKENS * CHARS_PER_TOKEN
_FILLED = 6  # memories of a stretch; with fewer, candidates that only fill are kept
ALIKE = 0.72
"""The share of common words from which two memories say the same."""
_OF_EARLIER = 0.6  # of the earlier memory's words are in the one that takes it back
_WORDS_MIN = 3
_BACK_MAX = 200  # a candidate is compared with this many before it
_TAKEN_BACK = frozenset({NapKind.DECISION, NapKind.CORRECTION, NapKind.PREFERENCE})
_THINKS_AGAIN = re.compile(
    r"\W*(?:(?:oh|ok(?:ay)?|sorry|and|but)\W+)*(?:wait|hm+|on second thoughts?)\b", re.IGNORECASE
)
_UNDONE = frozenset({NapKind.DECISION, NapKind.FIX, NapKind.OUTCOME})


class _Entry(NamedTuple):
    """A candidate with the values that later ones are compared with."""

    candidate: NapCandidate
    own: str
    """The user's part of the text."""
    words: frozenset[str]
    users: frozenset[str]
    """The words of the user's part."""
    answered: str
    """The agent's text that the user answers."""
    retracts: bool
    """Whether the user says that something no longer holds."""
    end: WishEnd
    withdrawal: Withdrawal

    @classmethod
    def of(cls, candidate: NapCandidate) -> _Entry:
        text = candidate.memory.text
        own = user_part(text)
        retracts = RETRACTS.search(own) is not None
        words = content_words(text), content_words(own)
        answered = without_outcome(text).partition(ANSWER_PART)[2]
        ends = WishEnd.of(own), Withdrawal.of(own)
        return cls(candidate, own, *words, answered, retracts, *ends)

    @property
    def memory(self) -> NapMemory:
        return self.candidate.memory


def select_candidates(
    candidates: Sequence[NapCandidate], messages: Sequence[Message]
) -> tuple[NapMemory, ...]:
    """Return the memories to keep of *candidates*, in the order of their places.

    Room that earlier stretches leave is available to later ones. A session shorter than a stretch
    has the room of a whole one.
    """
    chars = list(accumulate(len(text_to_store(message)) for message in messages))
    by_stretch: dict[int, list[NapCandidate]] = {}
    ordered = sorted(candidates, key=lambda candidate: candidate.memory.places[0])
    for candidate in _deduplicate(ordered):
        stretch = chars[candidate.memory.places[0]] // _STRETCH_CHARS
        by_stretch.setdefault(stretch, []).append(candidate)
    kept: list[NapCandidate] = []
    room = 0
    for stretch, members in by_stretch.items():
        length = min(max(chars[-1] / _STRETCH_CHARS, 1.0), stretch + 1)
        places = {_place_in_stretch(candidate) for candidate in kept if not candidate.fills}
        used = min(len(places), room)  # memories beyond the room take none from later stretches
        room = ceil(length * STRETCH_MEMORIES)
        kept += _select_best(members, room - used)
    return tuple(candidate.memory for candidate in kept)


def _select_best(candidates: Sequence[NapCandidate], room: int) -> Iterator[NapCandidate]:
    """Yield the *room* best of *candidates* in their order; of equal ones, the earlier.

    Clear statements of the user have more room, and what they ask to remember is always kept. All
    commands count as one. Candidates that only fill come last, up to _FILLED in all.
    """
    ranked = sorted(range(len(candidates)), key=lambda at: (-candidates[at].score, at))
    best: list[int] = []
    used: set[str] = set()
    for fills, limit in ((False, room), (True, min(room, _FILLED))):
        for at in ranked:
            place = _place_in_stretch(candidates[at])
            has_room = place in used or len(used) < limit + _extra_room(candidates[at])
            if candidates[at].fills == fills and has_room:
                used.add(place)
                best.append(at)
    yield from (candidates[at] for at in sorted(best))


def _extra_room(candidate: NapCandidate) -> float:
    """Return by how many memories *candidate* may exceed the room of its stretch."""
    if candidate.score >= ASKED:
        return inf
    is_sure = candidate.score >= STANDING and candidate.memory.origin is Origin.PERSON
    return SURE_MEMORIES - STRETCH_MEMORIES if is_sure else 0


def _place_in_stretch(candidate: NapCandidate) -> str:
    """Return the slot that a candidate counts for: all commands share one."""
    slot = candidate.memory.slot
    return COMMANDS_SLOT if slot.startswith(COMMANDS_SLOT) else slot


def _deduplicate(candidates: Sequence[NapCandidate]) -> list[NapCandidate]:
    """Return *candidates* without repetitions and without those that a later one takes back.

    The later one gets the slot of the earlier one, so it replaces it in the store.
    """
    settled: list[_Entry] = []
    for candidate in candidates:
        entry = _Entry.of(candidate)
        recent = range(max(0, len(settled) - _BACK_MAX), len(settled))
        replaced: list[int] = []
        for tie in (_gives_up, _takes_back, _is_alike, _quotes):
            replaced = [at for at in recent if tie(entry, settled[at])]
            if replaced:
                break
        if replaced:
            memory, earlier = candidate.memory, settled[replaced[0]].memory
            if tie is _is_alike and not _outranks(memory, earlier):
                continue
            if tie is _gives_up:
                memory = _with_reason(memory, earlier)._replace(kind=NapKind.DECISION)
            memory = memory._replace(slot=earlier.slot)
            entry = entry._replace(candidate=candidate._replace(memory=memory))
        settled = [each for at, each in enumerate(settled) if at not in replaced]
        settled.append(entry)
    return [entry.candidate for entry in settled]


def _with_reason(memory: NapMemory, earlier: NapMemory) -> NapMemory:
    """Return *memory* as the answer to *earlier*, an outcome that gives the reason for it."""
    if earlier.kind is not NapKind.OUTCOME or is_answer(memory.text):
        return memory
    own, *ended = memory.text.partition(OUTCOME_PART)
    reason = earlier.text.rpartition(OUTCOME_PART)[2]
    if not BECAUSE.search(reason):
        return memory
    text = "".join((USER_PREFIX, own, ANSWER_PART, reason, *ended))
    places = tuple(dict.fromkeys((*memory.places, *earlier.places)))
    return memory._replace(text=text, places=places, origin=Origin.ASSISTANT)


def _outranks(later: NapMemory, earlier: NapMemory) -> bool:
    """Return whether *later* replaces the similar memory *earlier*, instead of being dropped.

    It does if it is in the user's words and *earlier* is not; of two outcomes, if it is longer.
    """
    if NapKind.OUTCOME is later.kind is earlier.kind:
        return len(later.text) > len(earlier.text)
    if NapKind.OUTCOME is earlier.kind and later.kind in _TAKEN_BACK:
        return True
    return later.origin is Origin.PERSON and earlier.origin is not Origin.PERSON


def _gives_up(later: _Entry, earlier: _Entry) -> bool:
    """Return whether the user gives up in *later* what they chose in *earlier*, or its subject."""
    withdrawal, kind = later.withdrawal, earlier.memory.kind
    if later.memory.kind not in _TAKEN_BACK:
        return False
    if kind in _TAKEN_BACK and withdrawal.is_choice_of(earlier.own):
        return True
    return kind in _UNDONE and withdrawal.is_subject_of(earlier.memory.text)


def _takes_back(later: _Entry, earlier: _Entry) -> bool:
    """Return whether the user says in *later* that *earlier* no longer holds."""
    if later.memory.origin is Origin.PERSON and moves(later.own, earlier.own):
        return True
    is_choice = bool(earlier.answered) and len(earlier.own) <= CHOICE_CHARS
    is_refused = is_choice and later.withdrawal.refuses(earlier.users)
    if is_refused and not states_health_risk(earlier.own):
        return True
    if later.end.ends(earlier.own) or _chooses_anew(later, earlier):
        return True
    if not later.retracts or not {later.memory.kind, earlier.memory.kind} <= _TAKEN_BACK:
        return False
    shared = len(later.users & earlier.users)
    return shared >= max(_WORDS_MIN, _OF_EARLIER * len(earlier.users))


def _chooses_anew(later: _Entry, earlier: _Entry) -> bool:
    """Return whether the user reconsiders, and picks another option of the same answered text."""
    if not earlier.answered or later.answered != earlier.answered:
        return False
    if not (later.retracts or _THINKS_AGAIN.match(later.own)):
        return False
    offered = content_words(earlier.answered)
    picked, before = later.users & offered, earlier.users & offered
    return bool(picked - before and before - picked)


def _is_alike(later: _Entry, earlier: _Entry) -> bool:
    """Return whether two memories say the same; of two outcomes, one may contain the other."""
    shared, total = len(later.words & earlier.words), len(later.words | earlier.words)
    if NapKind.OUTCOME is later.memory.kind is earlier.memory.kind:
        total = min(len(later.words), len(earlier.words))
    return shared > ALIKE * max(1, total)


def _quotes(later: _Entry, earlier: _Entry) -> bool:
    """Return whether *later* quotes all of *earlier*: the user's question that it answers."""
    text = earlier.memory.text.removesuffix(" …")
    is_of_it = set(earlier.memory.places) <= set(later.memory.places)
    return is_of_it and text in later.answered
