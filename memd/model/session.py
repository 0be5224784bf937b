"""An assistant's conversation, and the messages of it that naps kept (SPEC 1.8, D2)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from memd.model.values import Name, Time, Value

Count = Annotated[int, Field(ge=0)]


class Session(Value):
    """One conversation of one agent. *ended_at* None: it goes on, or nobody has said otherwise."""

    session_id: Name
    agent_id: Name
    project_id: Name | None = None
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
