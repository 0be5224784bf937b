"""SPEC 15.1 and 15.2: the nouns of organisational memory and what they refuse."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from memd.domain.enums import AutonomyLevel, OrgFactCategory, SeniorityLevel
from memd.domain.org.org import (
    OperationLogEntry,
    OperationLogSnapshot,
    OrgFact,
    OrgFactAuthor,
    OrgFactWriteRequest,
    OrgMemoryQuery,
)

NOON = datetime(2026, 3, 17, 12, tzinfo=UTC)
AGENT = {"agent_id": "ada", "seniority": "senior"}


def test_there_are_five_categories() -> None:
    """SPEC 15.1.1."""
    assert [*OrgFactCategory] == ["core_policy", "adr", "procedure", "convention",
                                  "entity_definition"]  # fmt: skip


def test_seniority_ascends_by_position() -> None:
    """SPEC 15.1.2."""
    assert [*SeniorityLevel] == ["junior", "mid", "senior", "lead", "principal", "director", "vp",
                                 "c_suite"]  # fmt: skip
    assert [level.rank for level in SeniorityLevel] == list(range(8))


def test_autonomy_goes_from_locked_to_full() -> None:
    """SPEC 15.1.3."""
    assert [*AutonomyLevel] == ["locked", "supervised", "semi", "full"]


@pytest.mark.parametrize(
    "author",
    [
        {},
        {"is_human": False},
        {"agent_id": "ada"},
        {"seniority": "senior"},
        {"is_human": True, "agent_id": "ada"},
        {"is_human": True, "seniority": "senior"},
        {"is_human": True, "autonomy_level": "full"},
        {"agent_id": " ", "seniority": "senior"},
        {"agent_id": "ada", "seniority": "boss"},
        {**AGENT, "name": "Ada"},
    ],
)
def test_an_author_is_empty_or_contradicts_itself(author: dict[str, Any]) -> None:
    """SPEC 15.2.1."""
    with pytest.raises(ValidationError):
        OrgFactAuthor.model_validate(author)


def test_an_author_is_a_human_or_an_agent() -> None:
    """SPEC 15.2.1."""
    assert OrgFactAuthor(is_human=True).agent_id is None
    assert OrgFactAuthor.model_validate(AGENT).autonomy_level is None
    assert OrgFactAuthor.model_validate({**AGENT, "autonomy_level": "semi"}).autonomy_level


def test_a_query_asks_for_five_by_default_and_a_hundred_at_most() -> None:
    """SPEC 15.2.2."""
    assert OrgMemoryQuery().limit == 5
    assert OrgMemoryQuery(limit=100).limit == 100
    for limit in (0, 101):
        with pytest.raises(ValidationError):
            OrgMemoryQuery(limit=limit)


def test_an_operation_says_something_exactly_when_it_publishes() -> None:
    """SPEC 15.2.3."""
    fields = {
        "operation_id": "o", "fact_id": "f", "author": OrgFactAuthor(is_human=True),
        "timestamp": NOON, "version": 1,
    }  # fmt: skip
    OperationLogEntry.model_validate({**fields, "operation_type": "PUBLISH", "content": "x"})
    OperationLogEntry.model_validate({**fields, "operation_type": "RETRACT"})
    for wrong in (
        {"operation_type": "PUBLISH"},
        {"operation_type": "RETRACT", "content": "x"},
        {"operation_type": "RETRACT", "version": 0},
        {"operation_type": "DELETE"},
    ):
        with pytest.raises(ValidationError):
            OperationLogEntry.model_validate({**fields, **wrong})


def test_the_author_of_an_operation_may_be_said_in_parts() -> None:
    """SPEC 15.2.3: the documents' field names."""
    entry = OperationLogEntry.model_validate(
        {
            "operation_id": "o", "fact_id": "f", "operation_type": "RETRACT", "timestamp": NOON,
            "version": 2, "author_agent_id": "ada", "author_seniority": "lead",
        }
    )  # fmt: skip
    assert entry.author == OrgFactAuthor(agent_id="ada", seniority=SeniorityLevel.LEAD)
    assert (entry.author_agent_id, entry.author_seniority) == ("ada", "lead")
    assert (entry.author_is_human, entry.author_autonomy_level) == (False, None)


def test_an_operation_as_json_is_flat_and_reads_back() -> None:
    """SPEC 15.2.3: the documents' fields, none of them nested."""
    whole = {
        "operation_id": "o", "fact_id": "f", "operation_type": "RETRACT", "timestamp": NOON,
        "version": 2, "author": {"agent_id": "ada", "seniority": "lead"},
    }  # fmt: skip
    entry = OperationLogEntry.model_validate(whole)
    fields = json.loads(entry.model_dump_json())
    assert not any(isinstance(value, dict) for value in fields.values())
    assert {name: fields[name] for name in fields if name.startswith("author")} == {
        "author_agent_id": "ada",
        "author_seniority": "lead",
        "author_is_human": False,
        "author_autonomy_level": None,
    }
    assert OperationLogEntry.model_validate_json(entry.model_dump_json()) == entry
    with pytest.raises(ValidationError, match="an agent needs agent_id and seniority"):
        OperationLogEntry.model_validate({**fields, "author_seniority": None})


def test_what_is_retracted_was_there_before() -> None:
    """SPEC 15.2.4."""
    fields = {
        "fact_id": "f", "content": "x", "category": OrgFactCategory.ADR, "created_at": NOON,
        "version": 2,
    }  # fmt: skip
    OperationLogSnapshot.model_validate({**fields, "retracted_at": NOON})
    with pytest.raises(ValidationError):
        OperationLogSnapshot.model_validate(
            {**fields, "retracted_at": NOON - timedelta(microseconds=1)}
        )


def test_tags_are_not_sorted_by_the_model() -> None:
    """SPEC 15.2.5."""
    request = OrgFactWriteRequest(content="x", category=OrgFactCategory.ADR, tags=("b", "a", "b"))
    assert request.tags == ("b", "a", "b")


@pytest.mark.parametrize("field", ["created_at", "valid_from", "valid_to"])
def test_a_time_without_its_zone_is_refused(field: str) -> None:
    """SPEC 0.4."""
    fields = {
        "id": "f", "content": "x", "category": "adr", "author": AGENT, "created_at": NOON,
        field: NOON.replace(tzinfo=None),
    }  # fmt: skip
    with pytest.raises(ValidationError, match="timezone"):
        OrgFact.model_validate(fields)


def test_what_ends_before_it_begins_is_refused() -> None:
    fields = {"content": "x", "category": OrgFactCategory.ADR, "valid_from": NOON}
    for end in (NOON, NOON - timedelta(days=1)):
        with pytest.raises(ValidationError, match="before valid_to"):
            OrgFactWriteRequest.model_validate({**fields, "valid_to": end})
