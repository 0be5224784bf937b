"""The clock, which is passed to everything that depends on the time.

So a test can fix the time, and a night can be replayed. Only this module reads the machine's
clocks. Times are integer microseconds since 1970 in the store (SPEC D19) and aware UTC
datetimes on the wire.

Memories are erased by the trusted time, in which a leap of the clock counts only after it has held.
A clock that leaps by days, or that is wrong when the machine starts, would otherwise empty
the trash within a minute. A leap is a change of the wall clock beyond the monotonic one; it
is trusted once it has held for ``HOLD_US``. Until then the time continues from where it was,
never beyond the wall clock.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol, overload

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY_US = 86_400_000_000
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


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


@overload
def to_us(moment: datetime) -> int: ...
@overload
def to_us(moment: datetime | None) -> int | None: ...


def to_us(moment: datetime | None) -> int | None:
    """Return *moment*, which must be aware, as microseconds since 1970, exactly; None for None.

    >>> to_us(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    return None if moment is None else (moment - EPOCH) // timedelta(microseconds=1)


@overload
def from_us(moment_us: int) -> datetime: ...
@overload
def from_us(moment_us: int | None) -> datetime | None: ...


def from_us(moment_us: int | None) -> datetime | None:
    """Return the aware UTC datetime of *moment_us*; the inverse of :func:`to_us`.

    A number beyond the years 1 to 9999, as a file may hold, becomes their first or last
    moment, so that no list fails because of one row.

    >>> from_us(10**18).year, from_us(-(10**18)).year
    (9999, 1)
    """
    if moment_us is None:
        return None
    try:
        return EPOCH + timedelta(microseconds=moment_us)
    except OverflowError:
        return _LAST if moment_us > 0 else _FIRST


def localize(moment: datetime, zone: tzinfo | None = None) -> datetime:
    """Return *moment* in *zone*, by default the machine's.

    Within a day of the calendar's ends, where that zone may be in a year that there is not,
    *moment* as it is.

    >>> from datetime import timezone
    >>> localize(_LAST, timezone(timedelta(hours=1))).isoformat()
    '9999-12-31T23:59:59.999999+00:00'
    """
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment


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
