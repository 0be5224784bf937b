"""Whether the files that are open are still those at their paths, and take what is written.

SQLite goes on writing into a file that was deleted or replaced, and what it acknowledges
is gone with the process. So each write looks before and after, which costs some
microseconds, and is refused from then on: a new start finds what is there.
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
"""A disk with less room is as good as full: one write of a memory's length may fail on it."""

_OWNERS = stat.S_IRUSR | stat.S_IWUSR
_BY_EFFECTIVE = os.access in os.supports_effective_ids

Identity = tuple[int, int]


class OpenFiles:
    """The database, its log and the log's index, as they were when they were opened."""

    def __init__(self, database: Path) -> None:
        self._files = {Path(f"{database}{end}"): what for end, what in _ENDINGS.items()}
        self._known: dict[Path, Identity] = {}
        self.beside: list[Callable[[], None]] = []
        """What erases the texts that memd has outside of these files, each as a whole."""
        self.erasures = 0
        """How often that was done."""

    def left(self) -> str | None:
        """Return what is no longer where it was, None when all is; a new file is taken note of."""
        for path, what in self._files.items():
            there, known = _identity(path), self._known.get(path)
            if known is None and there is not None:
                self._known[path] = there
            elif known is not None and there != known:
                how = "deleted" if there is None else "replaced"
                return f"{what} was {how} while memd ran: {path}"
        return None


class Refusal:
    """Why the last write failed, until one has succeeded.

    On a full disk a write that changes little or nothing still succeeds, so there a success
    says nothing before the disk has room again.
    """

    def __init__(self, database: Path) -> None:
        self._folder = database.parent
        self._error: StorageError | None = None

    @property
    def message(self) -> str | None:
        return None if self._error is None else f"the last write was refused: {self._error.message}"

    @property
    def is_full(self) -> bool:
        """Whether it was for want of room: the next write may find some."""
        return isinstance(self._error, DiskFullError)

    def failed(self, error: MemdError) -> None:
        """Take note of *error* when it is the disk's, not the caller's."""
        if isinstance(error, StorageError):
            self._error = error

    def succeeded(self) -> None:
        if not (self.is_full and _is_full(self._folder)):
            self._error = None


def mend_modes(database: Path) -> None:
    """Give the log and its index back the modes of a file that can be written, where they are ours.

    SQLite makes both with the mode of the database: where that could only be read once, an
    index stays that nobody may write, and with it a store that nobody can. The index is a
    cache and is mended beside a database that may only be read, too: readers need it.
    """
    ours = os.access(database, os.W_OK, effective_ids=_BY_EFFECTIVE)
    for path in (Path(f"{database}-shm"), *([Path(f"{database}-wal")] if ours else [])):
        with suppress(OSError):  # not there, or on a disk that cannot be written
            status = path.lstat()
            own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
            if own and status.st_mode & _OWNERS != _OWNERS:
                path.chmod(stat.S_IMODE(status.st_mode) | _OWNERS)


def unwritable(database: Path) -> Path | None:
    """Return which of the store's files cannot be written, or its folder; None when all can."""
    files = [Path(f"{database}{end}") for end in _ENDINGS]
    for path in (*filter(Path.exists, files), database.parent):
        if not os.access(path, os.W_OK, effective_ids=_BY_EFFECTIVE):
            return path
    return None


def unwritten(database: Path) -> ReadOnlyError:
    """Return the error that says why the store has no writer."""
    what = unwritable(database) or "the disk"
    return ReadOnlyError(
        f"the store cannot be written: {what} may only be read",
        hint=f"make it writable for whoever runs memd, then start memd again: {what}",
    )


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
