"""What a provider of a language model is asked, and what it answers: one protocol for all.

Whoever asks has a rule for when nobody answers (SPEC D8), so there are two errors only:
ProviderBusyError for what may succeed later, ProviderRefusedError for what the owner must
mend. Cancelling the call gives the request up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from memd.base.errors import ProviderBusyError
from memd.domain.caller import ERASURES_SEEN, WORKING_FOR
from memd.llm.purposes import Purpose

CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """One prompt. Remembered text in it is fenced by whoever makes it (``view.wrap_stored``).

    With a *schema*, JSON Schema of an object, the answer is to be JSON of that shape; what
    comes is checked by ``LanguageModel.answer``. *model* None is the provider's own.
    """

    prompt: str
    purpose: Purpose
    system: str = ""
    schema: Mapping[str, Any] | None = None
    temperature: float = 0.3
    max_tokens: int = 200
    timeout_ms: int | None = None
    """How long to wait for the whole answer; None is the setting ``llm.timeout_seconds``."""
    model: str | None = None
    agent_id: str = field(default_factory=WORKING_FOR.get)
    """Whose memories the prompt is about: the usage is attributed to it."""
    task_id: str | None = None
    """What the usage is for: a run's id. Without it, the purpose."""
    erasures: int | None = field(default_factory=ERASURES_SEEN.get)
    """How often something had been erased when what the prompt is made of was read."""


class PromptErasedError(ProviderBusyError):
    """Something was forgotten since the prompt was made: no failure of the provider's."""


class TokenUsage(NamedTuple):
    """What a completion cost; *estimated* where the provider does not say."""

    input_tokens: int
    output_tokens: int
    estimated: bool = False

    @property
    def tokens(self) -> int:
        """Return both together."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer: its text as it came, "" for an empty one."""

    text: str
    usage: TokenUsage
    model: str = ""


class Provider(Protocol):
    """What answers: an endpoint, a connected assistant, job files."""

    async def complete(self, request: CompletionRequest) -> Completion:
        """Return the answer to *request* (see the module for errors)."""
        ...

    async def close(self) -> None:
        """Let go of what is open."""
        ...


def estimated(request: CompletionRequest, text: str) -> TokenUsage:
    """Return what a completion costs by the rule of four characters to a token.

    >>> estimated(CompletionRequest("12345678", Purpose.NAP), "1234").tokens
    3
    """
    return TokenUsage(input_estimate(request), -(-len(text) // CHARS_PER_TOKEN), estimated=True)


def input_estimate(request: CompletionRequest) -> int:
    """Return how many tokens the prompt of *request* has, by the same rule."""
    return -(-(len(request.prompt) + len(request.system)) // CHARS_PER_TOKEN)
