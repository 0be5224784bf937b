"""Maintain memd's Markdown files in a folder that may contain other files.

Files are accessed by their names relative to an open folder, and below the root no symlink is
followed. A file is replaced atomically. Only files made by memd are replaced or removed; they are
recognised by the mark in their head. Folders have mode 0700, files 0600.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from memd.base import errors
from memd.base.errors import DiskFullError, InvalidStateError, ReadOnlyError, UnsafePathError

MARK = "made by memd"
_HEAD_BYTES = 4_096
_PART = ".memd-part"  # suffix of a file that is being written
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NO_FOLDER = frozenset({errno.ELOOP, errno.ENOTDIR})


def update(root: Path, folders: tuple[str, ...], files: Mapping[str, str]) -> int:
    """Write *files*, text by name, into a folder below *root*; return how many changed.

    *folders* is the path of the folder from *root*; missing folders are created. Raises
    UnsafePathError for a symlink on that path, InvalidStateError for a file that is not memd's,
    DiskFullError and ReadOnlyError.
    """
    with _translate_errors(root), _open_path(root, folders) as folder:
        return sum(_write_file(folder, name, text.encode()) for name, text in files.items())


def prune(root: Path, folders: tuple[str, ...], keep: frozenset[str]) -> int:
    """Remove memd's files from a folder below *root* except *keep*; return their number."""
    removed = 0
    with _translate_errors(root), _open_path(root, folders) as folder:
        for name in os.listdir(folder):  # noqa: PTH208  # a handle has no path
            is_stale = name.endswith(".md") and name not in keep and _is_own(folder, name)
            if is_stale or name.endswith(_PART):
                os.unlink(name, dir_fd=folder)
                removed += is_stale
    return removed


def has_folder(root: Path, name: str) -> bool:
    """Return whether *root* has a folder *name* that is no link."""
    with suppress(OSError):
        return stat.S_ISDIR((root / name).lstat().st_mode)
    return False


@contextmanager
def _open_path(root: Path, folders: tuple[str, ...]) -> Iterator[int]:
    """Yield a handle of the folder at the path *folders* below *root*; create missing folders."""
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(root, _FOLDER)
    try:
        for name in folders:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=handle)
            next_handle = _open_folder(handle, name)
            os.close(handle)
            handle = next_handle
            os.fchmod(handle, 0o700)
        yield handle
    finally:
        os.close(handle)


def _open_folder(folder: int, name: str) -> int:
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        if error.errno in _NO_FOLDER:
            raise UnsafePathError(
                f"{name} in the wiki's folder is a link or a file", hint="move it away"
            ) from error
        raise


def _write_file(folder: int, name: str, body: bytes) -> bool:
    """Write a file unless its content is *body*; return whether it was written."""
    content = _read(folder, name, len(body) + 1)
    if content == body:
        return False
    if content is not None and not _is_own(folder, name):
        raise InvalidStateError(f"{name} is there and was not {MARK}", hint="use another folder")
    part = f".{name}{_PART}"
    with suppress(FileNotFoundError):  # left by an export that was killed
        os.unlink(part, dir_fd=folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(part, flags, 0o600, dir_fd=folder), "wb") as file:
            file.write(body)
        os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(part, dir_fd=folder)
        raise
    return True


def _is_own(folder: int, name: str) -> bool:
    return MARK.encode() in (_read(folder, name, _HEAD_BYTES) or b"")


def _read(folder: int, name: str, bytes_max: int) -> bytes | None:
    """Return the first *bytes_max* bytes of a regular file, None if the name does not exist.

    Anything else, such as a link or a folder, counts as empty: it exists and is not memd's.
    """
    try:
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        handle = os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            return b""  # a link
        raise
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return b""
        return file.read(bytes_max)


@contextmanager
def _translate_errors(root: Path) -> Iterator[None]:
    """Raise OSError as DiskFullError or ReadOnlyError."""
    try:
        yield
    except OSError as error:
        if error.errno in errors.NO_ROOM:
            raise DiskFullError("the disk is full", hint="free some space") from error
        raise ReadOnlyError(
            f"{root} cannot be written: {error.strerror}", hint="name another folder"
        ) from error
