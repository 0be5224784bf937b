"""Locks that allow one process per store; the system releases them when the process ends.

There are two. The lock file next to the store is held with ``flock`` and contains the pid of
the holder. One byte of the store itself, which SQLite never locks, is locked as well. This
second lock still works if the store is opened through another link or the lock file was
deleted (docs/decisions/0123).
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
from contextlib import ExitStack
from pathlib import Path

from memd.base.errors import AlreadyRunningError, UnsafePathError

_PID_BYTES = 32
_STORE_BYTE = 1 << 60  # far from SQLite's own locks: at 1 GiB, and in the -shm file
_IN_USE = frozenset({errno.EAGAIN, errno.EACCES})
_CANNOT_WRITE = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


def lock_store(lock_file: Path, database: Path, *, create: bool = True) -> ExitStack:
    """Lock *lock_file* and the store *database*; with *create* a missing store is created.

    Both locks are held until the result is closed. Close it after all connections to the
    store: POSIX drops a process's locks on a file when it closes any descriptor of that file,
    SQLite's own locks included.

    Raises AlreadyRunningError if another process holds either lock. A lock file that cannot
    be created is skipped: nobody can write on a read-only disk.
    """
    with ExitStack() as locks:
        try:
            locks.callback(os.close, lock(lock_file))
        except OSError as error:
            if error.errno not in _CANNOT_WRITE:
                raise
        handle = _open_database(database, os.O_CREAT if create else 0)
        if handle is not None:
            locks.callback(os.close, handle)
            _lock_byte(handle, database)
        return locks.pop_all()


def _open_database(database: Path, create: int) -> int | None:
    """Open *database* for writing, else for reading; return None if neither is possible."""
    for flags in (os.O_RDWR | create, os.O_RDONLY):
        try:
            return os.open(database, flags | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if error.errno not in _CANNOT_WRITE and not isinstance(error, FileNotFoundError):
                raise
    return None


def _lock_byte(handle: int, database: Path) -> None:
    """Lock the byte ``_STORE_BYTE`` of *handle*. Raises AlreadyRunningError if it is locked.

    The lock belongs to the open file description where the system has such locks (64-bit
    Linux), elsewhere to the process.
    """
    is_writable = fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR
    try:
        if _FLOCK:
            kind = fcntl.F_WRLCK if is_writable else fcntl.F_RDLCK
            request = struct.pack(_FLOCK, kind, os.SEEK_SET, _STORE_BYTE, 1, 0)
            fcntl.fcntl(handle, fcntl.F_OFD_SETLK, request)
        else:
            operation = fcntl.LOCK_EX if is_writable else fcntl.LOCK_SH
            fcntl.lockf(handle, operation | fcntl.LOCK_NB, 1, _STORE_BYTE)
    except OSError as error:
        if error.errno not in _IN_USE:
            return  # a file system without locks: only the lock file protects the store
        raise AlreadyRunningError(
            f"another memd has {database} open, by this name or another",
            hint="stop it, or let this one keep its memories elsewhere: --profile, MEMD_HOME",
        ) from None


# The format of struct flock on 64-bit Linux: type, whence, start, length, pid, padding.
# Empty elsewhere, where lockf is used.
_FLOCK = "hhqqi4x" if sys.platform == "linux" and sys.maxsize > 1 << 32 else ""


def lock(path: Path) -> int:
    """Lock the file at *path*, write our pid into it, and return its descriptor.

    The lock is released when the descriptor is closed or the process ends. Raises
    AlreadyRunningError, with the holder's pid, if another process has the lock, and
    UnsafePathError if *path* is a symbolic link.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UnsafePathError(f"{path} is a symbolic link") from error
        raise
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(fd, _PID_BYTES, 0).decode("ascii", "replace").strip() or "unknown"
        os.close(fd)
        if error.errno not in _IN_USE:
            raise
        raise AlreadyRunningError(
            f"another memd runs already (pid {holder})", hint='see "memd status"'
        ) from None
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    return fd
