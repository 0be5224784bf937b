"""Naps over sessions that end without an event, such as that of a closed terminal.

Most sessions end with an event. One that has been quiet for an hour gets a nap, from its
transcript if there is one, and stays open: it may go on,
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
CHECK_INTERVAL_S = 60.0
NAPS_PER_CHECK = 4
"""At most so many naps a minute; after a month without memd there are many quiet sessions."""


@dataclass(frozen=True)
class QuietSessions:
    """Naps over sessions that have fallen quiet."""

    db: Database
    clock: Clock
    nap: Nap

    async def run(self) -> None:
        """Check once a minute, for ever."""
        while True:
            await asyncio.sleep(CHECK_INTERVAL_S)
            try:
                await self.nap_over_quiet()
            except MemdError as error:
                log.warning("a quiet session waits", kind=error.kind)

    async def nap_over_quiet(self) -> int:
        """Nap over the sessions that fell quiet since their last nap; return their number."""
        before_us = self.clock.now_us() - QUIET_US
        rows = await self.db.read(windows.list_quiet, before_us, NAPS_PER_CHECK)
        for row in rows:
            await self._nap_over(row)
        return len(rows)

    async def _nap_over(self, row: WindowRow) -> None:
        from memd.sleep.nap.transaction import NapRequest

        caller = Caller(
            client=LOCAL,
            agent_id=row.agent_id,
            session_id=row.session_id,
            project_id=project_of(row.cwd),
            method=METHOD,
        )
        window_id = row.source, row.session_id
        request = NapRequest(
            transcript_path=row.transcript_path,
            session_id=row.session_id,
            reason=Reason.QUIET.value,
            last=True,
            on_write=lambda conn, now_us: windows.set_napped(conn, *window_id, now_us),
        )
        try:
            try:
                await self.nap.nap(caller, request)
            except InvalidError:  # no readable transcript: use the session's memories
                await self.nap.nap(caller, replace(request, transcript_path=None))
        except CallerError as error:  # for example an empty session
            log.debug("no nap over a quiet session", kind=error.kind)
            now_us = self.clock.now_us()
            await self.db.write(caller, lambda conn: windows.set_napped(conn, *window_id, now_us))
