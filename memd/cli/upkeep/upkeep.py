"""``memd check`` and ``memd rebuild``, with or without a running daemon.

Without a daemon the same code runs in this process, under the same lock. So a database can be
checked even if it is too damaged for the daemon to start.
"""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import Any

from memd.base.clock import SystemClock
from memd.base.errors import DamagedError, NotFoundError, NotRunningError
from memd.base.lock import lock_store
from memd.base.paths import Paths
from memd.cli import console, options
from memd.cli.connection import LONG_SECONDS_MAX, daemon
from memd.cli.progress import Progress
from memd.domain.caller import Caller
from memd.store.check.upkeep import Upkeep
from memd.store.file.database import open_database

_LABELS = {"changes": "audit entries", "operations": "changes of facts"}


@options.examples("memd check", "memd check --json")
def check() -> None:
    """Check every page and row of the database.

    Exit code 1: problems found.
    """
    report: dict[str, Any] = call_or_run("store.check", "checking")
    if not console.print_if_json(report):
        figures = report["figures"]
        left = figures.pop("pending", 0)
        for name, number in figures.items():
            more = (
                f"; to be computed while memd runs: {left:,}" if name == "vectors" and left else ""
            )
            console.out(f"{_LABELS.get(name, name) + ':':<22} {number:,}{more}")
        console.out(f"{'problems:':<22} {len(report['problems']) or 'none'}")
        for problem in report["problems"]:
            console.out(f"  {console.line(problem)}")
        for unchecked in report["unchecked"]:
            console.out(f"{'not checked:':<22} {console.line(unchecked)}")
    if not report["ok"]:
        raise DamagedError(
            "the database is damaged",
            hint="memd rebuild fixes caches, memd repair rows and pages; "
            "memd restore puts a backup in place",
        )


@options.examples("memd rebuild")
def rebuild() -> None:
    """Rebuild indexes, caches and damaged vectors from the memories."""
    call_or_run("store.rebuild", "rebuilding")
    if not console.print_if_json({"rebuilt": True}):
        console.note("rebuilt the caches and indexes")


def call_or_run(method: str, doing: str) -> Any:
    """Call *method* of the daemon without a timeout, or run it here if no daemon runs."""
    try:
        with daemon(seconds_max=LONG_SECONDS_MAX) as client, Progress(doing) as progress:
            tell = progress.at if method == "store.rebuild" else None
            return client.call(method, progress=tell)
    except NotRunningError:
        return run_offline(method)


_CALLER = Caller(client="memd", method="cli")


def run_offline(method: str, target: str | None = None) -> Any:
    """Run the daemon's *method* in this process and return its result.

    *target* is the file for a backup, by default one next to the database.

    Raises NotFoundError if there is no database, AlreadyRunningError if a daemon has just
    started.
    """
    paths = Paths.resolve().with_settings()
    if not paths.database.exists():
        raise NotFoundError(f"{paths.database} does not exist", hint="nothing was remembered yet")
    with closing(lock_store(paths.lock, paths.database)):
        return asyncio.run(_run(paths, method, target))


async def _run(paths: Paths, method: str, target: str | None) -> Any:
    clock = SystemClock()
    async with open_database(paths.database, clock) as db:
        room = Upkeep(db=db, clock=clock)
        match method:
            case "store.check":
                return (await room.check(_CALLER)).model_dump(mode="json")
            case "store.rebuild":
                return await room.rebuild(_CALLER)
            case _:
                return await room.backup(_CALLER, target)
