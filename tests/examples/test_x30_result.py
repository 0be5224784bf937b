"""X30: what a consolidation answers can be dumped and read back."""

from __future__ import annotations

import pytest

from memd.api import (
    ArchivalIndexEntry,
    ArchivalMode,
    ArchivalModeAssignment,
    ConsolidationResult,
)

RESULT = ConsolidationResult(
    removed_ids=("m1", "m2", "m3"),
    summary_ids=("s1", "s2"),
    archived_count=2,
    mode_assignments=(
        ArchivalModeAssignment(original_id="m1", mode=ArchivalMode.ABSTRACTIVE),
        ArchivalModeAssignment(original_id="m2", mode=ArchivalMode.EXTRACTIVE),
    ),
    archival_index=(
        ArchivalIndexEntry(original_id="m1", archival_id="a1", mode=ArchivalMode.ABSTRACTIVE),
    ),
)


@pytest.mark.parametrize("result", [RESULT, ConsolidationResult()])
def test_a_dump_is_read_back_as_the_same_result(result: ConsolidationResult) -> None:
    assert ConsolidationResult.model_validate(result.model_dump()) == result
    assert ConsolidationResult.model_validate_json(result.model_dump_json()) == result


def test_the_summary_s_id_is_the_last_one_made() -> None:
    assert RESULT.summary_id == "s2"
    assert ConsolidationResult().summary_id is None


def test_what_was_consolidated_is_what_was_removed() -> None:
    assert RESULT.consolidated_count == 3
    assert ConsolidationResult().consolidated_count == 0


def test_what_is_derived_is_in_no_dump() -> None:
    assert not {"summary_id", "consolidated_count"} & set(RESULT.model_dump())
    assert '"summary_id"' not in RESULT.model_dump_json()
