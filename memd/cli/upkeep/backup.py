"""``memd backup``, ``restore`` and ``repair``: copies of the database.

A sandboxed daemon can write to few folders and has its own ``/tmp``. So this process makes a backup
to another folder. It reads the database while the daemon uses it, which SQLite allows, and the
daemon only records where the copy is (docs/decisions/0080).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

from memd.base import client_key
from memd.base.clock import SystemClock, from_us
from memd.base.errors import (
    AlreadyRunningError,
    InvalidStateError,
    MemdError,
    NotFoundError,
    NotRunningError,
)
from memd.base.lock import lock_store
from memd.base.paths import Paths
from memd.cli import console, options
from memd.cli.connection import LONG_SECONDS_MAX, daemon
from memd.cli.progress import Progress
from memd.cli.upkeep.upkeep import call_or_run, run_offline

KEYS, SETTINGS = ".keys", ".settings"
"""What is beside a copy has its name and one of these."""
_LINES_SHOWN = 20


@options.examples("memd backup", "memd backup ~/memd.db", "memd backup /media/disk --with-keys")
def backup(
    target: Annotated[
        Path | None, "TARGET", "File to write, or a folder that exists; default: the data folder."
    ] = None,
    with_keys: Annotated[
        bool, "--with-keys", "Also copy the owner's and clients' keys, to a folder beside it."
    ] = False,
) -> None:
    """Back up the database to a verified copy. Prints its path.

    The daemon keeps running. "memd restore" restores the copy, on this or another computer. The
    settings file is copied to a file beside it.
    """
    path = Path(call_or_run("store.backup", "copying")) if target is None else _back_up_to(target)
    paths = Paths.resolve()
    keys = _keys_to(paths.keys_dir, path) if with_keys else []
    settings = _settings_to(paths, path)
    if console.print_if_json({"path": str(path), "keys": keys, "settings": settings}):
        return
    console.out(console.line(str(path)))
    if settings is not None:
        console.note(f"settings: {settings}")
    if with_keys:
        console.note(f"keys: {', '.join(keys) or 'none'}")


@options.examples("memd restore memd.db", "memd restore /media/disk/memd.db --yes")
def restore(
    file: Annotated[Path, "FILE", "File written by memd backup."],
    yes: options.Yes = False,
) -> None:
    """Restore a backup and keep the current database beside it.

    The daemon must be stopped. The backup is verified first; keys beside it (--with-keys) are
    restored, too, and its settings where this profile has none.
    """
    from memd.base.settings import find
    from memd.store.file.restore import restore as restore_file

    if not file.is_file():
        raise NotFoundError(f"{file} does not exist")
    copied = find(file.with_name(f"{file.name}{SETTINGS}.toml"))
    paths = Paths.resolve().with_settings(copied)
    paths.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with hold_store(paths):
        if paths.database.exists():
            console.confirm(f"Replace {paths.database} by {file}?", yes=yes)
        done = restore_file(file, paths.database, paths.anchors, _stamp())
        keys = _keys_from(file, paths.keys_dir)
        settings, differences = _settings_from(copied, paths)
    here = {path.stem for path in paths.keys_dir.glob("*.key")}
    missing = [name for name in done.clients if name not in here]
    more = {"keys": keys, "missing_keys": missing, "settings": settings}
    if console.print_if_json({**done._asdict(), **more, "settings_differ": differences}):
        return
    _report(done, keys)
    if missing:
        names = ", ".join(describe_client(name, done.clients[name]) for name in missing)
        console.note(f"keys that are not here: {names}")
        console.note(
            "  copy their files from the old computer, or make new ones: memd client revoke NAME, "
            "then memd client add NAME with the options that memd client list shows"
        )
    if settings is not None:
        console.note(f"settings: {settings}")
    if differences:
        console.note(f"the settings here stay as they are; they differ from {copied}:")
        for line in (*differences[:_LINES_SHOWN], *_rest(differences)):
            console.note(f"  {console.line(line)}")


def describe_client(name: str, agent: str | None) -> str:
    """Return the client's name with its agent, if it has one."""
    return console.line(f"{name} (agent {agent})" if agent else name)


@contextmanager
def hold_store(paths: Paths) -> Iterator[None]:
    """Hold the store's lock. Raises InvalidStateError if a daemon holds it."""
    try:
        lock = lock_store(paths.lock, paths.database, create=False)
    except AlreadyRunningError as error:
        raise InvalidStateError(
            f"{error.message}; stop it first",
            hint=f"{paths.stop_command}, or Ctrl-C where memd serve runs",
        ) from None
    with closing(lock):
        yield


def _report(done: Any, keys: list[str]) -> None:
    console.note(f"restored {console.count(done.memories, 'memory')}")
    if keys:
        console.note(f"keys: {', '.join(keys)}")
    if done.replaced is not None:
        console.note(f"the previous database is kept: {done.replaced}")
    if done.forgotten:
        console.note(
            "memd: forgotten after the backup and back now: "
            f"{console.count(len(done.forgotten), 'memory')}; "
            "to forget again, start the daemon and run:"
        )
        console.note(f"  memd forget {' '.join(done.forgotten)}")


