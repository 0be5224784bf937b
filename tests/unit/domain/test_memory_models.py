"""What no memory, filter or change of a memory can be (SPEC 7.2-7.6)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from memd.domain.enums import MemoryCategory
from memd.domain.memory import MemoryEntry, MemoryFilter, MemoryUpdate

NOW = datetime(2026, 1, 2, tzinfo=UTC)
EARLIER = NOW - timedelta(seconds=1)


def entry(**times: datetime) -> MemoryEntry:
    return MemoryEntry(
        id="m", agent_id="a", category=MemoryCategory.SEMANTIC, content="x", created_at=NOW, **times
    )


@pytest.mark.parametrize("name", ["updated_at", "expires_at"])
def test_nothing_happens_to_a_memory_before_it_was_made(name: str) -> None:
    assert getattr(entry(**{name: NOW}), name) == NOW
    with pytest.raises(ValueError, match=f"{name} must not be before created_at"):
        entry(**{name: EARLIER})


def test_a_filter_spans_some_time() -> None:
    assert MemoryFilter(since=EARLIER, until=NOW).until == NOW
    with pytest.raises(ValueError, match="since must be before until"):
        MemoryFilter(since=NOW, until=NOW)


def test_a_range_of_times_is_refused_at_its_end() -> None:
    with pytest.raises(ValidationError) as caught:
        MemoryFilter(occurred_since=NOW, occurred_until=EARLIER)
    assert [error["loc"] for error in caught.value.errors()] == [("occurred_until",)]


def test_an_update_changes_something() -> None:
    assert MemoryUpdate(content="y").content == "y"
    with pytest.raises(ValueError, match="name at least one of content, metadata, expires_at"):
        MemoryUpdate()
