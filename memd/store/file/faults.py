"""Translate errors of SQLite and the system, and tell whether a connection must be reopened."""

from __future__ import annotations

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

# Writes that a full or failing disk refused. Every other I/O error is a failed read.
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

_FULL, _FREE_SPACE = "the disk is full; this was not written", "free some space"
_REPAIR = "run: memd check, then: memd repair"

# Classes of errors, the memd error that they become, its message and hint; the first match counts.
_TRANSLATIONS: tuple[tuple[tuple[type[Exception], ...], type[MemdError], str, str | None], ...] = (
    ((apsw.ConnectionClosedError,), StoppingError, "the store is closed", None),
    ((apsw.BusyError, apsw.LockedError), BusyError, "the file is locked by another program", None),
    ((apsw.FullError,), DiskFullError, _FULL, _FREE_SPACE),
    (
        (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError),
        ReadOnlyError,
        "the store cannot be written",
        "check the file's owner and mode",
    ),
    (
        (apsw.CantOpenError,),
        ReadOnlyError,
        "the store cannot be opened",
        "check the folder's owner and mode",
    ),
    (
        (apsw.NotADBError,),
        ForeignFileError,
        "the file is not a database; it was left untouched",
        None,
    ),
    ((apsw.CorruptError, UnicodeDecodeError), DamagedError, "the file is damaged", _REPAIR),
)


def is_corruption(error: BaseException) -> bool:
    """Return whether *error* reports damage in the file, not a failing disk below it."""
    return isinstance(error.__cause__, apsw.CorruptError)


def translate(error: BaseException) -> BaseException:
    """Return the memd error for *error*, or *error* itself when file and disk did not cause it.

    A constraint or syntax error is a bug in memd: it is not translated, so that it stays visible.
    """
    for classes, kind, message, hint in _TRANSLATIONS:
        if isinstance(error, classes):
            return kind(message, hint=hint)
    if isinstance(error, apsw.IOError):
        if getattr(error, "extendedresult", None) in _WRITE_ERRORS:
            return DiskFullError(
                "the disk refused a write; nothing was acknowledged", hint="check the disk"
            )
        return DamagedError("the disk returned an error", hint=_REPAIR)
    if isinstance(error, OSError):
        if error.errno in NO_ROOM:
            return DiskFullError(_FULL, hint=_FREE_SPACE)
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
