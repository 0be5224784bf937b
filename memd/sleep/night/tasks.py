"""The tasks of a night: their common types, and the tasks that only move memories.

A task plans one small transaction at a time, which the night executes. It continues at a *cursor*,
which is stored with each transaction, so that a killed night resumes there. The transaction checks
that the memories are unchanged since they were planned. The tasks that summarise are in
``consolidation.py`` and ``compression.py``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from memd.base.ids import Ids
from memd.domain.enums import ArchiveReason, MemoryCategory, MemoryState
from memd.sleep.strategies.batches import NewSummary
from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.file.database import Database
from memd.store.memory import groups, transitions
from memd.store.memory.groups import MemberRow
from memd.store.memory.rows import MemoryRow
from memd.store.memory.transitions import PlannedSummary, RunStep

CLIENT = "memd"

Cursor = dict[str, Any]
"""The position at which a task continues, as JSON in the table of runs; {} is the beginning."""


class NightScope(NamedTuple):
    """The agent whose memories a task processes, and the time when the run began."""

    agent_key: int
    agent_id: str
    now_us: int


class PlannedStep(NamedTuple):
    """One transaction of a task: the number of memories it changes, and the next cursor."""

    rows: int
    cursor: Cursor
    apply: Callable[[Writing, RunStep], int]


class NightTask(Protocol):
    """One kind of step of a night."""

    @property
    def name(self) -> str: ...

    async def plan(self, scope: NightScope, cursor: Cursor, limit: int) -> PlannedStep | None:
        """Return the next transaction, of about *limit* memories; None if nothing is left."""
        ...


def new_summary(
    conn: Writing, scope: NightScope, ids: Ids, session_key: int | None, tokens: int
) -> NewSummary:
    """Return the columns of a new summary for *scope*, stored by memd's own client."""
    return NewSummary(
        memory_id=ids.new(),
        salt=ids.salt(),
        agent_key=scope.agent_key,
        session_key=session_key,
        client_key=names.ensure_client(conn, CLIENT, scope.now_us),
        token_count=max(1, tokens),
        now_us=scope.now_us,
    )


def plan_summary(
    row: MemoryRow,
    sources: Sequence[MemberRow],
    hidden: Sequence[MemberRow],
    reason: ArchiveReason,
) -> tuple[PlannedSummary, list[transitions.PlannedRow]]:
    """Return a summary to write, and the state that its sources must have when it is written."""
    summary = PlannedSummary(
        row,
        [source.memory_key for source in sources],
        [source.memory_key for source in hidden],
        reason,
    )
    planned_rows = [
        transitions.PlannedRow(source.memory_key, source.row_hash, source.state)
        for source in sources
    ]
    return summary, planned_rows


def write_summaries(
    conn: Writing,
    step: RunStep,
    planned: Sequence[tuple[PlannedSummary, list[transitions.PlannedRow]]],
) -> int:
    """Write the summaries whose sources are unchanged; return the number of hidden rows."""
    summaries = [
        summary for summary, planned_rows in planned if transitions.is_unchanged(conn, planned_rows)
    ]
    if summaries:
        transitions.summarise(conn, step, summaries)
    return sum(len(summary.hidden) for summary in summaries)


Cutoffs = Callable[[str, int], Awaitable[Mapping[MemoryCategory, int]]]
"""Returns for an agent and a time, by category, the creation time before which memories expire."""


@dataclass(frozen=True)
class Retention:
    """Move memories older than their category allows to the trash (SPEC 16.4, D21)."""

    db: Database
    cutoffs_us: Cutoffs
    undo_us: int
    name: str = "retention"

    async def plan(self, scope: NightScope, cursor: Cursor, limit: int) -> PlannedStep | None:
        cutoffs = await self.cutoffs_us(scope.agent_id, scope.now_us)
        if not cutoffs:
            return None
        keys = await self.db.read(
            groups.list_past_retention, scope.agent_key, cutoffs, cursor.get("after", 0), limit
        )
        if not keys:
            return None
        return PlannedStep(
            len(keys),
            {"after": keys[-1]},
            lambda conn, step: transitions.trash_expired(conn, step, keys, self.undo_us),
        )


@dataclass(frozen=True)
class Ageing:
    """Archive memories that were consolidated long ago (SPEC D9)."""

    db: Database
    age_us: int
    name: str = "ageing"

    async def plan(self, scope: NightScope, cursor: Cursor, limit: int) -> PlannedStep | None:
        keys = await self.db.read(
            groups.list_due_for_archive,
            scope.agent_key,
            scope.now_us - self.age_us,
            cursor.get("after", 0),
            limit,
        )
        if not keys:
            return None

        return PlannedStep(
            len(keys),
            {"after": keys[-1]},
            lambda conn, step: transitions.archive_compressed(conn, step, keys),
        )


@dataclass(frozen=True)
class Cap:
    """Archive the oldest memories of an agent that has more than it may (SPEC 16.3.7, D21)."""

    db: Database
    memories_max: int
    name: str = "cap"

    async def plan(self, scope: NightScope, cursor: Cursor, limit: int) -> PlannedStep | None:
        left = cursor.get("left")
        if left is None:
            left = await self.db.read(groups.count_visible, scope.agent_key) - self.memories_max
        if left <= 0:
            return None
        count = min(limit, left)
        keys = await self.db.read(groups.list_oldest, scope.agent_key, count)
        if not keys:
            return None
        # With fewer keys than requested, none of the other memories may be archived.
        left = left - len(keys) if len(keys) == count else 0

        def apply(conn: Writing, step: RunStep) -> int:
            return transitions.hide(conn, step, keys, ArchiveReason.CAP, MemoryState.ARCHIVED)

        return PlannedStep(len(keys), {"left": left}, apply)
