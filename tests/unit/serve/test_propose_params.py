"""What a fact that is proposed may say about the time it holds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memd.serve.routes.org import ProposeFactParams

NOON = datetime(2026, 3, 17, 12, tzinfo=UTC)


def test_a_fact_holds_for_a_time_and_never_for_none() -> None:
    params = {"category": "adr", "content": "We use SQLite.", "valid_from": NOON}
    ProposeFactParams.model_validate({**params, "valid_to": NOON + timedelta(microseconds=1)})
    for end in (NOON, NOON - timedelta(days=1)):
        with pytest.raises(ValueError, match="valid_from must be before valid_to"):
            ProposeFactParams.model_validate({**params, "valid_to": end})
