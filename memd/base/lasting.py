"""The time by which things are erased: time that moved counts only after it has lasted.

A clock that leaps by days, or that was wrong when the machine started, would otherwise
empty the trash for good within a minute. A leap is what the wall clock did beyond the
machine's own counting; it is believed once it has held for ``HOLD_US``. Until then the
time goes on from where it was, never beyond what the wall clock says.
"""

from __future__ import annotations

from memd.base.clock import Clock

HOLD_US = 3_600_000_000
TOLERANCE_US = 60_000_000  # what a clock is set by in passing


class LastingTime:
    """A clock's time without its leaps. Begins at *known_us*, the last time that was noted."""

    def __init__(self, clock: Clock, known_us: int | None = None) -> None:
        self._clock = clock
        now_us, counted_us = clock.now_us(), clock.monotonic_us()
        self._candidate_us = now_us - counted_us
        self._since_us = counted_us
        self._trusted_us = self._candidate_us if known_us is None else known_us - counted_us

    def now_us(self) -> int:
        """Return the time that has lasted, in microseconds since 1970."""
        now_us, counted_us = self._clock.now_us(), self._clock.monotonic_us()
        offset_us = now_us - counted_us
        if abs(offset_us - self._candidate_us) > TOLERANCE_US:
            self._candidate_us, self._since_us = offset_us, counted_us
        elif (
            counted_us - self._since_us >= HOLD_US
            or abs(offset_us - self._trusted_us) <= TOLERANCE_US
        ):
            self._trusted_us = offset_us
        return min(now_us, counted_us + self._trusted_us)
