"""Clean-up that a cancellation does not cut short.

A daemon may be cancelled while it stops because somebody asked it to. A connection that was still
closing then would report to a loop that is gone, and its thread would keep the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


async def finish(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Await *work* to its end; a cancellation of the caller meanwhile is raised after it."""
    task = asyncio.ensure_future(work())
    cancellation: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancellation = error
    task.result()
    if cancellation is not None:
        raise cancellation
