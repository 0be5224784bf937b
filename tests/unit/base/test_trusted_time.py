"""A clock that leaps erases nothing; time that moved counts once it has lasted."""

from __future__ import annotations

from memd.base.clock import HOLD_US, TrustedTime

DAY_US = 86_400_000_000
SECOND_US = 1_000_000


class Clocks:
    """A wall clock that can be set, beside the machine's own counting."""

    def __init__(self) -> None:
        self.wall_us = 1_000 * DAY_US
        self.counted_us = 5 * DAY_US

    def now_us(self) -> int:
        return self.wall_us

    def monotonic_us(self) -> int:
        return self.counted_us

    def passes(self, span_us: int) -> None:
        self.wall_us += span_us
        self.counted_us += span_us


def test_time_that_passes_counts_at_once() -> None:
    clocks = Clocks()
    time = TrustedTime(clocks)
    clocks.passes(3 * DAY_US)
    assert time.now_us() == clocks.wall_us


def test_a_leap_counts_once_it_has_lasted() -> None:
    clocks = Clocks()
    time = TrustedTime(clocks)
    before_us = time.now_us()
    clocks.wall_us += 8 * DAY_US
    assert time.now_us() == before_us
    clocks.passes(80 * SECOND_US)
    assert time.now_us() == before_us + 80 * SECOND_US
    clocks.passes(HOLD_US)
    assert time.now_us() == clocks.wall_us


def test_a_leap_that_is_taken_back_never_counted() -> None:
    clocks = Clocks()
    time = TrustedTime(clocks)
    clocks.wall_us += 8 * DAY_US
    time.now_us()
    clocks.passes(80 * SECOND_US)
    clocks.wall_us -= 8 * DAY_US
    clocks.passes(HOLD_US * 2)
    assert time.now_us() == clocks.wall_us


def test_a_clock_that_was_set_back_is_followed_at_once() -> None:
    clocks = Clocks()
    time = TrustedTime(clocks)
    clocks.wall_us -= 30 * DAY_US
    assert time.now_us() == clocks.wall_us


def test_a_new_start_goes_on_from_what_was_noted_until_the_clock_has_lasted() -> None:
    clocks = Clocks()
    known_us = clocks.wall_us - 8 * DAY_US
    time = TrustedTime(clocks, known_us)
    clocks.passes(60 * SECOND_US)
    assert time.now_us() == known_us + 60 * SECOND_US
    clocks.passes(HOLD_US)
    assert time.now_us() == clocks.wall_us
