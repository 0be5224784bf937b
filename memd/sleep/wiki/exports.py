"""Export the daemon's wiki: on request, after a consolidation, and after forgetting.

Forgotten memories are removed from the export below memd's own root before ``forget`` returns. An
export to another folder is a copy, like a backup: it is recorded before it is made, and ``forget``
names it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memd.backends.rooms import Rooms
from memd.base import log
from memd.base.errors import InvalidError, MemdError
from memd.base.lazy import lazy
from memd.domain.caller import Caller
from memd.domain.settings.consolidation import WikiExportConfig
from memd.domain.values import Emit, EventName
from memd.store.file import backup
from memd.store.file.database import Database

if TYPE_CHECKING:
    from memd.domain.files import WikiExport
    from memd.domain.memory import MemoryEntry, MemoryQuery
    from memd.recall.recall import Recall
    from memd.sleep.wiki.wiki import WikiExporter


@dataclass(frozen=True)
class Wiki:
    """Exports the memories of agents, each to its own folder below *root*."""

    db: Database
    exporter: WikiExporter
    root: Path
    is_automatic: bool
    """Whether each consolidation is followed by an export."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    pending_agents: dict[str, None] = field(default_factory=dict)
    wakeup: asyncio.Event = field(default_factory=asyncio.Event)

    async def export(self, caller: Caller, target: str | None = None) -> WikiExport:
        """Write the memories of the caller's agent below *target*, by default below the root.

        Raises InvalidError for a *target* that is not absolute, InvalidStateError if the settings
        forbid exports, and what ``WikiExporter.export`` raises.
        """
        self.exporter.refuse_if_disabled()
        if target is None:
            return await self._export(caller.agent_id)
        root = Path(target)
        if not root.is_absolute():
            raise InvalidError("target must be an absolute path", field="target")
        if root != self.root:
            with suppress(MemdError):  # a read-only store cannot record the copy
                from memd.sleep.wiki.wiki import folder_name

                folder = root / folder_name(caller.agent_id)
                await self.db.write(caller, lambda conn: backup.record_copy(conn, folder))
        return await self._export(caller.agent_id, root)

    async def remove_forgotten(self, caller: Caller) -> str | None:
        """Remove forgotten memories from the agent's export; return its path if that fails."""
        from memd.sleep.wiki import wiki_files
        from memd.sleep.wiki.wiki import folder_name

        folder = folder_name(caller.agent_id)
        if not wiki_files.has_folder(self.root, folder):
            return None
        try:
            export = await self._export(caller.agent_id)
        except MemdError as error:
            log.warning("wiki not brought up to date", kind=error.kind)
            return str(self.root / folder)
        return str(self.root / folder) if export.path is None or export.failed else None

    def wrap_emit(self, emit: Emit) -> Emit:
        """Return *emit*, extended to schedule an export after each consolidation."""

        def on_event(agent_id: str, name: EventName, body: Mapping[str, Any]) -> None:
            emit(agent_id, name, body)
            if self.is_automatic and name is EventName.CONSOLIDATED:
                self.pending_agents[agent_id] = None
                self.wakeup.set()

        return on_event

    async def run(self) -> None:
        """Carry out scheduled exports for ever."""
        while True:
            await self.wakeup.wait()
            self.wakeup.clear()
            while self.pending_agents:
                agent_id = next(iter(self.pending_agents))
                del self.pending_agents[agent_id]
                try:
                    await self._export(agent_id)
                except MemdError as error:
                    log.error("wiki not exported", kind=error.kind)

    async def _export(self, agent_id: str, root: Path | None = None) -> WikiExport:
        async with self.lock:
            return await self.exporter.export(agent_id, root)


def build_wiki(rooms: Rooms, config: WikiExportConfig, default_root: Path) -> Wiki:
    """Return the wiki over *rooms*, exported to *default_root* or to the root in the settings.

    In the settings, "~" is the owner's home, and a relative path is next to *default_root*.
    """
    folder = config.export_root
    root = default_root if folder is None else default_root.parent / Path(folder).expanduser()

    def exporter() -> WikiExporter:
        from memd.sleep.wiki.wiki import WikiExporter

        return WikiExporter(
            backend=_RecallBackend(rooms.recall),
            config=config,
            root=root,
            clock=rooms.clock,
            run=rooms.work.run,
        )

    is_automatic = config.enabled and config.trigger == "on_consolidation"
    return Wiki(db=rooms.db, exporter=lazy(exporter), root=root, is_automatic=is_automatic)


@dataclass(frozen=True)
class _RecallBackend:
    """Lists the memories of this file as a backend does."""

    recall: Recall

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        return await self.recall.retrieve(Caller(agent_id=agent_id), query)

    async def originals(
        self, agent_id: str, after: str | None, limit: int
    ) -> tuple[tuple[MemoryEntry, ...], str | None]:
        from memd.domain.memory import MemoryFilter

        caller = Caller(agent_id=agent_id)
        return await self.recall.export(caller, MemoryFilter(), after, limit)
