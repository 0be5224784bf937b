"""Judge how much a sentence is worth remembering, by the rules and by a model. Pure.

The rules (``speech_acts`` for the user, ``outcomes`` for the agent) recognise words. The model
recognises the manner: it distinguishes a lasting rule from an order for the moment, or a finding
from a plan, without a key word. Its log-odds, plus weighted features that only a nap knows (the
position of the sentence, its act by rule), add sentences that the rules miss and drop some that
they accept (docs/decisions/0282, 0283). Memories are judged again as a whole (``memory_worth``).
Without a model the rules decide alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, log1p
from types import MappingProxyType
from typing import NamedTuple

from memd.domain.encoding import SentenceLogits
from memd.embedding.sentence_head import sentence_head
from memd.sleep.distil.agent.outcomes import TOLD_WORTH, RatedSentence
from memd.sleep.distil.environment.places import states_place
from memd.sleep.distil.exchanges import AgentText
from memd.sleep.distil.language import phrases, prose
from memd.sleep.distil.language.current_moment import feels, spoken_form
from memd.sleep.distil.language.scoped_wishes import refers_to_current_work
from memd.sleep.distil.language.words import Words
from memd.sleep.distil.user.speech_acts import STANDING, WORTH, Act, Judgement, judge_sentence
from memd.text.alternations import Phrases
from memd.text.harms import states_health_risk
from memd.text.languages import is_foreign
from memd.text.preference import speaks_of_the_moment
from memd.text.quotation import is_opinion, is_played
from memd.text.words import sentences

SENTENCES_MAX = 60
"""The number of sentences of a message that the model judges; a longer message was pasted."""
LIFTED = 1.0
"""The least log-odds of worth with which a sentence is kept that the rules reject."""
PLAIN_KEPT, WISH_KEPT, LIFE_KEPT = 1.1, 0.75, 0.6
"""The least log-odds with which a sentence is certainly kept: of a plain lasting fact, of a wish,
and of an event or change in somebody's life."""
WISH_WORTH = -4.7
"""The least log-odds of worth of a wish: "tell me a joke" resembles one, but has -6.8."""
SHORT_CHARS, SHORT_LIFT = 40, 0.05
"""Each character below SHORT_CHARS adds SHORT_LIFT to the log-odds of a plain fact. Few short
sentences in the training data are plain, so the fit rates all of them too low (decision 0308)."""
ANSWER_TOLD = 0.8
"""The least log-odds with which a sentence of the agent's answer is part of an outcome."""
CAUSE_WORTH = 0.5
"""The least log-odds of a sentence of the agent that states the cause of trouble."""
_CAUSE_WORDS_MIN, _CONFIRMED_WORDS_MIN = 8, 4
ANSWER_DROPPED = -1.5
"""With lower log-odds of worth, an answer of the user says nothing by its own words."""
_DROPPED = -0.5
"""With lower log-odds of worth, a sentence is dropped that the rules keep, if its act is one of
_DOUBTED. The rules recognise corrections better, whose manner is that of a complaint, and wishes:
a person who said "always" must not have to repeat it."""
_DOUBTED = frozenset({Act.DECISION, Act.CONSTRAINT, Act.TASK, Act.ENVIRONMENT})
_AT_ITS_WORD = frozenset({Act.PREFERENCE, Act.DECISION})
_OPPOSED_PLAIN, _OPPOSED_WISH = 0.0, -1.5
"""An explicit wish or decision (_AT_ITS_WORD) with lower log-odds is temporary if it refers to a
thing at hand: "always in the past tense in this chapter" (decision 0286)."""
_ASKED = frozenset({Act.REQUEST, Act.QUESTION})
_OF_THE_MOMENT = (
    is_played,
    speaks_of_the_moment,
    lambda text: feels(spoken_form(text)),
)
_PLAIN_OVER_WISH: Mapping[Act, float] = MappingProxyType(
    {Act.ENVIRONMENT: 0.0, Act.CONSTRAINT: 2.0}
)
"""How much the log-odds of a plain fact must exceed those of a wish, if both are certain."""
_KINDS = (Act.PREFERENCE, Act.CONSTRAINT, Act.DECISION, Act.CORRECTION, Act.ENVIRONMENT)
# Somebody's choice or plan: "we drop the samples", "I'll take it", not "I spent 312 euro".
_DECIDES = Phrases(
    r"\b(?:we|i)(?:'ll| will|'re going to| are going to|'m going to| am going to)?"
    r" (?!(?:am|are|was|were|ha[vd]e?|do|did|can|could|may|might|must|need|think|thought|feel"
    r"|felt|know|knew|see|saw|hope|guess|like|hear|heard|found|got|went|met|spent|paid|earn|owe)\b)[a-z]{2,}"
    r"|\blet'?s\b|\b(?:decided|agreed|approved|chosen|settled)\b"
)
_SCORE_MAX = 0.85
_SILENT = 0.1  # a sentence with at most this score says nothing, or is too short
_RATED_MIN, _RATED_MAX = -1.0, 3.0  # bounds of a score by rule as a feature
_DROPPED_SCORE = 0.3
_ENDING_CHARS = 300


