"""Distil the messages of a session into memories and a digest.

Steps: split the messages into exchanges, collect candidates, drop those that a model finds not
worth keeping, select the best, and append the digest. Pure: the same messages give the same
memories, and a longer session keeps the slots of those of its beginning.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from memd.domain.encoding import SentenceLogits
from memd.domain.enums import Origin
from memd.guard.forget_requests import is_forget_request
from memd.sleep.distil.agent.changes import with_changes
from memd.sleep.distil.agent.fixes import fixes
from memd.sleep.distil.agent.outcomes import (
    RatedSentence,
    shows_trouble,
    statements,
    tellable_sentences,
)
from memd.sleep.distil.agent.reports import listed_rules, reports
from memd.sleep.distil.compose import UserTurn, compose_memories, turns
from memd.sleep.distil.digest import digest
from memd.sleep.distil.environment.environment import environment
from memd.sleep.distil.exchanges import Exchange, NapCandidate, NapKind, NapMemory, split_exchanges
from memd.sleep.distil.language.current_moment import spoken_form
from memd.sleep.distil.language.phrases import GUESS
from memd.sleep.distil.language.prose import sentences, things
from memd.sleep.distil.language.words import words
from memd.sleep.distil.memory_worth import JudgedSentences, holds_everywhere, is_worth_keeping
from memd.sleep.distil.select import select_candidates
from memd.sleep.distil.sentence_worth import (
    sentences_to_judge,
    weigh_sentences,
    weigh_statements,
    without_last_stop,
)
from memd.sleep.distil.user.corrections import with_corrections
from memd.sleep.distil.user.speech_acts import STANDING, judge_sentence
from memd.sleep.transcript.messages import Message

_CACHED = (judge_sentence, sentences, spoken_form, tellable_sentences, things, words)
"""Functions that cache their result, because several modules read the same text.

Their caches are cleared after each session, so that they keep no text of it.
"""


class TurnSentences(NamedTuple):
    """A turn, and its sentences that a model may judge."""

    turn: UserTurn
    sentences: list[str]
    """The user's sentences."""
    statements: list[list[RatedSentence]]
    """The sentences of each text of the agent, scored by rule."""


class SessionTurns(NamedTuple):
    """The messages of a session, and its turns."""

    messages: Sequence[Message]
    turns: Sequence[TurnSentences]

    @classmethod
    def of(cls, messages: Sequence[Message]) -> SessionTurns:
        """Split *messages* into turns."""
        read = [
            TurnSentences(turn, sentences_to_judge(turn.fresh), statements(turn.exchange))
            for turn in turns(split_exchanges(messages))
        ]
        return cls(messages, read)

    def sentences(self) -> list[list[str]]:
        """Return the sentences that a model may judge: of each turn the user's, then each text's.

        The full stop at the end of a message is dropped: half of the messages have none, so it
        must not change the result.
        """
        return [
            texts
            for turn in self.turns
            for texts in (
                without_last_stop(turn.sentences),
                *([line.text for _, line in lines] for lines in turn.statements),
            )
        ]

    def agent_places(self) -> frozenset[int]:
        """Return the indexes of the agent's texts among :meth:`sentences`."""
        by_agent = chain.from_iterable(
            (False, *(True for _ in turn.statements)) for turn in self.turns
        )
        return frozenset(at for at, is_agent in enumerate(by_agent) if is_agent)


def distil(
    session: SessionTurns,
    logits: Sequence[Sequence[SentenceLogits]] = (),
    additions: frozenset[int] = frozenset(),
) -> tuple[NapMemory, ...]:
    """Return the memories of *session*, in the order of their messages, the digest last.

    *logits* are a model's output for ``session.sentences()``, in the same order; without them the
    rules decide alone. *additions* are the places of messages to keep, because they add to memories
    of other sessions. Raises ValueError for logits of other messages.

    >>> session = SessionTurns.of([{"role": "user", "content": "We never push."}])
    >>> [memory.kind.value for memory in distil(session)]
    ['preference']
    """
    try:
        return _distil(session, logits, additions)
    finally:
        for cached in _CACHED:
            cached.cache_clear()


