"""SPEC D23: what a prompt says of itself when nothing fits into its budget."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.entries import a_scored

from memd.encode.tokens import DefaultTokenEstimator
from memd.inject.format import formatted
from memd.inject.prompt import Prompt

ESTIMATOR = DefaultTokenEstimator()
NGINX = a_scored("nginx listens on 8080", 0.9)


def a_prompt(budget: int, policies: Sequence[str], preferences: Sequence[str]) -> Prompt:
    prompt = Prompt(budget, ESTIMATOR)
    prompt.add_policies(policies)
    prompt.add_preferences(preferences)
    found = formatted([NGINX], estimator=ESTIMATOR, token_budget=prompt.left)
    prompt.add_memories(found, 1)
    return prompt


def check_the_least(policies: Sequence[str], preferences: Sequence[str], small: int) -> None:
    least = a_prompt(small, policies, preferences).minimum
    assert least is not None
    assert a_prompt(least, policies, preferences).memories
    assert not any(a_prompt(less, policies, preferences).memories for less in range(1, least))


@pytest.mark.parametrize("small", [1, 30, 60, 90])
def test_the_least_budget_counts_the_preferences_that_have_room_in_it(small: int) -> None:
    """In one token there is no room for a preference; in what is asked for there is."""
    check_the_least((), ["I prefer tabs over spaces in Go code."], small)


@given(
    st.lists(st.integers(1, 120).map("p".__mul__), max_size=4),
    st.lists(st.integers(1, 120).map("q".__mul__), max_size=4),
    st.integers(1, 60),
)
def test_in_the_least_budget_a_memory_fits_and_in_a_smaller_one_none(
    policies: list[str], preferences: list[str], small: int
) -> None:
    check_the_least(policies, preferences, small)
