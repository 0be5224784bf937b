"""Sparse texts shortened by a language model if there is one, else by rule (SPEC 16.10).

The rule is the specification's fallback: the first 200 characters. It needs no
model and no network and always gives the same result.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from memd.base.errors import ProviderError
from memd.domain.backend import CompletionProvider
from memd.domain.memory import MemoryEntry
from memd.sleep.strategies.ask import ask, build_model, gather_limited
from memd.view.view import untrusted_content_directive, wrap_stored

SHORT_CHARS = 200
_TAG = "memory-entry"

_log = logging.getLogger(__name__)

_SYSTEM = (
    "You shorten one remembered text. Keep who, what, when and why, and every name, number and "
    "decision; leave out greetings, repetitions and asides. Answer with the shortened text alone. "
    + untrusted_content_directive((_TAG,))
)


class AbstractiveSummarizer:
    """Shortens texts, with *provider* or without one.

    With a provider the *model* must be named. Raises ValueError when it is not, or is
    blank.
    """

    def __init__(
        self,
        *,
        provider: CompletionProvider | None = None,
        model: str | None = None,
        max_summary_tokens: int = 200,
        temperature: float = 0.3,
    ) -> None:
        self._model = build_model(
            provider, model, temperature=temperature, max_tokens=max_summary_tokens
        )

    async def summarize(self, content: str, *, agent_id: str | None = None) -> str:
        """Return a summary of *content*: its first 200 characters where no model answers.

        The same model answers for every *agent_id*. Raises ProviderRefusedError
        when the provider needs its owner.
        """
        del agent_id
        if self._model is None:
            return truncate(content)
        answer = await ask(self._model, wrap_stored(_TAG, content), system=_SYSTEM)
        return truncate(content) if answer is None else answer

    async def summarize_batch(self, entries: Sequence[MemoryEntry]) -> tuple[tuple[str, str], ...]:
        """Return the id of each of *entries* with its summary, in the order given.

        The requests run concurrently. An entry whose request fails gets its first
        200 characters; the others are unaffected.
        """
        summaries = await gather_limited(
            self._summarize_or_cut, [entry.content for entry in entries]
        )
        return tuple((entry.id, text) for entry, text in zip(entries, summaries, strict=True))

    async def _summarize_or_cut(self, content: str) -> str:
        try:
            return await self.summarize(content)
        except ProviderError as error:
            _log.warning("one text was cut instead of summarised: %s", error.kind)
            return truncate(content)


def truncate(content: str, chars: int = SHORT_CHARS) -> str:
    """Return the first *chars* characters of *content* and "..."; a short text unchanged.

    >>> truncate("abcdef", 4)
    'abcd...'
    """
    return content if len(content) <= chars else f"{content[:chars]}..."
