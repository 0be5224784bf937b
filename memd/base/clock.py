"""Clocks, conversions of times, and a time that ignores sudden changes of the system clock.

Code that depends on the time gets a ``Clock`` as an argument, so that a test can fix the time
and a night can be replayed. Only this module reads the system's clocks. Times are integer
microseconds since 1970 in the store (SPEC D19) and aware UTC datetimes on the wire.

Memories are erased by the time of :class:`TrustedTime`. A clock that jumps by days, or that is
wrong when the computer starts, would otherwise empty the trash within a minute.
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
"""A clock that also counts while the computer sleeps: BOOTTIME on Linux, MONOTONIC on macOS."""


class SystemClock:
    """The clocks of the operating system."""

    def now_us(self) -> int:
        return time.time_ns() // 1_000

    def monotonic_us(self) -> int:
        return time.clock_gettime_ns(_MONOTONIC) // 1_000


@overload
def to_us(moment: datetime) -> int: ...
@overload
def to_us(moment: datetime | None) -> int | None: ...


def to_us(moment: datetime | None) -> int | None:
    """Return the aware datetime *moment* as microseconds since 1970, exactly; None for None.

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

    A number outside the years 1 to 9999, which a damaged file may contain, becomes the first
    or last moment of these years, so that one bad row does not make a whole list fail.

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
    """Return *moment* in *zone*, by default the computer's time zone.

    Return *moment* unchanged if its year in *zone* would be 0 or 10000, which datetime cannot
    represent.

    >>> from datetime import timezone
    >>> localize(_LAST, timezone(timedelta(hours=1))).isoformat()
    '9999-12-31T23:59:59.999999+00:00'
    """
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment


HOLD_US = 3_600_000_000
"""How long a jump of the wall clock must last before it is trusted: one hour."""

TOLERANCE_US = 60_000_000
"""Corrections of the wall clock up to one minute are trusted at once."""


class TrustedTime:
    """The wall clock without jumps, starting at *known_us*, the last recorded time.

    A jump is a change of the wall clock relative to the monotonic clock by more than
    ``TOLERANCE_US``. Until it has lasted ``HOLD_US``, the trusted time continues by the
    monotonic clock, but never ahead of the wall clock.
    """

    def __init__(self, clock: Clock, known_us: int | None = None) -> None:
        # Offsets are wall time minus monotonic time: they are constant unless the clock jumps.
        self._clock = clock
        now_us, elapsed_us = clock.now_us(), clock.monotonic_us()
        self._offset_us = now_us - elapsed_us
        self._offset_since_us = elapsed_us
        self._trusted_offset_us = self._offset_us if known_us is None else known_us - elapsed_us

    def now_us(self) -> int:
        """Return the trusted time in microseconds since 1970."""
        now_us, elapsed_us = self._clock.now_us(), self._clock.monotonic_us()
        offset_us = now_us - elapsed_us
        if abs(offset_us - self._offset_us) > TOLERANCE_US:
            self._offset_us, self._offset_since_us = offset_us, elapsed_us
        elif (
            elapsed_us - self._offset_since_us >= HOLD_US
            or abs(offset_us - self._trusted_offset_us) <= TOLERANCE_US
        ):
            self._trusted_offset_us = offset_us
        return min(now_us, elapsed_us + self._trusted_offset_us)