class SentenceWorth(NamedTuple):
    """The model's log-odds for a sentence, and its most probable act.

    *worth*: it is worth remembering. *plain*: it plainly states a lasting fact. *wish*: it says how
    the user wants the work done from now on. *everywhere*: it holds in every project. *life*: it
    tells an event or a change in somebody's life. Instances are ordered by worth.
    """

    worth: float
    act: Act
    plain: float
    wish: float
    everywhere: float
    life: float


def sentences_to_judge(own: Words) -> list[str]:
    """Return the first SENTENCES_MAX sentences of a message, none of one that a program wrote."""
    paragraphs = () if own.is_brief else own.paragraphs
    lines = [line for paragraph in paragraphs for line in paragraph.split("\n")]
    return [sentence for line in lines for sentence in sentences(line)][:SENTENCES_MAX]


def without_last_stop(texts: Sequence[str]) -> list[str]:
    """Return *texts*, the last without the full stop or the exclamation marks at its end.

    >>> without_last_stop(["No.", "Tabs."]), without_last_stop(["Tabs?"])
    (['No.', 'Tabs'], ['Tabs?'])
    """
    return [*texts[:-1], *(text.rstrip(".! ") or text for text in texts[-1:])]


def weigh_sentences(
    texts: Sequence[str], logits: Sequence[SentenceLogits], turn: int, *, stopped: bool
) -> dict[str, SentenceWorth]:
    """Return the worth of the sentences of the message number *turn*, by their texts.

    *logits* are the model's output for each. The model only knows English: other sentences have no
    worth.
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
            total = [
                log_odds + value * weight for log_odds, weight in zip(total, weights, strict=True)
            ]
        worth, *kinds, plain, wish = total
        plain += SHORT_LIFT * max(0, SHORT_CHARS - len(text.rstrip(".! ")))
        best = max(range(len(kinds)), key=kinds.__getitem__)
        worths[text] = SentenceWorth(worth, _KINDS[best], plain, wish, row.everywhere, row.life)
    return worths


def signs(
    text: str, judged: Judgement, at: int, count: int, turn: int
) -> Iterator[tuple[str, float]]:
    """Yield the features of sentence number *at* of *count*, its act and position: name, value."""
    yield "bias", 1.0
    yield judged.act.value, 1.0
    yield "kept", float(judged.score >= WORTH)
    yield "first", float(at == 0)
    yield "last", float(at == count - 1)
    yield "sentences", log1p(count)
    yield "turn", log1p(turn)
    yield "chars", log1p(len(text))


def may_be_plain(judged: Judgement) -> bool:
    """Return whether a sentence may still state a lasting fact after its judgement by rule."""
    is_asked_or_agreed = judged.act in {Act.QUESTION, Act.APPROVAL}
    return _SILENT < judged.score < STANDING and not is_asked_or_agreed


def weigh(text: str, judged: Judgement, worths: Mapping[str, SentenceWorth]) -> Judgement:
    """Return the judgement of a line by the rules (*judged*) and the worths of its sentences.

    In this order: what harms somebody is always a fact; so is the place of a named thing, unless
    the line asks for something; a sentence of the moment is dropped; an opinion about the user is
    at most a fact; all else is decided by the model's log-odds.
    """
    if any(map(states_health_risk, sentences(text))):
        return Judgement(Act.ENVIRONMENT, STANDING)
    is_open = judged.score < STANDING and judged.act not in _ASKED
    if is_open and states_place(text):
        corrects = judged.act is Act.CORRECTION
        return Judgement(Act.CORRECTION if corrects else Act.ENVIRONMENT, STANDING)
    parts = sentences(text)
    known = [worths[sentence] for sentence in parts if sentence in worths]
    if len(parts) == 1 and any(is_momentary(text) for is_momentary in _OF_THE_MOMENT):
        return Judgement(Act.REQUEST, _DROPPED_SCORE)
    if len(parts) == 1 and is_opinion(text):
        is_plain = any(sentence.plain >= PLAIN_KEPT for sentence in known)
        return Judgement(Act.ENVIRONMENT, STANDING if is_plain else _DROPPED_SCORE)
    if known and _is_at_hand(text, judged, known):
        return Judgement(Act.REQUEST, _DROPPED_SCORE)
    return _weigh_known(text, judged, known) if known else judged


def _weigh_known(text: str, judged: Judgement, known: Sequence[SentenceWorth]) -> Judgement:
    """Return the judgement of a line by the rules and the *known* worths of its sentences."""
    best = max(known)
    plain = max(sentence.plain for sentence in known)
    wish = max(sentence.wish for sentence in known)
    if 0 < judged.score < STANDING and wish >= WISH_KEPT and best.worth >= WISH_WORTH:
        is_fact = plain > wish + _PLAIN_OVER_WISH.get(
            best.act, inf
        )  # "My blood type is O negative"
        return Judgement(best.act if is_fact else Act.PREFERENCE, STANDING)
    if plain >= PLAIN_KEPT and may_be_plain(judged):
        return Judgement(_plain_act(text, judged, best), STANDING)
    is_open = judged.score < STANDING and judged.act is not Act.QUESTION
    if is_open and max(sentence.life for sentence in known) >= LIFE_KEPT:
        return Judgement(Act.ENVIRONMENT if judged.score < WORTH else judged.act, STANDING)
    if judged.score < WORTH:
        score = min(WORTH + best.worth / 10, _SCORE_MAX)
        return Judgement(best.act, score, by_model=True) if best.worth >= LIFTED else judged
    is_worth_it = judged.act not in _DOUBTED or judged.score >= STANDING or best.worth >= _DROPPED
    return judged if is_worth_it else Judgement(Act.REQUEST, _DROPPED_SCORE)


def _is_at_hand(text: str, judged: Judgement, known: Sequence[SentenceWorth]) -> bool:
    """Return whether a wish or decision is temporary: it refers to a thing at hand.

    The rules are certain of its act, and the model rejects it.
    """
    is_opposed = all(
        sentence.plain < _OPPOSED_PLAIN
        and sentence.wish <= _OPPOSED_WISH
        and sentence.life < LIFE_KEPT
        for sentence in known
    )
    is_explicit = judged.score >= STANDING and judged.act in _AT_ITS_WORD
    return is_explicit and is_opposed and refers_to_current_work(text)


def _plain_act(text: str, judged: Judgement, best: SentenceWorth) -> Act:
    """Return the act of a plain statement: that of the rules, or else of the model.

    The model's act is replaced by a fact if it is a correction, a decision where nobody decides
    ("the scaffolding goes up on 2 November"), a wish with low log-odds, or a constraint that
    resembles no wish either: "we send about 2000 a month".
    """
    if judged.score >= WORTH and judged.act is not Act.TASK:
        return judged.act
    is_no_decision = best.act is Act.DECISION and not _DECIDES.search(text)
    is_no_wish = best.act is Act.PREFERENCE and best.wish < WISH_KEPT
    is_no_rule = best.worth < _DROPPED and best.wish < _OPPOSED_WISH
    is_fact = is_no_decision or is_no_wish or (best.act is Act.CONSTRAINT and is_no_rule)
    return Act.ENVIRONMENT if is_fact or best.act is Act.CORRECTION else best.act


def answers_nothing(worths: Mapping[str, SentenceWorth]) -> bool:
    """Return whether the model finds none of the sentences of an answer worth remembering."""
    return bool(worths) and max(worths.values()).worth < ANSWER_DROPPED


def weigh_statements(
    texts: Sequence[AgentText],
    rated: Sequence[Sequence[RatedSentence]],
    logits: Sequence[Sequence[SentenceLogits]],
    *,
    has_trouble: bool,
    has_guess: bool = False,
) -> list[AgentText]:
    """Return the *texts* of an exchange with the worths of their *rated* sentences.

    *logits* are the model's output for these. In the answer, which is the last text unless it
    announces the next step, the model also finds plain findings. After trouble, a cause that was
    found is plain in any text, and so is one with which the agent confirms the user's guess, if
    the user made one (*has_guess*).
    """
    head = sentence_head()
    answer_at = len(texts) - 1 if texts and not _announces(texts[-1].text) else None
    last = max((at for at, lines in enumerate(rated) if lines), default=0)
    weighed: list[AgentText] = []
    for at, (text, lines, rows) in enumerate(zip(texts, rated, logits, strict=True)):
        worths, in_memory, plain = {}, {}, set()
        for number, ((score, line), row) in enumerate(zip(lines, rows, strict=True)):
            own = dict(statement_signs(score, line.text, number, len(lines), is_last=at == last))
            worth = row.statement + weigh_signs(head.statement_signs, own.items())
            answer = row.answer + weigh_signs(head.answer_signs, own.items())
            if at == answer_at and answer >= ANSWER_TOLD and not is_foreign(line.text):
                worth = max(worth, TOLD_WORTH + answer - ANSWER_TOLD)
                plain.add(line.text)
            elif has_trouble and (states_cause(line.text) or (has_guess and confirms_guess(line))):
                worth = max(worth, CAUSE_WORTH)
                plain.add(line.text)
            worths[line.text], in_memory[line.text] = worth, row.in_memory
        weighed.append(text._replace(worths=worths, in_memory=in_memory, plain=frozenset(plain)))
    return weighed


def states_cause(text: str) -> bool:
    """Return whether the agent's sentence *text* states the cause that it found.

    >>> states_cause("The root cause was a stale lock: two jobs shared the same folder.")
    True
    >>> states_cause("Once we know what the root cause is, the fix will be simple.")
    False
    """
    is_unsure = phrases.NO_CAUSE.search(text) or phrases.UNSURE.search(text)
    is_whole = len(text.split()) >= _CAUSE_WORDS_MIN
    return is_whole and not is_unsure and phrases.ROOT_CAUSE.search(text) is not None


def confirms_guess(line: prose.Sentence) -> bool:
    """Return whether the agent's sentence confirms what the user guessed, and names what it is.

    >>> confirms_guess(prose.Sentence("Yes: a.go:12 calls it twice.", "Yes: `a.go:12` calls it."))
    True
    """
    begin = phrases.CONFIRMS.match(line.text)
    is_whole = begin and len(line.text[begin.end() :].split()) >= _CONFIRMED_WORDS_MIN
    return bool(is_whole and line.things) and not phrases.UNSURE.search(line.text)


def _announces(text: str) -> bool:
    """Return whether the last sentence of *text* says what the agent does next."""
    last = prose.sentences(text[-_ENDING_CHARS:])[-1:]
    return any(phrases.ANNOUNCES.match(sentence.text) for sentence in last)


def statement_signs(
    score: float, text: str, at: int, count: int, *, is_last: bool
) -> Iterator[tuple[str, float]]:
    """Yield the features of the judged sentence number *at* of *count* in a text: name and value.

    *score* is that of the rules; *is_last*: no later text of the exchange is judged.
    """
    yield "bias", 1.0
    yield "score", min(max(score, _RATED_MIN), _RATED_MAX)
    yield "place", log1p(at)
    yield "sentences", log1p(count)
    yield "chars", log1p(len(text))
    yield "last text", float(is_last)


def weigh_signs(weights: Mapping[str, float], signs: Iterable[tuple[str, float]]) -> float:
    """Return the sum of the values of *signs*, each times the weight of its name."""
    return sum(weights[name] * value for name, value in signs)
