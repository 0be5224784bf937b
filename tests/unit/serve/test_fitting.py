"""A page of what everybody knows is shorter than asked for rather than larger than a frame."""

from __future__ import annotations

import pytest

from memd.serve.routes import fitting


@pytest.mark.parametrize(
    ("bytes_max", "fit"), [(1, 1), (11, 1), (12, 2), (17, 2), (18, 3), (100, 4)]
)
def test_as_many_as_fit_into_a_frame_and_always_the_first(
    monkeypatch: pytest.MonkeyPatch, bytes_max: int, fit: int
) -> None:
    monkeypatch.setattr(fitting, "FRAME_BYTES_MAX", bytes_max)
    items = ["abc", "def", "ghi", "jkl"]  # six bytes each, with quotes and what parts them
    fitted = list(fitting.fitting_items(items))  # type: ignore[type-var]  # texts stand for values
    assert fitted == items[:fit]
