"""Check that the open files are still those at their paths and can be written.

SQLite continues to write into a file that was deleted or replaced, and those writes are lost when
the process ends. So each write checks the files before and after, which takes a few microseconds.
Once a file was moved, every write is refused; a restart opens the file at the path.

The ballast is a file that reserves disk space: on a full disk not even an erasure would succeed,
because a transaction that deletes also writes (PROMISES 1.6). It is released for an erasure, and
reserved again as soon as there is space.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from memd.base.errors import DiskFullError, MemdError, ReadOnlyError, StorageError

_ENDINGS = {"": "the store", "-wal": "the store's log", "-shm": "the index of the store's log"}

ROOM_BYTES = 1_048_576
"""A disk with less free space counts as full: writing one long memory may fail on it."""

BALLAST_BYTES = 8 * 1_048_576
_BLOCK = bytes(1_048_576)

_OWNER_MODE = stat.S_IRUSR | stat.S_IWUSR
_EFFECTIVE_IDS = os.access in os.supports_effective_ids

Identity = tuple[int, int]


class OpenFiles:
    """The database, its log and the log's index, with the device and inode that they had first."""

    def __init__(self, database: Path) -> None:
        self._files = {Path(f"{database}{end}"): what for end, what in _ENDINGS.items()}
        self._known: dict[Path, Identity] = {}
        self.erasers: list[Callable[[], None]] = []
        """Callbacks that erase all texts of memories which memd keeps outside of these files."""
        self.erasure_count = 0
        """How often the erasers ran."""

    def find_moved(self) -> str | None:
        """Return a sentence about the file that was deleted or replaced, None if none was.

        Records the identity of files that did not exist before.
        """
        for path, what in self._files.items():
            current, recorded = _identity(path), self._known.get(path)
            if recorded is None and current is not None:
                self._known[path] = current
            elif recorded is not None and current != recorded:
                how = "deleted" if current is None else "replaced"
                return f"{what} was {how} while memd ran: {path}"
        return None


class LastFailure:
    """The error of the last write that failed, until a write succeeds.

    On a full disk a write that changes little or nothing still succeeds, so after a full disk the
    error is kept until the disk has space again.
    """

    def __init__(self, database: Path) -> None:
        self._folder = database.parent
        self._error: StorageError | None = None

    @property
    def message(self) -> str | None:
        """The reason why the last write was refused, None when it was not."""
        return None if self._error is None else f"the last write was refused: {self._error.message}"

    @property
    def is_full(self) -> bool:
        """Whether the disk was full, which may have changed since."""
        return isinstance(self._error, DiskFullError)

    def record(self, error: MemdError) -> None:
        """Record *error* if it is a StorageError, which the caller did not cause."""
        if isinstance(error, StorageError):
            self._error = error

    def clear(self) -> None:
        """Record a successful write."""
        if not (self.is_full and _is_full(self._folder)):
            self._error = None


def repair_modes(database: Path) -> None:
    """Make the log and its index writable again if this user owns them.

    SQLite creates both with the mode of the database. If the database was read-only at that time,
    the index cannot be written, and then neither can the store. The index is also repaired for a
    database that is still read-only, because readers need it; the log is not.
    """
    is_writable = os.access(database, os.W_OK, effective_ids=_EFFECTIVE_IDS)
    for path in (Path(f"{database}-shm"), *([Path(f"{database}-wal")] if is_writable else [])):
        with suppress(OSError):  # it does not exist, or the disk is read-only
            status = path.lstat()
            is_owned = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
            if is_owned and status.st_mode & _OWNER_MODE != _OWNER_MODE:
                path.chmod(stat.S_IMODE(status.st_mode) | _OWNER_MODE)


def find_unwritable(database: Path) -> Path | None:
    """Return the first of the store's files and folder that cannot be written, None if all can."""
    files = [Path(f"{database}{end}") for end in _ENDINGS]
    for path in (*filter(Path.exists, files), database.parent):
        if not os.access(path, os.W_OK, effective_ids=_EFFECTIVE_IDS):
            return path
    return None


def read_only_error(database: Path) -> ReadOnlyError:
    """Return the error that says why the store has no writer."""
    what = find_unwritable(database) or "the disk"
    return ReadOnlyError(
        f"the store cannot be written: {what} may only be read",
        hint=f"make it writable for the user that runs memd, then restart memd: {what}",
    )


def ballast_path(database: Path) -> Path:
    return database.with_name(f"{database.stem}.ballast")


def reserve_ballast(database: Path) -> bool:
    """Write the ballast file; False when the disk has no space for it."""
    path = ballast_path(database)
    try:
        if path.exists() and path.stat().st_size == BALLAST_BYTES:
            return True
        handle = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
        try:
            for at in range(0, BALLAST_BYTES, len(_BLOCK)):
                os.write(handle, _BLOCK[: BALLAST_BYTES - at])
        finally:
            os.close(handle)
    except OSError:
        release_ballast(database)
        return False
    return True


def release_ballast(database: Path) -> bool:
    """Free the reserved space; False when none was reserved."""
    with suppress(OSError):
        ballast_path(database).unlink()
        return True
    return False


def _identity(path: Path) -> Identity | None:
    try:
        status = os.stat(path)  # noqa: PTH116  # at each write: a Path is made once
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _is_full(folder: Path) -> bool:
    try:
        disk = os.statvfs(folder)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < ROOM_BYTES
