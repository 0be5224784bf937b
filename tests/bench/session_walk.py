"""Walks one recorded session, napping whenever its window is full, and counts what is kept.

Of the concrete things (``bench.named_details``) that were said before the cut and that
the rest of the session uses again, those count as kept that are still in the
list: in the summary or in the messages kept. What only the kept messages had
said is not counted, as no nap can lose it. What was lost in an earlier nap
stays lost in the later ones.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from bench.named_details import KINDS, things
from bench.transcripts import Message
from memd.sleep.transcript.consolidator import MemoryConsolidator, tail_start

REPEATS = 5
QUESTIONS_MAX = 100  # of one nap
QUERY_CHARS = 300

Things = dict[str, set[str]]


class Question(NamedTuple):
    """A *thing* that is needed and not in the list, and what is said where it is needed."""

    kind: str
    thing: str
    query: str


class Napping(Protocol):
    """What naps, and is asked for what the shorter list does not have."""

    async def nap(self, window: Sequence[Message]) -> tuple[list[Message], float]:
        """Return the shorter list and the milliseconds that it took."""
        ...

    async def brings_back(self, question: Question) -> bool:
        """Return whether what is recalled for the question holds the thing."""
        ...


@dataclass(frozen=True, slots=True)
class Nap:
    """One consolidation: what it cost, and of what was *needed* again what was *kept*.

    Of what was not kept a sample is *asked* for, and so many of it are *recalled*.
    """

    tokens_before: int
    tokens_after: int
    pure_ms: tuple[float, ...]
    whole_ms: float
    needed: dict[str, int]
    kept: dict[str, int]
    asked: dict[str, int] = field(default_factory=dict)
    recalled: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Pure:
    """The rules alone: nothing is stored, so nothing is recalled."""

    rule: MemoryConsolidator

    async def nap(self, window: Sequence[Message]) -> tuple[list[Message], float]:
        start = time.perf_counter()
        shorter, _ = self.rule.consolidate(window)
        return shorter, 1_000 * (time.perf_counter() - start)

    async def brings_back(self, question: Question) -> bool:
        del question
        return False


async def walked(
    messages: Sequence[Message], rule: MemoryConsolidator, napping: Napping, chance: random.Random
) -> list[Nap]:
    """Walk a session, consolidating whenever its window is full by *rule*; return the naps."""
    texts = [all_text(message) for message in messages]
    things_of = [things(text) for text in texts]
    window: list[Message] = []
    naps = []
    for place, message in enumerate(messages, 1):
        window.append(message)
        tokens = rule.estimate_tokens(window)
        start = tail_start(window)
        if not rule.should_consolidate(tokens) or start < 2:
            continue
        pure_ms = _timed(rule, window)
        shorter, whole_ms = await napping.nap(window)
        needed = _both(
            _union(things_of[: place - (len(window) - start)]), _union(things_of[place:])
        )
        kept = _both(needed, things("\n".join(map(all_text, shorter))))
        asked = _sample(needed, kept, chance)
        back = [
            (kind, thing)
            for kind, thing in asked
            if await napping.brings_back(_question(kind, thing, texts[place:], things_of[place:]))
        ]
        after = rule.estimate_tokens(shorter)
        naps.append(
            Nap(
                tokens,
                after,
                pure_ms,
                whole_ms,
                _count(needed),
                _count(kept),
                _by_kind(asked),
                _by_kind(back),
            )
        )
        window = shorter
    return naps


def all_text(message: Mapping[str, object]) -> str:
    """Return the content of *message* and what it calls tools with."""
    called = message.get("tool_calls")
    calls = called if isinstance(called, list | tuple) else ()
    asked = (str(call["function"].get("arguments", "")) for call in calls)
    return "\n".join((str(message["content"]), *asked))


def query_for(kind: str, thing: str, text: str) -> str:
    """Return what *text* says where it first needs *thing*, with the thing itself taken out.

    It is the line, or of a long one 300 characters; where the line says nothing
    else, the 300 characters around it.

    >>> query_for("symbols", "parse_line", "One line.\\nCall parse_line twice.")
    'Call   twice.'
    """
    lines = text.splitlines()
    line = next((line for line in lines if thing in things(line)[kind]), text)
    bare = _around(line, thing)
    return bare if any(map(str.isalnum, bare)) else _around(text, thing)


def _around(text: str, thing: str) -> str:
    place = max(0, text.find(thing))
    half = (QUERY_CHARS - len(thing)) // 2
    start = max(0, min(place - half, len(text) - QUERY_CHARS))
    return text[start : start + QUERY_CHARS].replace(thing, " ").strip()


def _question(kind: str, thing: str, texts: Sequence[str], things_of: Sequence[Things]) -> Question:
    text = next(text for text, has in zip(texts, things_of, strict=True) if thing in has[kind])
    return Question(kind, thing, query_for(kind, thing, text))


def _sample(needed: Things, kept: Things, chance: random.Random) -> list[tuple[str, str]]:
    missing = [(kind, thing) for kind in KINDS for thing in sorted(needed[kind] - kept[kind])]
    return chance.sample(missing, min(QUESTIONS_MAX, len(missing)))


def _timed(rule: MemoryConsolidator, window: Sequence[Message]) -> tuple[float, ...]:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        rule.consolidate(window)
        times.append(1_000 * (time.perf_counter() - start))
    return tuple(times)


def _union(rows: Sequence[Things]) -> Things:
    return {kind: set[str]().union(*(row[kind] for row in rows)) for kind in KINDS}


def _both(one: Things, other: Things) -> Things:
    return {kind: one[kind] & other[kind] for kind in KINDS}


def _count(of_kind: Things) -> dict[str, int]:
    return {kind: len(of_kind.get(kind, ())) for kind in KINDS}


def _by_kind(pairs: Sequence[tuple[str, str]]) -> dict[str, int]:
    return {kind: sum(1 for each, _ in pairs if each == kind) for kind in KINDS}
