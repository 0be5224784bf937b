"""What runs did, as the ledger tells it, and what the disk could not be told about one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memd.base.clock import from_us
from memd.base.errors import NotFoundError
from memd.base.limits import RUN_MEMORIES_MAX
from memd.domain.caller import Caller
from memd.domain.enums import RunKind, RunState
from memd.domain.sleep.consolidation import ArchivalIndexEntry, ArchivalMode, ArchivalModeAssignment
from memd.domain.sleep.sleep import RunReport, StepReport
from memd.sleep.night.backoff import Waits
from memd.store.access import names
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.memory import groups
from memd.store.run import run_memories, runs
from memd.store.run.runs import RunRow


async def find_run(db: Database, run_id: str) -> RunRow:
    """Return a run by its id; raises NotFoundError."""
    row = await db.read(runs.find, run_id)
    if row is None:
        raise NotFoundError("no such run", field="run_id", hint="see: memd sleep --report")
    return row


async def one(db: Database, run_id: str, waits: Waits, caller: Caller, after: int = 0) -> RunReport:
    """Return what a run did, with the memories that the caller may see; raises NotFoundError.

    They begin behind change *after*, ``memories_after`` of the report before.
    """
    row = await find_run(db, run_id)

    def work(conn: Reading) -> RunReport:
        agents = [key for key, agent_id in groups.list_agents(conn, 0) if caller.may_be(agent_id)]
        report = report_of(waits.with_wait(row), runs.steps(conn, row.run_key))
        return report.model_copy(update=_memories(conn, row.run_key, agents, after))

    return await db.read(work)


async def event(db: Database, row: RunRow, agent_id: str) -> dict[str, Any]:
    """Return what is told of a run to those who listen for an agent: with its own memories."""

    def work(conn: Reading) -> dict[str, Any]:
        agent_key = names.find_agent(conn, agent_id)
        agents = [] if agent_key is None else [agent_key]
        touched = _memories(conn, row.run_key, agents, 0)
        report = report_of(row, []).model_copy(update=touched)
        return report.model_dump(mode="json", include={"run_id", "kind", *touched})

    return await db.read(work)


def _memories(conn: Reading, run_key: int, agents: Sequence[int], after: int) -> dict[str, Any]:
    rows, left_out = run_memories.touched(conn, run_key, agents, after, RUN_MEMORIES_MAX)
    removed = {row.memory_id: row for row in rows if not row.is_made}
    return {
        "removed_ids": tuple(removed),
        "summary_ids": tuple(row.memory_id for row in rows if row.is_made),
        "mode_assignments": tuple(
            ArchivalModeAssignment(original_id=row.memory_id, mode=ArchivalMode(row.mode))
            for row in removed.values()
            if row.mode is not None
        ),
        "archival_index": tuple(
            ArchivalIndexEntry(
                original_id=row.memory_id,
                archival_id=row.archival_id,
                mode=ArchivalMode(row.mode or ArchivalMode.EXTRACTIVE),
            )
            for row in removed.values()
            if row.archival_id is not None
        ),
        "left_out": left_out,
        "memories_after": rows[-1].change if left_out else None,
    }


async def page(db: Database, after: str | None, limit: int, waits: Waits) -> tuple[RunReport, ...]:
    """Return what runs did, newest first, from the one before *after* on."""

    def work(conn: Reading) -> tuple[RunReport, ...]:
        rows = map(waits.with_wait, runs.listed(conn, after, limit))
        return tuple(report_of(row, runs.steps(conn, row.run_key)) for row in rows)

    return await db.read(work)


async def last(db: Database, kind: RunKind, steps: Sequence[str], waits: Waits) -> RunReport | None:
    """Return the last run of a kind; of nights only one of all *steps* and every agent counts."""

    def work(conn: Reading) -> RunReport | None:
        if kind is RunKind.NIGHT:
            row = runs.last_whole(conn, steps)
        else:
            row = next(iter(runs.listed(conn, None, 1, (kind,))), None)
        return (
            None if row is None else report_of(waits.with_wait(row), runs.steps(conn, row.run_key))
        )

    return await db.read(work)


def report_of(row: RunRow, sums: Sequence[runs.StepSum]) -> RunReport:
    """Return a row of the ledger and the sums of its steps as they are told."""
    finished, again = row.finished_at_us, row.report.get("again_at_us")
    return RunReport(
        run_id=row.run_id,
        kind=RunKind(row.kind),
        state=RunState(row.state),
        agent_id=row.agent_id or row.asked.get("agent_id"),
        started_at=from_us(row.started_at_us),
        finished_at=None if finished is None else from_us(finished),
        again_at=None if again is None else from_us(again),
        steps=tuple(StepReport(name=each.name, rows=each.rows, steps=each.steps) for each in sums),
        detail=row.report.get("detail", {}),
    )
