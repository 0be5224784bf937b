"""What a language model may be asked for, and what is told of it (``llm.status``)."""

from __future__ import annotations

from enum import StrEnum

from memd.domain.values import Name, Time, Value


class Purpose(StrEnum):
    """What a completion is for; usage is counted by it."""

    NAP = "nap"
    """A session's facts and digest."""
    SUMMARY = "summary"
    """A night's summary of several memories, or of one long text."""
    COMPRESSION = "compression"
    """The summary of an old session."""
    EXPERIENCE = "experience"
    """What an experience teaches."""
    REFORMULATION = "reformulation"
    """Other words for a search that found too little, and whether it did."""
    ROUTING = "routing"
    """Which worker looks, and whether it looks again."""
    RERANKING = "reranking"
    """The order of what was found."""
    TRIPLES = "triples"
    """What a text says about things, for the graph."""
    LESSON = "lesson"
    """What a failure teaches."""


WAITED_FOR = frozenset({Purpose.REFORMULATION, Purpose.ROUTING, Purpose.RERANKING})
"""Somebody waits for the answer: it is outside of the budget of nights, and asked only once."""


class PurposeUsage(Value):
    """What one purpose was asked since the daemon started."""

    purpose: Purpose
    uses_model: bool
    """Whether the settings give it to the language model."""
    why_not: str | None = None
    """Why it is done by rule, where it is."""
    completions: int = 0
    failures: int = 0
    """Asked and not answered, or not in the shape that was asked for: done by rule."""
    input_tokens: int = 0
    output_tokens: int = 0


class LlmStatus(Value):
    """Which language model is used for what."""

    provider: Name
    model: str | None = None
    where: str | None = None
    """The host, the assistant or the command that prompts go to."""
    available: bool
    """Whether the next completion will be tried."""
    why_not: str | None = None
    retry_at: Time | None = None
    """When it is tried again after failures in a row."""
    last_error: str | None = None
    night_tokens: int = 0
    """What work in the background may spend in 24 hours; 0 is nothing."""
    night_tokens_spent: int = 0
    """What it has spent in the last 24 hours."""
    purposes: tuple[PurposeUsage, ...] = ()
