"""Which of a session's candidates are kept: each thing once, the best of each stretch.

A session is cut into stretches of the same length from its beginning, and each keeps
at most so many memories. So what is kept of an earlier stretch stays the same however
long the session becomes. Pure.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from math import ceil, inf
from typing import NamedTuple

from memd.domain.enums import Origin
from memd.domain.sleep.consolidation import ANSWER_PART, user_part, without_outcome
from memd.sleep.distil.agent.reports import SECTION_SLOTS
from memd.sleep.distil.environment.commands import COMMANDS_SLOT
from memd.sleep.distil.environment.given_up import gives_up
from memd.sleep.distil.environment.places import moves
from memd.sleep.distil.exchanges import NapCandidate, NapKind, NapMemory
from memd.sleep.distil.language.replies import TAKES_BACK
from memd.sleep.distil.language.words import content_words
from memd.sleep.distil.user.acts import ASKED, STANDING
from memd.sleep.distil.user.ended_wishes import WishEnd
from memd.sleep.transcript.consolidator import CHARS_PER_TOKEN
from memd.sleep.transcript.messages import Message, text_to_store
from memd.text.words import sentences

STRETCH_TOKENS = 30_000
STRETCH_MEMORIES, SURE_MEMORIES = 12, 24
"""So many of a stretch are kept, and so many where the user says in so many words that it lasts."""
_STRETCH_CHARS = STRETCH_TOKENS * CHARS_PER_TOKEN
_FILLED = 6  # of a stretch, up to which what only fills is kept
ALIKE = 0.72
"""The share of words from which two memories say the same."""
_REPEATED = 0.85  # of the words of a sentence of an outcome, and how many sentences back
_REPEATED_BACK = 40
_LEFT_CHARS_MIN = 60
_OF_EARLIER = 0.6
_WORDS_MIN = 3
_BACK_MAX = 200
_TAKEN_BACK = frozenset({NapKind.DECISION, NapKind.CORRECTION, NapKind.PREFERENCE})
_THINKS_AGAIN = re.compile(
    r"\W*(?:(?:oh|ok(?:ay)?|sorry|and|but)\W+)*(?:wait|hm+|on second thoughts?)\b", re.IGNORECASE
)
_UNDONE = frozenset({NapKind.DECISION, NapKind.FIX, NapKind.OUTCOME})


class _Entry(NamedTuple):
    """A candidate, with what each later one is compared with."""

    candidate: NapCandidate
    own: str
    """The user's part."""
    words: frozenset[str]
    users: frozenset[str]
    """Those that the user wrote."""
    answered: str
    """What of the agent the user answers in it."""
    takes_back: bool
    """Whether the user says in it that something is no more."""
    end: WishEnd

    @classmethod
    def of(cls, candidate: NapCandidate) -> _Entry:
        text = candidate.memory.text
        own = user_part(text)
        takes_back = TAKES_BACK.search(own) is not None
        words = content_words(text), content_words(own)
        answered = without_outcome(text).partition(ANSWER_PART)[2]
        return cls(candidate, own, *words, answered, takes_back, WishEnd.of(own))

    @property
    def memory(self) -> NapMemory:
        return self.candidate.memory


def select_candidates(
    candidates: Sequence[NapCandidate], messages: Sequence[Message]
) -> tuple[NapMemory, ...]:
    """Return what is kept of *candidates*, those of *messages*, in the order of their places.

    What an earlier stretch has not used is room for the later ones; a session that has
    just begun has a whole stretch's.
    """
    chars = list(accumulate(len(text_to_store(message)) for message in messages))
    by_stretch: dict[int, list[NapCandidate]] = {}
    ordered = sorted(candidates, key=lambda each: each.memory.places[0])
    for candidate in _deduplicate(list(_cut_repeated(ordered))):
        stretch = chars[candidate.memory.places[0]] // _STRETCH_CHARS
        by_stretch.setdefault(stretch, []).append(candidate)
    kept: list[NapCandidate] = []
    room = 0
    for stretch, each in by_stretch.items():
        length = min(max(chars[-1] / _STRETCH_CHARS, 1.0), stretch + 1)
        places = {_place_in_stretch(candidate) for candidate in kept if not candidate.fills}
        used = min(len(places), room)  # what has more room takes none from later stretches
        room = ceil(length * STRETCH_MEMORIES)
        kept += _select_best(each, room - used)
    return tuple(candidate.memory for candidate in kept)


def _select_best(candidates: Sequence[NapCandidate], room: int) -> Iterator[NapCandidate]:
    """Yield the *room* best of *candidates* in their order, the earlier of equals.

    What the user says for sure has more room, and what they ask to remember is kept whatever the
    room. The commands, a line each, count as one. What only fills takes what the others leave of
    one stretch, and nothing from later ones.
    """
    ranked = sorted(range(len(candidates)), key=lambda at: (-candidates[at].score, at))
    best: list[int] = []
    used: set[str] = set()
    for fills, most in ((False, room), (True, min(room, _FILLED))):
        for at in ranked:
            place = _place_in_stretch(candidates[at])
            has_room = place in used or len(used) < most + _more_room(candidates[at])
            if candidates[at].fills == fills and has_room:
                used.add(place)
                best.append(at)
    yield from (candidates[at] for at in sorted(best))


