"""How much a sentence and a memory are worth remembering, by rule and by how they are said.

The rules (``acts`` for the user, ``outcomes`` for the agent) know words; the encoder knows the
manner: a rule of how the work is done is told from an order of the minute, a finding from a plan,
even where no word gives it away. Its numbers, added to signs that only a nap knows, lift what the
rules do not see, and drop what one of their words let through (docs/decisions/0282, 0283). What is
composed of sentences is weighed once more as a whole (0284). Without a model the rules decide
alone. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, log1p
from statistics import fmean
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from memd.domain.encoding import SentenceLogits
from memd.domain.enums import Origin
from memd.domain.sleep.consolidation import ANSWER_PART, OUTCOME_PART
from memd.embedding.sentence_head import sentence_head
from memd.sleep.distil.acts import STANDING, WORTH, Act, Judgement, judge_sentence
from memd.sleep.distil.agent.findings import LIST_SLOT
from memd.sleep.distil.agent.outcomes import TOLD_WORTH, RatedSentence
from memd.sleep.distil.environment.commands import COMMANDS_SLOT, ENVIRONMENT_SLOT
from memd.sleep.distil.environment.places import states_place
from memd.sleep.distil.exchanges import (
    PLAN_SLOT,
    AgentText,
    Exchange,
    NapCandidate,
    NapKind,
    NapMemory,
)
from memd.sleep.distil.language import phrases, prose
from memd.sleep.distil.language.outcome_signs import outcome_worth
from memd.sleep.distil.language.replies import is_denial
from memd.sleep.distil.language.words import Words, letters
from memd.text.languages import is_foreign
from memd.text.preference import is_of_project
from memd.text.words import sentences

T = TypeVar("T")

SENTENCES_MAX = 60
"""So many of a message are judged by the model; who writes more pastes."""
LIFTED = 1.0
"""The log-odds from which a sentence is worth it that the rules leave out."""
PLAIN_KEPT, WISH_KEPT = 1.1, 0.75
"""Those of stating plainly what lasts, and of being a wish, from which it is kept for sure."""
SHORT_CHARS, SHORT_LIFT = 40, 0.05
"""Each character fewer than so many adds so much to the log-odds of a plain statement. Few short
sentences are plain, so the fit doubts all of them; those that sound plain mostly are (0308)."""
ANSWER_TOLD = 0.8
"""Those of plainly telling what is worth it, from which a sentence of an agent's answer is told."""
ANSWER_DROPPED = -1.5
"""Those below which words that answer something are none by themselves."""
_DROPPED = -0.5
"""Those of worth below which one is not worth it that the rules keep, if it is one of these acts.
The rules know a correction better: its manner is that of a complaint. And a wish: a person who said
"always" must not say it again, however short it was."""
_DOUBTED = frozenset({Act.DECISION, Act.CONSTRAINT, Act.TASK, Act.ENVIRONMENT})
_ASKED = frozenset({Act.REQUEST, Act.QUESTION})
_KINDS = (Act.PREFERENCE, Act.CONSTRAINT, Act.DECISION, Act.CORRECTION, Act.ENVIRONMENT)
_SCORE_MAX = 0.85
_SILENT = 0.1  # what scores no more says nothing, or too few words
_RATED_MIN, _RATED_MAX = -1.0, 3.0  # of a rule's score as a sign
_DROPPED_SCORE = 0.3
AGENT_MEMORY_WORTH, USER_MEMORY_WORTH = 0.0, -0.25
"""The log-odds from which a memory of the agent's words, and of the user's, is worth keeping."""
EVERYWHERE: Mapping[NapKind, float] = MappingProxyType(
    {NapKind.PREFERENCE: 1.0, NapKind.ENVIRONMENT: 2.0}
)
"""The log-odds from which a memory is told in other projects, too (docs/decisions/0323)."""
_EVERYWHERE_CHARS = 200
_PRIVATE = re.compile(
    r"\b(?:doctors?|physician|hospital|clinic|surgery|therap(?:y|ist)|diagnos\w+|pregnan\w+|medicines?"
    r"|medication|allerg\w+|insulin|antidepressants?|epilep\w+|hiv|psychiatr\w+|psycholog\w+"
    r"|i earn|owe|tablets?|pills?|drops|blood|depress(?:ed|ion)|cancer|diabet\w+|salary|debts?"
    r"|divorce\w*)\b",
    re.IGNORECASE,
)
"""Whoever is told so in one project need not tell it in all. How somebody reads and writes ("I'm
colour blind") is of use in each."""
_SENTENCE_MAX = 3.0  # of the worth of a sentence as a sign of its memory
_WISHES = frozenset({NapKind.PREFERENCE, NapKind.CONSTRAINT})
_PLAIN_WISH = 0.65  # the score of two signs
# From which scores of the rules and log-odds of the model on a decision or correction is plain.
_PLAIN = ((WORTH, 2.0), (0.65, LIFTED), (0.75, 0.0), (STANDING, -inf))
_ENDING_CHARS = 300


