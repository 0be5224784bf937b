"""How long a caller waits for a model that is being loaded; without a limit, until it is.

Loading takes most of a second. An assistant's hook waits for its answer before each
prompt: meanwhile it is answered from the full-text index, and the next prompt by vectors, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_deadline: ContextVar[float | None] = ContextVar("load_deadline", default=None)


@contextmanager
def load_timeout(milliseconds: int | None) -> Iterator[None]:
    """Limit the waiting for models within the block to *milliseconds* in all; None is no limit."""
    if milliseconds is None:
        yield
        return
    token = _deadline.set(asyncio.get_running_loop().time() + milliseconds / 1_000)
    try:
        yield
    finally:
        _deadline.reset(token)


def seconds_left() -> float | None:
    """Return the remaining seconds of the limit, None without one."""
    deadline = _deadline.get()
    return None if deadline is None else max(0.0, deadline - asyncio.get_running_loop().time())
