"""Models of running work: states, checkpoints, events, metrics (SPEC 19.2)."""

from __future__ import annotations

import json
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from memd.domain.values import Name, PlainText, Share, Time, Value
from memd.records.kinds import AgentStatus, Amount, Count, Currency, Fields


def _json(text: str) -> str:
    try:
        json.loads(text)
    except ValueError:
        raise ValueError("must be JSON") from None
    return text


JsonText = Annotated[PlainText, AfterValidator(_json)]
"""A text that is JSON."""


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
    def _agrees(self) -> AgentRuntimeState:
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
