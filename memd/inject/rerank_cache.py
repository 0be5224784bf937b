"""The orders that a re-ranker gave lately, so that the same question costs nothing (SPEC 14.5).

An order is kept as ids alone: no text, and always the candidates of the moment in
another order. It is as old as its making, however often it is read; what was read
longest ago goes first when there is no room.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

TTL_SECONDS = 3_600.0
SIZE_MAX = 1_000


@dataclass
class _Kept:
    ids: tuple[str, ...]
    made: float
    read: float


class RerankerCache:
    """Orders by question and set of candidates, at most *max_size*, each for *ttl_seconds*.

    Raises ValueError when one of them is not above 0. *monotonic* tells the time in
    seconds and never goes back.
    """

    def __init__(
        self,
        ttl_seconds: float = TTL_SECONDS,
        max_size: int = SIZE_MAX,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        if not ttl_seconds > 0 or max_size <= 0:
            raise ValueError(
                f"ttl_seconds and max_size must be above 0, not {ttl_seconds} and {max_size}"
            )
        self._ttl_s = ttl_seconds
        self._size = max_size
        self._now = monotonic
        self._kept: dict[str, _Kept] = {}
        self._lock = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    async def get(self, key: str) -> tuple[str, ...] | None:
        """Return the order kept under *key*; None without one, or when it is too old."""
        async with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            now = self._now()
            if self._expired(kept, now):
                del self._kept[key]
                return None
            kept.read = now
            return kept.ids

    async def put(self, key: str, ids: Iterable[str]) -> None:
        """Keep an order, having made room: the expired first, then what was read longest ago."""
        async with self._lock:
            now = self._now()
            for old in [name for name, kept in self._kept.items() if self._expired(kept, now)]:
                del self._kept[old]
            self._kept.pop(key, None)
            while len(self._kept) >= self._size:
                del self._kept[min(self._kept, key=lambda name: self._kept[name].read)]
            self._kept[key] = _Kept(tuple(ids), made=now, read=now)

    async def invalidate(self, key: str) -> None:
        """Forget one order."""
        async with self._lock:
            self._kept.pop(key, None)

    async def clear(self) -> None:
        """Forget all."""
        async with self._lock:
            self._kept.clear()

    def _expired(self, kept: _Kept, now: float) -> bool:
        return now - kept.made > self._ttl_s


def cache_key(query_text: str, ids: Iterable[str]) -> str:
    """Return what an order is kept under: the same for the same candidates in any order."""
    said = f"{query_text}|{','.join(sorted(ids))}"
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
