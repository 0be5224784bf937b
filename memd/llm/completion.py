"""The documented ``CompletionProvider`` over the language model, for strategies.

memd's own strategies use it too, so that one rule serves both. A refusal is reported by
``llm.status``; here it counts as a missing answer, and the strategy falls back to its rule.
"""

from __future__ import annotations

from memd.base.errors import ProviderBusyError, ProviderRefusedError
from memd.domain.values import NotBlankStr
from memd.guard.suspicion import is_doubtful
from memd.llm.llm import LanguageModel
from memd.llm.provider import CompletionRequest, Purpose

REMEMBERED = frozenset({Purpose.SUMMARY, Purpose.COMPRESSION, Purpose.EXPERIENCE})
"""Purposes whose answer becomes a memory; an answer that reads like an order is discarded."""
CHARS_PER_TOKEN_MAX = 10
"""An answer for a purpose in REMEMBERED with more characters per *max_tokens* is discarded."""


class PurposeProvider:
    """The language model for one purpose."""

    def __init__(self, model: LanguageModel, purpose: Purpose) -> None:
        self._model = model
        self._purpose = purpose

    async def complete(
        self,
        prompt: str,
        *,
        model: NotBlankStr,
        system: str = "",
        temperature: float = 0.3,
        max_tokens: int = 200,
    ) -> str:
        """Return the text of the answer. Raises only ProviderBusyError."""
        default_model = self._model.identity.model
        request = CompletionRequest(
            prompt,
            self._purpose,
            system=system,
            temperature=temperature,
            max_tokens=max_tokens,
            model=None if model == default_model else model,
        )
        try:
            text = (await self._model.complete(request)).text
        except ProviderRefusedError as error:
            raise ProviderBusyError(error.message) from None
        if self._purpose in REMEMBERED and len(text) > CHARS_PER_TOKEN_MAX * max_tokens:
            raise ProviderBusyError("the language model's answer is longer than was asked for")
        if self._purpose in REMEMBERED and is_doubtful(text):
            raise ProviderBusyError("the language model's answer reads like an order")
        return text

    @property
    def name(self) -> str:
        """The name of the model, for strategies that need one."""
        return self._model.identity.model or self._model.identity.name
