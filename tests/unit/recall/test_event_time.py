"""Which memory tells of an event, and when that was."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from support.measured import a_candidate, words_of

from memd.base.clock import DAY_US, to_us
from memd.recall.times import event_time, tells_of

TOLD = to_us(datetime(2026, 11, 18, 14, 30, tzinfo=UTC))
RELEASE = frozenset({"release"})


@pytest.mark.parametrize(
    ("own", "tells"),
    [
        ("The release went out today.", True),
        ("We shipped it.", False),
        ("When is the release?", False),
        ("We freeze the API until the release.", False),
    ],
)
def test_a_memory_tells_of_an_event_that_it_states(own: str, tells: bool) -> None:
    assert tells_of(own, RELEASE, words_of) is tells


def test_an_event_was_when_its_memory_is_of_or_when_its_text_says() -> None:
    plain = a_candidate(1, "The release went out.", occurred_at_us=TOLD)
    dated = a_candidate(2, "The release went out yesterday.", occurred_at_us=TOLD)

    assert event_time(plain)[:2] == (TOLD, TOLD)
    assert event_time(dated).begin_us < TOLD - DAY_US // 2
    assert event_time(dated).end_us - event_time(dated).begin_us == DAY_US


def test_a_text_with_several_times_says_none_for_its_event() -> None:
    both = "The release of 1 May 2025 came after that of 3 April 2024."
    assert event_time(a_candidate(1, both, occurred_at_us=TOLD))[:2] == (TOLD, TOLD)
