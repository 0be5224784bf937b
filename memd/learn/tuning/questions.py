"""Questions that the owner's own texts answer (SPEC 18.2.4), without a language model. Pure.

The best are those that somebody asked: a turn that ends in a question, and what another person
said next. Other texts are asked for by some of their own words. No question is kept: a run notes
the memory and the way, and asks again.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from memd.store.learn.tunings import MemoryText
from memd.text.function_words import FUNCTION_WORDS

ANSWER_CHARS_MIN = 30
"""What is shorter ("Yes, sure!") answers nothing that anybody asks later."""
WORDS_MIN = 5
"""Of a text's own words, to leave some of them out of a question."""
LEAD_IN = "What is known about this: "
FIRST_CHARS_MAX = 200

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_WORD = re.compile(r"[^\W_][\w'-]*")


class Way(StrEnum):
    """How a question is made of a text."""

    REPLY = "reply"
    """It is what was asked just before."""
    WORDS = "words"
    """It is half of the words that say something."""
    FIRST = "first"
    """It is a lead-in and the first sentence: the documents' way."""


class Asked(NamedTuple):
    """A question, the memory that answers it, and whose it is."""

    memory_key: int
    agent_id: str
    way: Way
    text: str
    apart: int | None = None
    """The memory that is the question itself, which must not be found for it."""


def questions(texts: Sequence[MemoryText]) -> list[Asked]:
    """Return one question for each of *texts* that answers one, in their order."""
    return [asked for each in texts if (asked := question_of(each)) is not None]


def question_of(said: MemoryText) -> Asked | None:
    """Return the question that *said* answers: the one before it, or some of its own words."""
    if len(said.content) < ANSWER_CHARS_MIN:
        return None
    before = said.before or ""
    if before.rstrip().endswith("?") and said.before_speaker != said.speaker:
        last = _SENTENCE.split(before.strip())[-1]
        return Asked(said.memory_key, said.agent_id, Way.REPLY, last, said.before_key)
    words = [word for word in _WORD.findall(said.content) if word.casefold() not in FUNCTION_WORDS]
    distinct = list(dict.fromkeys(words))
    if len(distinct) < WORDS_MIN:
        return None
    # Which half: as if drawn, and the same every time.
    drawn = sorted(distinct, key=lambda word: zlib.crc32(f"{said.memory_key} {word}".encode()))
    kept = set(drawn[: len(distinct) // 2])
    text = " ".join(word for word in distinct if word in kept)
    return Asked(said.memory_key, said.agent_id, Way.WORDS, text)


def first_sentence(text: str) -> str:
    """Return the documents' question for a chunk (SPEC 18.2.4).

    >>> first_sentence("Deploys wait for CI. Then rsync.")
    'What is known about this: Deploys wait for CI.'
    """
    return LEAD_IN + _SENTENCE.split(text.strip())[0][:FIRST_CHARS_MAX]
