"""One process a file: an exclusive ``flock`` that ends with its holder, however that ends."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

from memd.base.errors import AlreadyRunningError, UnsafePathError

_PID_BYTES = 32


def lock(path: Path) -> int:
    """Take the lock at *path*, write our pid into it, and return its descriptor.

    Raises AlreadyRunningError, naming the holder's pid, when another process has
    it. The lock ends with the process, however that ends.
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
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        raise AlreadyRunningError(
            f"another memd runs already (pid {holder})", hint='see "memd status"'
        ) from None
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    return fd
