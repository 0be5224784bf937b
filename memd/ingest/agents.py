"""What each agent does differently: its level and how long its memories are kept (SPEC 7.14)."""

from __future__ import annotations

from dataclasses import dataclass

from memd.base.clock import Clock
from memd.base.limits import PAGE_ITEMS_MAX
from memd.model.caller import Caller
from memd.model.enums import MemoryCategory
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

    async def set(self, caller: Caller, settings: MemoryConfig) -> None:
        """Set the calling agent's configuration as a whole."""
        row = AgentRow(
            caller.agent_id,
            settings.type,
            settings.retention_days,
            {rule.category: rule.retention_days for rule in settings.retention_overrides},
        )

        def work(conn: Writing) -> None:
            agents.configure(conn, names.agent(conn, caller.agent_id, self.clock.now_us()), row)

        await self.db.write(caller, work, reply=type(None))

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
        return MemoryConfig(
            type=row.level or self.default.type,
            retention_days=row.retention_days,
            retention_overrides=tuple(
                RetentionRule(category=MemoryCategory(category), retention_days=days)
                for category, days in row.retention_overrides.items()
            ),
        )
