"""What each agent does differently: its level and how long its memories are kept (SPEC 7.14)."""

from __future__ import annotations

from dataclasses import dataclass

from memd.base.clock import Clock
from memd.base.errors import InvalidError
from memd.base.limits import PAGE_ITEMS_MAX
from memd.model.caller import Caller
from memd.model.enums import MemoryCategory, MemoryLevel
from memd.model.settings import MemoryConfig
from memd.model.settings_consolidation import RetentionRule
from memd.store import agents, names
from memd.store.agents import AgentRow
from memd.store.connect import Reading, Writing
from memd.store.database import Database


@dataclass(frozen=True)
class Agents:
    """The room's needs, handed in by the daemon."""

    db: Database
    clock: Clock
    default: MemoryConfig
    """What an agent does that was never configured."""

    async def set(self, caller: Caller, settings: MemoryConfig) -> MemoryConfig:
        """Set what *settings* gives of the calling agent's configuration; return all of it.

        What is not given stays as it was; for an agent that was never configured the level
        stays the daemon's own. One transaction. Raises InvalidError where what is given
        does not go with what stays.
        """

        def work(conn: Writing) -> MemoryConfig:
            agent_key = names.agent(conn, caller.agent_id, self.clock.now_us())
            before = agents.find(conn, caller.agent_id)
            assert before is not None
            row = _changed(before, settings)
            agents.configure(conn, agent_key, row)
            return self._config(row)

        return await self.db.write(caller, work, reply=MemoryConfig)

    async def get(self, caller: Caller) -> MemoryConfig:
        """Return the calling agent's configuration."""
        row = await self.db.read(agents.find, caller.agent_id)
        return self.default if row is None else self._config(row)

    async def list(self, caller: Caller) -> tuple[tuple[str, MemoryConfig], ...]:
        """Return every agent's configuration, by name."""
        del caller

        def work(conn: Reading) -> list[AgentRow]:
            return agents.listed(conn, None, PAGE_ITEMS_MAX)

        rows = await self.db.read(work)
        return tuple((row.agent_id, self._config(row)) for row in rows)

    def _config(self, row: AgentRow) -> MemoryConfig:
        level = row.level or self.default.type
        kept = level is not MemoryLevel.NONE  # the daemon may keep nothing of anybody
        return MemoryConfig(
            type=level,
            retention_days=row.retention_days if kept else None,
            retention_overrides=tuple(
                RetentionRule(category=MemoryCategory(category), retention_days=days)
                for category, days in row.retention_overrides.items()
                if kept
            ),
        )


def _changed(before: AgentRow, settings: MemoryConfig) -> AgentRow:
    """Return the row with what *settings* gives in place of what it had."""
    given = settings.model_fields_set
    row = before
    if "type" in given:
        row = row._replace(level=settings.type)
    if "retention_days" in given:
        row = row._replace(retention_days=settings.retention_days)
    if "retention_overrides" in given:
        rules = settings.retention_overrides
        row = row._replace(
            retention_overrides={rule.category: rule.retention_days for rule in rules}
        )
    if row.level is MemoryLevel.NONE and (row.retention_days or row.retention_overrides):
        raise InvalidError(
            "an agent that keeps no memories (type none) has no retention",
            field="type",
            hint="give retention_days null and retention_overrides [] with it",
        )
    return row
