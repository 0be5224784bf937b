"""Decide whether a composed memory is worth keeping, and whether it holds in every project. Pure.

A memory that is composed of sentences is judged as a whole (docs/decisions/0284), by the score of
the rules and the model's results for its sentences (``sentence_worth``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf, log1p
from statistics import fmean
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from memd.domain.enums import Origin
from memd.domain.sleep.consolidation import ANSWER_PART, OUTCOME_PART
from memd.embedding.sentence_head import sentence_head
from memd.sleep.distil.agent.fixes import CURED
from memd.sleep.distil.agent.reports import PAGE_SLOT
from memd.sleep.distil.environment.commands import COMMANDS_SLOT, ENVIRONMENT_SLOT
from memd.sleep.distil.exchanges import PLAN_SLOT, Exchange, NapCandidate, NapKind, NapMemory
from memd.sleep.distil.language import phrases
from memd.sleep.distil.language.open_work import defers
from memd.sleep.distil.language.replies import is_denial
from memd.sleep.distil.language.words import letters
from memd.sleep.distil.sentence_worth import LIFTED, WISH_KEPT, SentenceWorth, weigh_signs
from memd.sleep.distil.user.settled_values import changes_number
from memd.sleep.distil.user.speech_acts import STANDING, WORTH
from memd.text.alternations import Phrases
from memd.text.harms import states_health_risk
from memd.text.languages import is_foreign
from memd.text.preference import is_of_project
from memd.text.words import sentences

T = TypeVar("T")

AGENT_MEMORY_WORTH, USER_MEMORY_WORTH = 0.0, -0.25
"""The least log-odds of a memory worth keeping: one of the agent's words, one of the user's."""
EVERYWHERE: Mapping[NapKind, float] = MappingProxyType(
    {NapKind.PREFERENCE: 1.0, NapKind.ENVIRONMENT: 2.0}
)
"""The least log-odds of a memory that holds in every project, by kind (docs/decisions/0323)."""
_EVERYWHERE_CHARS = 200  # a longer memory also tells of its project
_NO_WISH = -2.5  # with lower log-odds only its words resemble a wish: "I'm eating fish, no meat"
_PRIVATE = Phrases(
    r"\b(?:doctors?|physician|hospital|clinic|surgery|therap(?:y|ist)|diagnos\w+|pregnan\w+"
    r"|medicines?"
    r"|medication|allerg\w+|insulin|antidepressants?|epilep\w+|hiv|psychiatr\w+|psycholog\w+"
    r"|i earn|owe|tablets?|pills?|drops|blood|depress(?:ed|ion)|cancer|diabet\w+|salary|debts?"
    r"|divorce\w*|vegetarians?|vegans?|diets?|i eat|i don'?t eat)\b"
)
"""Health, food and money: mentioned in one project, they stay there. How the user reads and writes
("I'm colour blind") is useful in each."""
# Names that belong to one project: a macro, a file, a path, an address.
_NAMES_HERE = Phrases(
    r"\\[a-z]{2,}|(?<![\w/])(?:~|\.{1,2})?/\w[\w./-]+|\b\w+/\w+/\w+|https?://"
    r"|\b[\w-]+\.(?:py|tsx|jsx|rs|rb|md|sh|json|ya?ml|toml|html|css|tex|sql|txt|env|lock)\b"
)
# Another person whose wish it is: "my supervisor hates them".
_FOR_OTHERS = Phrases(
    r"\b(?:my|our|the) (?:supervisor|professor|teacher|boss|manager|lead|client|customer|editor"
    r"|reviewer|publisher|company|agency|team|school|university|journal)s?\b"
)
# An order for a single text: "invitation text, short, funny, no rhymes".
_ONE_TEXT = Phrases(
    r"^\W*(?:(?:ok|and|also|now|next|then)\W+)*(?:an? |the |one )?(?:\w+ ){0,2}"
    r"(?:text|letter|e?mail|post|speech|poem|card|toast|invitation|caption|headline|title|tweet"
    r"|announcement|summary|bio|cv|essay|story|song)(?: (?:for|to|about|of) [^,:]{2,40})?[,:] "
)
# A sum, an hour or a day: it belongs to one matter, and is no general way to work.
_VALUE = Phrases(
    r"[\u00a3\u20ac$]\s?\d|\b\d+(?:[.,:]\d+)* ?(?:pounds?|euros?|dollars?|quid|[\u00a3\u20ac$%]"
    r"|hours?|hrs?|h (?:a|per)|k(?= (?:a|per) )|days?|weeks?|months?|years?|km|kg|mg|miles?)\b"
    r"|\b\d{1,2}[:.]\d\d\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|\b(?:january|february|march|april|june|july|august|september|october|november|december)\b"
)
# Explicitly for all projects: "rule for all: drafts only", "no trailers in my repos".
_FOR_ALL = Phrases(
    r"\brules? for (?:all|everything|every one|everyone)\b|\b(?:in|for|across) (?:all|every"
    r"|any)(?: of)?"
    r"(?: (?:my|our|your|the))? (?:projects?|folders?|repos?|repositories|sessions?|chats?"
    r"|conversations?"
    r"|assistants?)\b|\b(?:in|for|across) my (?:own )?(?:projects|folders|repos|repositories)\b"
)
# The answer to a question of one project: "just MIT", as opposed to "no emojis".
_BARE_ANSWER = Phrases(
    r"^\W*(?:(?:ok(?:ay)?|hm+|ah|then|so|yes|yeah|well)\W+)*(?:just|only|simply|either|maybe)"
    r" (?:the )?[\w.+#/-]+(?:\W+(?:please|pls|plz|then|thanks|thx|for now))*\W*$"
)
_SENTENCE_MAX = 3.0  # bounds the worth of a sentence as a feature of its memory
_WISHES = frozenset({NapKind.PREFERENCE, NapKind.CONSTRAINT})
_PLAIN_WISH = 0.65  # the score of a wish with two signs by rule
_FIRM_ANSWER = 0.8  # "no, never retry refunds"
# A decision or correction is plain with one of these: least score by rule, least log-odds.
_PLAIN = ((WORTH, 2.0), (0.65, LIFTED), (0.75, 0.0), (STANDING, -inf))


class JudgedSentences(NamedTuple):
    """The sentences of a turn that a model judged, by their ``letters``."""

    users: Mapping[str, SentenceWorth]
    agents: Mapping[str, tuple[float, float]]
    """The agent's: the log-odds of each, and what it adds to the worth of its memory."""
    plain: frozenset[str] = frozenset()
    """The agent's sentences whose memory is always worth keeping."""

    @classmethod
    def of(cls, exchange: Exchange, worths: Mapping[str, SentenceWorth]) -> JudgedSentences:
        """Return the judged sentences of *exchange*; *worths* are those of the user's sentences."""
        return cls(
            {letters(text): worth for text, worth in worths.items()},
            {
                letters(sentence): (worth, text.in_memory[sentence])
                for text in exchange.texts
                for sentence, worth in text.worths.items()
            },
            frozenset(letters(sentence) for text in exchange.texts for sentence in text.plain),
        )


