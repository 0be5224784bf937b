"""Note memd's own work (naps, nights, sessions) as lifecycle events and task metrics.

Rooms report an occurrence after COMMIT. :meth:`Notes.run` writes the waiting notes a moment later
in one transaction. Notes are best effort: work neither waits for its note nor fails with it. Notes
over the limit, or whose transaction fails, are dropped and counted. Their ids begin with ``memd:``;
nights delete those older than ``OWN_DAYS``.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from memd.base import log
from memd.base.clock import Clock, from_us
from memd.base.errors import MemdError
from memd.base.limits import NOTES_WAITING_MAX
from memd.base.work import Work
from memd.domain.caller import Caller
from memd.domain.occurrence import Occurrence
from memd.store.file.connect import Writing
from memd.store.file.database import Database

if TYPE_CHECKING:
    from memd.store.records.rows import Value
    from memd.store.records.table import RecordTable

OWN: Final = "memd"
OWN_IDS: Final = "memd:"
"""The prefix of the ids of memd's own notes."""
OWN_DAYS: Final = 90
"""The days after which nights delete memd's own notes."""
PAUSE_S: Final = 0.5
"""The pause before writing, in which occurrences collect and pending answers are sent."""

_CALLER = Caller(client=OWN, method="records.note")
_Row = tuple["RecordTable", "dict[str, Value]"]


class Notes:
    """Owns the notes to be written; the daemon runs :meth:`run`."""

    def __init__(self, db: Database, clock: Clock, work: Work) -> None:
        self._db = db
        self._clock = clock
        self._work = work
        self._waiting: deque[Occurrence] = deque()
        self._wake = asyncio.Event()
        self.dropped = 0
        self.works: dict[str, dict[str, float]] = {}
        """Since the start, by kind of work: successes, failures, seconds in total and last."""

    @property
    def waiting(self) -> int:
        """How many notes are not written yet."""
        return len(self._waiting)

    def add(self, occurrence: Occurrence) -> None:
        """Add an occurrence; returns at once and never raises."""
        self._count(occurrence)
        if len(self._waiting) >= NOTES_WAITING_MAX:
            self.dropped += 1
            return
        self._waiting.append(occurrence)
        self._wake.set()

    def _count(self, occurrence: Occurrence) -> None:
        if occurrence.work is None:
            return
        sums = self.works.setdefault(occurrence.work, {"done": 0, "failed": 0, "seconds": 0.0})
        sums["done" if occurrence.is_success else "failed"] += 1
        sums["seconds"] += occurrence.seconds
        sums["last_seconds"] = occurrence.seconds

    async def run(self) -> None:
        """Write waiting notes, for ever."""
        while True:
            await self._wake.wait()
            await asyncio.sleep(PAUSE_S)
            await self.flush()

    async def flush(self) -> None:
        """Write all waiting notes in one transaction; drop them if that fails."""
        self._wake.clear()
        occurrences, self._waiting = self._waiting, deque()
        if not occurrences:
            return
        try:
            records = await self._work.run(_rows, occurrences)
            await self._db.write(_CALLER, lambda conn: _write(conn, records, occurrences))
        except MemdError as error:
            self.dropped += len(occurrences)
            log.warning("notes not written", kind=error.kind, notes=len(occurrences))


def _rows(occurrences: Sequence[Occurrence]) -> list[_Row]:
    """Return the rows to insert; imports the records' models on first use."""
    from memd.records.columns import to_row
    from memd.records.entities import ENTITIES
    from memd.records.models import LifecycleEvent, TaskMetric

    records: list[_Row] = []
    for occurrence in occurrences:
        at = from_us(occurrence.at_us)
        event = LifecycleEvent(
            id=OWN_IDS + occurrence.occurrence_id,
            agent_id=occurrence.agent_id,
            event_type=occurrence.event,
            timestamp=at,
            initiated_by=OWN,
            metadata=dict(occurrence.details),
        )
        records.append((ENTITIES["lifecycle_events"].table, to_row(event)))
        if occurrence.work is not None:
            metric = TaskMetric(
                id=OWN_IDS + occurrence.occurrence_id,
                agent_id=occurrence.agent_id,
                task_id=occurrence.occurrence_id,
                task_type=occurrence.work,
                completed_at=at,
                is_success=occurrence.is_success,
                duration_seconds=max(0.0, occurrence.seconds),
                tokens_used=occurrence.tokens,
            )
            records.append((ENTITIES["task_metrics"].table, to_row(metric)))
    return records


def _write(conn: Writing, records: Sequence[_Row], occurrences: Sequence[Occurrence]) -> None:
    from memd.store.records import rows, shape
    from memd.store.session import injections

    for occurrence in occurrences:
        if occurrence.used:
            injections.count_uses(conn, occurrence.used, occurrence.at_us)
    for table, row in records:
        shape.migrate(conn, table)
        if rows.get(conn, table, [row["id"]]) is None:  # a resumed night is reported again
            rows.insert(conn, table, row)
