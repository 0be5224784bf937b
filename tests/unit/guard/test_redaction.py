"""What leaves is screened; what can hold no secret is known by its shape."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from memd.guard.redaction import redact, redact_all
from memd.guard.secrets import screen

KEY = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))


@given(st.integers(0, 2**128 - 1), st.datetimes(timezones=ZONES))
def test_no_rule_finds_a_secret_in_an_id_or_a_time(number: int, moment: datetime) -> None:
    digits = UUID(f"{number % 10**32:032d}")  # the likeliest to be taken for a card
    for text in (str(UUID(int=number)), str(digits), moment.isoformat()):
        assert screen(text).text == text == redact(text)


def test_what_only_begins_like_one_is_screened() -> None:
    for text in (f"2026-03-01T12:00:00Z {KEY}", f"0192f0c4-7b1e-7cc3-9a51-3b2c5d7e8f90 {KEY}"):
        assert KEY not in redact(text)


def test_every_text_and_every_key_of_an_answer_is_screened() -> None:
    answer = {KEY: [KEY, {"a": (KEY, 1, 1.5, True, None)}], "short": "x"}
    left = redact_all(answer)
    assert KEY not in repr(left)
    (_, told), short = left.values()
    assert (told["a"][1:], short) == ([1, 1.5, True, None], "x")
