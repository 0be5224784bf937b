"""A connection to the daemon for the small processes that an assistant starts.

A client with a key must send nothing before the daemon has accepted the key, or the daemon takes it
for a client without one.

Only small modules of the standard library are imported, because assistants start these processes
often. So the paths of socket and key are computed here as in ``memd.base.paths``, and a test
compares them. Assistants pass on few variables (Codex four), so the usual values of
``XDG_RUNTIME_DIR`` are tried as well.
"""

from __future__ import annotations

import os
import stat
import sys
import time
import zlib

# Not the module socket, which costs 5 ms of a hook's 30.
from _socket import AF_UNIX, SOCK_STREAM, socket

from memd.assist import quick_json

GONE = "memd closed the connection before it answered"
SILENT = "memd did not answer"
INVALID = "memd sent an invalid answer"
CONNECT_S = 1.0
NOTIFY_S = 1.0
"""Time that sending a notification has at least, also if earlier calls took all of the timeout."""
SECONDS_MIN, SECONDS_MAX = 0.05, 60.0
"""Accepted values of MEMD_HOOK_SECONDS."""
SOCKET_PATH_BYTES_MAX = 103
"""Longest path of a Unix socket that every system accepts (macOS: 104 bytes with the NUL)."""
KEY_BYTES_MAX = 4_096
_CHUNK_BYTES = 65_536
_OPTIONS = {"--client": "client", "--profile": "profile", "-p": "profile"}


class HookError(Exception):
    """No daemon listens or answers, or the key cannot be used; the message says what to do.

    It does not contain the text of a memory. *kind* is a kind of memd's errors
    (``memd.base.errors``).
    """

    def __init__(self, message: str, kind: str = "not_running") -> None:
        super().__init__(message)
        self.kind = kind


class HookConnection:
    """A connection to *profile*'s daemon, over which the key of *client* has been sent.

    Call :meth:`acknowledge` first. All calls together time out after *default_s* seconds. *name*
    is the program's name for the daemon. Raises HookError if there is no daemon or no key.
    """

    def __init__(
        self, name: str, client: str | None, profile: str | None, default_s: float
    ) -> None:
        self._timeout_s = timeout_s(default_s, dict(os.environ))
        self._until = time.monotonic() + self._timeout_s
        self._ids = 0
        key = read_key(client, profile, dict(os.environ))
        sock = connect_first(sockets(profile, dict(os.environ)))
        if sock is None:
            raise HookError("no memd listens")
        self._sock = sock
        self.path = str(sock.getpeername())
        """The path of the daemon's socket."""
        self._hello_pending = key is not None
        if key is not None:
            sock.settimeout(self._timeout_s)
            try:
                sock.sendall(_hello(name, key))
            except OSError:
                self.close()
                raise HookError(SILENT) from None

    def acknowledge(self) -> None:
        """Wait until the daemon has accepted the key, and start the timeout of the calls.

        Raises HookError if it refuses the key.
        """
        self._until = time.monotonic() + self._timeout_s
        pending, self._hello_pending = self._hello_pending, False
        try:
            if pending:
                _read_hello_answer(self._sock, self._timeout_s)
        except HookError:
            self.close()
            raise

    def ask(self, method: str, params: dict[str, object]) -> dict[str, object]:
        """Call *method* and return its result. Raises HookError for an error or a timeout."""
        self._ids += 1
        self._send({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params})
        reply = bytearray()
        while not reply.endswith(b"\n"):
            reply += self._receive()
        try:
            answer = quick_json.loads(reply)
            error = answer.get("error")
            result = answer.get("result")
        except (ValueError, AttributeError, RecursionError):
            raise HookError(INVALID) from None
        if error is not None:
            kind = _kind(error) if isinstance(error, dict) else "error"
            raise HookError(f"{method} was refused ({kind})")
        return result if isinstance(result, dict) else {}

    def notify(self, method: str, params: dict[str, object]) -> None:
        """Send a notification, even after the timeout.

        The daemon handles it even if this process has ended by then.
        """
        self._until = max(self._until, time.monotonic() + NOTIFY_S)
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def close(self) -> None:
        self._sock.close()

    def _send(self, message: dict[str, object]) -> None:
        try:
            self._sock.settimeout(self._seconds_left())
            self._sock.sendall(frame(message))
        except OSError:
            raise HookError(GONE) from None

    def _receive(self) -> bytes:
        try:
            self._sock.settimeout(self._seconds_left())
            chunk = self._sock.recv(_CHUNK_BYTES)
        except TimeoutError:
            raise HookError("memd did not answer in time") from None
        except OSError:
            chunk = b""
        if not chunk:
            raise HookError(GONE)
        return chunk

    def _seconds_left(self) -> float:
        remaining = self._until - time.monotonic()
        if remaining <= 0:
            raise HookError("memd did not answer in time")
        return remaining


def timeout_s(default_s: float, environ: dict[str, str]) -> float:
    """Return the timeout in seconds: *default_s*, or the value of MEMD_HOOK_SECONDS.

    >>> [timeout_s(1.0, {"MEMD_HOOK_SECONDS": value}) for value in ("3", "x", "nan")]
    [3.0, 1.0, 1.0]
    """
    try:
        limit = float(environ["MEMD_HOOK_SECONDS"])
    except (KeyError, ValueError):
        return default_s
    return limit if SECONDS_MIN <= limit <= SECONDS_MAX else default_s