class SentenceWorth(NamedTuple):
    """The log-odds that a sentence is *worth* remembering, and what it does if it is.

    *plain* are those that it plainly states what lasts, *wish* those that it says how somebody
    wants the work done from now on, *everywhere* those that a wish holds in whatever project.
    """

    worth: float
    act: Act
    plain: float
    wish: float
    everywhere: float


def sentences_to_judge(own: Words) -> list[str]:
    """Return the sentences of a message that are judged, none of what a program wrote."""
    paragraphs = () if own.is_brief else own.paragraphs
    lines = [line for paragraph in paragraphs for line in paragraph.split("\n")]
    return [sentence for line in lines for sentence in sentences(line)][:SENTENCES_MAX]


def weigh_sentences(
    texts: Sequence[str], logits: Sequence[SentenceLogits], turn: int, *, stopped: bool
) -> dict[str, SentenceWorth]:
    """Return the worth of the sentences of the message number *turn*, by their texts.

    *logits* are what the model told of each. What is not English it does not know.
    """
    worths: dict[str, SentenceWorth] = {}
    head = sentence_head()
    for at, (text, row) in enumerate(zip(texts, logits, strict=True)):
        if is_foreign(text):
            continue
        total = [row.worth, *row.kinds, row.plain, row.wish]
        own = list(signs(text, judge_sentence(text, stopped=stopped), at, len(texts), turn))
        for name, value in own:
            weights = (*head.signs[name], *head.written_signs[name])
            total = [sum_ + value * each for sum_, each in zip(total, weights, strict=True)]
        worth, *kinds, plain, wish = total
        plain += SHORT_LIFT * max(0, SHORT_CHARS - len(text))
        best = max(range(len(kinds)), key=kinds.__getitem__)
        worths[text] = SentenceWorth(worth, _KINDS[best], plain, wish, row.everywhere)
    return worths


def signs(
    text: str, judged: Judgement, at: int, count: int, turn: int
) -> Iterator[tuple[str, float]]:
    """Yield the signs of sentence number *at* of *count*, by name: its act, its place."""
    yield "bias", 1.0
    yield judged.act.value, 1.0
    yield "kept", float(judged.score >= WORTH)
    yield "first", float(at == 0)
    yield "last", float(at == count - 1)
    yield "sentences", log1p(count)
    yield "turn", log1p(turn)
    yield "chars", log1p(len(text))


def may_be_plain(judged: Judgement) -> bool:
    """Return whether what a sentence does by rule leaves it open that it states what lasts."""
    is_asked_or_agreed = judged.act in {Act.QUESTION, Act.APPROVAL}
    return _SILENT < judged.score < STANDING and not is_asked_or_agreed


def weigh(text: str, judged: Judgement, worths: Mapping[str, SentenceWorth]) -> Judgement:
    """Return what a line or sentence does by rule (*judged*) and by the worth of its sentences.

    Where a named thing is counts whatever either tells, unless something else is asked beside it;
    then what the model takes for a wish, whatever the rules say.
    """
    is_open = judged.score < STANDING and judged.act not in _ASKED
    if is_open and states_place(text):
        corrects = judged.act is Act.CORRECTION
        return Judgement(Act.CORRECTION if corrects else Act.ENVIRONMENT, STANDING)
    known = [worths[sentence] for sentence in sentences(text) if sentence in worths]
    if not known:
        return judged
    best = max(known)
    plain, wish = max(each.plain for each in known), max(each.wish for each in known)
    if judged.score < STANDING and wish >= WISH_KEPT:
        is_told = best.act is Act.ENVIRONMENT and plain > wish  # "My blood type is O negative"
        return Judgement(Act.ENVIRONMENT if is_told else Act.PREFERENCE, STANDING)
    if plain >= PLAIN_KEPT and may_be_plain(judged):
        return Judgement(_plain_act(judged, best), STANDING)
    if judged.score < WORTH:
        score = min(WORTH + best.worth / 10, _SCORE_MAX)
        return Judgement(best.act, score, by_model=True) if best.worth >= LIFTED else judged
    is_worth_it = judged.act not in _DOUBTED or judged.score >= STANDING or best.worth >= _DROPPED
    return judged if is_worth_it else Judgement(Act.REQUEST, _DROPPED_SCORE)


