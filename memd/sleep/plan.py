"""Which tasks a night has, from the settings and from what was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memd.base.clock import Clock
from memd.base.ids import Ids
from memd.base.work import Work
from memd.model.encoding import TokenCounter
from memd.model.enums import MemoryCategory
from memd.model.settings_consolidation import ConsolidationConfig
from memd.sleep.compression import in_short
from memd.sleep.tasks import (
    DAY_US,
    Ageing,
    Cap,
    Compression,
    Condensed,
    Consolidation,
    Retention,
    Task,
)
from memd.store.database import Database
from memd.store.groups import MemberRow

Tasks = Callable[[Mapping[str, Any]], Sequence[Task]]


@dataclass(frozen=True)
class Plan:
    """The tasks' needs, handed in by the daemon."""

    db: Database
    ids: Ids
    work: Work
    clock: Clock
    counter: TokenCounter
    config: ConsolidationConfig
    undo_days: int

    def tasks(self, asked: Mapping[str, Any]) -> list[Task]:
        """Return the tasks of a run, in their order; ``steps`` of *asked* are their names."""
        config, db = self.config, self.db
        every: tuple[Task, ...] = (
            Retention(db, self._cutoffs, self.undo_days * DAY_US),
            Consolidation(
                db, self.ids, self.work, self.counter, self._condense, config.group_threshold
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

    async def _condense(self, category: MemoryCategory, members: Sequence[MemberRow]) -> Condensed:
        lines = [f"Consolidated {category} memories:"]
        for member in members:
            cut = member.own[:200] + ("..." if len(member.own) > 200 else "")
            lines.append(f"- {cut}")
        return Plain("\n".join(lines), ("consolidated",))

    async def _cutoffs(self, agent_id: str) -> Mapping[MemoryCategory, int]:
        del agent_id
        return {}


@dataclass(frozen=True)
class Plain:
    text: str
    tags: tuple[str, ...]
