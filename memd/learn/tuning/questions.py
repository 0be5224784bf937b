"""Questions from the owner's conversations, with the memories that answer them (SPEC 18.2.4).

A pair is a turn that ends in a question, and the next turn of another speaker; no language model
is needed. Questions are not stored: a run notes the memory's key and reads them again. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from memd.store.learn.tunings import MemoryText

ANSWER_CHARS_MIN = 30
"""A shorter text ("Yes, sure!") answers nothing that anybody asks later."""

LEAD_IN = "What is known about this: "
FIRST_CHARS_MAX = 200

_SENTENCE = re.compile(r"(?<=[.!?])\s+")


class LabelledQuestion(NamedTuple):
    """A question, the memory that answers it, and that memory's agent."""

    memory_key: int
    agent_id: str
    text: str
    question_key: int | None = None
    """The memory of the question itself, which must not count as an answer."""


def label_questions(texts: Sequence[MemoryText]) -> list[LabelledQuestion]:
    """Return one question for each of *texts* that answers one, in order."""
    return [question for each in texts if (question := question_of(each)) is not None]


def question_of(memory: MemoryText) -> LabelledQuestion | None:
    """Return the question that *memory* answers: the last one of another speaker's turn before."""
    before = (memory.before or "").strip()
    if not before.endswith("?") or memory.before_speaker == memory.speaker:
        return None
    if len(memory.content) < ANSWER_CHARS_MIN:
        return None
    last = _SENTENCE.split(before)[-1]
    return LabelledQuestion(memory.memory_key, memory.agent_id, last, memory.before_key)


def first_sentence(chunk: str) -> str:
    """Return the question for a chunk of a file, by the documents' rule (SPEC 18.2.4).

    >>> first_sentence("Deploys wait for CI. Then rsync.")
    'What is known about this: Deploys wait for CI.'
    """
    return LEAD_IN + _SENTENCE.split(chunk.strip())[0][:FIRST_CHARS_MAX]
