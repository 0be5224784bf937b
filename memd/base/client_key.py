"""Client keys: 32 random bytes as text, in a file that only its owner can read.

The daemon creates the file and stores a hash of the key. Any program that presents the key
acts as that client, so a file that other users could read or replace is refused.
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
"""The environment variable with the path of a client's key file."""

OPERATOR_KEY_FILE = "operator.key"
"""The file with the key of the owner's own commands; the daemon creates it."""

_SUFFIX = ".key"  # of the key files that the daemon creates
_KEY = re.compile(r"memd-key-[0-9a-f]{64}")  # 32 bytes in hex


def generate(chance: Callable[[int], bytes]) -> str:
    """Return a new key of 32 bytes from *chance*."""
    return f"memd-key-{chance(32).hex()}"


def is_key(text: str) -> bool:
    """Return whether *text* has the shape of a key.

    >>> is_key("memd-key-" + "0" * 64), is_key("open sesame")
    (True, False)
    """
    return _KEY.fullmatch(text) is not None


def load(key: str | os.PathLike[str] | None) -> str:
    """Return the key to present.

    A string is the key itself, a path object names a key file. Without *key* the file is the
    one that the environment variable KEY_FILE names. Raises InvalidError for a string that
    looks like a path, and for a file the errors of :func:`read`.
    """
    if isinstance(key, str):
        text = key.strip()
        if not is_key(text) and (os.sep in text or text.endswith(_SUFFIX)):
            raise InvalidError(
                "the key looks like the path of a key file",
                field="key",
                hint="pass a path as a path object: key=pathlib.Path(...)",
            )
        return text
    return read(Path(key if key is not None else os.environ[KEY_FILE]))


def read(path: Path) -> str:
    """Return the key in the file at *path*.

    Raises NotFoundError if there is no such file, UnsafePathError if it is not private to this
    user, InvalidError if it does not contain a key.
    """
    try:
        text = private_text(path).strip()
    except NotFoundError:
        raise NotFoundError(
            f"the key file {path} does not exist",
            hint=f'make one: "memd client add"; the path is what {KEY_FILE} says, if it is set',
        ) from None
    if not is_key(text):
        raise InvalidError(
            f"there is no client key in {path}",
            hint="remove the file and restart memd, which makes a new one"
            if path.name == OPERATOR_KEY_FILE
            else 'make one: "memd client add"',
        )
    return text


def private_text(path: Path) -> str:
    """Return the first KEY_FILE_BYTES_MAX bytes of the file at *path* as text.

    Raises NotFoundError if there is no such file, UnsafePathError if it is a symbolic link, is
    not a regular file of this user, or can be read by other users.
    """
    try:  # O_NONBLOCK: opening a named pipe must not wait for its writer
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
    """Write *text* to the file at *path* atomically, mode 0600, replacing an existing one.

    The folder is created, private to its owner.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, f"{text}\n".encode())
        os.fsync(handle)
    finally:
        os.close(handle)
    temporary.rename(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
