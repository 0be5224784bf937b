"""Read and atomically replace an assistant's files.

A symbolic link stays and its target is replaced. Mode and owner stay. A reader sees either the old
file or the new one. Only regular UTF-8 files of up to ``BYTES_MAX`` are accepted.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Final

from memd.base.errors import InvalidStateError

BYTES_MAX: Final = 4 * 1024**2
"""Maximum size of a file that memd reads; settings files are far smaller."""
BACKUP: Final = ".memd.bak"
"""Suffix of the backup next to a file."""
_NEW_MODE: Final = 0o600


def read(path: Path) -> str | None:
    """Return the text of a file, None if it does not exist.

    Raises InvalidStateError, naming the file, for one that memd does not edit.
    """
    real = Path(os.path.realpath(path))
    try:
        status = real.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InvalidStateError(f"{path} is not a file; memd leaves the file unchanged")
        if status.st_size > BYTES_MAX:
            raise InvalidStateError(
                f"{path} is larger than any settings; memd leaves the file unchanged"
            )
        return real.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise InvalidStateError(
            f"{path.parent} is not a folder; memd leaves the file unchanged"
        ) from None
    except OSError as error:
        raise InvalidStateError(
            f"{path} cannot be read ({error.strerror}); memd leaves the file unchanged"
        ) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InvalidStateError(
            f"{path}, line {line}: it is not UTF-8; memd leaves the file unchanged"
        ) from None


def backup_of(path: Path) -> Path:
    """Return the path of the backup of a file, which has its text from before memd."""
    return path.with_name(path.name + BACKUP)


def write(path: Path, text: str) -> None:
    """Replace or create a file, and its folder if needed; it is on disk when this returns."""
    real = Path(os.path.realpath(path))
    real.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{real.name}.", suffix=".memd", dir=real.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            _copy_mode_and_owner(real, file.fileno())
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(real)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    _sync(real.parent)


def remove(path: Path) -> None:
    """Remove a file if it exists; for a link, its target."""
    real = Path(os.path.realpath(path))
    real.unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        _sync(real.parent)


def _copy_mode_and_owner(real: Path, handle: int) -> None:
    """Give the new file *handle* the mode and owner of the file *real*, which it replaces."""
    try:
        old = real.stat()
    except FileNotFoundError:
        os.fchmod(handle, _NEW_MODE)
        return
    os.fchmod(handle, stat.S_IMODE(old.st_mode))
    new = os.fstat(handle)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(handle, old.st_uid, old.st_gid)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
