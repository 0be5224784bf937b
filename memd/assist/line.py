"""A connection to the daemon for the small processes that an assistant starts.

Standard library only. A client with a key sends nothing else before the daemon has accepted
the key: it would count as a client without one.
"""

from __future__ import annotations

import os
import time

# Not the module socket, which costs 5 ms of a hook's 30.
from _socket import AF_UNIX, SOCK_STREAM, socket

from memd.assist import places, quick_json

GONE = "memd closed the connection before it answered"
SILENT = "memd did not answer"
CONNECT_S = 1.0
NOTIFY_S = 1.0
SECONDS_MIN, SECONDS_MAX = 0.05, 60.0
_CHUNK_BYTES = 65_536


class LineError(Exception):
    """No daemon listens or answers; the message says which and holds no memory's text."""


class HookConnection:
    """A connection to *profile*'s daemon as *client*, which has sent its key.

    Call :meth:`acknowledge` first; calls time out after *default_s* seconds in all. Raises
    LineError when there is no daemon, or no key.
    """

    def __init__(
        self, name: str, client: str | None, profile: str | None, default_s: float
    ) -> None:
        self._timeout_s = timeout_s(default_s, dict(os.environ))
        self._until = time.monotonic() + self._timeout_s
        self._ids = 0
        try:
            key = places.key(client, profile, dict(os.environ))
        except places.PlaceError as error:
            raise LineError(str(error)) from None
        sock = connect_first(places.sockets(profile, dict(os.environ)))
        if sock is None:
            raise LineError("no memd listens")
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
                raise LineError(SILENT) from None

    def acknowledge(self) -> None:
        """Wait until the daemon has accepted the key. Raises LineError if it refuses."""
        self._until = time.monotonic() + self._timeout_s
        problem = _read_hello_answer(self._sock, self._timeout_s) if self._hello_pending else None
        self._hello_pending = False
        if problem is not None:
            self.close()
            raise LineError(problem)

    def ask(self, method: str, params: dict[str, object]) -> dict[str, object]:
        """Return the result of a call. Raises LineError for a refusal or a timeout."""
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
            raise LineError("memd sent an invalid answer") from None
        if isinstance(error, dict):
            raise LineError(f"{method} was refused ({_kind(error)})")
        return result if isinstance(result, dict) else {}

    def notify(self, method: str, params: dict[str, object]) -> None:
        """Send a notification, even after the timeout; the daemon handles it when we have gone."""
        self._until = max(self._until, time.monotonic() + NOTIFY_S)
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def close(self) -> None:
        self._sock.close()

    def _send(self, message: dict[str, object]) -> None:
        try:
            self._sock.settimeout(self._seconds_left())
            self._sock.sendall(frame(message))
        except OSError:
            raise LineError(GONE) from None

    def _receive(self) -> bytes:
        try:
            self._sock.settimeout(self._seconds_left())
            chunk = self._sock.recv(_CHUNK_BYTES)
        except TimeoutError:
            raise LineError("memd did not answer in time") from None
        except OSError:
            chunk = b""
        if not chunk:
            raise LineError(GONE)
        return chunk

    def _seconds_left(self) -> float:
        remaining = self._until - time.monotonic()
        if remaining <= 0:
            raise LineError("memd did not answer in time")
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
    """Return a connection to the first daemon that listens, None when none does."""
    for path in paths:
        if not places.is_ours(path):
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


def present_key(sock: socket, name: str, key: str, timeout_s: float) -> str | None:
    """Present the key and wait for the answer; return the problem, None if accepted."""
    sock.settimeout(timeout_s)
    try:
        sock.sendall(_hello(name, key))
    except OSError:
        return SILENT
    return _read_hello_answer(sock, timeout_s)


def _hello(name: str, key: str) -> bytes:
    params = {"client": name, "client_key": key}
    return frame({"jsonrpc": "2.0", "id": 0, "method": "system.hello", "params": params})


def _read_hello_answer(sock: socket, timeout_s: float) -> str | None:
    """Read the answer to ``system.hello``; return the problem, None if accepted."""
    sock.settimeout(timeout_s)
    reply = b""
    try:
        while not reply.endswith(b"\n"):
            chunk = sock.recv(_CHUNK_BYTES)
            if not chunk:
                return GONE
            reply += chunk
        error = quick_json.loads(reply).get("error")
    except (OSError, ValueError):
        return SILENT
    return None if error is None else str(error.get("message"))


def frame(message: dict[str, object]) -> bytes:
    """Return *message* as a frame."""
    return quick_json.dumps(message).encode() + b"\n"


def _kind(error: dict[str, object]) -> object:
    data = error.get("data")
    return data.get("kind") if isinstance(data, dict) else error.get("code")
