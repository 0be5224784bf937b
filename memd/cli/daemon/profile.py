"""Profiles: memories side by side that know nothing of each other."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from memd.base.errors import AlreadyRunningError, InvalidError, InvalidStateError
from memd.base.lock import lock_store
from memd.base.paths import DEFAULT_PROFILE, Paths
from memd.base.profiles import belongings, profiles
from memd.cli import options, say
from memd.cli.tables import table, word

Name = Annotated[str, options.Argument(help="Lower-case letters, digits, - and _, up to 32.")]


@options.examples("memd profile list", "memd profile list --json")
def list_(json: options.Json = False) -> None:
    """List the profiles that have a memory or settings, and whether their daemons run."""
    names = profiles(Paths.resolve(DEFAULT_PROFILE))
    rows = [(name, _runs(Paths.resolve(name).located()), _bytes(name)) for name in names]
    if json:
        keys = ("profile", "running", "bytes")
        say.as_json({"profiles": [dict(zip(keys, row, strict=True)) for row in rows]})
        return
    shown = [(name, "running" if runs else "stopped", f"{size:,}") for name, runs, size in rows]
    table((word("PROFILE", whole=True), word("DAEMON"), word("BYTES")), shown)


@options.examples(
    "memd profile create work", "memd serve --profile work", "memd service install --profile work"
)
def create(name: Name, json: options.Json = False) -> None:
    """Make a profile with settings of its own, and say how to start its daemon."""
    paths = _named(name)
    if name in profiles(paths):
        raise InvalidStateError(f"profile {name} is there already", hint="memd profile list")
    paths.config_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(paths.config_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"# Settings of the profile {name}: docs/settings.md\n")
    if json:
        say.as_json({"profile": name, "settings": str(paths.config_file)})
        return
    say.out(str(paths.config_file))
    say.note(f"its daemon: memd service install --profile {name}, or memd serve --profile {name}")


@options.examples("memd profile remove work", "memd profile remove work --yes")
def remove(name: Name, yes: options.Yes = False, json: options.Json = False) -> None:
    """Erase a profile: its memories, keys, settings and copies beside them, for ever.

    Copies that were written elsewhere stay, and so do the models, which all profiles share.
    """
    if name == DEFAULT_PROFILE:
        raise InvalidError("the default profile stays", field="name", hint='see "memd forget"')
    paths = _named(name).located()
    if name not in profiles(Paths.resolve(name)) and not paths.database.exists():
        raise InvalidError(f"there is no profile {name}", field="name", hint="memd profile list")
    say.sure(f"Erase everything of the profile {name} for ever?", yes=yes)
    with _alone(paths):
        places = [*belongings(paths), *belongings(Paths.resolve(name))]
        left = [str(each) for each in places if not _erase(each)]
    if json:
        say.as_json({"profile": name, "left": left})
    else:
        say.note(f"could not be erased: {', '.join(left)}" if left else f"profile {name} is gone")
    if left:
        raise say.Leave(say.Exit.ERROR)


@contextmanager
def _alone(paths: Paths) -> Iterator[None]:
    """Hold the store, if there is one, so that no daemon begins with it meanwhile."""
    if not paths.database.exists():
        yield
        return
    try:
        held = lock_store(paths.lock, paths.database, make=False)
    except AlreadyRunningError:
        raise InvalidStateError(
            f"the daemon of {paths.profile} runs",
            hint=f"stop it: memd service uninstall --profile {paths.profile}, or end memd serve",
        ) from None
    try:
        yield
    finally:
        held.close()


def _named(name: str) -> Paths:
    if not name:
        raise InvalidError("say which profile", field="name")
    return Paths.resolve(name)


def _erase(place: Path) -> bool:
    """Remove a file or folder; return whether it is gone. What a link leads to stays."""
    try:
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _runs(paths: Paths) -> bool:
    """Return whether a daemon has the store."""
    if not paths.database.exists():
        return False
    try:
        lock_store(paths.lock, paths.database, make=False).close()
    except AlreadyRunningError:
        return True
    return False


def _bytes(name: str) -> int:
    database = Paths.resolve(name).located().database
    beside = (database, *(database.with_name(database.name + end) for end in ("-wal", "-shm")))
    return sum(each.stat().st_size for each in beside if each.exists())
