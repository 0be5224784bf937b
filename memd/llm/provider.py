"""The protocol of language model providers: purposes, requests, completions, and the status.

Every caller works by rule if there is no answer (SPEC D8), so two errors suffice:
ProviderBusyError if a later call may succeed, ProviderRefusedError if the owner must act.
Cancelling the call cancels the request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from memd.base.errors import ProviderBusyError
from memd.domain.caller import ERASURES_SEEN, WORKING_FOR
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
    """Why the language model is not used for it, else None."""
    completions: int = 0
    failures: int = 0
    """Completions without an answer, or with one that does not fit the schema."""
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


CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """One prompt. The caller fences stored text in it (``view.wrap_stored``).

    With a *schema*, the JSON Schema of an object, the answer should be JSON of that shape;
    ``LanguageModel.answer`` validates it. *model* None is the provider's own.
    """

    prompt: str
    purpose: Purpose
    system: str = ""
    schema: Mapping[str, Any] | None = None
    temperature: float = 0.3
    max_tokens: int = 200
    timeout_ms: int | None = None
    """Timeout of the whole answer; None is the setting ``llm.timeout_seconds``."""
    model: str | None = None
    agent_id: str = field(default_factory=WORKING_FOR.get)
    """The agent to which the usage is attributed."""
    task_id: str | None = None
    """The run to which the usage is attributed; None for the purpose alone."""
    erasures: int | None = field(default_factory=ERASURES_SEEN.get)
    """The count of erasures when the prompt's memories were read."""


class PromptErasedError(ProviderBusyError):
    """A memory was forgotten since the prompt was made; not a failure of the provider."""


class TokenUsage(NamedTuple):
    """The tokens of a completion; *estimated* if the provider does not report them."""

    input_tokens: int
    output_tokens: int
    estimated: bool = False

    @property
    def tokens(self) -> int:
        """Return the sum of both."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer with its unchanged text, which may be empty, and the model that gave it."""

    text: str
    usage: TokenUsage
    model: str = ""


class Provider(Protocol):
    """A provider: an endpoint, a connected assistant, or a command."""

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return the answer to *request* (see the module for errors)."""
        ...

    async def close(self) -> None:
        """Release open resources."""
        ...


def read_usage(fields: Any, input_name: str, output_name: str) -> TokenUsage | None:
    """Return the usage in the two *fields* with these names, if a provider reports it."""
    if not isinstance(fields, dict):
        return None
    input_tokens, output_tokens = fields.get(input_name), fields.get(output_name)
    if type(input_tokens) is not int or type(output_tokens) is not int:
        return None
    return (
        TokenUsage(input_tokens, output_tokens) if min(input_tokens, output_tokens) >= 0 else None
    )


def count_tokens(text: str) -> int:
    """Return the estimated tokens of *text*, at four characters a token."""
    return -(-len(text) // CHARS_PER_TOKEN)


def estimate_usage(request: CompletionRequest, text: str) -> TokenUsage:
    """Return the estimated usage of a completion.

    >>> estimate_usage(CompletionRequest("12345678", Purpose.NAP), "1234").tokens
    3
    """
    return TokenUsage(estimate_input(request), count_tokens(text), estimated=True)


def estimate_input(request: CompletionRequest) -> int:
    """Return the estimated tokens of the prompt of *request*."""
    return count_tokens(request.prompt + request.system)