def _more_room(candidate: NapCandidate) -> float:
    """Return for how many memories beyond those of its stretch there is room for *candidate*."""
    if candidate.score >= ASKED:
        return inf
    is_sure = candidate.score >= STANDING and candidate.memory.origin is Origin.PERSON
    return SURE_MEMORIES - STRETCH_MEMORIES if is_sure else 0


def _place_in_stretch(candidate: NapCandidate) -> str:
    slot = candidate.memory.slot
    return COMMANDS_SLOT if slot.startswith(COMMANDS_SLOT) else slot


def _cut_repeated(candidates: Sequence[NapCandidate]) -> Iterator[NapCandidate]:
    """Yield *candidates*, an outcome without the sentences that outcomes shortly before it have.

    An agent tells the same cause again with each attempt. Of what then says next to nothing
    nothing is left.
    """
    lately: deque[frozenset[str]] = deque(maxlen=_REPEATED_BACK)
    for candidate in candidates:
        memory = candidate.memory
        if memory.kind is not NapKind.OUTCOME or memory.slot.startswith(SECTION_SLOTS):
            yield candidate
            continue
        head, _, body = memory.text.rpartition("\n")  # an error that was shown stands above
        parts = [(part, content_words(part)) for part in sentences(body)]
        left = [part for part, words in parts if not _is_repeated(words, lately)]
        lately.extend(words for _, words in parts)
        if len(left) == len(parts):
            yield candidate
        elif len(short := " ".join(left)) >= _LEFT_CHARS_MIN:
            text = f"{head}\n{short}" if head else short
            yield candidate._replace(memory=memory._replace(text=text))


def _is_repeated(words: frozenset[str], lately: Iterable[frozenset[str]]) -> bool:
    """Return whether nearly all *words* of a sentence, but its numbers, are in one said before."""
    mine = {word for word in words if not word.isdigit()}
    return len(mine) > _WORDS_MIN and any(
        len(mine & its) >= _REPEATED * len(mine) for its in lately
    )


def _deduplicate(candidates: Sequence[NapCandidate]) -> list[NapCandidate]:
    """Return *candidates* without those that say it again, or that a later one takes back.

    The later one then has the earlier one's slot, and so its place in the store.
    """
    settled: list[_Entry] = []
    for candidate in candidates:
        mine = _Entry.of(candidate)
        lately = range(max(0, len(settled) - _BACK_MAX), len(settled))
        back = [at for at in lately if _takes_back(mine, settled[at])]
        alike = [at for at in lately if _is_alike(mine, settled[at])]
        if alike and not back and not _outranks(candidate.memory, settled[alike[0]].memory):
            continue
        replaced = [at for at in back if _undoes(mine, settled[at])] or (back or alike)[:1]
        if replaced:
            memory = candidate.memory._replace(slot=settled[replaced[0]].memory.slot)
            mine = mine._replace(candidate=candidate._replace(memory=memory))
        settled = [each for at, each in enumerate(settled) if at not in replaced]
        settled.append(mine)
    return [each.candidate for each in settled]


def _outranks(later: NapMemory, earlier: NapMemory) -> bool:
    """Return whether *later* is the user's word where *earlier* was the agent's, or says more."""
    if NapKind.OUTCOME is later.kind is earlier.kind:
        return len(later.text) > len(earlier.text)
    if NapKind.OUTCOME is earlier.kind and later.kind in _TAKEN_BACK:
        return True
    return later.origin is Origin.PERSON and earlier.origin is not Origin.PERSON


def _is_alike(one: _Entry, other: _Entry) -> bool:
    """Return whether two memories say the same; of two outcomes one may say more."""
    shared, both = len(one.words & other.words), len(one.words | other.words)
    if NapKind.OUTCOME is one.memory.kind is other.memory.kind:
        both = min(len(one.words), len(other.words))
    return shared > ALIKE * max(1, both)


def _takes_back(later: _Entry, earlier: _Entry) -> bool:
    """Return whether the user says of what *earlier* says that it is no more."""
    if later.memory.origin is Origin.PERSON and moves(later.own, earlier.own):
        return True
    if _undoes(later, earlier) or later.end.ends(earlier.own) or _chooses_anew(later, earlier):
        return True
    if not later.takes_back or not {later.memory.kind, earlier.memory.kind} <= _TAKEN_BACK:
        return False
    shared = len(later.users & earlier.users)
    return shared >= max(_WORDS_MIN, _OF_EARLIER * len(earlier.users))


def _chooses_anew(later: _Entry, earlier: _Entry) -> bool:
    """Return whether the user thinks again, and picks another of the same things of the agent."""
    if not earlier.answered or later.answered != earlier.answered:
        return False
    if not (later.takes_back or _THINKS_AGAIN.match(later.own)):
        return False
    offered = content_words(earlier.answered)
    picked, before = later.users & offered, earlier.users & offered
    return bool(picked - before and before - picked)


def _undoes(later: _Entry, earlier: _Entry) -> bool:
    is_any = later.memory.kind in _TAKEN_BACK and earlier.memory.kind in _UNDONE
    return is_any and gives_up(later.own, earlier.memory.text)
