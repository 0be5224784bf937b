"""The purposes of a language model, and its status (``llm.status``)."""

from __future__ import annotations

from enum import StrEnum

from memd.domain.values import Name, Time, Value


class Purpose(StrEnum):
    """The purpose of a completion, by which usage is counted."""

    NAP = "nap"
    """A session's facts and digest."""
    SUMMARY = "summary"
    """A night's summary of several memories, or of one long text."""
    COMPRESSION = "compression"
    """The summary of an old session."""
    EXPERIENCE = "experience"
    """The lessons of an experience."""
    REFORMULATION = "reformulation"
    """The reformulation of a search, and whether it found enough."""
    ROUTING = "routing"
    """The choice of workers, and of a retry."""
    RERANKING = "reranking"
    """The order of candidates."""
    TRIPLES = "triples"
    """Statements in a text, for the graph."""
    LESSON = "lesson"
    """The lesson of a failure."""


INTERACTIVE_PURPOSES = frozenset({Purpose.REFORMULATION, Purpose.ROUTING, Purpose.RERANKING})
"""Purposes of interactive calls: outside of the budget of nights, and tried only once."""


class PurposeUsage(Value):
    """The usage of one purpose since the daemon's start."""

    purpose: Purpose
    uses_model: bool
    """Whether the settings use the language model for it."""
    why_not: str | None = None
    """Why it is done by rule, if it is."""
    completions: int = 0
    failures: int = 0
    """Unanswered, or answered in another shape: done by rule."""
    input_tokens: int = 0
    output_tokens: int = 0


class LlmStatus(Value):
    """The state and uses of the language model."""

    provider: Name
    model: str | None = None
    where: str | None = None
    """The host, the assistant or the command that prompts go to."""
    available: bool
    """Whether the next completion will be sent."""
    why_not: str | None = None
    retry_at: Time | None = None
    """When the next completion is tried after repeated failures."""
    last_error: str | None = None
    night_tokens: int = 0
    """The token budget of background work in 24 hours; 0 is none."""
    night_tokens_spent: int = 0
    """The tokens it used in the last 24 hours."""
    purposes: tuple[PurposeUsage, ...] = ()
