"""``memd mcp``: lines between an assistant's stdin and stdout and the daemon's socket.

MCP itself is spoken by the daemon. What is here lives as long as the assistant and
outlives the daemon: the next request after a restart, or after the daemon closed an idle
connection, opens another one. Promises that every request is answered once: by the
daemon, or when it is gone by an error that says so. A request is never sent twice.

Standard library only, and little of it.
"""

from __future__ import annotations

import os
import select
import sys
import time

# As in line.py.
from _socket import socket

from memd.assist import places, quick_json
from memd.assist.line import GONE, first, frame, presented

LINE_BYTES_MAX = 1_048_576
WAIT_S = 3.0
"""How long a request waits for a daemon that is starting again."""
HELLO_S = 30.0
"""How long a daemon that is starting may take to say whom it takes us for."""
LAST_WORDS_S = 10.0
"""How long answers are waited for once the assistant sends no more."""
NOT_RUNNING, TOO_LARGE, PARSE = -32004, -32600, -32700

_CHUNK_BYTES = 65_536
_AGAIN_S = 0.1


class Pump:
    """One assistant's way to the daemon: reads *source*, writes *sink*."""

    def __init__(
        self,
        client: str | None = None,
        profile: str | None = None,
        source: int = 0,
        sink: int = 1,
    ) -> None:
        self._client, self._profile = client, profile
        self._source, self._sink = source, sink
        self._sock: socket | None = None
        self._open: dict[str, object] = {}
        """The ids of requests that wait for an answer, by how JSON writes them."""
        self._from_client = b""
        self._from_daemon = bytearray()
        self._to_daemon = bytearray()
        self._skipping = False
        self._until: float | None = None

    def run(self) -> int:
        """Carry lines until the assistant has gone; returns the exit code."""
        try:
            while self._until is None or (self._open and time.monotonic() < self._until):
                self._turn()
        except BrokenPipeError:
            pass  # nobody reads what we say any more
        except KeyboardInterrupt:
            return 130
        finally:
            self._close()
        return 0

    def _turn(self) -> None:
        watch = select.poll()
        if self._until is None and len(self._to_daemon) <= LINE_BYTES_MAX:
            watch.register(self._source, select.POLLIN)
        if self._sock is not None:
            sending = select.POLLOUT if self._to_daemon else 0
            watch.register(self._sock.fileno(), select.POLLIN | sending)
        wait_ms = None if self._until is None else 200
        ready = dict(watch.poll(wait_ms))
        # The daemon first: what is asked now goes to no connection that it has closed.
        if self._sock is not None and (event := ready.get(self._sock.fileno())):
            if event & select.POLLOUT:
                self._send()
            if event & ~select.POLLOUT:
                self._read_daemon()
        if self._source in ready:
            self._read_client()

    # From the assistant.

    def _read_client(self) -> None:
        chunk = os.read(self._source, _CHUNK_BYTES)
        if not chunk:
            self._until = time.monotonic() + LAST_WORDS_S
            return
        *lines, self._from_client = (self._from_client + chunk).split(b"\n")
        for line in lines:
            if self._skipping:
                self._skipping = False
            elif line.strip():
                self._take(line.strip())
        if len(self._from_client) > 16 * LINE_BYTES_MAX:  # no request: its id is never looked for
            self._skipping, self._from_client = True, b""
            self._answer(None, TOO_LARGE, "too_large", "a line is too long")

    def _take(self, line: bytes) -> None:
        """Send a line on and remember what it asks, or answer it here."""
        try:
            payload = quick_json.loads(line)
        except (ValueError, RecursionError):
            self._answer(None, PARSE, "parse", "a line is not JSON")
            return
        messages = [each for each in _list(payload) if isinstance(each, dict)]
        asked = [each["id"] for each in messages if "method" in each and "id" in each]
        if len(line) > LINE_BYTES_MAX:
            for request_id in asked:
                text = f"a request may have {LINE_BYTES_MAX} bytes at most"
                self._answer(request_id, TOO_LARGE, "too_large", text)
            return
        if not self._reached(asked):
            return
        for each in messages:
            if each.get("method") == "notifications/cancelled":
                self._open.pop(_written(_params(each).get("requestId")), None)
        self._open.update((_written(request_id), request_id) for request_id in asked)
        self._to_daemon += line + b"\n"
        self._send()

    def _reached(self, asked: list[object]) -> bool:
        """Return whether there is a daemon, connecting for who asks; who asks is told why not."""
        if self._sock is not None:
            return True
        if not asked:
            return False  # that it is initialized, say: the next daemon need not know
        problem = self._connect()
        for request_id in asked if problem is not None else ():
            self._answer(request_id, NOT_RUNNING, "not_running", str(problem))
        return problem is None

    # From the daemon.

    def _read_daemon(self) -> None:
        try:
            chunk = self._sock.recv(_CHUNK_BYTES) if self._sock is not None else b""
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._lose(GONE)
            return
        self._from_daemon += chunk
        while (end := self._from_daemon.find(b"\n")) >= 0:
            line = bytes(self._from_daemon[: end + 1])
            del self._from_daemon[: end + 1]
            self._hear(line)

    def _hear(self, line: bytes) -> None:
        """Pass on what is asked for: answers to open requests, and notifications."""
        try:
            payload = quick_json.loads(line)
        except ValueError:
            return
        messages = [each for each in _list(payload) if isinstance(each, dict)]
        answered = [each for each in messages if "method" not in each]
        known = [
            each for each in answered if self._open.pop(_written(each.get("id")), self) != self
        ]
        if known or len(answered) < len(messages):
            self._write(line)
        for each in answered:
            if each.get("id") is None and "error" in each and self._open:
                # The daemon could not read the request, so not its id either.
                _, request_id = self._open.popitem()
                self._write(frame({**each, "id": request_id}))

    # The connection.

    def _connect(self) -> str | None:
        """Connect and say who we are; returns None, or what is wrong, for the assistant's user."""
        try:
            key = places.key(self._client, self._profile, dict(os.environ))
        except places.PlaceError as error:
            return str(error)
        paths = places.sockets(self._profile, dict(os.environ))
        until = time.monotonic() + WAIT_S
        while (sock := first(paths)) is None:
            if time.monotonic() > until:
                return f'no memd listens on {paths[0]}: start it with "memd serve"'
            time.sleep(_AGAIN_S)
        problem = None if key is None else presented(sock, "memd-mcp", key, HELLO_S)
        if problem is not None:
            sock.close()
            return problem
        sock.setblocking(False)
        self._sock = sock
        return None

    def _send(self) -> None:
        try:
            while self._to_daemon and self._sock is not None:
                del self._to_daemon[: self._sock.send(self._to_daemon)]
        except BlockingIOError:
            return
        except OSError:
            self._read_daemon()  # it may have said why before it closed

    def _lose(self, why: str) -> None:
        self._close()
        waiting, self._open = list(self._open.values()), {}
        for request_id in waiting:
            self._answer(request_id, NOT_RUNNING, "not_running", why)

    def _close(self) -> None:
        if self._sock is not None:
            self._sock.close()
            self._sock = None
        self._to_daemon.clear()
        self._from_daemon.clear()

    # To the assistant.

    def _answer(self, request_id: object, code: int, kind: str, text: str) -> None:
        retry = code == NOT_RUNNING
        error = {"code": code, "message": text, "data": {"kind": kind, "retry": retry}}
        self._write(frame({"jsonrpc": "2.0", "id": request_id, "error": error}))

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self._sink, rest) :]


def options(arguments: list[str]) -> tuple[str | None, str | None] | None:
    """Return the client and the profile that *arguments* name, None when they say more.

    >>> options(["--client", "codex"]), options(["--profile=work"]), options(["--help"])
    (('codex', None), (None, 'work'), None)
    """
    named: dict[str, str] = {}
    waiting = list(arguments)
    while waiting:
        name, given, value = waiting.pop(0).partition("=")
        name = "--profile" if name == "-p" else name
        if name not in {"--client", "--profile"} or not (given or waiting):
            return None
        named[name] = value if given else waiting.pop(0)
    return named.get("--client"), named.get("--profile")


def run(client: str | None, profile: str | None) -> int:
    """Carry lines between stdin, stdout and the daemon; what ``memd mcp`` does."""
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write("memd mcp is for an assistant to start; it speaks MCP on stdin.\n")
    return Pump(client, profile).run()


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _params(message: dict[str, object]) -> dict[str, object]:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def _written(request_id: object) -> str:
    return quick_json.dumps(request_id)
