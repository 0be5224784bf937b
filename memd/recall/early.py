"""A question is embedded while it is being understood.

What is embedded is known once the names of its speakers are taken out, and few questions
have any. So where the last one was embedded as it stands, the next one is, too, at once:
the model is at work while the store is read. A guess that was wrong costs one text's time
in the model's thread.
"""

from __future__ import annotations

import asyncio

from memd.domain.encoding import Embedder

EarlyTask = asyncio.Task[list[bytes]]


class EarlyVector:
    """Whether a guess is worth it, as the last question showed."""

    def __init__(self) -> None:
        self._stands = False

    def begin(self, embedder: Embedder, text: str) -> EarlyTask | None:
        """Begin to embed *text* where that is likely what is wanted. Whoever asks cancels it."""
        if not self._stands:
            return None
        task = asyncio.create_task(_embedded(embedder, text))
        task.add_done_callback(_looked_at)
        return task

    def note(self, *, stands: bool) -> None:
        """Note whether a question was embedded as it stands."""
        self._stands = stands


async def _embedded(embedder: Embedder, text: str) -> list[bytes]:
    return await embedder.embed([text])


def _looked_at(task: EarlyTask) -> None:
    """Leave no warning of an error that nobody waited for."""
    if not task.cancelled():
        task.exception()
