"""An assistant's conversation, and the messages of it that naps kept (SPEC 1.8, D2)."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from memd.base.limits import RECALL_TOP_K_MAX
from memd.domain.values import Name, ProjectId, Text, Time, Value

Count = Annotated[int, Field(ge=0)]


class Session(Value):
    """One conversation of one agent. *ended_at* None: it goes on, or nobody has said otherwise."""

    session_id: Name
    agent_id: Name
    project_id: ProjectId | None = None
    started_at: Time
    last_activity_at: Time
    ended_at: Time | None = None
    memories: Count
    tokens: Count
    messages: Count
    """How many of its messages are kept."""
    compressed: bool = False


class SessionMessage(Value):
    """One message as a nap read it, with secrets replaced; *ordinal* is its place."""

    ordinal: Count
    role: str
    text: str
    kept_at: Time


class SessionQuery(Value):
    """Words that were said in sessions; *since* is inclusive and *until* exclusive."""

    query: Text
    session_id: Name | None = None
    project_id: ProjectId | None = None
    since: Time | None = None
    until: Time | None = None
    limit: int = Field(default=10, ge=1, le=RECALL_TOP_K_MAX)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise ValueError("since must be before until")
        return self


class SessionHit(Value):
    """One kept message that holds the words, at the last place where it was said."""

    session_id: Name
    project_id: ProjectId | None = None
    ordinal: Count
    role: str
    at: Time
    """When it was said; where its transcript does not tell, when a nap kept it."""
    snippet: str
    """The words around those that match, without secrets; who said it may be anybody."""
