"""A nap over what nobody will say the end of: a terminal that was closed, an assistant without it.

Most sessions end with an event. One that has been quiet for an hour is napped over by
itself, from its transcript where there is one, and stays open: whoever comes back goes on,
and the next nap replaces what this one made.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memd.base import log
from memd.base.clock import Clock
from memd.base.errors import CallerError, InvalidError, MemdError
from memd.domain.caller import LOCAL, Caller
from memd.sleep.window.trigger import METHOD, Reason, project_of
from memd.store.file.database import Database
from memd.store.session import windows
from memd.store.session.windows import WindowRow

if TYPE_CHECKING:  # loaded when the first session has fallen quiet
    from memd.sleep.nap.nap import Nap

QUIET_US = 3_600_000_000
LOOK_S = 60.0
AT_ONCE = 4
"""How many are napped over in a minute: after a month without them there are many."""


@dataclass(frozen=True)
class Quiet:
    """Looks for sessions that have fallen quiet."""

    db: Database
    clock: Clock
    nap: Nap

    async def run(self) -> None:
        """Look once a minute, for ever."""
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self.look()
            except MemdError as error:
                log.warning("a quiet session waits", kind=error.kind)

    async def look(self) -> int:
        """Nap over sessions that fell quiet since their last nap; returns how many."""
        before_us = self.clock.now_us() - QUIET_US
        rows = await self.db.read(windows.list_quiet, before_us, AT_ONCE)
        for row in rows:
            await self._over(row)
        return len(rows)

    async def _over(self, row: WindowRow) -> None:
        from memd.sleep.nap.transaction import NapRequest

        caller = Caller(
            client=LOCAL,
            agent_id=row.agent_id,
            session_id=row.session_id,
            project_id=project_of(row.cwd),
            method=METHOD,
        )
        place = row.source, row.session_id
        request = NapRequest(
            transcript_path=row.transcript_path,
            session_id=row.session_id,
            reason=Reason.QUIET.value,
            last=True,
            on_write=lambda conn, now_us: windows.set_napped(conn, *place, now_us),
        )
        try:
            try:
                await self.nap.nap(caller, request)
            except InvalidError:  # no transcript that is read: what it told memd, then
                await self.nap.nap(caller, replace(request, transcript_path=None))
        except CallerError as error:  # nothing was said, say
            log.debug("no nap over a quiet session", kind=error.kind)
            now_us = self.clock.now_us()
            await self.db.write(caller, lambda conn: windows.set_napped(conn, *place, now_us))
