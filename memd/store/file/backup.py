"""Make backups of the file: compact, verified, mode 0600, complete or absent (PROMISES 2).

``VACUUM INTO`` runs inside SQLite while others read and write. This process never opens or copies
the database file without SQLite: closing such a handle would drop SQLite's own locks.

A backup still contains memories that are forgotten after it was made, so ``forget`` lists all
backups. For this, backups outside the database's folder are recorded in the database before they
are made. The process that writes a partial backup holds a lock on it; the next start or backup
removes partial backups without a lock, which a killed process left.
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
"""Instructions of SQLite's virtual machine between two reports of progress."""

Progress = Callable[[int, int], None]


def default_path(database: Path, stamp: str) -> Path:
    return database.with_name(f"{database.stem}-{stamp}{SUFFIX}")


def find_copies(database: Path, recorded: Mapping[Path, bool] | None = None) -> tuple[str, ...]:
    """Return the copies of *database* that may contain memories which are being forgotten.

    These are complete and partial backups in its folder, without those of other profiles, and the
    *recorded* copies (see :func:`list_recorded`) that still exist. A recorded copy is also returned
    when its folder does not exist now (an unmounted disk) or this process cannot see the copy.
    """
    # Matches "memories-20260102T030405678901.backup.db" and, while one is written,
    # ".memories-20260102T030405678901.backup.db.memd-partial" or ".memories-restored.memd-partial".
    stem, copy_name = re.escape(database.stem), rf"{COPY_NAME}{re.escape(SUFFIX)}"
    pattern = re.compile(
        rf"{stem}-{copy_name}|\.{stem}-(?:{copy_name}|restored){re.escape(PARTIAL)}"
    )
    paths = {path for path in database.parent.iterdir() if pattern.fullmatch(path.name)}
    for path, is_unseen in (recorded or {}).items():
        paths.update(candidate for candidate in (path, partial_path(path)) if candidate.exists())
        if is_unseen or not path.parent.exists():
            paths.add(path)
    return tuple(map(str, sorted(paths)))


def partial_path(target: Path) -> Path:
    """Return the path under which a backup is written until it is complete."""
    return target.with_name(f".{target.name}{PARTIAL}")


def list_recorded(conn: Reading) -> dict[Path, bool]:
    """Return the recorded copies outside the database's folder, complete or begun.

    The value tells whether the daemon cannot see the copy: a service in a sandbox has its own
    ``/tmp``. In table ``meta`` they are JSON: a path, or a list of one path for such a copy.
    """
    try:
        entries = json.loads(conn.get_meta("backups", str) or "[]")
        return {
            Path(entry[0] if isinstance(entry, list) else entry): isinstance(entry, list)
            for entry in entries
        }
    except (ValueError, TypeError, IndexError):  # damaged: a backup must still be possible
        return {}


def record_copy(conn: Writing, target: Path, *, unseen: bool = False) -> None:
    """Record a copy outside the database's folder.

    Drops entries whose files were removed, and the oldest ones beyond BACKUPS_NOTED_MAX.
    """
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
    """Remove the partial backups in *folders* that no process is writing."""
    for folder in set(folders):
        with suppress(OSError):
            for partial in folder.glob(f".*{PARTIAL}"):
                with suppress(OSError), _open(partial, os.O_RDONLY) as handle:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    partial.with_name(f"{partial.name}-journal").unlink(missing_ok=True)
                    partial.unlink()


def check_target(target: Path) -> None:
    """Raise InvalidStateError if *target* exists or its folder does not exist."""
    if target.exists():
        raise InvalidStateError(f"{target} exists", hint="choose another name")
    require_folder_of(target)


def make(conn: Reading, target: Path, progress: Progress | None = None) -> None:
    """Write a verified backup to *target*; *conn* must not be in a transaction.

    *progress* is called with the bytes written so far and the expected total, both approximate.
    Raises InvalidStateError as :func:`check_target` does or when *target* is being written,
    ReadOnlyError when it cannot be written, DamagedError when the copy fails its check. After a
    crash, *target* is complete or does not exist.
    """
    check_target(target)
    partial = partial_path(target)
    try:
        sweep([target.parent])
        # VACUUM INTO accepts an existing file if it is empty.
        with _open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY) as handle:
            with suppress(OSError):  # on a file system without locks, sweep() removes nothing
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with _report_progress(conn, partial, progress):
                head = _fill(conn, partial, target)
    except FileExistsError:
        raise InvalidStateError(f"{target} is being written already") from None
    except OSError as error:
        raise ReadOnlyError(
            f"{target} cannot be written: {error.strerror}", hint="name a TARGET on another disk"
        ) from error
    with suppress(OSError):  # the backup is complete without its manifest
        anchors.write_manifest(target, head)
    fsync(target.parent)


def make_from_outside(database: Path, target: Path, progress: Progress | None = None) -> None:
    """Make a backup as :func:`make` does, in another process than the daemon's.

    SQLite shares the file among processes, so the daemon need not stop.
    """
    try:
        with closing(_open_outside(database)) as conn:
            run_outside(conn, lambda reading: make(reading, target, progress))
    except apsw.Error as error:
        raise translate(error) from error


def _open_outside(database: Path) -> Reading:
    """Return a reader of *database*, an immutable one if its files cannot be written."""
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
    """Call *progress* while SQLite works; an exception in it, such as Ctrl-C, ends the work."""
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
        partial.unlink(missing_ok=True)  # it contains memories, and forget() would not list it
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
    """Check the copy at *path* and return the head of its audit; DamagedError if it is damaged."""
    copy = Reading(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        if copy.pragma("quick_check") != "ok" or any(page_sums.find_damaged(copy, path)):
            raise DamagedError("the backup does not check; it was not kept", hint="run: memd check")
        return changes.last_link(copy)
    finally:
        copy.close()


def fsync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
