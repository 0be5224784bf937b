"""A clock that only moves when a test sets it."""

from __future__ import annotations

from datetime import datetime, timedelta

from support.entries import NOW

from memd.base.clock import to_us


class HeldClock:
    """Starts at *now* (by default 2026-03-17, noon UTC)."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def now_us(self) -> int:
        return to_us(self.now)

    def monotonic_us(self) -> int:
        return to_us(self.now)

    def advance(self, **span: float) -> datetime:
        """Move on by a timedelta's arguments and return the new time."""
        self.now += timedelta(**span)
        return self.now
