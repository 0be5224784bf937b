"""A lock that many may hold together, or one alone, within one event loop.

Requests hold it shared while they use the embedding model; a change of model holds it exclusively,
so no request sees a change half made.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class SharedLock:
    """A readers-writer lock for asyncio; not for several threads."""

    def __init__(self) -> None:
        self._holders = 0
        self._unshared = asyncio.Event()
        self._unshared.set()
        self._unlocked = asyncio.Event()
        self._unlocked.set()

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Hold the lock together with others; waits while somebody holds it exclusively."""
        while not self._unlocked.is_set():
            await self._unlocked.wait()
        self._holders += 1
        self._unshared.clear()
        try:
            yield
        finally:
            self._holders -= 1
            if not self._holders:
                self._unshared.set()

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[None]:
        """Hold the lock alone; waits for a moment without holders. Never from within ``shared``."""
        while self._holders or not self._unlocked.is_set():
            await self._unshared.wait()
            await self._unlocked.wait()
        self._unlocked.clear()
        try:
            yield
        finally:
            self._unlocked.set()