def _plain_act(judged: Judgement, best: SentenceWorth) -> Act:
    """Return what a plain statement does: by rule, or as the model has it.

    It corrects nothing, and is no wish that the model does not take for one.
    """
    if judged.score >= WORTH and judged.act is not Act.TASK:
        return judged.act
    is_no_wish = best.act is Act.PREFERENCE and best.wish < WISH_KEPT
    return Act.ENVIRONMENT if is_no_wish or best.act is Act.CORRECTION else best.act


def answers_nothing(worths: Mapping[str, SentenceWorth]) -> bool:
    """Return whether a message that answers something by its own words says nothing with them."""
    return bool(worths) and max(worths.values()).worth < ANSWER_DROPPED


def weigh_statements(
    texts: Sequence[AgentText],
    rated: Sequence[Sequence[RatedSentence]],
    logits: Sequence[Sequence[SentenceLogits]],
) -> list[AgentText]:
    """Return the *texts* of an exchange with the worths of the *rated* sentences of each.

    *logits* are what the model told of these. Of an answer it also knows what is plainly told: that
    is the last text, unless it announces the next step.
    """
    head = sentence_head()
    answer_at = len(texts) - 1 if texts and not _announces(texts[-1].text) else None
    last = max((at for at, lines in enumerate(rated) if lines), default=0)
    weighed: list[AgentText] = []
    for at, (text, lines, rows) in enumerate(zip(texts, rated, logits, strict=True)):
        worths, in_memory, plain = {}, {}, set()
        for number, ((score, line), row) in enumerate(zip(lines, rows, strict=True)):
            own = dict(statement_signs(score, line.text, number, len(lines), is_last=at == last))
            worth = row.statement + _weigh(head.statement_signs, own.items())
            answer = row.answer + _weigh(head.answer_signs, own.items())
            if at == answer_at and answer >= ANSWER_TOLD and not is_foreign(line.text):
                worth = max(worth, TOLD_WORTH + answer - ANSWER_TOLD)
                plain.add(line.text)
            worths[line.text], in_memory[line.text] = worth, row.in_memory
        weighed.append(text._replace(worths=worths, in_memory=in_memory, plain=frozenset(plain)))
    return weighed


def _announces(text: str) -> bool:
    """Return whether *text* ends by saying what the agent does next."""
    last = prose.sentences(text[-_ENDING_CHARS:])[-1:]
    return any(phrases.ANNOUNCES.match(each.text) for each in last)


def statement_signs(
    score: float, text: str, at: int, count: int, *, is_last: bool
) -> Iterator[tuple[str, float]]:
    """Yield the signs of sentence number *at* of *count* that are judged of a text, by name.

    *score* is that of the rules, *is_last* says that no later text of the exchange is judged.
    """
    yield "bias", 1.0
    yield "score", min(max(score, _RATED_MIN), _RATED_MAX)
    yield "place", log1p(at)
    yield "sentences", log1p(count)
    yield "chars", log1p(len(text))
    yield "last text", float(is_last)


class JudgedSentences(NamedTuple):
    """The sentences of a turn that a model judged, by their letters."""

    users: Mapping[str, SentenceWorth]
    agents: Mapping[str, tuple[float, float]]
    """The same, and what each adds to the worth of its memory."""
    plain: frozenset[str] = frozenset()
    """Those of the agent that plainly tell what is worth it."""

    @classmethod
    def of(cls, exchange: Exchange, worths: Mapping[str, SentenceWorth]) -> JudgedSentences:
        """Return those of *exchange*; *worths* are the ones of the user's sentences."""
        return cls(
            {letters(text): worth for text, worth in worths.items()},
            {
                letters(sentence): (worth, text.in_memory[sentence])
                for text in exchange.texts
                for sentence, worth in text.worths.items()
            },
            frozenset(letters(each) for text in exchange.texts for each in text.plain),
        )


def is_worth_keeping(candidate: NapCandidate, judged: JudgedSentences) -> bool:
    """Return whether a memory composed of *judged* sentences is worth keeping.

    Always are commands, the user's words with what came of them, and what they say plainly.
    """
    memory, head = candidate.memory, sentence_head()
    if is_always_kept(memory):
        return True
    if is_by_agent(memory):
        text = letters(memory.text)
        if any(each in text for each in judged.plain):
            return True
        of_agent = agent_memory_signs(memory, judged)
        return _weigh(head.agent_memory_signs, of_agent) >= AGENT_MEMORY_WORTH
    if is_foreign(memory.text):
        return True
    of_user = dict(user_memory_signs(candidate, judged))
    is_plain = _is_plain(candidate, of_user["best"])
    return is_plain or _weigh(head.user_memory_signs, of_user.items()) >= USER_MEMORY_WORTH