def is_worth_keeping(candidate: NapCandidate, judged: JudgedSentences) -> bool:
    """Return whether a candidate composed of *judged* sentences is worth keeping.

    Kept without the model: commands and sections of a page (whose sentences nothing judges), the
    user's words with an outcome, their plain decisions, corrections and wishes, what harms
    somebody, and words in another language.
    """
    memory, head = candidate.memory, sentence_head()
    if is_always_kept(memory):
        return True
    if is_by_agent(memory):
        text = letters(memory.text)
        if any(sentence in text for sentence in judged.plain):
            return True
        of_agent = agent_memory_signs(memory, judged)
        return weigh_signs(head.agent_memory_signs, of_agent) >= AGENT_MEMORY_WORTH
    if is_foreign(memory.text):
        return True
    of_user = dict(user_memory_signs(candidate, judged))
    is_plain = _is_plain(candidate, of_user["best"])
    return is_plain or weigh_signs(head.user_memory_signs, of_user.items()) >= USER_MEMORY_WORTH


def is_always_kept(memory: NapMemory) -> bool:
    """Return whether *memory* is kept regardless of the model."""
    if OUTCOME_PART in memory.text or memory.slot.startswith((COMMANDS_SLOT, CURED, PAGE_SLOT)):
        return True
    return memory.origin is Origin.PERSON and any(map(states_health_risk, sentences(memory.text)))


