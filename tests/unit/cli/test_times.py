"""Times as a person types them, on the clock of the computer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from memd.base.clock import SystemClock, from_us
from memd.base.errors import InvalidError
from memd.cli.times import parse_event_time


@pytest.fixture(autouse=True)
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03", "2026-02-28T23:00:00+00:00"),
        ("2026-03-31", "2026-03-30T22:00:00+00:00"),
        ("8 May 2023", "2023-05-07T22:00:00+00:00"),
        ("2026-03-31T12:00:00Z", "2026-03-31T12:00:00+00:00"),
        ("2026-03-31 12:00", "2026-03-31T10:00:00+00:00"),
    ],
)
def test_what_names_no_zone_is_of_this_computer(text: str, moment: str) -> None:
    moment_text = parse_event_time("--since", text)

    assert moment_text is not None
    assert datetime.fromisoformat(moment_text) == datetime.fromisoformat(moment)


@pytest.mark.parametrize("text", ["yesterday", "gestern", "hier", "ayer", "ieri", "ontem"])
def test_words_count_from_today(text: str) -> None:
    moment_text = parse_event_time("--since", text)

    assert moment_text is not None
    local = datetime.fromisoformat(moment_text).astimezone()
    now = from_us(SystemClock().now_us()).astimezone()
    assert local.date() == (now - timedelta(days=1)).date()
    assert local.hour == 0


def test_what_is_no_time_is_refused_with_what_would_be() -> None:
    with pytest.raises(InvalidError, match="--until must be a time") as error:
        parse_event_time("--until", "the other day or so")
    assert error.value.hint is not None
    assert "last week" in error.value.hint


def test_nothing_given_is_nothing() -> None:
    assert parse_event_time("--since", None) is None
