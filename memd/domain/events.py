"""What the daemon tells those who listen (``events.subscribe``), and the door to tell it.

An event is told after COMMIT, never before, and never holds a memory's text.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol


class EventName(StrEnum):
    """What can be subscribed to."""

    STORED = "event.stored"
    CONSOLIDATED = "event.consolidated"
    FLAGGED = "event.flagged"
    TURNED_AWAY = "event.turned_away"
    USAGE = "event.usage"
    DAMAGED = "event.damaged"


EVERYBODY = "*"
"""In place of an agent: told to whoever listens for the event, whatever the agent."""


class Emit(Protocol):
    """Handed to the rooms by the daemon; returns at once and never raises."""

    def __call__(self, agent_id: str, name: EventName, body: Mapping[str, Any]) -> None: ...


def unheard(agent_id: str, name: EventName, body: Mapping[str, Any]) -> None:
    """Tell nobody."""
