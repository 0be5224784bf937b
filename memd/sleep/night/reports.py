"""Build the reports of runs, from their rows and from what could not be written to these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memd.base.clock import from_us
from memd.base.errors import InvalidStateError, NotFoundError
from memd.base.limits import RUN_MEMORIES_MAX
from memd.domain.caller import Caller
from memd.domain.enums import MemoryState, RunKind, RunState
from memd.domain.sleep.consolidation import ArchivalIndexEntry, ArchivalMode, ArchivalModeAssignment
from memd.domain.sleep.sleep import RunChange, RunReport, StepReport
from memd.guard.secrets import screen
from memd.sleep.night.backoff import DiskRetries
from memd.store.access import names
from memd.store.file.connect import Reading
from memd.store.file.database import Database
from memd.store.memory import groups, memories
from memd.store.memory.rows import StoredMemory
from memd.store.run import run_memories, runs
from memd.store.run.run_memories import RunMemoryRow
from memd.store.run.runs import RunRow
from memd.view.view import one_line

EXCERPT_CHARS = 100


async def find_run(db: Database, run_id: str) -> RunRow:
    """Return a run by its id; raises NotFoundError."""
    row = await db.read(runs.find, run_id)
    if row is None:
        raise NotFoundError("no such run", field="run_id", hint="see: memd sleep --report")
    return row


async def load_report(
    db: Database, run_id: str, retries: DiskRetries, caller: Caller, after: int = 0
) -> RunReport:
    """Return the report of a run, with the memories that the caller may see.

    *after* is the ``memories_after`` of the previous report, for the next page of memories. Raises
    NotFoundError.
    """
    row = await find_run(db, run_id)

    def work(conn: Reading) -> RunReport:
        agents = [key for key, agent_id in groups.list_agents(conn, 0) if caller.may_be(agent_id)]
        report = build_report(retries.with_retry(row), runs.sum_steps(conn, row.run_key))
        return report.model_copy(update=_memory_fields(conn, row.run_key, agents, after))

    return await db.read(work)


async def event_payload(db: Database, row: RunRow, agent_id: str) -> dict[str, Any]:
    """Return the event of a run for the subscribers of an agent, with that agent's memories."""

    def work(conn: Reading) -> dict[str, Any]:
        agents = [names.agent_key(conn, agent_id)]
        fields = _memory_fields(conn, row.run_key, agents, 0)
        report = build_report(row, []).model_copy(update=fields)
        ids = fields.keys() - {"changes"}
        return report.model_dump(mode="json", include={"run_id", "kind", *ids})

    return await db.read(work)


def _memory_fields(
    conn: Reading, run_key: int, agents: Sequence[int], after: int
) -> dict[str, Any]:
    rows, left_out = run_memories.list_changes(conn, run_key, agents, after, RUN_MEMORIES_MAX)
    removed = {row.memory_id: row for row in rows if row.is_hidden}
    entries = memories.by_keys(conn, [row.memory_key for row in rows])
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
        "changes": tuple(
            RunChange(
                id=row.memory_id,
                agent_id=row.agent_id,
                state=MemoryState(row.after),
                text=_excerpt(row, entries.get(row.memory_key)),
            )
            for row in {row.memory_key: row for row in rows}.values()  # the last one of each
        ),
        "left_out": left_out,
        "memories_after": rows[-1].change if left_out else None,
    }


def _excerpt(row: RunMemoryRow, memory: StoredMemory | None) -> str | None:
    if memory is None or row.before == MemoryState.QUARANTINED:
        return None
    return one_line(screen(memory.content).text)[:EXCERPT_CHARS]


async def load_page(
    db: Database, after: str | None, limit: int, retries: DiskRetries
) -> tuple[RunReport, ...]:
    """Return the reports of runs before *after*, newest first."""

    def work(conn: Reading) -> tuple[RunReport, ...]:
        rows = map(retries.with_retry, runs.list_page(conn, after, limit))
        return tuple(build_report(row, runs.sum_steps(conn, row.run_key)) for row in rows)

    return await db.read(work)


async def load_last(
    db: Database, kind: RunKind, steps: Sequence[str], retries: DiskRetries
) -> RunReport | None:
    """Return the last run of a kind; of nights, the last with all *steps* and agents."""

    def work(conn: Reading) -> RunReport | None:
        if kind is RunKind.NIGHT:
            row = runs.find_last_full_night(conn, steps)
        else:
            row = next(iter(runs.list_page(conn, None, 1, (kind,))), None)
        return (
            None
            if row is None
            else build_report(retries.with_retry(row), runs.sum_steps(conn, row.run_key))
        )

    return await db.read(work)


def build_report(row: RunRow, sums: Sequence[runs.StepSum]) -> RunReport:
    """Return the report of a run's row and the sums of its steps."""
    finished_at_us, again_at_us = row.finished_at_us, row.report.get("again_at_us")
    return RunReport(
        run_id=row.run_id,
        kind=RunKind(row.kind),
        state=RunState(row.state),
        agent_id=row.agent_id or row.asked.get("agent_id"),
        session_id=row.session_id,
        project_id=row.project_id,
        client=row.client,
        started_at=from_us(row.started_at_us),
        finished_at=from_us(finished_at_us),
        again_at=from_us(again_at_us),
        steps=tuple(StepReport(name=step.name, rows=step.rows, steps=step.steps) for step in sums),
        detail=row.report.get("detail", {}),
    )


def busy_error(run: RunReport | None) -> InvalidStateError:
    """Return the error for a request while *run* is in progress, None if that has no report yet."""
    since = "" if run is None else f": a {run.kind} since {run.started_at:%Y-%m-%d %H:%M} UTC"
    hint = "try again when it is over; memd sleep shows it, memd sleep --pause stops a night"
    return InvalidStateError(f"memd is asleep already{since}", hint=hint)
