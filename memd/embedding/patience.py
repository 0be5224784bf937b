"""How long whoever asks waits for a model that is not loaded; without a word, until it is.

Loading takes most of a second. An assistant's hook waits for its answer before each
prompt: it is answered by words meanwhile, and the next one by meaning, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_until: ContextVar[float | None] = ContextVar("patience", default=None)


@contextmanager
def patience(milliseconds: int | None) -> Iterator[None]:
    """Wait no longer than *milliseconds* inside, in all; None waits as long as it takes."""
    if milliseconds is None:
        yield
        return
    token = _until.set(asyncio.get_running_loop().time() + milliseconds / 1_000)
    try:
        yield
    finally:
        _until.reset(token)


def seconds_left() -> float | None:
    """Return for how many seconds more it is waited, None for as long as it takes."""
    until = _until.get()
    return None if until is None else max(0.0, until - asyncio.get_running_loop().time())
