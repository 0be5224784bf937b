"""Copies of the file: compact, verified, 0600, there whole or not at all (PROMISES 2).

``VACUUM INTO`` runs inside SQLite while others read and write. The database
file is never opened or copied past SQLite in this process: closing such a
handle would drop SQLite's own locks.
"""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from memd.base.errors import DamagedError, InvalidStateError
from memd.store.connect import Reading

SUFFIX = ".backup.db"


def existing(database: Path) -> tuple[str, ...]:
    """Return the backups that lie beside the database, by name."""
    return tuple(str(path) for path in sorted(database.parent.glob(f"{database.stem}-*{SUFFIX}")))


def place(database: Path, stamp: str) -> Path:
    """Return where a backup of *database* made at *stamp* goes by default."""
    return database.with_name(f"{database.stem}-{stamp}{SUFFIX}")


def make(conn: Reading, target: Path) -> None:
    """Write a verified backup to *target*; the connection must not be in a transaction.

    Raises InvalidStateError when *target* exists, DamagedError when the copy does
    not check. After a crash there is no half backup under that name.
    """
    if target.exists():
        raise InvalidStateError(f"{target} exists", hint="choose another name")
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = target.with_name(f".{target.name}.partial")
    partial.unlink(missing_ok=True)
    os.close(
        os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    )  # VACUUM fills an empty file
    try:
        conn.execute("VACUUM INTO :target", {"target": str(partial)})
        _verify(partial)
        _sync(partial)
        partial.rename(target)
    except BaseException:
        partial.unlink(missing_ok=True)  # it holds every memory, and nobody would look for it
        raise
    _sync(target.parent)


def _verify(path: Path) -> None:
    copy = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        if copy.pragma("quick_check") != "ok":
            raise DamagedError("the backup does not check; it was not kept", hint="run: memd check")
    finally:
        copy.close()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
