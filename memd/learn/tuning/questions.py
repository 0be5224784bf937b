"""Questions that the owner's own texts answer (SPEC 18.2.4), without a language model. Pure.

They are questions that somebody asked: a turn of a conversation that ends in a question, and what
another person said next. No question is kept: a run notes the memory, and asks again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from memd.store.learn.tunings import MemoryText

ANSWER_CHARS_MIN = 30
"""What is shorter ("Yes, sure!") answers nothing that anybody asks later."""

LEAD_IN = "What is known about this: "
FIRST_CHARS_MAX = 200

_SENTENCE = re.compile(r"(?<=[.!?])\s+")


class Asked(NamedTuple):
    """A question, the memory that answers it, and whose it is."""

    memory_key: int
    agent_id: str
    text: str
    apart: int | None = None
    """The memory that is the question itself, which must not be found for it."""


def questions(texts: Sequence[MemoryText]) -> list[Asked]:
    """Return one question for each of *texts* that answers one, in their order."""
    return [asked for each in texts if (asked := question_of(each)) is not None]


def question_of(memory: MemoryText) -> Asked | None:
    """Return the question that *memory* answers: the last that another asked just before it."""
    before = (memory.before or "").strip()
    if not before.endswith("?") or memory.before_speaker == memory.speaker:
        return None
    if len(memory.content) < ANSWER_CHARS_MIN:
        return None
    last = _SENTENCE.split(before)[-1]
    return Asked(memory.memory_key, memory.agent_id, last, memory.before_key)


def first_sentence(chunk: str) -> str:
    """Return the documents' question for a chunk of a file (SPEC 18.2.4).

    >>> first_sentence("Deploys wait for CI. Then rsync.")
    'What is known about this: Deploys wait for CI.'
    """
    return LEAD_IN + _SENTENCE.split(chunk.strip())[0][:FIRST_CHARS_MAX]
