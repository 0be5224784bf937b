"""Room set aside for the day on which the disk is full: erasing needs some, too.

A transaction that deletes also writes. Without this file a full disk could
not be told to forget (PROMISES 1.6). It is given back by ``release`` and set
aside again as soon as there is room.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

BALLAST_BYTES = 8 * 1_048_576
_BLOCK = bytes(1_048_576)


def place(database: Path) -> Path:
    """Return where the ballast of *database* lies."""
    return database.with_name(f"{database.stem}.ballast")


def keep(database: Path) -> bool:
    """Set room aside; False when the disk has none to spare."""
    path = place(database)
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
    """Give the room back; False when none was set aside."""
    with suppress(OSError):
        place(database).unlink()
        return True
    return False