def _is_plain(candidate: NapCandidate, best: float) -> bool:
    """Return whether the user's words are plainly a wish, a decision or a correction.

    A wish is plain with two signs by rule; a decision or correction by rule and model together.
    *best* is the greatest log-odds of its sentences. A denial ("No, it is 5433") is plain with the
    text that it denies, or if the model accepts it, and another number with what it is of.
    """
    memory, score = candidate.memory, candidate.score
    own, is_answer, _ = memory.text.partition(ANSWER_PART)
    mine = own.removeprefix("User: ")
    if (is_denial(mine) and (is_answer or best >= LIFTED)) or (is_answer and changes_number(mine)):
        return True
    if candidate.by_model:
        return False
    if memory.kind in _WISHES:
        return score >= _PLAIN_WISH
    if is_answer:
        return score >= STANDING or (score >= _FIRM_ANSWER and best >= 0)
    return not memory.slot.endswith(PLAN_SLOT) and any(
        score >= by_rule and best >= worth for by_rule, worth in _PLAIN
    )


def is_by_agent(memory: NapMemory) -> bool:
    """Return whether *memory* has only words of the agent or of a tool."""
    is_own = memory.kind in {NapKind.OUTCOME, NapKind.FIX}
    return is_own or memory.slot.startswith(ENVIRONMENT_SLOT)


def agent_memory_signs(memory: NapMemory, judged: JudgedSentences) -> Iterator[tuple[str, float]]:
    """Yield the features of a memory in the words of the agent or of a tool: name and value."""
    known = _find(memory.text, judged.agents)
    yield "bias", 1.0
    yield "environment", float(memory.slot.startswith(ENVIRONMENT_SLOT))
    yield "best", _clip([worth for worth, _ in known])
    yield "cause", float(phrases.CAUSE.search(memory.text) is not None)
    yield "chars", log1p(len(memory.text))
    yield "sentences", sum(added for _, added in known) / max(len(known), 1)


def user_memory_signs(
    candidate: NapCandidate, judged: JudgedSentences
) -> Iterator[tuple[str, float]]:
    """Yield the features of a memory in the user's words without an outcome: name and value."""
    own, _, answered = candidate.memory.text.partition(ANSWER_PART)
    yield "bias", 1.0
    yield "score", candidate.score
    known = _find(own.removeprefix("User: "), judged.users)
    yield "best", _clip([sentence.worth for sentence in known])
    yield "question", float("?" in own)
    yield "plan", float(candidate.memory.slot.endswith(PLAN_SLOT))
    yield "answer", float(bool(answered))
    yield "chars", log1p(len(own))


def holds_everywhere(memory: NapMemory, judged: JudgedSentences) -> bool:
    """Return whether *memory* is a wish of, or a fact about, the user that holds in every project.

    The mean of its sentences decides, of a wish only of those that are wishes. Excluded are long
    messages, and text about this project, another person's wish, a single text, a sum or day, a
    bare answer, a postponed step, or somebody's health or money.
    """
    log_odds_min = EVERYWHERE.get(memory.kind)
    if memory.kind in _WISHES and _FOR_ALL.search(memory.text):
        return memory.origin is Origin.PERSON
    if log_odds_min is None or memory.origin is not Origin.PERSON:
        return False
    local = (_NAMES_HERE, _FOR_OTHERS, _ONE_TEXT, _VALUE, _BARE_ANSWER)
    is_local = any(pattern.search(memory.text) for pattern in local) or is_of_project(memory.text)
    is_local = is_local or any(map(defers, sentences(memory.text)))
    if is_local or len(memory.text) > _EVERYWHERE_CHARS:
        return False
    if memory.kind is NapKind.ENVIRONMENT and _PRIVATE.search(memory.text):
        return False
    known = _find(memory.text, judged.users)
    if memory.kind is NapKind.PREFERENCE and known:
        wishes = [sentence for sentence in known if sentence.wish >= WISH_KEPT]
        known = wishes or [max(known)]  # the one of greatest worth, its first field
        if known[0].wish < _NO_WISH:
            return False
    return bool(known) and fmean(sentence.everywhere for sentence in known) >= log_odds_min


def _clip(worths: Sequence[float]) -> float:
    """Return the greatest of *worths* within ±_SENTENCE_MAX, 0 if there are none."""
    return min(max(max(worths, default=0.0), -_SENTENCE_MAX), _SENTENCE_MAX)


def _find(text: str, judged: Mapping[str, T]) -> list[T]:
    """Return the results for those sentences of *text* that were judged."""
    keys = (letters(sentence) for line in text.split("\n") for sentence in sentences(line))
    return [judged[key] for key in keys if key in judged]