def _back_up_to(target: Path) -> Path:
    """Write a copy to *target* in this process, with the person's rights; return its path."""
    from memd.store.file.backup import check_target, make_from_outside

    place = target.expanduser()
    place = place.resolve() if place.is_dir() else place.parent.resolve() / place.name
    if place.is_dir():
        place /= f"{Paths.resolve().database.stem}-{_stamp()}.backup.db"
    check_target(place)
    try:
        with daemon(seconds_max=LONG_SECONDS_MAX) as client:
            store = client.call("store.note_copy", {"target": str(place)})
    except NotRunningError:
        return Path(run_offline("store.backup", str(place)))
    with Progress("copying", unit="bytes") as progress:
        make_from_outside(Path(store), place, progress.at)
    with suppress(MemdError), daemon() as client:
        client.call("store.note_copy", {"target": str(place), "made": True})
    return place


def _keys_to(folder: Path, copy: Path) -> list[str]:
    """Copy the keys beside *copy* and return their names. The owner key stays encrypted."""
    target = copy.with_name(f"{copy.name}{KEYS}")
    operator = client_key.OPERATOR_KEY_FILE  # each daemon creates its own
    names = sorted(path.name for path in folder.glob("*.key") if path.name != operator)
    for name in names:
        client_key.write(target / name, client_key.private_text(folder / name).rstrip("\n"))
    return names


def _keys_from(copy: Path, folder: Path) -> list[str]:
    """Restore the keys beside *copy*; a different key of the same name is kept, renamed."""
    names: list[str] = []
    for path in sorted(copy.with_name(f"{copy.name}{KEYS}").glob("*.key")):
        text, existing = path.read_text("utf-8").rstrip("\n"), folder / path.name
        if existing.exists():
            if client_key.private_text(existing).rstrip("\n") == text:
                continue
            existing.rename(existing.with_name(f"{existing.name}.{_stamp()}.replaced"))
        client_key.write(existing, text)
        names.append(path.name)
    return names


def _settings_to(paths: Paths, copy: Path) -> str | None:
    """Copy the settings file beside *copy* and return where; None without a settings file."""
    from memd.assist.connect import files
    from memd.base.settings import find

    file = find(paths.config_file)
    if file is None:
        return None
    target = copy.with_name(f"{copy.name}{SETTINGS}{file.suffix}")
    files.write(target, file.read_text("utf-8"))
    return str(target)


def _settings_from(copied: Path | None, paths: Paths) -> tuple[str | None, list[str]]:
    """Put the *copied* settings in place where there are none.

    Returns their new path, or how the settings here differ from them.
    """
    from memd.assist.connect import files
    from memd.base.settings import find, leaves, read

    if copied is None:
        return None, []
    file = find(paths.config_file)
    if file is None:
        target = paths.config_file.with_suffix(copied.suffix)
        files.write(target, copied.read_text("utf-8"))
        return str(target), []
    here, there = leaves(read(file)), leaves(read(copied))

    def value(tree: dict[str, Any], key: str) -> str:
        return json.dumps(tree[key], ensure_ascii=False, default=str) if key in tree else "not set"

    return None, [
        f"{key}: here {value(here, key)}, in the backup {value(there, key)}"
        for key in sorted(here.keys() | there.keys())
        if value(here, key) != value(there, key)
    ]


def _stamp() -> str:
    return from_us(SystemClock().now_us()).strftime("%Y%m%dT%H%M%S%f")


@options.examples("memd repair", "memd repair --yes --json")
def repair(yes: options.Yes = False) -> None:
    """Salvage a damaged database into a new file.

    The daemon must be stopped; the damaged file is kept. Lists what is lost. Exit code 1: the new
    file still has problems, which are listed, too.
    """
    from memd.records.entities import tables
    from memd.store.repair.repair import repair as salvage

    paths = Paths.resolve().with_settings()
    if not paths.database.exists():
        raise NotFoundError(f"{paths.database} does not exist", hint="memd restore FILE")
    with hold_store(paths):
        console.confirm(f"Salvage {paths.database} into a new file?", yes=yes)
        now_us = SystemClock().now_us()
        done = salvage(paths.database, paths.anchors, _stamp(), now_us, tables())
    if not console.print_if_json(done._asdict()):
        console.note(
            f"salvaged {console.count(done.kept.get('memory', 0), 'memory')}; rows by table:"
        )
        for name, count in sorted(done.kept.items()):
            console.out(f"{name.replace('_', ' ') + ':':<22} {count:,}")
        _list("lost", done.lost)
        _list("remaining problems", done.remaining)
        console.note(f"the damaged file is kept: {done.damaged}")
    if done.remaining:
        raise console.CommandExit(console.Exit.ERROR)


def _list(label: str, lines: Sequence[str]) -> None:
    console.out(f"{label + ':':<22} {len(lines) or 'nothing'}")
    for line in (*lines[:_LINES_SHOWN], *_rest(lines)):
        console.out(f"  {console.line(line)}")


def _rest(lines: Sequence[str]) -> list[str]:
    """Return the line that stands for the lines which are not shown, if any."""
    more = len(lines) - _LINES_SHOWN
    return [f"and {more:,} more: --json lists all"] if more > 0 else []