def connect_first(paths: list[str]) -> socket | None:
    """Connect to the first of *paths* where a daemon listens; return None if there is none."""
    for path in paths:
        if not is_own_socket(path):
            continue
        sock = socket(AF_UNIX, SOCK_STREAM)
        sock.settimeout(CONNECT_S)
        try:
            sock.connect(path)
        except OSError:
            sock.close()
            continue
        return sock
    return None


def present_key(sock: socket, name: str, key: str, timeout_s: float) -> None:
    """Send the key and wait for the answer. Raises HookError unless the key is accepted."""
    sock.settimeout(timeout_s)
    try:
        sock.sendall(_hello(name, key))
    except OSError:
        raise HookError(SILENT) from None
    _read_hello_answer(sock, timeout_s)


def _hello(name: str, key: str) -> bytes:
    params = {"client": name, "client_key": key}
    return frame({"jsonrpc": "2.0", "id": 0, "method": "system.hello", "params": params})


def _read_hello_answer(sock: socket, timeout_s: float) -> None:
    """Read the answer to ``system.hello``. Raises HookError unless the key is accepted."""
    sock.settimeout(timeout_s)
    reply = b""
    try:
        while not reply.endswith(b"\n"):
            chunk = sock.recv(_CHUNK_BYTES)
            if not chunk:
                raise HookError(GONE)
            reply += chunk
    except OSError:
        raise HookError(SILENT) from None
    try:
        error = quick_json.loads(reply).get("error")
        refusal = None if error is None else (str(error.get("message")), str(_kind(error)))
    except (ValueError, AttributeError, RecursionError):
        raise HookError(INVALID) from None
    if refusal is not None:
        raise HookError(*refusal)


def frame(message: object) -> bytes:
    """Return *message* as a frame: one line of JSON."""
    return quick_json.dumps(message).encode() + b"\n"


def _kind(error: dict[str, object]) -> object:
    """Return the kind of a JSON-RPC error, else its code."""
    data = error.get("data")
    return data.get("kind") if isinstance(data, dict) else error.get("code")


def sockets(profile: str | None, environ: dict[str, str]) -> list[str]:
    """Return the paths where *profile*'s daemon may listen, the most likely first.

    >>> sockets("work", {"MEMD_HOME": "/srv/memd"})
    ['/srv/memd/run/memd-work.sock']
    """
    name = _stem(profile, environ) + ".sock"
    paths: list[str] = []
    for folder in _runtime_folders(environ):
        path = os.path.join(folder, name)
        if len(os.fsencode(path)) > SOCKET_PATH_BYTES_MAX:  # as Paths.resolve shortens it
            crc = zlib.crc32(os.path.normpath(os.fsencode(folder)))
            path = f"/tmp/memd-{os.getuid()}-{crc:08x}/{name}"  # noqa: S108  # the owner is checked
        if path not in paths:
            paths.append(path)
    return paths


def read_key(client: str | None, profile: str | None, environ: dict[str, str]) -> str | None:
    """Return the key of *client*, or that in the file that MEMD_CLIENT_KEY_FILE names, or None.

    Raises HookError if the file is missing or readable by others. So a named client without a key
    never becomes an anonymous one.
    """
    path = environ.get("MEMD_CLIENT_KEY_FILE")
    if client is not None:
        if not client.isascii() or not client.replace("-", "").replace("_", "").isalnum():
            raise HookError(f"{client!r} is no name of a client", "invalid")
        keys = _stem(profile, environ).replace("memd", "keys", 1)
        path = os.path.join(_data_folder(environ), keys, f"{client}.key")
    if not path:
        return None
    hint = "make one: " + (
        '"memd client add NAME"'
        if client is None
        else f'"memd doctor --fix", or "memd client revoke {client}" and "memd client add {client}"'
    )
    try:
        text = _private_text(path).strip()
    except FileNotFoundError:
        raise HookError(f"the key file {path} does not exist; {hint}", "not_found") from None
    except OSError as error:
        raise HookError(f"{path} cannot be read ({error.strerror})", "unsafe_path") from None
    if not text.startswith("memd-key-"):
        raise HookError(f"there is no client key in {path}; {hint}", "invalid")
    return text


def is_own_socket(path: str) -> bool:
    """Return whether the folder of a socket is this user's and not writable by others."""
    try:
        folder = os.lstat(os.path.dirname(path))
    except OSError:
        return False
    is_own = stat.S_ISDIR(folder.st_mode) and folder.st_uid == os.getuid()
    return is_own and not folder.st_mode & 0o022


def _private_text(path: str) -> str:
    """Return the text of a file that only this user may read. Raises HookError or OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
            raise HookError(f"{path} is not a file of this user", "unsafe_path")
        if status.st_mode & 0o077:
            raise HookError(f"other users may read {path}: chmod 600 {path}", "unsafe_path")
        return os.read(handle, KEY_BYTES_MAX).decode("utf-8", "replace")
    finally:
        os.close(handle)


def _stem(profile: str | None, environ: dict[str, str]) -> str:
    """Return the beginning of the names of *profile*'s files, such as ``memd-work``."""
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


def parse_options(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the options ``--client`` and ``--profile`` by name, and all other arguments.

    >>> parse_options(["codex", "Stop", "--client", "work"])
    ({'client': 'work'}, ['codex', 'Stop'])
    """
    values: dict[str, str] = {}
    positional: list[str] = []
    pending = list(arguments)
    while pending:
        name, equals, value = pending.pop(0).partition("=")
        if name in _OPTIONS and (equals or pending):
            values[_OPTIONS[name]] = value if equals else pending.pop(0)
        else:
            positional.append(name + equals + value)
    return values, positional
