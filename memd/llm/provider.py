"""The protocol of language model providers, its requests and completions.

Callers have a rule for when there is no answer (SPEC D8), so there are only two errors:
ProviderBusyError for what may succeed later, ProviderRefusedError for what the owner must
fix. Cancelling the call cancels the request.
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
    """Something was forgotten since the prompt was made; not a failure of the provider."""


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
    """An answer, with its unchanged text, "" for an empty one."""

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


def estimate_usage(request: CompletionRequest, text: str) -> TokenUsage:
    """Return the estimated usage of a completion, at four characters a token.

    >>> estimate_usage(CompletionRequest("12345678", Purpose.NAP), "1234").tokens
    3
    """
    return TokenUsage(estimate_input(request), -(-len(text) // CHARS_PER_TOKEN), estimated=True)


def estimate_input(request: CompletionRequest) -> int:
    """Return the estimated tokens of the prompt of *request*."""
    return -(-(len(request.prompt) + len(request.system)) // CHARS_PER_TOKEN)
