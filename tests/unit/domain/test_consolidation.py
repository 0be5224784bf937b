"""SPEC 16.1, 16.12, 16.13, 16.15: the documented values of consolidation and their rules."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError
from support.entries import NOW

from memd.domain.backend import CompletionProvider
from memd.domain.enums import MemoryCategory
from memd.domain.sleep.consolidation import (
    ArchivalEntry,
    ArchivalIndexEntry,
    ArchivalMode,
    ArchivalModeAssignment,
    ArchivalStore,
    CompressedExperience,
    ConsolidationResult,
    ConsolidationStrategy,
    ConsolidationStrategyType,
    ContentDensity,
    DetailedExperience,
    LLMConsolidationConfig,
)


def assignments(*ids: str) -> tuple[ArchivalModeAssignment, ...]:
    return tuple(
        ArchivalModeAssignment(original_id=each, mode=ArchivalMode.EXTRACTIVE) for each in ids
    )


def index_entries(*ids: str) -> tuple[ArchivalIndexEntry, ...]:
    return tuple(
        ArchivalIndexEntry(original_id=each, archival_id=f"a-{each}", mode=ArchivalMode.EXTRACTIVE)
        for each in ids
    )


def test_the_enumerations_have_exactly_the_documents_values() -> None:
    assert [*ConsolidationStrategyType] == ["simple", "dual_mode", "llm"]
    assert [*ArchivalMode] == ["abstractive", "extractive"]
    assert [*ContentDensity] == ["sparse", "dense"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"removed_ids": ("a", "a")}, "removed_ids"),
        ({"summary_ids": ("s", "s")}, "summary_ids"),
        ({"removed_ids": ("a",), "archived_count": 2}, "archived_count"),
        (
            {
                "removed_ids": ("a", "b"),
                "archived_count": 1,
                "archival_index": index_entries("a", "b"),
            },
            "archived_count",
        ),
        ({"removed_ids": ("a",), "mode_assignments": assignments("b")}, "mode_assignments"),
        ({"removed_ids": ("a",), "mode_assignments": assignments("a", "a")}, "mode_assignments"),
        (
            {"removed_ids": ("a",), "archived_count": 1, "archival_index": index_entries("b")},
            "archival_index",
        ),
        (
            {
                "removed_ids": ("a", "b"),
                "archived_count": 2,
                "archival_index": index_entries("a", "a"),
            },
            "archival_index",
        ),
        ({"archived_count": -1}, "archived_count"),
        ({"removed_ids": (" ",)}, "removed_ids"),
        ({"summary_id": "s"}, "summary_id"),
    ],
)
def test_a_result_that_does_not_add_up_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ConsolidationResult(**fields)


def test_not_all_that_was_removed_needs_a_mode_an_archive_or_a_place_in_the_index() -> None:
    result = ConsolidationResult(
        removed_ids=("a", "b", "c"),
        archived_count=2,
        mode_assignments=assignments("c"),
        archival_index=index_entries("a"),
    )
    assert result.consolidated_count == 3


def archival_entry(**fields: Any) -> ArchivalEntry:
    given = {
        "original_id": "m",
        "agent_id": "ada",
        "content": "text",
        "category": MemoryCategory.SEMANTIC,
        "created_at": NOW,
        "archived_at": NOW,
        "archival_mode": ArchivalMode.EXTRACTIVE,
    }
    return ArchivalEntry.model_validate(given | fields)


def test_nothing_is_archived_before_it_was_made() -> None:
    archival_entry()
    archival_entry(archived_at=NOW + timedelta(days=1))
    with pytest.raises(ValidationError, match="archived_at"):
        archival_entry(archived_at=NOW - timedelta(microseconds=1))


@pytest.mark.parametrize("field", ["created_at", "archived_at"])
def test_a_time_without_a_zone_is_refused(field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        archival_entry(**{field: NOW.replace(tzinfo=None)})


def detailed_experience(**fields: Any) -> DetailedExperience:
    given = {
        "id": "d",
        "agent_id": "ada",
        "prompt": "p",
        "output": "o",
        "metadata": {"tags": ("detailed_experience",)},
        "created_at": NOW,
    }
    return DetailedExperience.model_validate(given | fields)


def compressed_experience(**fields: Any) -> CompressedExperience:
    given = {
        "id": "c",
        "agent_id": "ada",
        "strategic_decisions": ("ask first",),
        "source_artifact_ids": ("d",),
        "compression_ratio": 0.5,
        "compressor_version": "v1",
        "metadata": {"tags": ("compressed_experience",)},
        "created_at": NOW,
    }
    return CompressedExperience.model_validate(given | fields)


def test_each_tier_has_its_tag() -> None:
    assert detailed_experience().reasoning_trace == ()
    assert compressed_experience().applicable_contexts == ()
    for make in (detailed_experience, compressed_experience):
        with pytest.raises(ValidationError, match="tags"):
            make(metadata={"tags": ("other",)})


@pytest.mark.parametrize("field", ["strategic_decisions", "source_artifact_ids"])
def test_a_learning_has_a_decision_and_a_source(field: str) -> None:
    for value in ((), (" ",)):
        with pytest.raises(ValidationError, match=field):
            compressed_experience(**{field: value})


def test_a_compression_ratio_is_more_than_0_and_at_most_1() -> None:
    assert compressed_experience(compression_ratio=1.0).compression_ratio == 1.0
    assert compressed_experience(compression_ratio=0.01).compression_ratio == 0.01
    for ratio in (0.0, 1.01, float("nan"), float("inf")):
        with pytest.raises(ValidationError, match="compression_ratio"):
            compressed_experience(compression_ratio=ratio)


def test_the_defaults_of_a_consolidation_by_a_model_are_the_documents() -> None:
    assert LLMConsolidationConfig().model_dump() == {
        "group_threshold": 3,
        "temperature": 0.3,
        "max_summary_tokens": 500,
        "include_distillation_context": True,
        "max_trajectory_context_entries": 5,
        "max_trajectory_chars_per_entry": 500,
        "max_entry_input_chars": 2000,
        "max_total_user_content_chars": 20_000,
        "fallback_truncate_length": 200,
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("group_threshold", 2),
        ("temperature", -0.1),
        ("temperature", 2.1),
        ("temperature", float("nan")),
        ("max_summary_tokens", 49),
        ("max_trajectory_context_entries", 0),
        ("max_trajectory_chars_per_entry", 49),
        ("max_entry_input_chars", 99),
        ("max_total_user_content_chars", 999),
        ("fallback_truncate_length", 49),
        ("unknown", 1),
    ],
)
def test_a_bound_outside_of_its_range_is_refused(field: str, value: float) -> None:
    with pytest.raises(ValidationError, match=field):
        LLMConsolidationConfig.model_validate({field: value})


def test_an_entry_may_not_be_longer_than_the_whole_prompt() -> None:
    LLMConsolidationConfig(max_entry_input_chars=1000, max_total_user_content_chars=1000)
    with pytest.raises(ValidationError, match="max_entry_input_chars"):
        LLMConsolidationConfig(max_entry_input_chars=1001, max_total_user_content_chars=1000)


def test_values_are_frozen() -> None:
    with pytest.raises(ValidationError):
        ConsolidationResult().archived_count = 1  # type: ignore[misc]  # what is tested


@pytest.mark.parametrize(
    ("protocol", "members"),
    [
        (ConsolidationStrategy, "consolidate"),
        (ArchivalStore, "archive search restore count"),
        (CompletionProvider, "complete"),
    ],
)
def test_a_protocol_names_its_methods(protocol: type, members: str) -> None:
    complete = {name: lambda *_, **__: None for name in members.split()}
    assert isinstance(type("Complete", (), complete)(), protocol)
    assert not isinstance(object(), protocol)
