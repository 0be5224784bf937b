"""Which tasks a night has, from the settings and from what was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memd.base.clock import from_us, to_us
from memd.base.ids import Ids
from memd.base.work import Work
from memd.ingest.agents import Agents
from memd.model.caller import Caller
from memd.model.encoding import TokenCounter
from memd.model.enums import MemoryCategory
from memd.model.settings_consolidation import ConsolidationConfig
from memd.sleep.compression import in_short
from memd.sleep.operations import ConsolidationOp
from memd.sleep.retention import cutoffs
from memd.sleep.tasks import (
    CLIENT,
    DAY_US,
    Ageing,
    Cap,
    Compression,
    Consolidation,
    Retention,
    Task,
)
from memd.store.database import Database

Tasks = Callable[[Mapping[str, Any]], Sequence[Task]]


@dataclass(frozen=True)
class Plan:
    """The tasks' needs, handed in by the daemon."""

    db: Database
    ids: Ids
    work: Work
    counter: TokenCounter
    config: ConsolidationConfig
    operation: ConsolidationOp
    agents: Agents
    undo_days: int

    def tasks(self, asked: Mapping[str, Any]) -> list[Task]:
        """Return the tasks of a run, in their order; ``steps`` of *asked* are their names."""
        config, db = self.config, self.db
        every: tuple[Task, ...] = (
            Retention(db, self._cutoffs, self.undo_days * DAY_US),
            Consolidation(
                db, self.ids, self.work, self.counter, self.operation, config.group_threshold
            ),
            Compression(
                db,
                self.ids,
                self.counter,
                self._shorten,
                config.compression_threshold,
                asked.get("sessions") or config.compression_sessions,
                bool(asked.get("force")),
            ),
            Ageing(db, config.archival.age_threshold_days * DAY_US),
            Cap(db, config.max_memories_per_agent),
        )
        return [task for task in every if task.name in asked["steps"]]

    async def _shorten(self, contents: Sequence[str]) -> str:
        return await self.work.run(in_short, contents)

    async def _cutoffs(self, agent_id: str, now_us: int) -> Mapping[MemoryCategory, int]:
        caller = Caller(client=CLIENT, agent_id=agent_id, method="sleep.run")
        own = await self.agents.get(caller)
        found = cutoffs(self.config.retention, own, from_us(now_us))
        return {category: to_us(moment) for category, moment in found.items()}
