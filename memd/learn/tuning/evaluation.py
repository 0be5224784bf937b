"""Make questions with known answers, and compare two rankings by them (SPEC 18.2.4, 18.2.7). Pure.

A pair is a turn of the owner's conversations that ends in a question, and the next turn of
another speaker, which is its answer. A run stores only the key of the answer's memory and reads
the question again.

Two rankings are compared on the same held-out questions. A tuning is better if its mean gain is
larger than chance would explain.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

from memd.domain.learn import Verdict
from memd.store.learn.tunings import MemoryText
from memd.text.words import SENTENCE_GAP

ANSWER_CHARS_MIN = 30
"""A shorter answer ("Yes, sure!") would be no answer to the same question later."""

LEAD_IN = "What is known about this: "
FIRST_CHARS_MAX = 200


class LabelledQuestion(NamedTuple):
    """A question, the memory that answers it, and that memory's agent."""

    memory_key: int
    agent_id: str
    text: str
    question_key: int | None = None
    """The memory of the question itself, which must not count as an answer."""


def label_questions(texts: Sequence[MemoryText]) -> list[LabelledQuestion]:
    """Return one question for each of *texts* that answers one, in order."""
    return [question for text in texts if (question := question_of(text)) is not None]


def question_of(memory: MemoryText) -> LabelledQuestion | None:
    """Return the last sentence of the turn before *memory* if it is another speaker's question."""
    before = (memory.before or "").strip()
    if not before.endswith("?") or memory.before_speaker == memory.speaker:
        return None
    if len(memory.content) < ANSWER_CHARS_MIN:
        return None
    last = SENTENCE_GAP.split(before)[-1]
    return LabelledQuestion(memory.memory_key, memory.agent_id, last, memory.before_key)


def first_sentence(chunk: str) -> str:
    """Return the question for a chunk of a file, as documented (SPEC 18.2.4).

    >>> first_sentence("Deploys wait for CI. Then rsync.")
    'What is known about this: Deploys wait for CI.'
    """
    return LEAD_IN + SENTENCE_GAP.split(chunk.strip())[0][:FIRST_CHARS_MAX]


TOP = 10
"""The ranks that count."""
STANDARD_ERRORS = 2.0
"""A tuning is better if its mean gain is over this many standard errors."""
ANSWERED_LOSS_MAX = 0.01
"""The share of questions whose default answer may lose the right memory."""


def compare_ranks(
    before: Sequence[int],
    after: Sequence[int],
    shares: tuple[float, float] = (0.0, 0.0),
    *,
    errors: float = STANDARD_ERRORS,
) -> Verdict:
    """Return the verdict on a tuning by the ranks of the right passages *before* and *after* it.

    A rank is from 1 on, or 0 for a missing passage. *shares* are those of the questions whose
    default answer has the right passage, before and after.

    >>> compare_ranks([3, 2, 5], [3, 2, 5]).better
    False
    """
    base, tuned = [ndcg(rank) for rank in before], [ndcg(rank) for rank in after]
    gains = [new - old for old, new in zip(base, tuned, strict=True)]
    gain = _mean(gains)
    error = statistics.stdev(gains) / math.sqrt(len(gains)) if len(gains) > 1 else math.inf
    recalls = recall(before), recall(after)
    return Verdict(
        questions=len(gains),
        base_ndcg=_mean(base),
        tuned_ndcg=_mean(tuned),
        base_recall=recalls[0],
        tuned_recall=recalls[1],
        improvement_ndcg=_relative(_mean(base), _mean(tuned)),
        improvement_recall=_relative(*recalls),
        base_told=shares[0],
        tuned_told=shares[1],
        better=gain > 0
        and gain > errors * error
        and recalls[1] >= recalls[0]
        and shares[1] >= shares[0] - ANSWERED_LOSS_MAX,
    )


def ndcg(rank: int) -> float:
    """Return the discounted gain of a passage at *rank*: 1 at the top, 0 after rank TOP.

    >>> [ndcg(1), ndcg(3), ndcg(11), ndcg(0)]
    [1.0, 0.5, 0.0, 0.0]
    """
    return 1.0 / math.log2(rank + 1) if 0 < rank <= TOP else 0.0


def recall(ranks: Sequence[int]) -> float:
    """Return the share of questions whose passage is among the TOP best."""
    return _mean([float(0 < rank <= TOP) for rank in ranks])


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def _relative(base: float, tuned: float) -> float:
    """Return the gain as a share of *base*; 0 if *base* is 0 (SPEC 18.2.7)."""
    return (tuned - base) / base if base else 0.0
