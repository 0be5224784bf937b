"""Translation of SQLite's and the system's errors, and whether the connection can go on."""

from __future__ import annotations

from collections.abc import Callable

import apsw

from memd.base.errors import (
    NO_ROOM,
    BusyError,
    DamagedError,
    DiskFullError,
    ForeignFileError,
    MemdError,
    ReadOnlyError,
    StoppingError,
    StorageError,
)

# Refused writes of a full or failing disk; every other I/O error is a failed read.
_WRITE_ERRORS = frozenset(
    {
        apsw.SQLITE_IOERR_WRITE,
        apsw.SQLITE_IOERR_FSYNC,
        apsw.SQLITE_IOERR_DIR_FSYNC,
        apsw.SQLITE_IOERR_TRUNCATE,
        apsw.SQLITE_IOERR_DELETE,
        apsw.SQLITE_IOERR_SHMSIZE,
        apsw.SQLITE_IOERR_SHMOPEN,
        apsw.SQLITE_IOERR_SHMMAP,
    }
)

_TRANSLATIONS: tuple[tuple[tuple[type[BaseException], ...], Callable[[], MemdError]], ...] = (
    (
        (apsw.ConnectionClosedError,),
        lambda: StoppingError("the store is closed"),
    ),
    (
        (apsw.BusyError, apsw.LockedError),
        lambda: BusyError("the file is locked by another program"),
    ),
    (
        (apsw.FullError,),
        lambda: DiskFullError("the disk is full; this was not written", hint="free some space"),
    ),
    (
        (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError),
        lambda: ReadOnlyError(
            "the store cannot be written", hint="check the file's owner and mode"
        ),
    ),
    (
        (apsw.CantOpenError,),
        lambda: ReadOnlyError(
            "the store cannot be opened", hint="check the folder's owner and mode"
        ),
    ),
    (
        (apsw.NotADBError,),
        lambda: ForeignFileError("the file is not a database; it was left untouched"),
    ),
    (
        (apsw.CorruptError, UnicodeDecodeError),
        lambda: DamagedError("the file is damaged", hint="run: memd check, then: memd repair"),
    ),
)


def is_corruption(error: BaseException) -> bool:
    """Return whether *error* reports damage in the file, not a failing disk below it."""
    return isinstance(error.__cause__, apsw.CorruptError)


def translate(error: BaseException) -> BaseException:
    """Return the memd error for *error*, or *error* itself when it is no fault of file or disk.

    Only what the user or time could mend is translated. A constraint or syntax error is a bug in
    memd and must stay visible as one.
    """
    for classes, make_error in _TRANSLATIONS:
        if isinstance(error, classes):
            return make_error()
    if isinstance(error, apsw.IOError):
        if getattr(error, "extendedresult", None) in _WRITE_ERRORS:
            return DiskFullError(
                "the disk refused a write; nothing was acknowledged", hint="check the disk"
            )
        return DamagedError("the disk returned an error", hint="run: memd check, then: memd repair")
    if isinstance(error, OSError):
        if error.errno in NO_ROOM:
            return DiskFullError("the disk is full; this was not written", hint="free some space")
        return StorageError(f"the disk refused: {error.strerror}")
    return error


def is_fatal(error: BaseException) -> bool:
    """Return whether the connection that raised *error* must be closed and reopened."""
    return isinstance(
        error,
        (
            apsw.IOError,
            apsw.FullError,
            apsw.ReadOnlyError,
            apsw.CantOpenError,
            apsw.CorruptError,
            apsw.NotADBError,
            UnicodeDecodeError,
        ),
    )
