"""The budget of any 24 hours, and when a provider is left alone."""

from __future__ import annotations

from memd.base.clock import DAY_US
from memd.llm.meter import FAILURES_MAX, PAUSE_US_MAX, PAUSE_US_MIN, Breaker, Budget


def test_what_is_reserved_cannot_be_spent_twice_and_comes_back_unspent() -> None:
    budget = Budget(100)
    assert budget.reserve(60, 0)
    assert not budget.reserve(60, 0)
    budget.settle(60, 10, 0)
    assert budget.used_tokens(0) == 10
    assert budget.reserve(90, 0)


def test_a_day_later_what_was_spent_counts_no_more() -> None:
    budget = Budget(100)
    budget.note(100, 0)
    assert not budget.reserve(1, DAY_US - 1)
    assert budget.reserve(100, DAY_US)


def test_nothing_may_be_spent_of_nothing() -> None:
    assert not Budget(0).reserve(1, 0)


def test_failures_in_a_row_open_the_breaker_for_ever_longer_and_success_closes_it() -> None:
    breaker = Breaker()
    for _ in range(FAILURES_MAX - 1):
        breaker.record_failure(0)
    assert not breaker.is_open(0)
    breaker.record_failure(0)
    assert breaker.is_open(PAUSE_US_MIN - 1)
    assert not breaker.is_open(PAUSE_US_MIN)
    breaker.record_failure(PAUSE_US_MIN)
    assert breaker.is_open(3 * PAUSE_US_MIN - 1)
    breaker.record_success()
    assert not breaker.is_open(0)


def test_a_refusal_opens_it_at_once_and_longest() -> None:
    breaker = Breaker()
    breaker.record_failure(0, refused=True)
    assert breaker.is_open(PAUSE_US_MAX - 1)
