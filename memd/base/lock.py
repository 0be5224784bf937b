"""Locks that allow one process per store, released when the process ends in any way.

A ``flock`` on a file beside the store names the holder. The store itself is locked too, at a
byte that SQLite never uses: so it is found in use through a hard or symbolic link, and after
somebody has deleted the lock file (docs/decisions/0123).
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
_STORE_BYTE = 1 << 60  # SQLite locks at 1 GiB, and in the file of the log's index
_IN_USE = frozenset({errno.EAGAIN, errno.EACCES})
_CANNOT_WRITE = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


def lock_store(lock_file: Path, database: Path, *, create: bool = True) -> ExitStack:
    """Lock the file *lock_file* and the store itself, which *create* creates if missing.

    Both are held until the result is closed. Close it after every connection to the store:
    closing a file drops the locks that SQLite has on it in this process.

    Raises AlreadyRunningError when another process holds either. On a read-only disk nobody
    can write, so a lock file that cannot be created is skipped.
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
    for flags in (os.O_RDWR | create, os.O_RDONLY):
        try:
            return os.open(database, flags | os.O_CLOEXEC, 0o600)
        except OSError as error:
            if error.errno not in _CANNOT_WRITE and not isinstance(error, FileNotFoundError):
                raise
    return None


def _lock_byte(handle: int, database: Path) -> None:
    """Lock one byte, for this open file if the system supports that, else for the process."""
    is_writable = fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDWR
    kind = fcntl.F_WRLCK if is_writable else fcntl.F_RDLCK
    request = struct.pack(_FLOCK, kind, os.SEEK_SET, _STORE_BYTE, 1, 0) if _FLOCK else b""
    try:
        if request:
            fcntl.fcntl(handle, fcntl.F_OFD_SETLK, request)
        else:
            how = fcntl.LOCK_EX if is_writable else fcntl.LOCK_SH
            fcntl.lockf(handle, how | fcntl.LOCK_NB, 1, _STORE_BYTE)
    except OSError as error:
        if error.errno not in _IN_USE:
            return  # a file system without locks: the lock file alone must do
        raise AlreadyRunningError(
            f"another memd has {database} open, by this name or another",
            hint="stop it, or let this one keep its memories elsewhere: --profile, MEMD_HOME",
        ) from None


# struct flock of 64-bit Linux: type, whence, start, length, pid. Elsewhere: lockf.
_FLOCK = "hhqqi4x" if sys.platform == "linux" and sys.maxsize > 1 << 32 else ""


def lock(path: Path) -> int:
    """Take the lock at *path*, write our pid into it, and return its descriptor.

    Raises AlreadyRunningError, naming the holder's pid, when another process has it. The
    lock is released when the process ends in any way.
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
