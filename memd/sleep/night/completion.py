"""What follows a finished run: old records are dropped after a night, and the run is noted.

Nothing here fails the run: records that cannot be dropped now are dropped next time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memd.backends.assembly import Assembly
from memd.base import log
from memd.base.errors import MemdError
from memd.domain.enums import RunKind, RunState
from memd.domain.occurrence import Occurrence
from memd.domain.values import RESERVED_AGENT
from memd.store.run.runs import RunRow


@dataclass(frozen=True)
class RunCompletion:
    """Completes runs; *retention_days* is how long the settings keep the records of each entity."""

    assembly: Assembly
    retention_days: Mapping[str, int]

    async def complete(self, row: RunRow) -> None:
        """Complete the finished run *row*; never raises a MemdError."""
        self.assembly.queue.wake()
        details: dict[str, Any] = {"run_id": row.run_id, **row.report.get("detail", {})}
        if _is_whole_night(row):
            details["records_dropped"] = await self._drop_old_records()
        end_us = row.finished_at_us or row.started_at_us
        is_success = row.state != RunState.FAILED
        self.assembly.notes.add(
            Occurrence(
                row.run_id,
                row.agent_id or row.asked.get("agent_id") or RESERVED_AGENT,
                f"{row.kind}_{'completed' if is_success else 'failed'}",
                end_us,
                details,
                work=row.kind,
                seconds=(end_us - row.started_at_us) / 1e6,
                is_success=is_success,
            )
        )

    async def _drop_old_records(self) -> dict[str, int]:
        from memd.records.retention import drop_old

        try:
            db = self.assembly.db
            return await drop_old(
                db, self.retention_days, db.lasting.now_us(), self.assembly.ids.salt
            )
        except MemdError as error:
            log.warning("old records were not dropped", kind=error.kind)
            return {}


def _is_whole_night(row: RunRow) -> bool:
    request = row.asked
    return (
        row.kind == RunKind.NIGHT
        and request.get("agent_id") is None
        and "retention" in request.get("steps", ())
    )
