"""Models of work: tasks, cost records, messages, artifacts, projects (SPEC 19.2)."""

from __future__ import annotations

from pydantic import Field

from memd.domain.values import Name, NotBlankStr, PlainText, Time, Value
from memd.records.kinds import (
    Amount,
    ArtifactType,
    Count,
    Currency,
    Fields,
    Names,
    Priority,
    ProjectStatus,
    TaskStatus,
)


class Task(Value):
    """A task."""

    id: Name
    title: NotBlankStr
    description: PlainText = ""
    type: Name
    priority: Priority = "medium"
    project: Name
    created_by: Name
    assigned_to: Name | None = None
    status: TaskStatus = TaskStatus.CREATED
    estimated_complexity: Name = "medium"
    budget_limit: Amount = 0.0
    deadline: Time | None = None
    max_retries: Count = 1
    parent_task_id: Name | None = None
    task_structure: Name | None = None
    coordination_topology: Name = "auto"
    reviewers: Names = ()
    dependencies: Names = ()
    artifacts_expected: tuple[PlainText, ...] = ()
    acceptance_criteria: tuple[PlainText, ...] = ()
    delegation_chain: Names = ()


class CostRecord(Value):
    """The cost of one call of a language model; written once. *id* makes a retry safe."""

    id: Name | None = None
    agent_id: Name
    task_id: Name
    provider: Name
    model: Name
    input_tokens: Count
    output_tokens: Count
    cost: Amount
    currency: Currency = "USD"
    timestamp: Time
    call_category: Name | None = None


class Message(Value):
    """A message from one agent to another; written once."""

    id: Name
    timestamp: Time
    sender: Name
    to: Name
    type: Name
    priority: Name = "normal"
    channel: Name
    content: PlainText
    attachments: tuple[Fields, ...] = ()
    metadata: Fields = Field(default_factory=dict)


class Artifact(Value):
    """A file made by a task."""

    id: Name
    type: ArtifactType
    path: NotBlankStr
    task_id: Name
    created_by: Name
    description: PlainText = ""
    content_type: PlainText = ""
    size_bytes: Count = 0
    created_at: Time
    project_id: Name | None = None


class Project(Value):
    """A goal with a team and a budget."""

    id: Name
    name: NotBlankStr
    description: PlainText = ""
    team: Names = ()
    lead: Name | None = None
    task_ids: Names = ()
    deadline: Time | None = None
    budget: Amount = 0.0
    status: ProjectStatus = "planning"
