"""How much a sentence is worth remembering, by rule and by how it is said.

The rules (``acts`` for the user, ``outcomes`` for the agent) know words; the encoder knows the
manner: a rule of how the work is done is told from an order of the minute, a finding from a plan,
even where no word gives it away. Its numbers, added to signs that only a nap knows, lift what the
rules do not see, and drop what one of their words let through (docs/decisions/0282, 0283). Without
a model the rules decide alone. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import log1p
from typing import NamedTuple

from memd.domain.encoding import SentenceLogits
from memd.embedding.sentence_head import sentence_head
from memd.sleep.distil.acts import WORTH, Act, Judgement, judge_sentence
from memd.sleep.distil.exchanges import AgentText, Exchange
from memd.sleep.distil.language.words import Words
from memd.sleep.distil.outcomes import statements
from memd.text.words import sentences

SENTENCES_MAX = 60
"""So many of a message are judged by the model; who writes more pastes."""
LIFTED = 1.0
"""The log-odds from which a sentence is worth it that the rules leave out."""
ANSWER_DROPPED = -1.5
"""Those below which words that answer something are none by themselves."""
_DROPPED = {
    **dict.fromkeys((Act.DECISION, Act.CONSTRAINT, Act.TASK, Act.ENVIRONMENT), -0.5),
    Act.PREFERENCE: -1.0,
}
"""Those below which one is not worth it that the rules keep. They know a correction better: its
manner is that of a complaint."""
_KINDS = (Act.PREFERENCE, Act.CONSTRAINT, Act.DECISION, Act.CORRECTION, Act.ENVIRONMENT)
_SCORE_MAX = 0.85
_RATED_MIN, _RATED_MAX = -1.0, 3.0  # of a rule's score as a sign
_DROPPED_SCORE = 0.3


class SentenceWorth(NamedTuple):
    """The log-odds that a sentence is *worth* remembering, and what it does if it is."""

    worth: float
    act: Act


def sentences_to_judge(own: Words) -> list[str]:
    """Return the sentences of a message that are judged, none of what a program wrote."""
    paragraphs = () if own.is_brief else own.paragraphs
    lines = [line for paragraph in paragraphs for line in paragraph.split("\n")]
    return [sentence for line in lines for sentence in sentences(line)][:SENTENCES_MAX]


def weigh_sentences(
    texts: Sequence[str], logits: Sequence[SentenceLogits], turn: int, *, stopped: bool
) -> dict[str, SentenceWorth]:
    """Return the worth of the sentences of the message number *turn*, by their texts.

    *logits* are what the model told of each.
    """
    worths: dict[str, SentenceWorth] = {}
    weights = sentence_head().signs
    for at, (text, row) in enumerate(zip(texts, logits, strict=True)):
        total = [row.worth, *row.kinds]
        judged = judge_sentence(text, stopped=stopped)
        for name, value in signs(text, judged, at, len(texts), turn):
            total = [sum_ + value * each for sum_, each in zip(total, weights[name], strict=True)]
        worth, *kinds = total
        best = max(range(len(kinds)), key=kinds.__getitem__)
        worths[text] = SentenceWorth(worth, _KINDS[best])
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


def weigh(text: str, judged: Judgement, worths: Mapping[str, SentenceWorth]) -> Judgement:
    """Return what a line or sentence does by rule (*judged*) and by the worth of its sentences."""
    known = [worths[sentence] for sentence in sentences(text) if sentence in worths]
    if not known:
        return judged
    best = max(known)
    if judged.score < WORTH:
        score = min(WORTH + best.worth / 10, _SCORE_MAX)
        return Judgement(best.act, score, by_model=True) if best.worth >= LIFTED else judged
    is_worth_it = best.worth >= _DROPPED.get(judged.act, best.worth)
    return judged if is_worth_it else Judgement(Act.REQUEST, _DROPPED_SCORE)


def answers_nothing(worths: Mapping[str, SentenceWorth]) -> bool:
    """Return whether a message that answers something by its own words says nothing with them."""
    return bool(worths) and max(worths.values()).worth < ANSWER_DROPPED


def weigh_statements(
    exchange: Exchange, logits: Sequence[Sequence[SentenceLogits]]
) -> list[AgentText]:
    """Return the texts of *exchange* with the worths of their sentences.

    *logits* are what the model told of its :func:`~memd.sleep.distil.outcomes.statements`.
    """
    weights = sentence_head().statement_signs
    rated = statements(exchange)
    last = max((at for at, lines in enumerate(rated) if lines), default=0)
    texts: list[AgentText] = []
    for at, (text, lines, rows) in enumerate(zip(exchange.texts, rated, logits, strict=True)):
        worths = {}
        for number, ((score, line), row) in enumerate(zip(lines, rows, strict=True)):
            own = statement_signs(score, line.text, number, len(lines), is_last=at == last)
            worths[line.text] = row.statement + sum(weights[name] * value for name, value in own)
        texts.append(text._replace(worths=worths))
    return texts


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
