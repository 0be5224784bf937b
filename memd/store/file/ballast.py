"""Disk space reserved for the day the disk is full, because erasing needs space, too.

A transaction that deletes also writes. Without this file a full disk could not be told to forget
(PROMISES 1.6). ``release`` frees it, and it is reserved again as soon as there is space.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

BALLAST_BYTES = 8 * 1_048_576
_BLOCK = bytes(1_048_576)


def ballast_path(database: Path) -> Path:
    """Return the path of the ballast file of *database*."""
    return database.with_name(f"{database.stem}.ballast")


def reserve(database: Path) -> bool:
    """Reserve the space; False when the disk has none to spare."""
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
        release(database)
        return False
    return True


def release(database: Path) -> bool:
    """Free the reserved space; False when none was reserved."""
    with suppress(OSError):
        ballast_path(database).unlink()
        return True
    return False
