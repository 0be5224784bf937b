"""What each agent does differently: its level and how long its memories are kept (SPEC 7.14)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from memd.base.clock import Clock
from memd.base.errors import InvalidError, InvalidStateError
from memd.base.limits import PAGE_ITEMS_MAX
from memd.domain.caller import Caller
from memd.domain.enums import MemoryCategory, MemoryLevel
from memd.domain.settings.consolidation import RetentionRule
from memd.domain.settings.settings import MemoryConfig, SaidBy
from memd.store.access import agents, names
from memd.store.access.agents import AgentRow
from memd.store.file.connect import Reading, Writing
from memd.store.file.database import Database

_CALLER = Caller(client="memd", method="settings")

_FIELDS = {
    "level": "type",
    "retention_days": "retention_days",
    "retention_overrides": "retention_overrides",
}
"""A column of the agent's row -> what it is called in the configuration."""

_SAID = {"type": "level"}


@dataclass(frozen=True)
class Agents:
    """The room's needs, handed in by the daemon."""

    db: Database
    clock: Clock
    default: MemoryConfig
    """What an agent does that was never configured."""
    file: Mapping[str, MemoryConfig] = field(default_factory=dict)
    """What the settings file says of single agents: there it is changed, and nowhere else."""

    async def take_file(self) -> None:
        """Take over what the settings file says of agents, and take back what it said before.

        What a call has set stays, but for what the file names. Nothing is written when
        the file says what it said at the last start.
        """
        columns = {name: _columns(config) for name, config in self.file.items()}
        if columns == await self.db.read(agents.read_file_settings):
            return

        def work(conn: Writing) -> None:
            before = agents.read_file_settings(conn)
            for name in sorted(before.keys() | columns.keys()):
                row = agents.find(conn, name) or AgentRow(name, None, None, {})
                new = _merged(row, before.get(name, {}), columns.get(name, {}))
                if new != row:
                    agents.configure(conn, names.ensure_agent(conn, name, self.clock.now_us()), new)
            agents.record_file_settings(conn, columns)

        await self.db.write(_CALLER, work)

    def refuse_what_the_file_says(self, agent_id: str, given: Collection[str]) -> None:
        """Raise InvalidStateError when the file says one of the fields *given* for the agent."""
        config = self.file.get(agent_id)
        fixed = sorted(config.model_fields_set & set(given)) if config is not None else []
        if fixed:
            key = f"memory.agents.{agent_id}.{_SAID.get(fixed[0], fixed[0])}"
            raise InvalidStateError(
                f"{key} stands in the settings file", field=fixed[0], hint="change it there"
            )

    async def origins(self, agent_id: str) -> dict[str, SaidBy]:
        """Return for each field who says it: the file, a call, or nobody (the default)."""
        config = self.file.get(agent_id)
        fields = config.model_fields_set if config is not None else set()
        row = await self.db.read(agents.find, agent_id)
        called = set() if row is None else {_FIELDS[n] for n in _FIELDS if getattr(row, n)}
        return {
            name: "file" if name in fields else "call" if name in called else "default"
            for name in _FIELDS.values()
        }

    async def set(self, caller: Caller, settings: MemoryConfig) -> MemoryConfig:
        """Set what *settings* gives of the calling agent's configuration; return all of it.

        What is not given stays as it was; for an agent that was never configured the level
        stays the daemon's own. One transaction. Raises InvalidError where what is given
        does not go with what stays.
        """

        def work(conn: Writing) -> MemoryConfig:
            agent_key = names.ensure_agent(conn, caller.agent_id, self.clock.now_us())
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
            return agents.list_agents(conn, None, PAGE_ITEMS_MAX)

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


def _columns(config: MemoryConfig) -> dict[str, Any]:
    """Return what *config* gives as columns of a row, as JSON has them."""
    whole = {
        "level": config.type.value,
        "retention_days": config.retention_days,
        "retention_overrides": {
            rule.category.value: rule.retention_days for rule in config.retention_overrides
        },
    }
    return {column: whole[column] for column in whole if _FIELDS[column] in config.model_fields_set}


def _merged(row: AgentRow, before: Mapping[str, Any], columns: Mapping[str, Any]) -> AgentRow:
    """Return *row* with what the file tells, and without what only it told *before*."""
    empty = AgentRow(row.agent_id, None, None, {})
    new = row._replace(
        **{
            column: getattr(empty, column)
            for column, value in before.items()
            if getattr(row, column) == value
        }
    )
    new = new._replace(**columns)
    if new.level == MemoryLevel.NONE:  # what keeps nothing keeps nothing for a time
        new = new._replace(retention_days=None, retention_overrides={})
    return new if new.level is None else new._replace(level=MemoryLevel(new.level))
