"""Naps, put together over one open file: by call, and by watching windows.

They are built when the first is asked for, or a moment after the start: the
daemon answers before it has read what naps are made of.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memd.base.later import later
from memd.domain.values import Emit, unheard

if TYPE_CHECKING:
    from memd.backends.assembly import Assembly
    from memd.domain.caller import Caller
    from memd.domain.settings.settings import Settings
    from memd.domain.sleep.sleep import ImportedSession, NapResult, Window
    from memd.llm.llm import LanguageModel
    from memd.signals.usage import Usage
    from memd.sleep.model.nap_writer import NapWriter
    from memd.sleep.nap.consolidator import MemoryConsolidator
    from memd.sleep.nap.nap import Nap
    from memd.sleep.window.watching import Watching

START_S = 0.3


class Naps:
    """What of naps the daemon starts and the socket shows.

    *own* is the folder of usage files where no setting names one.
    """

    def __init__(
        self,
        house: Assembly,
        settings: Settings,
        own: Path,
        *,
        environ: Mapping[str, str] = os.environ,
        emit: Emit = unheard,
        llm: LanguageModel | None = None,
    ) -> None:
        self._house = house
        self._settings = settings
        self._own = own
        self._environ = environ
        self._emit = emit
        self._llm = llm

    @cached_property
    def rule(self) -> MemoryConsolidator:
        """When a window is full, and how large one is that nobody measured."""
        from memd.sleep.nap.consolidator import MemoryConsolidator

        usage_settings = self._settings.usage
        return MemoryConsolidator(usage_settings.threshold_pct, usage_settings.max_tokens)

    @cached_property
    def nap(self) -> Nap:
        """The nap itself."""
        from memd.signals.files import known_roots
        from memd.sleep.nap.nap import Nap

        house = self._house
        extra = [Path(root).expanduser() for root in self._settings.usage.transcript_roots]
        return Nap(
            db=house.db,
            ids=house.ids,
            clock=house.clock,
            work=house.work,
            counter=house.counter,
            queue=house.queue,
            level=self._settings.memory.level,
            rule=self.rule,
            chunking=self._settings.memory.chunking,
            roots=known_roots(self._environ, Path.home(), extra),
            emit=self._emit,
            note=house.notes.add,
            writer=self._writer(),
        )

    def _writer(self) -> NapWriter | None:
        if self._llm is None or not self._settings.llm.uses.naps:
            return None
        from memd.sleep.model.nap_writer import NapWriter

        return NapWriter(self._llm)

    @cached_property
    def watching(self) -> Watching:
        """The windows, and what they call for."""
        from memd.sleep.window.watching import Watching

        house, usage = self._house, self._settings.usage
        return Watching(
            db=house.db,
            clock=house.clock,
            nap=later(lambda: self.nap),
            sessions=house.sessions,
            rule=usage,
            place=self._own if usage.path is None else Path(usage.path).expanduser(),
            own=self._own if usage.path is None else None,
            emit=self._emit,
        )

    def works(self) -> dict[str, Any]:
        """Return what waits, and how often and how long memd napped and slept since the start.

        Asks no file.
        """
        db, notes = self._house.db, self._house.notes
        waiting = self.watching.waiting if "watching" in vars(self) else 0
        return {
            "queues": {"writes": db.waiting_writes, "naps": waiting, "notes": notes.waiting},
            "works": notes.works,
            "notes_dropped": notes.dropped,
        }

    async def run(self) -> None:
        """Watch the usage files for ever, and sessions that fall quiet."""
        await asyncio.sleep(START_S)
        async with asyncio.TaskGroup() as both:
            both.create_task(self.watching.run())
            both.create_task(self._quiet())

    async def _quiet(self) -> None:
        from memd.sleep.window.quiet import Quiet

        await Quiet(self._house.db, self._house.clock, later(lambda: self.nap)).run()

    async def consolidate(
        self,
        caller: Caller,
        *,
        messages: Sequence[dict[str, Any]] | None = None,
        transcript_path: str | None = None,
        max_tokens: int | None = None,
    ) -> NapResult:
        """Nap because somebody asks for it (``Nap.nap``); the session is the caller's."""
        from memd.sleep.nap.keeping import NapRequest

        request = NapRequest(
            messages=messages,
            transcript_path=transcript_path,
            max_tokens=max_tokens,
            swaps=messages is not None,
        )
        return await self.nap.nap(caller, request)

    async def import_session(
        self,
        caller: Caller,
        raw: bytes,
        *,
        session_id: str | None = None,
        cwd: str | None = None,
        dry_run: bool = False,
    ) -> ImportedSession:
        """Nap over a recorded session as over one that has ended (``recorded.Recorded``)."""
        from memd.sleep.window.recorded import Recorded

        taking = Recorded(self.nap, self._house.sessions)
        return await taking.take(caller, raw, session_id=session_id, cwd=cwd, dry_run=dry_run)

    async def report(
        self,
        caller: Caller,
        usage: Usage,
        messages: Sequence[dict[str, Any]] | None = None,
        *,
        returns: bool = False,
    ) -> Window:
        """Take what an assistant says of its window (``Watching.report``)."""
        return await self.watching.report(caller, usage, messages, returns=returns)

    def unreadable(self) -> tuple[int, str | None]:
        """Return how many usage files cannot be read, and why the last one cannot."""
        return self.watching.unreadable()

    async def list(self, caller: Caller) -> tuple[Window, ...]:
        """Return the windows of the caller's agent."""
        return await self.watching.list(caller)
