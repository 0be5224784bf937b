"""Copies of the file: compact, verified, 0600, there whole or not at all (PROMISES 2).

``VACUUM INTO`` runs inside SQLite while others read and write. The database
file is never opened or copied past SQLite in this process: closing such a
handle would drop SQLite's own locks.

A copy holds what is forgotten later, so none may be overlooked. Half a copy
that a kill left behind is removed at the next start or backup: whoever writes
one holds a lock on it. Copies elsewhere than beside the database are noted in
it, before they are made.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from memd.base.errors import DamagedError, InvalidStateError
from memd.base.limits import BACKUPS_NOTED_MAX
from memd.store.access import changes
from memd.store.access.changes import Head
from memd.store.check import anchors
from memd.store.file import page_sums
from memd.store.file.connect import Reading, Writing, prepare_reader
from memd.store.file.faults import translated
from memd.store.file.transactions import outside

SUFFIX = ".backup.db"
PARTIAL = ".memd-partial"
_TELL_EVERY_STEPS = 100_000

Progress = Callable[[int, int], None]


def place(database: Path, stamp: str) -> Path:
    """Return where a backup of *database* made at *stamp* goes by default."""
    return database.with_name(f"{database.stem}-{stamp}{SUFFIX}")


def existing(database: Path, noted: Mapping[Path, bool] | None = None) -> tuple[str, ...]:
    """Return the files that may still hold what is forgotten in *database* now.

    Whole and half backups beside it, and the *noted* ones but those that were
    removed; on a disk that is not there just now they may still be, and in a place
    that this process cannot see.
    """
    paths = {
        *database.parent.glob(f"{database.stem}-*{SUFFIX}"),
        *database.parent.glob(f".{database.stem}-*{PARTIAL}"),
    }
    for path, is_unseen in (noted or {}).items():
        paths.update(one for one in (path, half(path)) if one.exists())
        if is_unseen or not path.parent.exists():
            paths.add(path)
    return tuple(map(str, sorted(paths)))


def half(target: Path) -> Path:
    """Return where a backup is written before it is whole."""
    return target.with_name(f".{target.name}{PARTIAL}")


def noted(conn: Reading) -> dict[Path, bool]:
    """Return the copies that were made, or begun, elsewhere than beside the database.

    Of each, whether it lies where the daemon cannot see it: a service in a sandbox has
    a ``/tmp`` of its own.
    """
    value = conn.execute("SELECT value FROM meta WHERE key = 'backups'").get
    try:
        entries = json.loads(value) if isinstance(value, str) else []
        return {
            Path(one[0] if isinstance(one, list) else one): isinstance(one, list) for one in entries
        }
    except (ValueError, TypeError, IndexError):  # damaged: what else is there can still be read
        return {}


def note(conn: Writing, target: Path, *, unseen: bool = False) -> None:
    """Note a copy elsewhere; what was removed is dropped, then the oldest."""
    kept = {
        path: is_unseen
        for path, is_unseen in noted(conn).items()
        if is_unseen or path.exists() or half(path).exists() or not path.parent.exists()
    }
    kept.pop(target, None)
    kept[target] = unseen
    entries = [[str(path)] if is_unseen else str(path) for path, is_unseen in kept.items()]
    conn.execute(
        "INSERT OR REPLACE INTO meta (key, value) VALUES ('backups', :value)",
        {"value": json.dumps(entries[-BACKUPS_NOTED_MAX:])},
    )


def sweep(folders: Iterable[Path]) -> None:
    """Remove the half backups in *folders* that nobody is writing any more."""
    for folder in set(folders):
        with suppress(OSError):
            for left in folder.glob(f".*{PARTIAL}"):
                with suppress(OSError), _opened(left, os.O_RDONLY) as handle:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    left.with_name(f"{left.name}-journal").unlink(missing_ok=True)
                    left.unlink()


def make(conn: Reading, target: Path, progress: Progress | None = None) -> None:
    """Write a verified backup to *target*; the connection must not be in a transaction.

    *progress* is told how many bytes are written, about, and of how many. Raises
    InvalidStateError when *target* exists or is being written, DamagedError when the
    copy does not check. After a crash there is no half backup under that name.
    """
    if target.exists():
        raise InvalidStateError(f"{target} exists", hint="choose another name")
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    sweep([target.parent])
    partial = half(target)
    try:
        # VACUUM fills an empty file.
        with _opened(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY) as handle:
            with suppress(OSError):  # a file system without locks: then it is not swept either
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with _telling(conn, partial, progress):
                head = _fill(conn, partial, target)
    except FileExistsError:
        raise InvalidStateError(f"{target} is being written already") from None
    with suppress(OSError):  # the backup is whole without it
        anchors.note_backup(target, head)
    _sync(target.parent)


def make_beside(database: Path, target: Path, progress: Progress | None = None) -> None:
    """Do what :func:`make` does from a process of its own, while a daemon uses *database*.

    SQLite shares a file among processes; the daemon neither waits nor works for it.
    """
    try:
        flags = apsw.SQLITE_OPEN_READWRITE
        with closing(Reading(str(database), flags=flags, vfs=page_sums.vfs())) as conn:
            prepare_reader(conn)
            outside(conn, lambda reading: make(reading, target, progress))
    except apsw.Error as error:
        raise translated(error) from error


@contextmanager
def _telling(conn: Reading, partial: Path, progress: Progress | None) -> Iterator[None]:
    """Tell *progress* while SQLite works; what it raises, such as Ctrl-C, ends that work."""
    if progress is None:
        yield
        return
    pages, size = conn.pragma("page_count"), conn.pragma("page_size")

    def tell() -> bool:
        progress(partial.stat().st_size, pages * size)
        return False

    conn.set_progress_handler(tell, _TELL_EVERY_STEPS)
    try:
        yield
    finally:
        conn.set_progress_handler(None)


def _fill(conn: Reading, partial: Path, target: Path) -> Head:
    try:
        conn.execute("VACUUM INTO :target", {"target": str(partial)})
        head = _verify(partial)
        _sync(partial)
        partial.rename(target)
    except BaseException:
        partial.unlink(missing_ok=True)  # it holds every memory, and nobody would look for it
        raise
    return head


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    handle = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)


def _verify(path: Path) -> Head:
    """Return the head of the audit in the copy at *path*; raises DamagedError."""
    copy = Reading(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        if copy.pragma("quick_check") != "ok" or any(page_sums.damaged(copy, path)):
            raise DamagedError("the backup does not check; it was not kept", hint="run: memd check")
        return changes.last(copy)
    finally:
        copy.close()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
