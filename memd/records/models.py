"""Models of the operational records (SPEC 19.2), and the types of their fields."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from memd.domain.values import Name, NotBlankStr, PlainText, Share, Time, Value

AMOUNT_MAX: Final = 1e12
"""So that no sum of amounts overflows."""
_INTEGER_MAX: Final = 2**63 - 1

Amount = Annotated[float, Field(ge=0.0, le=AMOUNT_MAX)]
"""Money or another quantity: finite, not negative."""
Count = Annotated[int, Field(ge=0, le=_INTEGER_MAX)]
Currency = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
Names = tuple[Name, ...]
Fields = dict[str, Any]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

Priority = Literal["low", "medium", "high", "critical"]
Verdict = Literal["allow", "deny", "escalate", "output_scan"]
Risk = Literal["low", "medium", "high", "critical"]
AgentStatus = Literal["idle", "executing", "paused"]
ArtifactType = Literal["code", "tests", "documentation"]
ProjectStatus = Literal["planning", "active", "on_hold", "completed", "cancelled"]
Role = Literal["ceo", "manager", "board_member", "pair_programmer", "observer", "system"]


def _check_json(text: str) -> str:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("must be JSON") from None
    return text


JsonText = Annotated[PlainText, AfterValidator(_check_json)]
"""A text that is JSON."""


class TaskStatus(StrEnum):
    """The status of a task."""

    CREATED = "created"
    ASSIGNED = "assigned"
    IN_PROGRESS = "in_progress"
    IN_REVIEW = "in_review"
    COMPLETED = "completed"
    BLOCKED = "blocked"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    SUSPENDED = "suspended"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    AUTH_REQUIRED = "auth_required"

    @property
    def is_terminal(self) -> bool:
        return self in (TaskStatus.COMPLETED, TaskStatus.CANCELLED, TaskStatus.REJECTED)


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


class CostTotal(Value):
    """The sum of cost records."""

    amount: float
    currency: str


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


class ParkedContext(Value):
    """The context of an agent that waits for an approval."""

    id: Name
    execution_id: Name
    agent_id: Name
    task_id: Name | None = None
    approval_id: Name
    parked_at: Time
    context_json: JsonText
    metadata: Fields = Field(default_factory=dict)


class AgentRuntimeState(Value):
    """The state of an agent: idle, or at work since *started_at*."""

    agent_id: Name
    execution_id: Name | None = None
    task_id: Name | None = None
    status: AgentStatus = "idle"
    turn_count: Count = 0
    accumulated_cost: Amount = 0.0
    currency: Currency = "USD"
    last_activity_at: Time
    started_at: Time | None = None

    @model_validator(mode="after")
    def _check_status(self) -> AgentRuntimeState:
        if self.status != "idle":
            if self.execution_id is None or self.started_at is None:
                raise ValueError("an agent at work has an execution_id and a started_at")
        elif self.execution_id or self.task_id or self.started_at:
            raise ValueError("an idle agent has no execution, task or start")
        elif self.turn_count or self.accumulated_cost:
            raise ValueError("an idle agent has counted nothing")
        return self


class Checkpoint(Value):
    """A state from which an execution can be resumed."""

    id: Name
    execution_id: Name
    agent_id: Name
    task_id: Name
    turn_number: Count
    context_json: JsonText
    created_at: Time


class Heartbeat(Value):
    """The time of an execution's last sign of life."""

    execution_id: Name
    agent_id: Name
    task_id: Name
    last_heartbeat_at: Time


class LifecycleEvent(Value):
    """A beginning, an end or a failure; written once."""

    id: Name
    agent_id: Name
    event_type: Name
    timestamp: Time
    initiated_by: Name
    details: PlainText = ""
    metadata: Fields = Field(default_factory=dict)


class TaskMetric(Value):
    """The metrics of one piece of work; written once."""

    id: Name
    agent_id: Name
    task_id: Name
    task_type: Name
    completed_at: Time
    is_success: bool
    duration_seconds: Amount
    cost: Amount = 0.0
    currency: Currency = "USD"
    turns_used: Count = 0
    tokens_used: Count = 0
    quality_score: Share | None = None


class CollaborationMetric(Value):
    """The metrics of an agent's collaboration; written once."""

    id: Name
    agent_id: Name
    recorded_at: Time
    delegation_success: bool | None = None
    delegation_response_seconds: Amount | None = None
    conflict_constructiveness: Share | None = None
    meeting_contribution: Share | None = None
    loop_triggered: bool = False
    handoff_completeness: Share | None = None


class AuditEntry(Value):
    """The verdict of a security check on a tool call; written once, deleted by age only."""

    id: Name
    timestamp: Time
    agent_id: Name | None = None
    task_id: Name | None = None
    tool_name: Name
    tool_category: Name
    action_type: Name
    arguments_hash: Sha256
    verdict: Verdict
    risk_level: Risk
    reason: PlainText
    matched_rules: Names = ()
    evaluation_duration_ms: Amount
    approval_id: Name | None = None


class StoredSetting(Value):
    """One setting of a program; the time of its last change is its version."""

    namespace: Name
    key: Name
    value: PlainText
    updated_at: Time


class CustomPreset(Value):
    """A custom personality preset."""

    name: Name
    config_json: JsonText
    description: PlainText = ""
    created_at: Time
    updated_at: Time


class User(Value):
    """A person who may sign in to the program that stores its records here."""

    id: Name
    username: Name
    password_hash: PlainText
    role: Role
    must_change_password: bool = False
    created_at: Time
    updated_at: Time


class ApiKey(Value):
    """A user's key, by its hash."""

    id: Name
    key_hash: Sha256
    name: Name
    role: Role
    user_id: Name
    created_at: Time
    expires_at: Time | None = None
    revoked: bool = False
