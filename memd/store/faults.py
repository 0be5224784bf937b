"""SQLite's errors as memd's: whose move it is, and whether the connection can go on."""

from __future__ import annotations

import apsw

from memd.base.errors import (
    BusyError,
    DamagedError,
    DiskFullError,
    ForeignFileError,
    MemdError,
    ReadOnlyError,
    StorageError,
)

_WRITE_ERRORS = frozenset(
    {apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_TRUNCATE}
)


def translated(error: BaseException) -> BaseException:
    """Return the memd error for *error*; what is no fault of file or disk is returned as it is.

    Only what the user or time could mend is translated. A constraint or a syntax
    error is a bug in memd and must stay visible as one.
    """
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return BusyError("the file is locked by another program")
        case apsw.FullError():
            return DiskFullError("the disk is full; nothing was written", hint="free some space")
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError():
            return ReadOnlyError(
                "the store cannot be written", hint="check the file's owner and mode"
            )
        case apsw.CantOpenError():
            return ReadOnlyError(
                "the store cannot be opened", hint="check the folder's owner and mode"
            )
        case apsw.NotADBError():
            return ForeignFileError("the file is not a database; it was left untouched")
        case apsw.CorruptError() | UnicodeDecodeError():
            return DamagedError("the file is damaged", hint="run: memd check")
        case apsw.IOError() if error.extendedresult in _WRITE_ERRORS:
            return DiskFullError(
                "the disk refused a write; nothing was acknowledged", hint="check the disk"
            )
        case apsw.IOError():
            return DamagedError("the disk returned an error", hint="run: memd check")
        case OSError():
            return StorageError(f"the disk refused: {error.strerror}")
        case _:
            return error


def is_fatal(error: MemdError) -> bool:
    """Return whether the connection that raised *error* must be closed and reopened."""
    return isinstance(error, (DiskFullError, DamagedError, ReadOnlyError))
