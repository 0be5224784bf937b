"""A client's key: 32 random bytes as text, in a file that only its owner can read.

The daemon makes such a file and keeps a hash. Whoever presents what is in it is
the client it was made for; so a file that others could have read, or put there,
is refused rather than used.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

from memd.base.errors import InvalidError, NotFoundError, UnsafePathError
from memd.base.limits import KEY_FILE_BYTES_MAX

KEY_FILE = "MEMD_CLIENT_KEY_FILE"
"""The environment variable that names the file whose key a client presents."""

_KEY = re.compile(r"memd-key-[0-9a-f]{64}")


def new(chance: Callable[[int], bytes]) -> str:
    """Return a new key of 32 bytes from *chance*, which gives as many as it is asked for."""
    return f"memd-key-{chance(32).hex()}"


def is_key(text: str) -> bool:
    """Return whether *text* has the shape of a key.

    >>> is_key("memd-key-" + "0" * 64), is_key("open sesame")
    (True, False)
    """
    return _KEY.fullmatch(text) is not None


def presented(key: str | os.PathLike[str] | None) -> str:
    """Return the text of a key: *key* itself, or what is in the file *key* or KEY_FILE names."""
    if isinstance(key, str):
        return key
    return read(Path(key if key is not None else os.environ[KEY_FILE]))


def read(path: Path) -> str:
    """Return the key in the file at *path*.

    Raises NotFoundError, UnsafePathError when others may read or have written it,
    InvalidError when there is no key in it.
    """
    try:
        text = private_text(path).strip()
    except NotFoundError:
        raise NotFoundError(
            f"the key file {path} does not exist",
            hint=f'make one: "memd client add"; the path is what {KEY_FILE} says, if it is set',
        ) from None
    if not is_key(text):
        raise InvalidError(f"there is no client key in {path}", hint='make one: "memd client add"')
    return text


def private_text(path: Path) -> str:
    """Return the text of a file that is ours alone, at most KEY_FILE_BYTES_MAX of it."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise NotFoundError(f"{path} does not exist") from None
    except OSError as error:
        raise UnsafePathError(f"{path} cannot be read ({error.strerror})") from error
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
            raise UnsafePathError(f"{path} is not a file of this user")
        if status.st_mode & 0o077:
            raise UnsafePathError(
                f"other users may read {path} (mode {stat.S_IMODE(status.st_mode):04o})",
                hint=f"make a new key, or: chmod 600 {path}",
            )
        return os.read(handle, KEY_FILE_BYTES_MAX).decode("utf-8", "replace")
    finally:
        os.close(handle)


def write(path: Path, text: str) -> None:
    """Put *text* into the file at *path*, 0600, whole or not at all; replaces what is there.

    The folder is made, for its owner alone.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    handle = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, f"{text}\n".encode())
        os.fsync(handle)
    finally:
        os.close(handle)
    fresh.rename(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
