"""Nothing that a screened text holds is a secret, whatever it was made of (PROMISES 5)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.largest_params import hostile
from support.token_formats import formats, token

from memd.guard import secrets
from memd.guard.secrets import ROUNDS_MAX, screen

NAMES = sorted(formats())
BETWEEN = (
    "", "", "", "-", "_", ".", ":", "/", "=", "\n", "\n  ", " ", "\t", "\u200b", "a", "9", "'", '"',
    "password=", "password: ", "token ", "secret = ", "://a:", "@", "bearer ", "AKIA", "ghp_",
    "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "[secret:token#1]", "eyJ",
)  # fmt: skip
PIECES = st.one_of(
    st.tuples(st.sampled_from(NAMES), st.integers(0, 9)).map(lambda made: token(*made)[0]),
    st.tuples(st.sampled_from(NAMES), st.integers(0, 9), st.integers(1, 60)).map(
        lambda made: token(*made[:2])[0][: made[2]]
    ),
    st.sampled_from(BETWEEN),
)


def screened_twice(text: str) -> None:
    secrets.SCREENED.clear()
    once = screen(text).text
    secrets.SCREENED.clear()
    again = screen(once)
    assert (again.text, again.kinds) == (once, ())


@settings(max_examples=100)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_screening_again_finds_nothing(text: str) -> None:
    screened_twice(text)


@pytest.mark.parametrize("between", ["", "-", "\n", "password="])
def test_keys_in_a_row_are_all_replaced(between: str) -> None:
    """More of them than there are rounds, each of which sees one of those written together."""
    for name in NAMES:
        screened_twice(between.join(token(name, seed)[0] for seed in range(ROUNDS_MAX + 4)))


@settings(max_examples=40)
@given(st.lists(PIECES, max_size=20).map("".join), st.integers(1, 3))
def test_so_it_is_however_few_rounds_there_are(text: str, rounds: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "ROUNDS_MAX", rounds)
        once = screen(text).text
    secrets.SCREENED.clear()
    assert screen(once).kinds == ()


def test_a_text_that_was_made_to_be_slow_is_screened_once_and_for_all() -> None:
    screened_twice(hostile(60_000))
