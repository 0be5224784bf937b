"""What was refused, on its way into the audit, so that a flood of it fills no disk.

The first attempt of a kind (a client, a method) is written down before it is
answered. What it tries again within the next second is counted and becomes one
row at the second's end. While that goes on the wait doubles, up to ten minutes,
and falls back to a second after a wait without a repetition. So every attempt is
counted, and a client that tries everything all the time makes some hundred rows
in ten minutes. A kill loses the counts of the wait that it falls into, never the
first attempt.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from memd.base import log
from memd.base.errors import MemdError
from memd.base.limits import DENIED_WAIT_MS_MAX, DENIED_WAIT_MS_MIN
from memd.store.access.changes import RefusedAttempt

Write = Callable[[Sequence[RefusedAttempt]], Awaitable[None]]


class Denials:
    """Counts attempts. ``run`` beside the server, ``flush`` at the end."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._known: set[tuple[str, str]] = set()
        self._again: Counter[tuple[str, str]] = Counter()
        self._some = asyncio.Event()
        self.wait_ms = DENIED_WAIT_MS_MIN

    async def note(self, client: str, method: str) -> None:
        """Write an attempt down, or count it when one of its kind was just written."""
        kind = (client, method)
        self._some.set()
        if kind in self._known:
            self._again[kind] += 1
            return
        self._known.add(kind)
        await self._written(Counter({kind: 1}))

    async def run(self) -> None:
        """Write the counts down at the end of each wait. Never ends."""
        while True:
            await self._some.wait()
            await asyncio.sleep(self.wait_ms / 1_000)
            await self.flush()

    async def flush(self) -> None:
        """Write down what was counted, and choose how long to wait the next time."""
        counted, self._again = self._again, Counter()
        self._known.clear()
        if counted:
            self.wait_ms = min(2 * self.wait_ms, DENIED_WAIT_MS_MAX)
            await self._written(counted)
        else:
            self.wait_ms = DENIED_WAIT_MS_MIN
            self._some.clear()

    async def _written(self, counted: Counter[tuple[str, str]]) -> None:
        """Write rows; what a full disk or a locked file refuses is counted again."""
        rows = [
            RefusedAttempt(client, method, times) for (client, method), times in counted.items()
        ]
        try:
            await self._write(rows)
        except MemdError as error:
            self._again.update(counted)
            self._some.set()
            log.warning("refused attempts were not written down yet", kind=error.kind)
