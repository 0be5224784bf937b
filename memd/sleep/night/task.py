"""What a night needs to know of its tasks; the tasks themselves are read when one begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from memd.store.file.connect import Writing
    from memd.store.memory.hiding import Step

Cursor = dict[str, Any]
"""Where a task goes on; kept in the ledger."""


class NightScope(NamedTuple):
    """Whose memories a task works on, and when the run began."""

    agent_key: int
    agent_id: str
    now_us: int


class PlannedStep(NamedTuple):
    """One transaction of a task: how many memories it changes, and where the next one begins."""

    rows: int
    cursor: Cursor
    apply: Callable[[Writing, Step], int]


class Task(Protocol):
    """One kind of step."""

    @property
    def name(self) -> str: ...

    async def plan(self, scope: NightScope, cursor: Cursor, limit: int) -> PlannedStep | None:
        """Return the next transaction, of about *limit* memories; None when all is done."""
        ...
