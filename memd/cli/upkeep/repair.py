"""``memd repair``: salvage a damaged database. The daemon must be stopped."""

from __future__ import annotations

from memd.base.clock import SystemClock, from_us
from memd.base.errors import NotFoundError
from memd.base.paths import Paths
from memd.cli import options, say
from memd.cli.upkeep.backup import hold_store

_LOST_TOLD = 20


@options.examples("memd repair", "memd repair --yes --json")
def repair(
    yes: options.Yes = False, profile: options.Profile = None, json: options.Json = False
) -> None:
    """Salvage a damaged database into a new file and keep the old. The daemon must be stopped.

    Lists what is lost. Exit code 1: the new file still has problems, which are listed too.
    """
    from memd.records.entities import tables
    from memd.store.repairing.repair import repair as salvage

    paths = Paths.resolve(profile).with_settings()
    if not paths.database.exists():
        raise NotFoundError(f"{paths.database} does not exist", hint="memd restore FILE")
    with hold_store(paths):
        say.confirm(f"Salvage {paths.database} into a new file?", yes=yes)
        now_us = SystemClock().now_us()
        stamp = from_us(now_us).strftime("%Y%m%dT%H%M%S%f")
        done = salvage(paths.database, paths.anchors, stamp, now_us, tables())
    if json:
        say.print_json(done._asdict())
    else:
        say.note(f"salvaged {done.kept.get('memory', 0):,} memories; rows by table:")
        for name, count in sorted(done.kept.items()):
            say.out(f"{name.replace('_', ' ') + ':':<22} {count:,}")
        _list("lost", done.lost)
        _list("remaining problems", done.remaining)
        say.note(f"the damaged file is kept: {done.damaged}")
    if done.remaining:
        raise say.CommandExit(say.Exit.ERROR)


def _list(label: str, lines: tuple[str, ...]) -> None:
    say.out(f"{label + ':':<22} {len(lines) or 'nothing'}")
    for line in lines[:_LOST_TOLD]:
        say.out(f"  {say.line(line)}")
    if len(lines) > _LOST_TOLD:
        say.out(f"  and {len(lines) - _LOST_TOLD:,} more: --json lists all")
