"""What runs did, as the ledger tells it, and what the disk could not be told about one."""

from __future__ import annotations

from collections.abc import Sequence

from memd.base.clock import from_us
from memd.base.errors import NotFoundError
from memd.model.enums import RunKind, RunState
from memd.model.sleep import RunReport, StepReport
from memd.sleep.backoff import Waits
from memd.store import runs
from memd.store.connect import Reading
from memd.store.database import Database
from memd.store.runs import RunRow


async def found(db: Database, run_id: str) -> RunRow:
    """Return a run by its id; raises NotFoundError."""
    row = await db.read(runs.find, run_id)
    if row is None:
        raise NotFoundError("no such run", field="run_id", hint="see: memd sleep --report")
    return row


async def one(db: Database, run_id: str, waits: Waits) -> RunReport:
    """Return what a run did; raises NotFoundError."""
    row = await found(db, run_id)
    return report_of(waits.told(row), await db.read(runs.steps, row.run_key))


async def page(db: Database, after: str | None, limit: int, waits: Waits) -> tuple[RunReport, ...]:
    """Return what runs did, newest first, from the one before *after* on."""

    def work(conn: Reading) -> tuple[RunReport, ...]:
        rows = map(waits.told, runs.listed(conn, after, limit))
        return tuple(report_of(row, runs.steps(conn, row.run_key)) for row in rows)

    return await db.read(work)


async def last(db: Database, kind: RunKind, steps: Sequence[str], waits: Waits) -> RunReport | None:
    """Return the last run of a kind; of nights only one of all *steps* and every agent counts."""

    def work(conn: Reading) -> RunReport | None:
        if kind is RunKind.NIGHT:
            row = runs.last_whole(conn, steps)
        else:
            row = next(iter(runs.listed(conn, None, 1, (kind,))), None)
        return None if row is None else report_of(waits.told(row), runs.steps(conn, row.run_key))

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
