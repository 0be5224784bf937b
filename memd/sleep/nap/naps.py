"""Assemble the naps of a daemon: on request, by import, and by watching context windows.

The parts are built on first use, or shortly after the start, so that the daemon answers before it
has loaded their modules.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memd.base import log
from memd.base.lazy import lazy
from memd.domain.values import Emit, unheard
from memd.signals.usage import CONSOLIDATED_SUFFIX

if TYPE_CHECKING:
    from memd.backends.rooms import Rooms
    from memd.domain.settings.settings import Settings
    from memd.llm.llm import LanguageModel
    from memd.sleep.model.nap_writer import NapWriter
    from memd.sleep.nap.message_log import MessageLog
    from memd.sleep.nap.nap import Nap
    from memd.sleep.transcript.consolidator import MemoryConsolidator
    from memd.sleep.window.other_sessions import SessionImporter
    from memd.sleep.window.window_watcher import WindowWatcher

START_S = 0.3
"""The delay before the watchers start, so that the daemon answers first."""


class Naps:
    """The naps that the daemon starts and the socket serves.

    *default_dir* is the folder of usage files unless a setting names one.
    """

    def __init__(
        self,
        rooms: Rooms,
        settings: Settings,
        default_dir: Path,
        *,
        environ: Mapping[str, str] = os.environ,
        emit: Emit = unheard,
        llm: LanguageModel | None = None,
    ) -> None:
        self._rooms = rooms
        self._settings = settings
        self._default_dir = default_dir
        self._environ = environ
        self._emit = emit
        self._llm = llm

    @cached_property
    def rule(self) -> MemoryConsolidator:
        """The threshold of a full window, and the size to assume if the window's is unknown."""
        from memd.sleep.transcript.consolidator import MemoryConsolidator

        usage_settings = self._settings.usage
        return MemoryConsolidator(usage_settings.threshold_pct, usage_settings.max_tokens)

    @cached_property
    def nap(self) -> Nap:
        """The nap, for windows that are full and on request."""
        from memd.signals.files import transcript_roots
        from memd.sleep.nap.nap import Nap

        rooms = self._rooms
        extra = [Path(root).expanduser() for root in self._settings.usage.transcript_roots]
        return Nap(
            db=rooms.db,
            ids=rooms.ids,
            clock=rooms.clock,
            work=rooms.work,
            counter=rooms.counter,
            embedder=rooms.embedder,
            queue=rooms.queue,
            level=self._settings.memory.level,
            rule=self.rule,
            chunking=self._settings.memory.chunking,
            roots=transcript_roots(self._environ, Path.home(), extra),
            emit=self._emit,
            note=rooms.notes.add,
            writer=self._writer(),
            classifier=rooms.classifier,
        )

    def _writer(self) -> NapWriter | None:
        if self._llm is None or not self._settings.llm.uses.naps:
            return None
        from memd.sleep.model.nap_writer import NapWriter

        return NapWriter(self._llm)

    @cached_property
    def watcher(self) -> WindowWatcher:
        """The watched windows and the naps that they trigger."""
        from memd.sleep.window.window_watcher import WindowWatcher

        rooms, usage = self._rooms, self._settings.usage
        return WindowWatcher(
            db=rooms.db,
            clock=rooms.clock,
            nap=lazy(lambda: self.nap),
            sessions=rooms.sessions,
            rule=usage,
            usage_path=self._usage_path,
            default_dir=self._default_dir if usage.path is None else None,
            emit=self._emit,
        )

    @property
    def _usage_path(self) -> Path:
        path = self._settings.usage.path
        return self._default_dir if path is None else Path(path).expanduser()

    def remove_forgotten(self) -> str | None:
        """Remove the lists that naps wrote beside usage files; return their folder if that fails.

        All are removed, because their text of messages is not linked to memories. So are the
        temporary files that a killed nap leaves beside them.
        """
        folder = self._usage_path if self._usage_path.is_dir() else self._usage_path.parent
        try:
            for pattern in (f"*{CONSOLIDATED_SUFFIX}", f".*{CONSOLIDATED_SUFFIX}.tmp"):
                for path in folder.glob(pattern):
                    path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("the consolidated lists were not removed", errno=error.errno)
            return str(folder)
        return None

    @property
    def message_log(self) -> MessageLog:
        """The messages of sessions, added as they come."""
        from memd.sleep.nap.message_log import MessageLog

        rooms = self._rooms
        return MessageLog(rooms.db, rooms.work, rooms.clock, self._settings.memory.level)

    @property
    def importer(self) -> SessionImporter:
        """The import of recorded sessions."""
        from memd.sleep.window.other_sessions import SessionImporter

        return SessionImporter(self.nap, self._rooms.sessions)

    def work_report(self) -> dict[str, Any]:
        """Return queue lengths, and the number and duration of naps and nights since the start.

        Reads no file.
        """
        db, notes = self._rooms.db, self._rooms.notes
        waiting = self.watcher.waiting if "watcher" in vars(self) else 0
        return {
            "queues": {"writes": db.waiting_writes, "naps": waiting, "notes": notes.waiting},
            "works": notes.works,
            "notes_dropped": notes.dropped,
        }

    async def run(self) -> None:
        """Watch the usage files, and the sessions without new messages, until cancelled."""
        await asyncio.sleep(START_S)
        async with asyncio.TaskGroup() as both:
            both.create_task(self.watcher.run())
            both.create_task(self._quiet())

    async def _quiet(self) -> None:
        from memd.sleep.window.other_sessions import QuietSessions

        await QuietSessions(self._rooms.db, self._rooms.clock, lazy(lambda: self.nap)).run()
