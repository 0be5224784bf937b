"""Backups of the file: compact, verified, mode 0600, complete or absent (PROMISES 2).

``VACUUM INTO`` runs inside SQLite while others read and write. The database file is never opened or
copied past SQLite in this process: closing such a handle would drop SQLite's own locks.

A backup still holds what is forgotten after it was made, so ``forget`` must be able to name every
one. A partial backup that a kill left behind is removed at the next start or backup; its writer
holds a lock on it. Backups outside the database's folder are recorded in the database before they
are made.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from memd.base.errors import DamagedError, InvalidStateError, ReadOnlyError
from memd.base.limits import BACKUPS_NOTED_MAX
from memd.base.paths import COPY_NAME, require_folder_of
from memd.store.access import changes
from memd.store.access.changes import Head
from memd.store.check import anchors
from memd.store.file import page_sums
from memd.store.file.connect import Reading, Writing, immutable_uri, prepare_reader
from memd.store.file.connections import run_outside
from memd.store.file.faults import translate

SUFFIX = ".backup.db"
PARTIAL = ".memd-partial"
_PROGRESS_STEPS = 100_000

Progress = Callable[[int, int], None]


def default_path(database: Path, stamp: str) -> Path:
    return database.with_name(f"{database.stem}-{stamp}{SUFFIX}")


def find_copies(database: Path, recorded: Mapping[Path, bool] | None = None) -> tuple[str, ...]:
    """Return the files that may still hold what is forgotten in *database* now.

    These are complete and partial backups beside it, none of another profile's, and the
    *recorded* ones except those that were removed. A recorded copy is also returned when its folder
    is not there just now (an unmounted disk) or cannot be seen by this process.
    """
    stem, of_copy = re.escape(database.stem), rf"{COPY_NAME}{re.escape(SUFFIX)}"
    ours = re.compile(rf"{stem}-{of_copy}|\.{stem}-(?:{of_copy}|restored){re.escape(PARTIAL)}")
    paths = {path for path in database.parent.iterdir() if ours.fullmatch(path.name)}
    for path, is_unseen in (recorded or {}).items():
        paths.update(candidate for candidate in (path, partial_path(path)) if candidate.exists())
        if is_unseen or not path.parent.exists():
            paths.add(path)
    return tuple(map(str, sorted(paths)))


def partial_path(target: Path) -> Path:
    """Return the path under which a backup is written until it is complete."""
    return target.with_name(f".{target.name}{PARTIAL}")


def list_recorded(conn: Reading) -> dict[Path, bool]:
    """Return the recorded copies outside the database's folder, made or begun.

    The value says whether the copy lies where the daemon cannot see it: a service in a sandbox has
    a ``/tmp`` of its own.
    """
    try:
        entries = json.loads(conn.get_meta("backups", str) or "[]")
        return {
            Path(entry[0] if isinstance(entry, list) else entry): isinstance(entry, list)
            for entry in entries
        }
    except (ValueError, TypeError, IndexError):  # damaged: what else is there can still be read
        return {}


def record_copy(conn: Writing, target: Path, *, unseen: bool = False) -> None:
    """Record a copy elsewhere. Entries whose files were removed go first, then the oldest."""
    copies = {
        path: is_unseen
        for path, is_unseen in list_recorded(conn).items()
        if is_unseen or path.exists() or partial_path(path).exists() or not path.parent.exists()
    }
    copies.pop(target, None)
    copies[target] = unseen
    entries = [[str(path)] if is_unseen else str(path) for path, is_unseen in copies.items()]
    conn.set_meta("backups", json.dumps(entries[-BACKUPS_NOTED_MAX:]))


def sweep(folders: Iterable[Path]) -> None:
    """Remove partial backups in *folders* that no process is writing any more."""
    for folder in set(folders):
        with suppress(OSError):
            for partial in folder.glob(f".*{PARTIAL}"):
                with suppress(OSError), _open(partial, os.O_RDONLY) as handle:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    partial.with_name(f"{partial.name}-journal").unlink(missing_ok=True)
                    partial.unlink()


def check_target(target: Path) -> None:
    """Raise InvalidStateError if *target* exists, or its folder does not."""
    if target.exists():
        raise InvalidStateError(f"{target} exists", hint="choose another name")
    require_folder_of(target)


def make(conn: Reading, target: Path, progress: Progress | None = None) -> None:
    """Write a verified backup to *target*; *conn* must not be in a transaction.

    *progress* is called with the bytes written so far and the expected total, both approximate.
    Raises what :func:`check_target` does, InvalidStateError when *target* is being written,
    ReadOnlyError when it cannot be written, DamagedError when the copy fails its check. After a
    crash no partial backup has that name.
    """
    check_target(target)
    partial = partial_path(target)
    try:
        sweep([target.parent])
        # VACUUM INTO accepts an existing file if it is empty.
        with _open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY) as handle:
            with suppress(OSError):  # a file system without locks: sweep() fails there, too
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with _report_progress(conn, partial, progress):
                head = _fill(conn, partial, target)
    except FileExistsError:
        raise InvalidStateError(f"{target} is being written already") from None
    except OSError as error:
        raise ReadOnlyError(
            f"{target} cannot be written: {error.strerror}", hint="name a TARGET on another disk"
        ) from error
    with suppress(OSError):  # the backup is whole without it
        anchors.write_manifest(target, head)
    fsync(target.parent)


def make_from_outside(database: Path, target: Path, progress: Progress | None = None) -> None:
    """Do what :func:`make` does, from another process while a daemon uses *database*.

    SQLite shares the file among processes; the daemon neither waits nor works for it.
    """
    try:
        with closing(_open_outside(database)) as conn:
            run_outside(conn, lambda reading: make(reading, target, progress))
    except apsw.Error as error:
        raise translate(error) from error


def _open_outside(database: Path) -> Reading:
    """Return a reader of *database*; as the daemon does, one that writes nothing if it must."""
    try:
        conn = Reading(str(database), flags=apsw.SQLITE_OPEN_READWRITE, vfs=page_sums.vfs())
        prepare_reader(conn)
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        conn = Reading(immutable_uri(database), flags=flags, vfs=page_sums.vfs())
        prepare_reader(conn)
    return conn


@contextmanager
def _report_progress(conn: Reading, partial: Path, progress: Progress | None) -> Iterator[None]:
    """Call *progress* while SQLite works; an exception from it, such as Ctrl-C, ends that work."""
    if progress is None:
        yield
        return
    pages, size = conn.pragma("page_count"), conn.pragma("page_size")

    def report() -> bool:
        progress(partial.stat().st_size, pages * size)
        return False

    conn.set_progress_handler(report, _PROGRESS_STEPS)
    try:
        yield
    finally:
        conn.set_progress_handler(None)


def _fill(conn: Reading, partial: Path, target: Path) -> Head:
    try:
        conn.execute("VACUUM INTO :target", {"target": str(partial)})
        page_sums.complete(partial)
        head = _verify(partial)
        fsync(partial)
        partial.rename(target)
    except BaseException:
        partial.unlink(missing_ok=True)  # it holds every memory, and no one would know of it
        raise
    return head


@contextmanager
def _open(path: Path, flags: int) -> Iterator[int]:
    handle = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)


def _verify(path: Path) -> Head:
    """Return the head of the audit in the copy at *path*; raises DamagedError."""
    copy = Reading(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        if copy.pragma("quick_check") != "ok" or any(page_sums.find_damaged(copy, path)):
            raise DamagedError("the backup does not check; it was not kept", hint="run: memd check")
        return changes.last_link(copy)
    finally:
        copy.close()


def fsync(path: Path) -> None:
    """Wait until a file, or a folder's entries, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
