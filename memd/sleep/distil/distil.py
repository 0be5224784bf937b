"""What a nap remembers of a session by itself: a few whole memories, and a digest.

Pure, and a function of the messages alone: the same messages give the same memories, and
a longer session gives the same ones for what it had before, wherever they are told apart
by their *slot*.

Which of a session's candidates are kept: each thing once, the best of each stretch.

A session is cut into stretches of the same length from its beginning, and each keeps
at most so many memories. So what is kept of an earlier stretch stays the same however
long the session becomes. Pure.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain
from math import ceil
from typing import NamedTuple

from memd.domain.encoding import SentenceLogits
from memd.domain.enums import Origin
from memd.domain.sleep.consolidation import user_part
from memd.sleep.distil.compose import OwnExchange, compose_memories, turns
from memd.sleep.distil.corrected import with_corrections
from memd.sleep.distil.digest import digest
from memd.sleep.distil.environment.commands import COMMANDS_SLOT
from memd.sleep.distil.environment.environment import environment
from memd.sleep.distil.environment.given_up import gives_up
from memd.sleep.distil.environment.places import moves
from memd.sleep.distil.exchanges import Exchange, NapCandidate, NapKind, NapMemory, split_exchanges
from memd.sleep.distil.findings import LIST_SLOT, findings
from memd.sleep.distil.fixes import fixes
from memd.sleep.distil.language.outcome_signs import LIST_WORTH, outcome_worth
from memd.sleep.distil.language.replies import TAKES_BACK
from memd.sleep.distil.outcomes import RatedSentence, statements
from memd.sleep.distil.reports import SECTION_SLOTS, listed_rules, reports
from memd.sleep.distil.speech import (
    JudgedSentences,
    holds_everywhere,
    is_worth_keeping,
    sentences_to_judge,
    weigh_sentences,
    weigh_statements,
)
from memd.sleep.transcript.consolidator import CHARS_PER_TOKEN
from memd.sleep.transcript.messages import Message, text_to_store
from memd.text.languages import FUNCTION_WORDS
from memd.text.words import sentences


class ReadTurn(NamedTuple):
    """A turn and what of it a model may judge."""

    turn: OwnExchange
    sentences: list[str]
    """Those of the user."""
    statements: list[list[RatedSentence]]
    """Those of each text of the agent, rated by rule."""


class ReadSession(NamedTuple):
    """The messages of a session, read as its turns."""

    messages: Sequence[Message]
    turns: Sequence[ReadTurn]

    @classmethod
    def of(cls, messages: Sequence[Message]) -> ReadSession:
        """Read *messages*."""
        read = [
            ReadTurn(turn, sentences_to_judge(turn.fresh), statements(turn.exchange))
            for turn in turns(split_exchanges(messages))
        ]
        return cls(messages, read)

    def sentences(self) -> list[list[str]]:
        """Return those that a model may judge: of each turn the user's, then each text's."""
        return [
            each
            for turn in self.turns
            for each in (
                turn.sentences,
                *([line.text for _, line in lines] for lines in turn.statements),
            )
        ]

    def agent_places(self) -> frozenset[int]:
        """Return the places of the agent's texts among :meth:`sentences`."""
        by_agent = chain.from_iterable((False, *(True for _ in t.statements)) for t in self.turns)
        return frozenset(at for at, is_agent in enumerate(by_agent) if is_agent)


def distil(
    session: ReadSession, logits: Sequence[Sequence[SentenceLogits]] = ()
) -> tuple[NapMemory, ...]:
    """Return the memories of *session*, in the order of their messages, the digest last.

    *logits* are what a model tells of its sentences; without them the rules decide alone.

    >>> session = ReadSession.of([{"role": "user", "content": "We never push."}])
    >>> [each.kind.value for each in distil(session)]
    ['preference']
    """
    exchanges = weighed_turns(session, logits)
    candidates = find_candidates(exchanges)
    if logits:
        judged = judged_sentences(exchanges, candidates)
        candidates = [
            each._replace(
                memory=each.memory._replace(is_everywhere=holds_everywhere(each.memory, own))
            )
            for each, own in zip(candidates, judged, strict=True)
            if is_worth_keeping(each, own)
        ]
    candidates = with_corrections(exchanges, candidates)
    memories = select_candidates(candidates, session.messages)
    return (*memories, *_digest([each.exchange for each in exchanges], memories))


def weighed_turns(
    session: ReadSession, logits: Sequence[Sequence[SentenceLogits]]
) -> Sequence[OwnExchange]:
    """Return the turns of *session* with what the *logits* say of the sentences of each."""
    if not logits:
        return [each.turn for each in session.turns]
    if len(logits) != sum(1 + len(each.statements) for each in session.turns):
        raise ValueError("the logits are of other messages")
    weighed: list[OwnExchange] = []
    begin = 0
    for number, (turn, spoken, rated) in enumerate(session.turns):
        end = begin + 1 + len(rated)
        own, *texts = logits[begin:end]
        begin = end
        worths = weigh_sentences(spoken, own, number, stopped=turn.stopped)
        weighed_texts = weigh_statements(turn.exchange.texts, rated, texts)
        exchange = replace(turn.exchange, texts=weighed_texts)
        weighed.append(turn._replace(exchange=exchange, worths=worths))
    return weighed


def find_candidates(exchanges: Sequence[OwnExchange]) -> list[NapCandidate]:
    """Return everything in *exchanges* that could be remembered."""
    whole = [each.exchange for each in exchanges]
    lists = [each for each in findings(whole) if outcome_worth(each.memory.text) >= LIST_WORTH]
    beside = (
        lists,
        fixes(whole),
        environment(whole),
        reports(whole),
        listed_rules(exchanges),
    )
    return [*compose_memories(exchanges), *chain.from_iterable(beside)]


