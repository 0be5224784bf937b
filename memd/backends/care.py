"""What is done beside requests, as long as a store is open: looked after, and told about."""

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


class Care:
    """Looks at the file every two seconds, and once a minute does what is due."""

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
        """Never ends: a fault of the file is logged, and a minute later it is tried again."""
        with suppress(MemdError):
            await self._upkeep.sweep()
        while True:
            for _ in range(round(RHYTHM_SECONDS / LOOK_SECONDS)):
                await asyncio.sleep(LOOK_SECONDS)
                self.look()
            await self.minute(self._checking)

    def look(self) -> None:
        """Notice a file that is gone, and tell of what was found damaged."""
        self._db.write_refusal()
        fresh = self._db.damage.take_new()
        if fresh:
            log.error("the store is damaged: see memd status", found=len(fresh))
            self._emit(EVERYBODY, EventName.DAMAGED, {"what": list(fresh)})

    async def minute(self, checking: BackgroundCheck) -> None:
        """Do what is due, then look at a portion of the file."""
        try:
            if await self._db.recover():
                await self._due()
            await checking.check_portion()
        except MemdError as error:
            log.error("upkeep failed", kind=error.kind)
