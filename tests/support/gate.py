"""The share of an expensive test that the gate runs, and that of ``--long`` (decision 0153)."""

from __future__ import annotations

from typing import Any

import hypothesis
import pytest


def drawn(*, gate: int, long: int) -> hypothesis.settings:
    """Return how many examples are drawn: *gate*, or *long* where the long tests run."""
    of_the_gate = hypothesis.settings.get_current_profile_name() != "long"
    return hypothesis.settings(max_examples=gate if of_the_gate else long)


def seeds(*, gate: int, long: int) -> list[Any]:
    """Return the seeds below *long*, of which those from *gate* on are for the long tests."""
    more = (pytest.param(seed, marks=pytest.mark.long) for seed in range(gate, long))
    return [*range(gate), *more]
