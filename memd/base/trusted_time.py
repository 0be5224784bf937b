"""The time by which memories are erased: a leap of the clock counts only after it has held.

A clock that leaps by days, or that is wrong when the machine starts, would otherwise empty
the trash within a minute. A leap is a change of the wall clock beyond the monotonic one; it
is trusted once it has held for ``HOLD_US``. Until then the time continues from where it was,
never beyond the wall clock.
"""

from __future__ import annotations

from memd.base.clock import Clock

HOLD_US = 3_600_000_000
TOLERANCE_US = 60_000_000  # smaller corrections of the clock are accepted at once


class TrustedTime:
    """A clock's time without leaps, starting at *known_us*, the last recorded time."""

    def __init__(self, clock: Clock, known_us: int | None = None) -> None:
        self._clock = clock
        now_us, elapsed_us = clock.now_us(), clock.monotonic_us()
        self._candidate_us = now_us - elapsed_us
        self._since_us = elapsed_us
        self._trusted_us = self._candidate_us if known_us is None else known_us - elapsed_us

    def now_us(self) -> int:
        """Return the trusted time in microseconds since 1970."""
        now_us, elapsed_us = self._clock.now_us(), self._clock.monotonic_us()
        offset_us = now_us - elapsed_us
        if abs(offset_us - self._candidate_us) > TOLERANCE_US:
            self._candidate_us, self._since_us = offset_us, elapsed_us
        elif (
            elapsed_us - self._since_us >= HOLD_US
            or abs(offset_us - self._trusted_us) <= TOLERANCE_US
        ):
            self._trusted_us = offset_us
        return min(now_us, elapsed_us + self._trusted_us)
