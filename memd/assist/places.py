"""Paths of the daemon's socket and of an assistant's key, with few imports.

The same paths as ``memd.base.paths`` (a test compares them), without its imports: an
assistant starts one such process for each of its windows. Assistants pass on few variables,
Codex four; so the usual values of ``XDG_RUNTIME_DIR`` are tried as well.
"""

from __future__ import annotations

import os
import stat
import sys
import zlib

SOCKET_PATH_BYTES_MAX = 103
KEY_BYTES_MAX = 4_096


class PlaceError(Exception):
    """A file is missing or not ours alone; the message says what to do."""


def sockets(profile: str | None, environ: dict[str, str]) -> list[str]:
    """Return the paths where *profile*'s daemon may listen, likeliest first.

    >>> sockets("work", {"MEMD_HOME": "/srv/memd"})
    ['/srv/memd/run/memd-work.sock']
    """
    name = _stem(profile, environ) + ".sock"
    paths: list[str] = []
    for folder in _runtime_folders(environ):
        path = os.path.join(folder, name)
        if len(os.fsencode(path)) > SOCKET_PATH_BYTES_MAX:
            crc = zlib.crc32(os.path.normpath(os.fsencode(folder)))
            path = f"/tmp/memd-{os.getuid()}-{crc:08x}/{name}"  # noqa: S108  # the owner is checked
        if path not in paths:
            paths.append(path)
    return paths


def key(client: str | None, profile: str | None, environ: dict[str, str]) -> str | None:
    """Return the key of *client*, or of the file that the environment names, or None.

    Raises PlaceError for a file that is missing or readable by others. A named client
    without a key is an error, never an anonymous client.
    """
    path = environ.get("MEMD_CLIENT_KEY_FILE")
    if client is not None:
        if not client.isascii() or not client.replace("-", "").replace("_", "").isalnum():
            raise PlaceError(f"{client!r} is no name of a client")
        keys = _stem(profile, environ).replace("memd", "keys", 1)
        path = os.path.join(_data_folder(environ), keys, f"{client}.key")
    if not path:
        return None
    hint = f'make one: "memd client add {client or "NAME"}"'
    try:
        text = _private_text(path).strip()
    except FileNotFoundError:
        raise PlaceError(f"the key file {path} does not exist; {hint}") from None
    except OSError as error:
        raise PlaceError(f"{path} cannot be read ({error.strerror})") from None
    if not text.startswith("memd-key-"):
        raise PlaceError(f"there is no client key in {path}; {hint}")
    return text


def log_file(environ: dict[str, str]) -> str:
    """Return the path of the log of hooks that did nothing."""
    if environ.get("MEMD_HOME"):
        folder = os.path.join(os.path.abspath(environ["MEMD_HOME"]), "state")
    elif sys.platform == "darwin":
        folder = os.path.join(os.path.expanduser("~"), "Library/Application Support/memd")
    else:
        home = environ.get("XDG_STATE_HOME", "")
        above = home if os.path.isabs(home) else os.path.expanduser("~/.local/state")
        folder = os.path.join(above, "memd")
    return os.path.join(folder, "hooks.log")


def is_ours(socket_path: str) -> bool:
    """Return whether the folder of a socket is ours and not writable by other users."""
    try:
        folder = os.lstat(os.path.dirname(socket_path))
    except OSError:
        return False
    mine = stat.S_ISDIR(folder.st_mode) and folder.st_uid == os.getuid()
    return mine and not folder.st_mode & 0o022


def _private_text(path: str) -> str:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
            raise PlaceError(f"{path} is not a file of this user")
        if status.st_mode & 0o077:
            raise PlaceError(f"other users may read {path}: chmod 600 {path}")
        return os.read(handle, KEY_BYTES_MAX).decode("utf-8", "replace")
    finally:
        os.close(handle)


def _stem(profile: str | None, environ: dict[str, str]) -> str:
    name = profile or environ.get("MEMD_PROFILE") or "default"
    return "memd" if name == "default" else f"memd-{name}"


def _data_folder(environ: dict[str, str]) -> str:
    if environ.get("MEMD_HOME"):
        return os.path.join(os.path.abspath(environ["MEMD_HOME"]), "data")
    if os.path.isabs(environ.get("XDG_DATA_HOME", "")):
        return os.path.join(environ["XDG_DATA_HOME"], "memd")
    below = "Library/Application Support" if sys.platform == "darwin" else ".local/share"
    return os.path.join(os.path.expanduser("~"), below, "memd")


def _runtime_folders(environ: dict[str, str]) -> list[str]:
    if environ.get("MEMD_HOME"):
        return [os.path.join(os.path.abspath(environ["MEMD_HOME"]), "run")]
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    above = [runtime] if os.path.isabs(runtime) else []
    if sys.platform == "darwin":
        above.append(os.path.expanduser("~/Library/Caches/TemporaryItems"))
    else:
        uid = os.getuid()
        temporary = environ.get("TMPDIR") or "/tmp"  # noqa: S108  # who owns it is checked
        above += [f"/run/user/{uid}", f"{temporary}/runtime-{uid}", f"/tmp/runtime-{uid}"]  # noqa: S108
    return [os.path.join(folder, "memd") for folder in above]
