"""``memd profile``: list, create and remove profiles."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

from memd.base.errors import (
    AlreadyRunningError,
    InvalidError,
    InvalidStateError,
    MemdError,
    NotFoundError,
)
from memd.base.lock import lock_store
from memd.base.paths import DEFAULT_PROFILE, Paths, list_profiles, profile_files
from memd.base.settings import SUFFIXES
from memd.cli import console, options
from memd.cli.connection import daemon
from memd.cli.daemon import service
from memd.cli.tables import table, word_column

_STOP_MS_MAX = 30_000
"""How long to wait for a daemon to stop."""
_POLL_MS = 50

Name = Annotated[str, "NAME", "Name: up to 32 lower-case letters, digits, - and _."]


@options.examples("memd profile list", "memd profile list --json")
def list_() -> None:
    """List profiles, with their daemons and sizes."""
    names = list_profiles(Paths.resolve(DEFAULT_PROFILE))
    rows = [
        {
            "profile": name,
            "running": _is_running(Paths.resolve(name).with_settings()),
            "bytes": _database_bytes(name),
        }
        for name in names
    ]
    columns = (
        word_column("PROFILE", "profile", whole=True),
        word_column("DAEMON", lambda row: "running" if row["running"] else "stopped"),
        word_column("BYTES", lambda row: f"{row['bytes']:,}"),
    )
    if not console.print_if_json({"profiles": rows}):
        table(columns, rows)


@options.examples(
    "memd profile create work", "memd serve --profile work", "memd service install --profile work"
)
def create(name: Name) -> None:
    """Create a profile with its own settings file."""
    paths = _resolve(name)
    if name in list_profiles(paths):
        raise InvalidStateError(f"profile {name} already exists", hint="memd profile list")
    paths.config_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(paths.config_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"# Settings of the profile {name}: docs/settings.md\n")
    if console.print_if_json({"profile": name, "settings": str(paths.config_file)}):
        return
    console.out(str(paths.config_file))
    console.note(
        f"to start its daemon: memd service install --profile {name}, "
        f"or memd serve --profile {name}"
    )


@options.examples("memd profile remove work", "memd profile remove work --yes")
def remove(name: Name, yes: options.Yes = False) -> None:
    """Erase a profile permanently.

    Stops its daemon, and erases its memories, keys, settings, service and the backups in the same
    folder. Backups elsewhere are kept, and so are the models, which all profiles share.
    """
    if name == DEFAULT_PROFILE:
        raise InvalidError(
            "the default profile cannot be removed", field="name", hint='see "memd forget"'
        )
    paths = _resolve(name).with_settings()
    if not _files(paths):
        raise NotFoundError(f"there is no profile {name}", field="name", hint="memd profile list")
    _refuse_connected(name)
    console.confirm(f"Erase everything of profile {name} permanently?", yes=yes, name=name)
    service.remove_service(paths)
    _stop(paths)
    with _lock(paths):
        remaining = [str(file) for file in _files(paths) if not _erase(file)]
    if not console.print_if_json({"profile": name, "left": remaining}):
        console.note(
            f"could not be erased: {', '.join(remaining)}"
            if remaining
            else f"removed profile {name}"
        )
    if remaining:
        raise console.CommandExit(console.Exit.ERROR)


def _files(paths: Paths) -> list[Path]:
    """Return the existing files of a profile, in the order in which they are erased.

    The database, the lock and the settings come last: they show that the profile exists, so an
    interrupted removal can be repeated.
    """
    # The settings may have moved the data folder: files in the default one are erased, too.
    places = dict.fromkeys([*profile_files(paths), *profile_files(Paths.resolve(paths.profile))])
    last = (paths.database, paths.lock, *map(paths.config_file.with_suffix, SUFFIXES))
    log = service.log_of_launchd(paths.profile)
    first = [*([log] if service.LAUNCHD and log.exists() else []), *places]
    return [
        *(file for file in first if file not in last),
        *(file for file in last if file in places),
    ]


def _refuse_connected(name: str) -> None:
    """Raise InvalidStateError while an assistant is connected to the profile."""
    from memd.assist.connect.clients import ASSISTANTS
    from memd.assist.connect.connect import profiles_of
    from memd.cli.connect.connect import locations

    place = locations(name)
    connected = [
        client for client, assistant in ASSISTANTS.items() if name in profiles_of(assistant, place)
    ]
    if connected:
        commands = "; ".join(
            f"memd connect {client} --remove --profile {name}" for client in connected
        )
        raise InvalidStateError(
            f"assistants are connected to {name}: {', '.join(connected)}", hint=commands
        )


def _stop(paths: Paths) -> None:
    """Ask the daemon of a profile to stop, and wait until it has released the store.

    Returns also if it does not stop; then :func:`_lock` raises.
    """
    if not _is_running(paths):
        return
    try:
        with daemon(paths.profile) as client:
            client.call("system.shutdown")
    except MemdError:
        return  # it may have stopped already; if not, _lock finds the store in use
    for _ in range(_STOP_MS_MAX // _POLL_MS):
        if not _is_running(paths):
            return
        time.sleep(_POLL_MS / 1_000)


@contextmanager
def _lock(paths: Paths) -> Iterator[None]:
    """Lock the store, if there is one, so that no daemon can start in the meantime."""
    if not paths.database.exists():
        yield
        return
    try:
        lock = lock_store(paths.lock, paths.database, create=False)
    except AlreadyRunningError:
        raise InvalidStateError(
            f"the daemon of {paths.profile} does not stop",
            hint="stop the process that runs memd serve, then try again",
        ) from None
    with closing(lock):
        yield


def _resolve(name: str) -> Paths:
    if not name:
        raise InvalidError("a profile name is required", field="name")
    return Paths.resolve(name)


def _erase(place: Path) -> bool:
    """Remove a file, folder or link (not its target); return whether it is gone."""
    try:
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _is_running(paths: Paths) -> bool:
    """Return whether a daemon holds the store."""
    if not paths.database.exists():
        return False
    try:
        lock_store(paths.lock, paths.database, create=False).close()
    except AlreadyRunningError:
        return True
    return False


def _database_bytes(name: str) -> int:
    """Return the size of a profile's database with its log and index of the log."""
    database = Paths.resolve(name).with_settings().database
    suffixes = ("", "-wal", "-shm")
    files = [database.with_name(database.name + suffix) for suffix in suffixes]
    return sum(file.stat().st_size for file in files if file.exists())
