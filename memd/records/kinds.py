"""Types shared by the records' models: amounts, names, and the enumerations of SPEC 19.2."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import Field, StringConstraints

from memd.domain.values import Name

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
        """Whether the task is over."""
        return self in (TaskStatus.COMPLETED, TaskStatus.CANCELLED, TaskStatus.REJECTED)
