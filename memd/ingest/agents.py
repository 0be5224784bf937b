"""Read and write the configuration of each agent: level and retention periods (SPEC 7.14)."""

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
from memd.domain.settings.settings import MemoryConfig, SettingSource
from memd.store.access import agents, names
from memd.store.access.agents import AgentRow
from memd.store.file.connect import Writing
from memd.store.file.database import Database

_CALLER = Caller(client="memd", method="settings")

_FIELDS = {
    "level": "type",
    "retention_days": "retention_days",
    "retention_overrides": "retention_overrides",
}
"""Columns of the agent's row -> fields of the configuration."""

_SETTING_NAMES = {"type": "level"}


@dataclass(frozen=True)
class Agents:
    """Reads and writes the agents' configurations."""

    db: Database
    clock: Clock
    default: MemoryConfig
    """The configuration of an agent that has none."""
    file: Mapping[str, MemoryConfig] = field(default_factory=dict)
    """The agents' configurations in the settings file; calls cannot change these fields."""

    async def apply_file(self) -> None:
        """Apply the configurations in the settings file, and revoke those that it no longer has.

        Fields that a call set are kept, unless the file sets them. Nothing is written if the file
        is the same as at the last start.
        """
        columns = {name: _columns(config) for name, config in self.file.items()}
        if columns == await self.db.read(agents.read_file_settings):
            return

        def work(conn: Writing) -> None:
            before = agents.read_file_settings(conn)
            for name in sorted(before.keys() | columns.keys()):
                row = agents.find_configuration(conn, name) or AgentRow(name, None, None, {})
                new = _merge(row, before.get(name, {}), columns.get(name, {}))
                if new != row:
                    agents.configure(conn, names.ensure_agent(conn, name, self.clock.now_us()), new)
            agents.record_file_settings(conn, columns)

        await self.db.write(_CALLER, work)

    def check_not_in_file(self, agent_id: str, given: Collection[str]) -> None:
        """Raise InvalidStateError if the file sets one of the *given* fields of the agent."""
        config = self.file.get(agent_id)
        fields_in_file = sorted(config.model_fields_set & set(given)) if config is not None else []
        if fields_in_file:
            name = fields_in_file[0]
            key = f"memory.agents.{agent_id}.{_SETTING_NAMES.get(name, name)}"
            raise InvalidStateError(
                f"{key} is set in the settings file",
                field=name,
                hint="change it there",
            )

    async def origins(self, agent_id: str) -> dict[str, SettingSource]:
        """Return where each field comes from: "file", "call" or "default"."""
        config = self.file.get(agent_id)
        fields = config.model_fields_set if config is not None else set()
        row = await self.db.read(agents.find_configuration, agent_id)
        set_by_call = set() if row is None else {_FIELDS[n] for n in _FIELDS if getattr(row, n)}
        return {
            name: "file" if name in fields else "call" if name in set_by_call else "default"
            for name in _FIELDS.values()
        }

    async def set(self, caller: Caller, settings: MemoryConfig) -> MemoryConfig:
        """Set the given fields of the calling agent's configuration; return all of it.

        Other fields are unchanged. An agent without a level of its own has the daemon's. Raises
        InvalidError if given and existing fields conflict.
        """

        def work(conn: Writing) -> MemoryConfig:
            agent_key = names.ensure_agent(conn, caller.agent_id, self.clock.now_us())
            before = agents.find_configuration(conn, caller.agent_id)
            assert before is not None
            row = _apply(before, settings)
            agents.configure(conn, agent_key, row)
            return self._config(row)

        return await self.db.write(caller, work, reply=MemoryConfig)

    async def get(self, caller: Caller) -> MemoryConfig:
        """Return the calling agent's configuration."""
        row = await self.db.read(agents.find_configuration, caller.agent_id)
        return self.default if row is None else self._config(row)

    async def list(self, caller: Caller) -> tuple[tuple[str, MemoryConfig], ...]:
        """Return every agent's configuration, by name."""
        del caller
        rows = await self.db.read(agents.list_agents, None, PAGE_ITEMS_MAX)
        return tuple((row.agent_id, self._config(row)) for row in rows)

    def _config(self, row: AgentRow) -> MemoryConfig:
        level = row.level or self.default.type
        stores_memories = level is not MemoryLevel.NONE  # also if the daemon's level is none
        return MemoryConfig(
            type=level,
            retention_days=row.retention_days if stores_memories else None,
            retention_overrides=tuple(
                RetentionRule(category=MemoryCategory(category), retention_days=days)
                for category, days in row.retention_overrides.items()
                if stores_memories
            ),
        )


def _apply(before: AgentRow, settings: MemoryConfig) -> AgentRow:
    """Return the row with the given fields of *settings* replaced."""
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
    """Return the given fields of *config* as JSON values by column."""
    all_columns = {
        "level": config.type.value,
        "retention_days": config.retention_days,
        "retention_overrides": {
            rule.category.value: rule.retention_days for rule in config.retention_overrides
        },
    }
    return {
        column: all_columns[column]
        for column in all_columns
        if _FIELDS[column] in config.model_fields_set
    }


def _merge(row: AgentRow, before: Mapping[str, Any], columns: Mapping[str, Any]) -> AgentRow:
    """Return *row* with the file's *columns*; those that it set *before* are cleared first.

    A column whose value differs from *before* was set by a call and is kept.
    """
    empty = AgentRow(row.agent_id, None, None, {})
    new = row._replace(
        **{
            column: getattr(empty, column)
            for column, value in before.items()
            if getattr(row, column) == value
        }
    )
    new = new._replace(**columns)
    if new.level == MemoryLevel.NONE:  # without memories there is no retention
        new = new._replace(retention_days=None, retention_overrides={})
    return new if new.level is None else new._replace(level=MemoryLevel(new.level))
