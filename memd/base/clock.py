"""The clock, which is passed to everything that depends on the time.

So a test can fix the time, and a night can be replayed. Only this module reads the machine's
clocks. Times are integer microseconds since 1970 in the store (SPEC D19) and aware UTC
datetimes on the wire.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY_US = 86_400_000_000


class Clock(Protocol):
    """A source of wall time and monotonic time."""

    def now_us(self) -> int:
        """Return wall time in microseconds since 1970."""
        ...

    def monotonic_us(self) -> int:
        """Return a time that never goes backwards, for measuring durations."""
        ...


_MONOTONIC = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""A clock that also counts while the machine sleeps: BOOTTIME on Linux, MONOTONIC on macOS."""


class SystemClock:
    """The machine's own clocks."""

    def now_us(self) -> int:
        return time.time_ns() // 1_000

    def monotonic_us(self) -> int:
        return time.clock_gettime_ns(_MONOTONIC) // 1_000


def to_us(moment: datetime) -> int:
    """Return *moment*, which must be aware, as microseconds since 1970, exactly.

    >>> to_us(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    return (moment - EPOCH) // timedelta(microseconds=1)


def from_us(moment_us: int) -> datetime:
    """Return the aware UTC datetime of *moment_us*; the inverse of :func:`to_us`."""
    return EPOCH + timedelta(microseconds=moment_us)
