"""What facts over the socket may say and how large a page of them is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memd.serve.routes import routes
from memd.serve.routes.org import ProposeFactParams

NOON = datetime(2026, 3, 17, 12, tzinfo=UTC)


def test_a_fact_holds_for_a_time_and_never_for_none() -> None:
    params = {"category": "adr", "content": "We use SQLite.", "valid_from": NOON}
    ProposeFactParams.model_validate({**params, "valid_to": NOON + timedelta(microseconds=1)})
    for end in (NOON, NOON - timedelta(days=1)):
        with pytest.raises(ValueError, match="valid_from must be before valid_to"):
            ProposeFactParams.model_validate({**params, "valid_to": end})


@pytest.mark.parametrize(
    ("bytes_max", "fit"), [(1, 1), (11, 1), (12, 2), (17, 2), (18, 3), (100, 4)]
)
def test_as_many_as_fit_into_a_frame_and_always_the_first(
    monkeypatch: pytest.MonkeyPatch, bytes_max: int, fit: int
) -> None:
    monkeypatch.setattr(routes, "FRAME_BYTES_MAX", bytes_max)
    items = ["abc", "def", "ghi", "jkl"]  # six bytes each, with quotes and what parts them
    fitted = list(routes.fitting_items(items))  # type: ignore[type-var]  # texts stand for values
    assert fitted == items[:fit]
