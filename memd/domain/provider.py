"""A language model, as the rooms see it. memd has none of its own and needs none (SPEC D8).

Whoever is given None in place of a provider does the same work by rule. What a
provider is sent has every remembered text fenced, and what it answers is kept as
a text like any other: a provider never writes.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from memd.domain.values import NotBlankStr


@runtime_checkable
class CompletionProvider(Protocol):
    """Completes a prompt. Retrying, keys and addresses are its own affair."""

    async def complete(
        self,
        prompt: str,
        *,
        model: NotBlankStr,
        system: str = "",
        temperature: float = 0.3,
        max_tokens: int = 200,
    ) -> str:
        """Return the model's answer to *prompt*, at most *max_tokens* long.

        Raises ProviderBusyError when the same prompt may succeed later, and
        ProviderRefusedError when it never will: wrong key, unknown model.
        """
        ...
