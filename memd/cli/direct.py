"""The care of the file while no daemon runs: the same room, opened here, under the same lock.

A file that is too damaged for a daemon to start is just the one that has to be
checked.
"""

from __future__ import annotations

import asyncio
from typing import Any

from memd.base.clock import SystemClock
from memd.base.errors import NotFoundError
from memd.base.lock import lock_store
from memd.base.paths import Paths
from memd.domain.caller import Caller
from memd.store.check.upkeep import Upkeep
from memd.store.file.database import opened

_CALLER = Caller(client="memd", method="cli")


def care(profile: str | None, method: str, params: dict[str, Any]) -> Any:
    """Do what the daemon's *method* does and return what it would answer.

    Raises NotFoundError when there is no file, AlreadyRunningError when a daemon
    has just been started.
    """
    paths = Paths.resolve(profile).located()
    if not paths.database.exists():
        raise NotFoundError(f"{paths.database} does not exist", hint="nothing was remembered yet")
    held = lock_store(paths.lock, paths.database)
    try:
        return asyncio.run(_done(paths, method, params))
    finally:
        held.close()


async def _done(paths: Paths, method: str, params: dict[str, Any]) -> Any:
    clock = SystemClock()
    async with opened(paths.database, clock) as db:
        room = Upkeep(db=db, clock=clock)
        match method:
            case "store.check":
                return (await room.check(_CALLER)).model_dump(mode="json")
            case "store.rebuild":
                return await room.rebuild(_CALLER)
            case _:
                return await room.backup(_CALLER, params.get("target"))
