"""Background upkeep of an open store: checks, due work, and events about damage."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from memd.base import log
from memd.base.errors import MemdError
from memd.domain.values import EVERYBODY, Emit, EventName
from memd.store.check.upkeep import BackgroundCheck, Upkeep
from memd.store.file.database import Database

RHYTHM_SECONDS = 60.0
LOOK_SECONDS = 2.0


class UpkeepLoop:
    """Checks the file every two seconds, and does due work once a minute."""

    def __init__(
        self,
        db: Database,
        upkeep: Upkeep,
        due: Callable[[], Awaitable[None]],
        emit: Emit,
    ) -> None:
        self._db = db
        self._upkeep = upkeep
        self._due = due
        self._emit = emit
        self._checking = upkeep.background_check

    async def run(self) -> None:
        """Run for ever; a fault of the file is logged and retried a minute later."""
        with suppress(MemdError):
            await self._upkeep.sweep()
        while True:
            for _ in range(round(RHYTHM_SECONDS / LOOK_SECONDS)):
                await asyncio.sleep(LOOK_SECONDS)
                self.check_file()
            await self.do_round(self._checking)

    def check_file(self) -> None:
        """Detect a missing file, and report new damage."""
        self._db.write_refusal()
        fresh = self._db.damage.take_new()
        if fresh:
            log.error("the store is damaged: see memd status", found=len(fresh))
            self._emit(EVERYBODY, EventName.DAMAGED, {"what": list(fresh)})

    async def do_round(self, checking: BackgroundCheck) -> None:
        """Do due work, then check a portion of the file."""
        try:
            if await self._db.recover():
                await self._due()
            await checking.check_portion()
        except MemdError as error:
            log.error("upkeep failed", kind=error.kind)