def judged_sentences(
    turns: Sequence[OwnExchange], candidates: Sequence[NapCandidate]
) -> list[JudgedSentences]:
    """Return, for each of *candidates*, the judged sentences of its turn, one of *turns*."""
    begins = [turn.exchange.place for turn in turns]
    judged = [JudgedSentences.of(turn.exchange, turn.worths) for turn in turns]
    places = (each.memory.places[0] for each in candidates)
    return [judged[max(bisect(begins, place) - 1, 0)] for place in places]


def _digest(
    split_exchanges: Sequence[Exchange], memories: Sequence[NapMemory]
) -> Iterator[NapMemory]:
    """Yield the digest of a session, nothing for one of which it would only say what was asked.

    It has the words of the user, of the agent and of memd; of what a tool printed paths alone.
    """
    if text := digest(split_exchanges, memories):
        places = (split_exchanges[0].place, split_exchanges[-1].end)
        yield NapMemory(text, NapKind.DIGEST, places, "digest", Origin.ASSISTANT)


STRETCH_TOKENS = 30_000
STRETCH_MEMORIES = 12
_STRETCH_CHARS = STRETCH_TOKENS * CHARS_PER_TOKEN
_BEGUN = 0.75
_FILLED = 5  # of a stretch, up to which what only fills is kept
ALIKE = 0.72
"""The share of words from which two memories say the same."""
_REPEATED = 0.85  # of the words of a sentence of an outcome, and how many sentences back
_REPEATED_BACK = 40
_LEFT_CHARS_MIN = 60
_OF_EARLIER = 0.6
_WORDS_MIN = 3
_BACK_MAX = 200
_TAKEN_BACK = frozenset({NapKind.DECISION, NapKind.CORRECTION, NapKind.PREFERENCE})
_UNDONE = frozenset({NapKind.DECISION, NapKind.FIX, NapKind.OUTCOME})

_WORD = re.compile(r"[^\W_][\w'-]*")


class _Entry(NamedTuple):
    """A candidate, with what each later one is compared with."""

    candidate: NapCandidate
    own: str
    """The user's part."""
    words: frozenset[str]
    users: frozenset[str]
    """Those that the user wrote."""
    takes_back: bool
    """Whether the user says in it that something is no more."""

    @classmethod
    def of(cls, candidate: NapCandidate) -> _Entry:
        text = candidate.memory.text
        own = user_part(text)
        takes_back = TAKES_BACK.search(own) is not None
        return cls(candidate, own, _content_words(text), _content_words(own), takes_back)

    @property
    def memory(self) -> NapMemory:
        return self.candidate.memory


def select_candidates(
    candidates: Sequence[NapCandidate], messages: Sequence[Message]
) -> tuple[NapMemory, ...]:
    """Return what is kept of *candidates*, those of *messages*, in the order of their places.

    What an earlier stretch has not used is room for the later ones; a session that has
    just begun has most of a stretch's.
    """
    chars = list(accumulate(len(text_to_store(message)) for message in messages))
    by_stretch: dict[int, list[NapCandidate]] = {}
    ordered = sorted(candidates, key=lambda each: each.memory.places[0])
    for candidate in _deduplicate(list(_cut_repeated(ordered))):
        stretch = chars[candidate.memory.places[0]] // _STRETCH_CHARS
        by_stretch.setdefault(stretch, []).append(candidate)
    kept: list[NapCandidate] = []
    for stretch, each in by_stretch.items():
        length = min(max(chars[-1] / _STRETCH_CHARS, _BEGUN), stretch + 1)
        used = len({_place_in_stretch(candidate) for candidate in kept if not candidate.fills})
        kept += _select_best(each, ceil(length * STRETCH_MEMORIES) - used)
    return tuple(candidate.memory for candidate in kept)


def _select_best(candidates: Sequence[NapCandidate], room: int) -> Iterator[NapCandidate]:
    """Yield the *room* best of *candidates* in their order, the earlier of equals.

    The commands, a line each, count as one. What only fills takes what the others leave of one
    stretch, and nothing from later ones.
    """
    ranked = sorted(range(len(candidates)), key=lambda at: (-candidates[at].score, at))
    best: list[int] = []
    used: set[str] = set()
    for fills, most in ((False, room), (True, min(room, _FILLED))):
        for at in ranked:
            place = _place_in_stretch(candidates[at])
            if candidates[at].fills == fills and (place in used or len(used) < most):
                used.add(place)
                best.append(at)
    yield from (candidates[at] for at in sorted(best))


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
        if memory.kind is not NapKind.OUTCOME or memory.slot.startswith(
            (LIST_SLOT, *SECTION_SLOTS)
        ):
            yield candidate
            continue
        head, _, body = memory.text.rpartition("\n")  # an error that was shown stands above
        parts = [(part, _content_words(part)) for part in sentences(body)]
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
    if _undoes(later, earlier):
        return True
    if not later.takes_back or not {later.memory.kind, earlier.memory.kind} <= _TAKEN_BACK:
        return False
    shared = len(later.users & earlier.users)
    return shared >= max(_WORDS_MIN, _OF_EARLIER * len(earlier.users))


def _undoes(later: _Entry, earlier: _Entry) -> bool:
    is_any = later.memory.kind in _TAKEN_BACK and earlier.memory.kind in _UNDONE
    return is_any and gives_up(later.own, earlier.memory.text)


def _content_words(text: str) -> frozenset[str]:
    return frozenset(map(str.casefold, _WORD.findall(text))) - FUNCTION_WORDS
