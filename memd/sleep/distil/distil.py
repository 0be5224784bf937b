"""What a nap remembers of a session by itself: a few whole memories, and a digest.

Pure, and a function of the messages alone: the same messages give the same memories, and
a longer session gives the same ones for what it had before, wherever they are told apart
by their *slot*.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from memd.domain.encoding import SentenceLogits
from memd.domain.enums import Origin
from memd.sleep.distil.agent.fixes import fixes
from memd.sleep.distil.agent.outcomes import RatedSentence, statements, tellable_sentences
from memd.sleep.distil.agent.reports import listed_rules, reports
from memd.sleep.distil.compose import OwnExchange, compose_memories, turns
from memd.sleep.distil.digest import digest
from memd.sleep.distil.environment.environment import environment
from memd.sleep.distil.exchanges import Exchange, NapCandidate, NapKind, NapMemory, split_exchanges
from memd.sleep.distil.language.moment import spoken_form
from memd.sleep.distil.language.prose import sentences, things
from memd.sleep.distil.language.words import words
from memd.sleep.distil.memory_worth import JudgedSentences, holds_everywhere, is_worth_keeping
from memd.sleep.distil.select import select_candidates
from memd.sleep.distil.speech import (
    sentences_to_judge,
    weigh_sentences,
    weigh_statements,
    without_last_stop,
)
from memd.sleep.distil.user.acts import judge_sentence
from memd.sleep.distil.user.corrected import with_corrections
from memd.sleep.transcript.messages import Message

_READ_ONCE = (judge_sentence, sentences, spoken_form, tellable_sentences, things, words)
"""What keeps what it read of a text, as several ask for it; until the nap is over."""


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
        """Return those that a model may judge: of each turn the user's, then each text's.

        A full stop at the end of a message tells nothing, and one in two has none.
        """
        return [
            each
            for turn in self.turns
            for each in (
                without_last_stop(turn.sentences),
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
    try:
        return _distil(session, logits)
    finally:
        for reader in _READ_ONCE:
            reader.cache_clear()


def _distil(
    session: ReadSession, logits: Sequence[Sequence[SentenceLogits]]
) -> tuple[NapMemory, ...]:
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
    beside = (
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


def whole_digest(messages: Sequence[Message]) -> str:
    """Return the digest of *messages* by rule, with those that memories would have."""
    return digest([each.turn.exchange for each in ReadSession.of(messages).turns])


def _digest(
    split_exchanges: Sequence[Exchange], memories: Sequence[NapMemory]
) -> Iterator[NapMemory]:
    """Yield the digest of a session, nothing for one of which it would only say what was asked.

    It has the words of the user, of the agent and of memd; of what a tool printed paths alone.
    """
    if text := digest(split_exchanges, memories):
        places = (split_exchanges[0].place, split_exchanges[-1].end)
        yield NapMemory(text, NapKind.DIGEST, places, "digest", Origin.ASSISTANT)
