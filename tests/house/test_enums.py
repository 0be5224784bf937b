"""Every enumeration that is stored is the same in SQL and in Python."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path

import pytest

from memd.domain import enums

SCHEMA = (Path(__file__).resolve().parents[2] / "memd" / "store" / "file" / "schema.sql").read_text(
    "utf-8"
)
PAIRS: dict[str, type[Enum]] = {
    "memory.category": enums.MemoryCategory,
    "memory.level": enums.MemoryLevel,
    "memory.origin": enums.Origin,
    "memory.trust": enums.Trust,
    "preference.origin": enums.Origin,
    "memory.state": enums.MemoryState,
    "agent.level": enums.MemoryLevel,
    "archive.reason": enums.ArchiveReason,
    "passing.kind": enums.Passing,
    "trash.reason": enums.TrashReason,
    "run.kind": enums.RunKind,
    "run.state": enums.RunState,
    "change.outcome": enums.Outcome,
    "org_operation.kind": enums.OperationType,
    "org_operation.category": enums.OrgFactCategory,
    "org_operation.seniority": enums.SeniorityLevel,
    "org_operation.autonomy_level": enums.AutonomyLevel,
    "org_fact.category": enums.OrgFactCategory,
    "org_proposal.kind": enums.OperationType,
    "org_proposal.category": enums.OrgFactCategory,
    "org_proposal.state": enums.ProposalState,
    "learning.outcome": enums.LearningOutcome,
}
# Enumerations of the file alone: truth values, and kinds of vectors and of changes.
OF_THE_FILE = {
    "embedding.kind", "memory.as_is", "memory.is_summary", "run_change.what",
    "org_operation.is_human", "playbook.promoted", "session.compressed", "session_window.announced",
    "statement.negated", "usage_window.armed", "weights.active",
}  # fmt: skip


def checks() -> dict[str, list[str]]:
    """Return what each column with an enumeration may hold."""
    values_of: dict[str, list[str]] = {}
    for table, body in re.findall(r"CREATE TABLE (\w+) \((.*?)\n\) STRICT", SCHEMA, re.DOTALL):
        for column, values in re.findall(r"CHECK \((\w+) IN \(([^)]*)\)\)", body):
            values_of[f"{table}.{column}"] = [value.strip(" '\n") for value in values.split(",")]
    return values_of


@pytest.mark.parametrize("column", sorted(PAIRS))
def test_a_check_allows_exactly_the_members_of_its_enumeration(column: str) -> None:
    assert checks()[column] == [str(member.value) for member in PAIRS[column]]


def test_no_check_of_the_schema_is_without_its_enumeration() -> None:
    assert set(checks()) - OF_THE_FILE == set(PAIRS)