def _weigh(weights: Mapping[str, float], signs: Iterable[tuple[str, float]]) -> float:
    return sum(weights[name] * value for name, value in signs)


def is_always_kept(memory: NapMemory) -> bool:
    """Return whether *memory* is kept whatever a model tells of its sentences."""
    return OUTCOME_PART in memory.text or memory.slot.startswith(COMMANDS_SLOT)


def _is_plain(candidate: NapCandidate, best: float) -> bool:
    """Return whether the user's words say plainly what they wish, decide or correct.

    That they wish it two signs of the rules say; the rest the rules and the model together, which
    found its sentences worth *best* at most, of what stands alone. "No, it is 5433" is plain with
    what it denies, or where the model says so.
    """
    memory, score = candidate.memory, candidate.score
    own, is_answer, _ = memory.text.partition(ANSWER_PART)
    if is_denial(own.removeprefix("User: ")) and (is_answer or best >= LIFTED):
        return True
    if candidate.by_model:
        return False
    if memory.kind in _WISHES:
        return score >= _PLAIN_WISH
    if is_answer:
        return score >= STANDING
    return not memory.slot.endswith(PLAN_SLOT) and any(
        score >= by_rule and best >= worth for by_rule, worth in _PLAIN
    )


def is_by_agent(memory: NapMemory) -> bool:
    """Return whether *memory* has no words of the user, but the agent's or a tool's."""
    is_own = memory.kind in {NapKind.OUTCOME, NapKind.FIX}
    return is_own or memory.slot.startswith(ENVIRONMENT_SLOT)


def agent_memory_signs(memory: NapMemory, judged: JudgedSentences) -> Iterator[tuple[str, float]]:
    """Yield the signs of a memory in the words of the agent or of a tool, by name."""
    known = _find(memory.text, judged.agents)
    yield "bias", 1.0
    yield "list", float(memory.slot.startswith(LIST_SLOT))
    yield "environment", float(memory.slot.startswith(ENVIRONMENT_SLOT))
    yield "best", _clip([worth for worth, _ in known])
    yield "not judged", float(memory.kind is NapKind.OUTCOME and not known)
    yield "by rule", outcome_worth(memory.text)
    yield "cause", float(phrases.CAUSE.search(memory.text) is not None)
    yield "chars", log1p(len(memory.text))
    yield "sentences", sum(added for _, added in known) / max(len(known), 1)


def user_memory_signs(
    candidate: NapCandidate, judged: JudgedSentences
) -> Iterator[tuple[str, float]]:
    """Yield the signs of a memory in the user's words of which nothing is told that came of it."""
    own, _, answered = candidate.memory.text.partition(ANSWER_PART)
    yield "bias", 1.0
    yield "score", candidate.score
    known = _find(own.removeprefix("User: "), judged.users)
    yield "best", _clip([each.worth for each in known])
    yield "question", float("?" in own)
    yield "plan", float(candidate.memory.slot.endswith(PLAN_SLOT))
    yield "answer", float(bool(answered))
    yield "chars", log1p(len(own))


def holds_everywhere(memory: NapMemory, judged: JudgedSentences) -> bool:
    """Return whether *memory* is a wish of the user, or of them, and holds in whatever project.

    Of a wish its sentences that are wishes decide, all together. A long message tells more than
    that, and what speaks of "this repo", or of somebody's health or money, holds there alone.
    """
    bar = EVERYWHERE.get(memory.kind)
    if bar is None or memory.origin is not Origin.PERSON:
        return False
    if len(memory.text) > _EVERYWHERE_CHARS or is_of_project(memory.text):
        return False
    if memory.kind is NapKind.ENVIRONMENT and _PRIVATE.search(memory.text):
        return False
    known = _find(memory.text, judged.users)
    if memory.kind is NapKind.PREFERENCE and known:
        wishes = [each for each in known if each.wish >= WISH_KEPT]
        known = wishes or [max(known, key=lambda each: each.wish)]
    return bool(known) and fmean(each.everywhere for each in known) >= bar


def _clip(worths: Sequence[float]) -> float:
    """Return the greatest of some worths as a sign, 0 where there is none."""
    return min(max(max(worths, default=0.0), -_SENTENCE_MAX), _SENTENCE_MAX)


def _find(text: str, judged: Mapping[str, T]) -> list[T]:
    """Return what was told of those sentences of *text* that were judged."""
    parts = (letters(each) for line in text.split("\n") for each in sentences(line))
    return [judged[letters] for letters in parts if letters in judged]
