"""A line to the daemon, for what an assistant starts: found, greeted with the key, asked.

Standard library only. Who presents a key sends nothing else before the daemon knows him:
it would be somebody's without a key.
"""

from __future__ import annotations

import os
import time

# Without what is around it in the module of the same name: 5 ms of a hook's 30.
from _socket import AF_UNIX, SOCK_STREAM, socket

from memd.assist import places, quick_json

GONE = "memd went away before it answered"
SILENT = "memd did not answer"
CONNECT_S = 1.0
TELL_S = 1.0
SECONDS_MIN, SECONDS_MAX = 0.05, 60.0
_CHUNK_BYTES = 65_536


class LineError(Exception):
    """There is no daemon, or none that answers us; the text says which, never a memory's."""


class HookConnection:
    """A connection to *profile*'s daemon as *client*, which has begun to present its key.

    Nothing is asked or told before :meth:`acknowledge`, and *usual* seconds after it time is up.
    Raises LineError when there is no daemon, or no key.
    """

    def __init__(self, name: str, client: str | None, profile: str | None, usual: float) -> None:
        self._most = seconds(usual, dict(os.environ))
        self._until = time.monotonic() + self._most
        self._ids = 0
        try:
            key = places.key(client, profile, dict(os.environ))
        except places.PlaceError as error:
            raise LineError(str(error)) from None
        sock = first(places.sockets(profile, dict(os.environ)))
        if sock is None:
            raise LineError("no memd listens")
        self._sock = sock
        self.path = str(sock.getpeername())
        """Where the daemon listens."""
        self._greets = key is not None
        if key is not None:
            sock.settimeout(self._most)
            try:
                sock.sendall(_hello(name, key))
            except OSError:
                self.close()
                raise LineError(SILENT) from None

    def acknowledge(self) -> None:
        """Wait until the daemon knows who this is; LineError where it does not take the key."""
        self._until = time.monotonic() + self._most
        problem = _acknowledged(self._sock, self._most) if self._greets else None
        self._greets = False
        if problem is not None:
            self.close()
            raise LineError(problem)

    def ask(self, method: str, params: dict[str, object]) -> dict[str, object]:
        """Return the result of a call; raises LineError for a refusal or when time is up."""
        self._ids += 1
        self._send({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params})
        reply = bytearray()
        while not reply.endswith(b"\n"):
            reply += self._received()
        try:
            answer = quick_json.loads(reply)
            error = answer.get("error")
            result = answer.get("result")
        except (ValueError, AttributeError, RecursionError):
            raise LineError("memd answered what is no answer") from None
        if isinstance(error, dict):
            raise LineError(f"{method} was refused ({_kind(error)})")
        return result if isinstance(result, dict) else {}

    def tell(self, method: str, params: dict[str, object]) -> None:
        """Send what needs no answer, also when time is up: the daemon does it when we are gone."""
        self._until = max(self._until, time.monotonic() + TELL_S)
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def close(self) -> None:
        self._sock.close()

    def _send(self, message: dict[str, object]) -> None:
        try:
            self._sock.settimeout(self._left())
            self._sock.sendall(frame(message))
        except OSError:
            raise LineError(GONE) from None

    def _received(self) -> bytes:
        try:
            self._sock.settimeout(self._left())
            chunk = self._sock.recv(_CHUNK_BYTES)
        except TimeoutError:
            raise LineError("memd did not answer in time") from None
        except OSError:
            chunk = b""
        if not chunk:
            raise LineError(GONE)
        return chunk

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise LineError("memd did not answer in time")
        return left


def seconds(usual: float, environ: dict[str, str]) -> float:
    """Return how long the daemon may take: *usual*, or what MEMD_HOOK_SECONDS says.

    >>> [seconds(1.0, {"MEMD_HOOK_SECONDS": said}) for said in ("3", "x", "nan")]
    [3.0, 1.0, 1.0]
    """
    try:
        limit = float(environ["MEMD_HOOK_SECONDS"])
    except (KeyError, ValueError):
        return usual
    return limit if SECONDS_MIN <= limit <= SECONDS_MAX else usual


def first(paths: list[str]) -> socket | None:
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


def presented(sock: socket, name: str, key: str, seconds: float) -> str | None:
    """Say who we are and wait until the daemon knows; returns why not, if it does not."""
    sock.settimeout(seconds)
    try:
        sock.sendall(_hello(name, key))
    except OSError:
        return SILENT
    return _acknowledged(sock, seconds)


def _hello(name: str, key: str) -> bytes:
    params = {"client": name, "client_key": key}
    return frame({"jsonrpc": "2.0", "id": 0, "method": "system.hello", "params": params})


def _acknowledged(sock: socket, seconds: float) -> str | None:
    """Return why the daemon does not know who greeted it, None when it does."""
    sock.settimeout(seconds)
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
    """Return *message* as the wire has it."""
    return quick_json.dumps(message).encode() + b"\n"


def _kind(error: dict[str, object]) -> object:
    data = error.get("data")
    return data.get("kind") if isinstance(data, dict) else error.get("code")
