"""How much a sentence is worth remembering, by rule and by how it is said.

The rules (``acts`` for the user, ``outcomes`` for the agent) know words; the encoder knows the
manner: a rule of how the work is done is told from an order of the minute, a finding from a plan,
even where no word gives it away. Its numbers, added to signs that only a nap knows, lift what the
rules do not see, and drop what one of their words let through (docs/decisions/0282, 0283). What is
composed of sentences is weighed once more as a whole (``memory_worth``). Without a model the rules
decide alone. Pure.
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
from memd.sleep.distil.language.lasting import points_at_hand
from memd.sleep.distil.language.moment import feels, spoken_form
from memd.sleep.distil.language.words import Words
from memd.sleep.distil.user.acts import STANDING, WORTH, Act, Judgement, judge_sentence
from memd.text.harms import tells_harm
from memd.text.languages import is_foreign
from memd.text.preference import speaks_of_the_moment
from memd.text.quotation import is_opinion, is_played
from memd.text.words import sentences

SENTENCES_MAX = 60
"""So many of a message are judged by the model; who writes more pastes."""
LIFTED = 1.0
"""The log-odds from which a sentence is worth it that the rules leave out."""
PLAIN_KEPT, WISH_KEPT, LIFE_KEPT = 1.1, 0.75, 0.6
"""Those of stating plainly what lasts, of being a wish, and of telling an event or a change of
somebody's life, from which it is kept for sure."""
WISH_WORTH = -4.7
"""Those of worth below which nothing is a wish: "tell me a joke" sounds like one (-6.8)."""
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
_AT_ITS_WORD = frozenset({Act.PREFERENCE, Act.DECISION})
_OPPOSED_PLAIN, _OPPOSED_WISH = 0.0, -1.5
"""Those up to which one of these, in so many words, is of the moment where it points at a thing at
hand: "always in the past tense in this chapter". Where it points at none it stands (0286)."""
_ASKED = frozenset({Act.REQUEST, Act.QUESTION})
_OF_THE_MOMENT = (
    is_played,
    speaks_of_the_moment,
    lambda text: feels(spoken_form(text)),
)
_TOLD: Mapping[Act, float] = MappingProxyType({Act.ENVIRONMENT: 0.0, Act.CONSTRAINT: 2.0})
"""By how much these are rather plainly told than wished, where both are sure."""
_KINDS = (Act.PREFERENCE, Act.CONSTRAINT, Act.DECISION, Act.CORRECTION, Act.ENVIRONMENT)
_SCORE_MAX = 0.85
_SILENT = 0.1  # what scores no more says nothing, or too few words
_RATED_MIN, _RATED_MAX = -1.0, 3.0  # of a rule's score as a sign
_DROPPED_SCORE = 0.3
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
    life: float


def sentences_to_judge(own: Words) -> list[str]:
    """Return the sentences of a message that are judged, none of what a program wrote."""
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
        plain += SHORT_LIFT * max(0, SHORT_CHARS - len(text.rstrip(".! ")))
        best = max(range(len(kinds)), key=kinds.__getitem__)
        worths[text] = SentenceWorth(worth, _KINDS[best], plain, wish, row.everywhere, row.life)
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

    What harms somebody counts whatever either tells, then where a named thing is, unless something
    else is asked beside it; then what the model takes for a wish, whatever the rules say. What
    somebody thinks of the user is a fact at most.
    """
    if any(map(tells_harm, sentences(text))):
        return Judgement(Act.ENVIRONMENT, STANDING)
    is_open = judged.score < STANDING and judged.act not in _ASKED
    if is_open and states_place(text):
        corrects = judged.act is Act.CORRECTION
        return Judgement(Act.CORRECTION if corrects else Act.ENVIRONMENT, STANDING)
    parts = sentences(text)
    known = [worths[sentence] for sentence in parts if sentence in worths]
    if len(parts) == 1 and any(one(text) for one in _OF_THE_MOMENT):
        return Judgement(Act.REQUEST, _DROPPED_SCORE)
    if len(parts) == 1 and is_opinion(text):
        is_plain = any(each.plain >= PLAIN_KEPT for each in known)
        return Judgement(Act.ENVIRONMENT, STANDING if is_plain else _DROPPED_SCORE)
    if known and _is_at_hand(text, judged, known):
        return Judgement(Act.REQUEST, _DROPPED_SCORE)
    return _weigh_known(judged, known) if known else judged


def _weigh_known(judged: Judgement, known: Sequence[SentenceWorth]) -> Judgement:
    """Return what a line or sentence does by rule and by the worths that are *known*."""
    best = max(known)
    plain, wish = max(each.plain for each in known), max(each.wish for each in known)
    if judged.score < STANDING and wish >= WISH_KEPT and best.worth >= WISH_WORTH:
        is_told = plain > wish + _TOLD.get(best.act, inf)  # "My blood type is O negative"
        return Judgement(best.act if is_told else Act.PREFERENCE, STANDING)
    if plain >= PLAIN_KEPT and may_be_plain(judged):
        return Judgement(_plain_act(judged, best), STANDING)
    is_open = judged.score < STANDING and judged.act is not Act.QUESTION
    if is_open and max(each.life for each in known) >= LIFE_KEPT:
        return Judgement(Act.ENVIRONMENT if judged.score < WORTH else judged.act, STANDING)
    if judged.score < WORTH:
        score = min(WORTH + best.worth / 10, _SCORE_MAX)
        return Judgement(best.act, score, by_model=True) if best.worth >= LIFTED else judged
    is_worth_it = judged.act not in _DOUBTED or judged.score >= STANDING or best.worth >= _DROPPED
    return judged if is_worth_it else Judgement(Act.REQUEST, _DROPPED_SCORE)


def _is_at_hand(text: str, judged: Judgement, known: Sequence[SentenceWorth]) -> bool:
    """Return whether what a rule takes at its word is of one thing, and no number is for it."""
    is_opposed = all(
        each.plain < _OPPOSED_PLAIN and each.wish <= _OPPOSED_WISH and each.life < LIFE_KEPT
        for each in known
    )
    is_word = judged.score >= STANDING and judged.act in _AT_ITS_WORD
    return is_word and is_opposed and points_at_hand(text)


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
            worth = row.statement + weigh_signs(head.statement_signs, own.items())
            answer = row.answer + weigh_signs(head.answer_signs, own.items())
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


def weigh_signs(weights: Mapping[str, float], signs: Iterable[tuple[str, float]]) -> float:
    """Return the sum of the *signs*, by name, each times its weight."""
    return sum(weights[name] * value for name, value in signs)