def _distil(
    session: SessionTurns,
    logits: Sequence[Sequence[SentenceLogits]],
    additions: frozenset[int],
) -> tuple[NapMemory, ...]:
    exchanges = weigh_turns(session, logits)
    candidates = find_candidates(exchanges)
    if logits:
        judged = judged_sentences(exchanges, candidates)
        candidates = [
            candidate._replace(
                memory=candidate.memory._replace(
                    is_everywhere=holds_everywhere(candidate.memory, own)
                )
            )
            for candidate, own in zip(candidates, judged, strict=True)
            if is_worth_keeping(candidate, own)
        ]
    candidates = with_corrections(exchanges, candidates)
    candidates += [_addition(turn) for turn in exchanges if turn.exchange.place in additions]
    memories = with_changes(exchanges, select_candidates(candidates, session.messages))
    return (*memories, *_digest([turn.exchange for turn in exchanges], memories))


def _addition(turn: UserTurn) -> NapCandidate:
    """Return the memory of the user's words, which add to one of another session."""
    places = (turn.exchange.place,)
    memory = NapMemory(turn.own, NapKind.ENVIRONMENT, places, turn.slot, Origin.PERSON)
    return NapCandidate(memory, STANDING)


def weigh_turns(
    session: SessionTurns, logits: Sequence[Sequence[SentenceLogits]]
) -> Sequence[UserTurn]:
    """Return the turns of *session* with the worth of each sentence by the *logits*, if any."""
    if not logits:
        return [read.turn for read in session.turns]
    if len(logits) != sum(1 + len(read.statements) for read in session.turns):
        raise ValueError("the logits are of other messages")
    weighed: list[UserTurn] = []
    begin, has_trouble = 0, False
    for number, (turn, spoken, rated) in enumerate(session.turns):
        end = begin + 1 + len(rated)
        own, *texts = logits[begin:end]
        begin = end
        worths = weigh_sentences(spoken, own, number, stopped=turn.stopped)
        has_trouble = has_trouble or shows_trouble(turn.exchange)
        has_guess = GUESS.search(turn.own) is not None
        weighed_texts = weigh_statements(
            turn.exchange.texts, rated, texts, has_trouble=has_trouble, has_guess=has_guess
        )
        exchange = replace(turn.exchange, texts=weighed_texts)
        weighed.append(turn._replace(exchange=exchange, worths=worths))
    return weighed


def find_candidates(exchanges: Sequence[UserTurn]) -> list[NapCandidate]:
    """Return all candidates for memories in *exchanges*."""
    whole = [turn.exchange for turn in exchanges]
    return [
        *compose_memories(exchanges),
        *fixes(whole),
        *environment(whole),
        *reports(whole),
        *listed_rules(exchanges),
    ]


def judged_sentences(
    turns: Sequence[UserTurn], candidates: Sequence[NapCandidate]
) -> list[JudgedSentences]:
    """Return, for each of *candidates*, the judged sentences of the turn that it begins in."""
    begins = [turn.exchange.place for turn in turns]
    judged = [JudgedSentences.of(turn.exchange, turn.worths) for turn in turns]
    places = (candidate.memory.places[0] for candidate in candidates)
    return [judged[max(bisect(begins, place) - 1, 0)] for place in places]


def digest_messages(messages: Sequence[Message]) -> str:
    """Return the digest of *messages* by rule, including messages that become memories."""
    exchanges = [read.turn.exchange for read in SessionTurns.of(messages).turns]
    return digest([each for each in exchanges if not is_forget_request(each.user)])


def _digest(exchanges: Sequence[Exchange], memories: Sequence[NapMemory]) -> Iterator[NapMemory]:
    """Yield the digest of a session, nothing if it would only repeat the requests.

    A request to forget is not in it. It has words of the user, the agent and memd, but of the
    output of tools only paths. So its origin is the assistant.
    """
    if text := digest([each for each in exchanges if not is_forget_request(each.user)], memories):
        places = (exchanges[0].place, exchanges[-1].end)
        yield NapMemory(text, NapKind.DIGEST, places, "digest", Origin.ASSISTANT)
