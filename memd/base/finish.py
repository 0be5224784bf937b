"""Running a coroutine to its end even if its caller is cancelled.

Two uses need this. A daemon that is cancelled while it stops must still close its database
connections: otherwise their threads keep the process alive. And after a write that can no
longer be cancelled, the caches in memory must be updated too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def finish(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return the result of *work*.

    If the caller is cancelled meanwhile, *work* runs to its end, then CancelledError is raised.
    """
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
