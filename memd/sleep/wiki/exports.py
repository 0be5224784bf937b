"""The wiki as the daemon keeps it: by hand, after a consolidation, and after forgetting.

The export below memd's own root follows the store: what was forgotten goes from
it before the answer. An export to another folder is a copy like a backup's, so it
is noted before it is made, and forgetting names it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memd.backends.assembly import Assembly
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
    """Owns the folder at *root*, in which each agent has its own."""

    db: Database
    exporter: WikiExporter
    root: Path
    follows: bool
    """Whether a consolidation is followed by an export."""
    one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: dict[str, None] = field(default_factory=dict)
    due: asyncio.Event = field(default_factory=asyncio.Event)

    async def export(self, caller: Caller, target: str | None = None) -> WikiExport:
        """Write the memories of the caller's agent below *target*, by default below the root.

        Raises InvalidError for a *target* that is not absolute, and what an export raises.
        """
        if target is None:
            return await self._exported(caller.agent_id)
        root = Path(target)
        if not root.is_absolute():
            raise InvalidError("target must be an absolute path", field="target")
        if root != self.root and not self.exporter.is_off:
            with suppress(MemdError):  # a store that cannot be written is exported all the same
                from memd.sleep.wiki.wiki import folder_name

                folder = root / folder_name(caller.agent_id)
                await self.db.write(caller, lambda conn: backup.record_copy(conn, folder))
        return await self._exported(caller.agent_id, root)

    async def remove_forgotten(self, caller: Caller) -> str | None:
        """Take what was forgotten out of the agent's export; return its path if that failed."""
        from memd.sleep.wiki import wiki_files
        from memd.sleep.wiki.wiki import folder_name

        folder = folder_name(caller.agent_id)
        if not wiki_files.is_there(self.root, folder):
            return None
        try:
            done = await self._exported(caller.agent_id)
        except MemdError as error:
            log.warning("wiki not brought up to date", kind=error.kind)
            return str(self.root / folder)
        return str(self.root / folder) if done.path is None or done.failed else None

    def hearing(self, emit: Emit) -> Emit:
        """Return *emit*, and hear of consolidations on the way."""

        def on_event(agent_id: str, name: EventName, body: Mapping[str, Any]) -> None:
            emit(agent_id, name, body)
            if self.follows and name is EventName.CONSOLIDATED:
                self.waiting[agent_id] = None
                self.due.set()

        return on_event

    async def run(self) -> None:
        """Export after each consolidation, if the settings say so. Never ends."""
        while True:
            await self.due.wait()
            self.due.clear()
            while self.waiting:
                agent_id = next(iter(self.waiting))
                del self.waiting[agent_id]
                try:
                    await self._exported(agent_id)
                except MemdError as error:
                    log.error("wiki not exported", kind=error.kind)

    async def _exported(self, agent_id: str, root: Path | None = None) -> WikiExport:
        async with self.one_at_a_time:
            return await self.exporter.export(agent_id, root)


def exporting(house: Assembly, config: WikiExportConfig, own_root: Path) -> Wiki:
    """Build the room over *house*; a root in the settings stands for *own_root*.

    One that begins with ``~`` is the owner's, one that is not absolute lies beside
    *own_root*.
    """
    folder = config.export_root
    root = own_root if folder is None else own_root.parent / Path(folder).expanduser()

    def exporter() -> WikiExporter:
        from memd.sleep.wiki.wiki import WikiExporter

        return WikiExporter(
            backend=_Listed(house.recall),
            config=config,
            root=root,
            clock=house.clock,
            run=house.work.run,
        )

    follows = config.enabled and config.trigger == "on_consolidation"
    return Wiki(db=house.db, exporter=lazy(exporter), root=root, follows=follows)


@dataclass(frozen=True)
class _Listed:
    """The memories of this file, as a backend lists them."""

    recall: Recall

    async def retrieve(self, agent_id: str, query: MemoryQuery) -> tuple[MemoryEntry, ...]:
        return await self.recall.retrieve(Caller(agent_id=agent_id), query)

    async def originals(
        self, agent_id: str, after: str | None, limit: int
    ) -> tuple[tuple[MemoryEntry, ...], str | None]:
        from memd.domain.memory import MemoryFilter

        caller = Caller(agent_id=agent_id)
        return await self.recall.export(caller, MemoryFilter(), after, limit)
