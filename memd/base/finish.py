"""Work that a cancellation does not cut short.

A daemon may be cancelled while it stops because somebody asked it to. A connection that was still
closing then would report to a loop that is gone, and its thread would keep the process. And what
memory holds must follow a write that a cancellation no longer stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def finish(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return the result of *work*; a cancellation of the caller meanwhile is raised at its end."""
    task = asyncio.ensure_future(work())
    cancellation: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancellation = error
    result = task.result()
    if cancellation is not None:
        raise cancellation
    return result
