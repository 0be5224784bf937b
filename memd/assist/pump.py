"""``memd mcp``: forward lines between an assistant's stdio and the daemon's socket.

The daemon implements MCP. The pump runs as long as the assistant. If the daemon has been restarted
or has closed an idle connection, the next request opens a new connection.

Every request is answered exactly once, by the daemon or with an error, and never sent twice. The
error of a tool call is sent as a result, because clients hide protocol errors from the model. While
no daemon runs, the pump introduces memd by itself: a client drops a server that fails at its start.

MCP does not transmit the working folder, but clients start their servers in it. So the pump adds
the project to each request that reads or adds memories.

Only small modules of the standard library are imported.
"""

from __future__ import annotations

import os
import select
import sys
import time

# Not the module socket, because of its import time (connection.py).
from _socket import socket

from memd.assist import quick_json
from memd.assist.connection import (
    GONE,
    HookError,
    connect_first,
    frame,
    parse_options,
    present_key,
    read_key,
    sockets,
)
from memd.base.project import project_of

LINE_BYTES_MAX = 1_048_576
"""Maximum size of a request: that of a frame of the daemon."""
WAIT_S = 3.0
"""How long a request waits for a daemon that is being restarted."""
HELLO_S = 30.0
"""How long a starting daemon may take to accept the key."""
DRAIN_S = 10.0
"""How long to wait for answers after the assistant's end of input."""
NOT_RUNNING, INVALID_REQUEST, PARSE = -32004, -32600, -32700
CODES = {
    "not_found": -32000,
    "denied": -32001,
    "invalid": -32602,
    "unsafe_path": -32006,
}
"""JSON-RPC codes of problems with the key or its file, by kind. Other problems may be temporary."""

PROJECT = "memd/project"
"""The key in ``_meta`` for the project in which the assistant works."""
_PROJECT_METHODS = frozenset(
    {"tools/call", "resources/read", "prompts/get", "initialize", "server/discover"}
)
"""Methods whose params get the project."""
LISTS = frozenset(
    {"ping", "tools/list", "prompts/list", "resources/list", "resources/templates/list"}
)
"""Methods whose results are the same without a daemon, so they do not wait for it."""
Request = tuple[object, object]
"""The id and the method of a request."""
UNKNOWN: Request = (None, None)
"""A line that could not be parsed, so that its id is unknown."""
_ADVICE = " Go on without memory, and tell the user; a later call may work again."
_MEMBERS = frozenset({"method", "result", "error"})
"""Each message of JSON-RPC has one of these."""
_NO_REQUEST = "a line must be a request, an object with a method, or a batch of these"
_CHUNK_BYTES = 65_536
_RETRY_S = 0.1


_SOURCE, _SINK = 0, 1  # standard input and output


class Pump:
    """The pump of one assistant: reads standard input, writes standard output."""

    def __init__(self, client: str | None, profile: str | None) -> None:
        self._client, self._profile = client, profile
        self._project = working_project(dict(os.environ))
        self._sock: socket | None = None
        self._pending: dict[str, Request] = {}
        """The unanswered requests, by the JSON of their ids."""
        self._from_client = bytearray()
        self._from_daemon = bytearray()
        self._to_daemon = bytearray()
        self._skipping = False
        """Whether the rest of a line that is too long is being skipped."""
        self._until: float | None = None
        """After the assistant's end of input: when to stop waiting for answers."""

    def run(self) -> int:
        """Forward lines until the assistant exits; return the exit code."""
        try:
            while self._until is None or (self._pending and time.monotonic() < self._until):
                self._poll_once()
        except BrokenPipeError:
            pass  # the assistant no longer reads
        except KeyboardInterrupt:
            return 130
        finally:
            self._close()
        return 0

    def _poll_once(self) -> None:
        watch = select.poll()
        # Read no further while the daemon does not keep up.
        if self._until is None and len(self._to_daemon) <= LINE_BYTES_MAX:
            watch.register(_SOURCE, select.POLLIN)
        if self._sock is not None:
            sending = select.POLLOUT if self._to_daemon else 0
            watch.register(self._sock.fileno(), select.POLLIN | sending)
        wait_ms = None if self._until is None else 200
        ready = dict(watch.poll(wait_ms))
        # The daemon first, so that no request is sent over a connection that it has closed.
        if self._sock is not None and (event := ready.get(self._sock.fileno())):
            if event & select.POLLOUT:
                self._send()
            if event & ~select.POLLOUT:
                self._read_daemon()
        if _SOURCE in ready:
            self._read_client()

    # From the assistant.

    def _read_client(self) -> None:
        chunk = os.read(_SOURCE, _CHUNK_BYTES)
        # The end of input also ends a line.
        *ends, rest = (chunk or b"\n").split(b"\n")
        for end in ends:
            line = bytes(self._from_client + end).strip()
            self._from_client.clear()
            if self._skipping:
                self._skipping = False
            elif line:
                self._forward_request(line)
        if not self._skipping:
            self._from_client += rest
        if len(self._from_client) > 16 * LINE_BYTES_MAX:  # no valid request, so no id to answer
            self._skipping = True
            self._from_client.clear()
            self._answer(UNKNOWN, INVALID_REQUEST, "too_large", "a line is too long")
        if not chunk:
            self._until = time.monotonic() + DRAIN_S

    def _forward_request(self, line: bytes) -> None:
        """Forward a line and remember its requests, or answer it with an error."""
        try:
            payload = quick_json.loads(line)
        except (ValueError, RecursionError):
            self._answer(UNKNOWN, PARSE, "parse", "a line is not JSON")
            return
        messages = [message for message in _list(payload) if isinstance(message, dict)]
        if not any(_MEMBERS & message.keys() for message in messages):
            # The daemon's answer would have no id, so it could not be matched to this line.
            request_id = payload.get("id") if isinstance(payload, dict) else None
            self._answer((request_id, None), INVALID_REQUEST, "invalid_request", _NO_REQUEST)
            return
        requests = [(message["id"], message["method"]) for message in _requests(messages)]
        if len(line) > LINE_BYTES_MAX:
            for request in requests:
                text = f"a request may have {LINE_BYTES_MAX} bytes at most"
                self._answer(request, INVALID_REQUEST, "too_large", text)
            return
        if not self._ensure_connected(messages):
            return
        for message in messages:
            if message.get("method") == "notifications/cancelled":
                self._pending.pop(_id_key(_params(message).get("requestId")), None)
        self._pending.update((_id_key(request[0]), request) for request in requests)
        self._to_daemon += self._add_project(payload, messages) or line + b"\n"
        self._send()

    def _add_project(self, payload: object, messages: list[dict[str, object]]) -> bytes:
        """Return the frame of *payload* with the project added to its *messages*.

        Return b"" if no message needs it, or if the frame would become too long: it is written in
        ASCII, where a text may need more bytes.
        """
        params_list = [
            params for message in messages if (params := _project_params(message)) is not None
        ]
        if self._project is None or not params_list:
            return b""
        for params in params_list:
            meta = params.get("_meta")
            params["_meta"] = {PROJECT: self._project, **(meta if isinstance(meta, dict) else {})}
        changed = frame(payload)
        return changed if len(changed) <= LINE_BYTES_MAX else b""

    def _ensure_connected(self, messages: list[dict[str, object]]) -> bool:
        """Connect if there are requests, and answer them if that fails. Return whether connected.

        Notifications alone, such as ``initialized``, are dropped: a new daemon does not need them.
        """
        if self._sock is not None:
            return True
        requests = _requests(messages)
        if not requests:
            return False
        needs_daemon = any(request["method"] not in LISTS for request in requests)
        try:
            self._connect(WAIT_S if needs_daemon else 0.0)
        except HookError as error:
            for request in requests:
                self._answer_alone(request, error)
            return False
        return True

    def _answer_alone(self, request: dict[str, object], error: HookError) -> None:
        """Answer *request* without a daemon: what it is about memd itself, else with *error*."""
        request_id, method = request["id"], request["method"]
        result = None
        if error.kind == "not_running" and isinstance(method, str):
            from memd.rpc import mcp_introduction  # late: most pumps never need it

            result = mcp_introduction.answer(method, _params(request))
        if result is None:
            code = CODES.get(error.kind, NOT_RUNNING)
            self._answer((request_id, method), code, error.kind, str(error))
        else:
            self._write(frame({"jsonrpc": "2.0", "id": request_id, "result": result}))

    # From the daemon.

    def _read_daemon(self) -> None:
        try:
            chunk = self._sock.recv(_CHUNK_BYTES) if self._sock is not None else b""
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._fail_pending(GONE)
            return
        self._from_daemon += chunk
        while (end := self._from_daemon.find(b"\n")) >= 0:
            line = bytes(self._from_daemon[: end + 1])
            del self._from_daemon[: end + 1]
            self._forward_answer(line)

    def _forward_answer(self, line: bytes) -> None:
        """Forward answers to pending requests, and notifications."""
        try:
            payload = quick_json.loads(line)
        except ValueError:
            return
        messages = [message for message in _list(payload) if isinstance(message, dict)]
        answers = [message for message in messages if "method" not in message]
        matched = [
            answer
            for answer in answers
            if self._pending.pop(_id_key(answer.get("id")), None) is not None
        ]
        if matched or len(answers) < len(messages):
            self._write(line)
        for answer in answers:
            if answer.get("id") is None and "error" in answer and self._pending:
                # The daemon could not parse a request, so it does not know the id. Answer the
                # newest one: it is the most likely, and no request should wait forever.
                _, (request_id, _) = self._pending.popitem()
                self._write(frame({**answer, "id": request_id}))

    # The connection.

    def _connect(self, wait_s: float) -> None:
        """Connect, if necessary after *wait_s*, and send the key. Raises HookError for the user."""
        key = read_key(self._client, self._profile, dict(os.environ))
        paths = sockets(self._profile, dict(os.environ))
        deadline = time.monotonic() + wait_s
        while (sock := connect_first(paths)) is None:
            if time.monotonic() > deadline:
                which = f" --profile {self._profile}" if self._profile else ""
                raise HookError(f'no memd listens on {paths[0]}: start it with "memd serve{which}"')
            time.sleep(_RETRY_S)
        try:
            if key is not None:
                present_key(sock, "memd-mcp", key, HELLO_S)
        except HookError:
            sock.close()
            raise
        sock.setblocking(False)
        self._sock = sock

    def _send(self) -> None:
        try:
            while self._to_daemon and self._sock is not None:
                del self._to_daemon[: self._sock.send(self._to_daemon)]
        except BlockingIOError:
            return
        except OSError:
            self._read_daemon()  # the daemon may have sent the reason before it closed

    def _fail_pending(self, why: str) -> None:
        """Close the connection, and answer all pending requests with the error *why*."""
        self._close()
        requests, self._pending = list(self._pending.values()), {}
        for request in requests:
            self._answer(request, NOT_RUNNING, "not_running", why)

    def _close(self) -> None:
        if self._sock is not None:
            self._sock.close()
            self._sock = None
        self._to_daemon.clear()
        self._from_daemon.clear()

    # To the assistant.

    def _answer(self, request: Request, code: int, kind: str, text: str) -> None:
        """Answer *request* with an error, as a result if it is a tool call."""
        request_id, method = request
        retry = code == NOT_RUNNING
        answer: dict[str, object] = {"jsonrpc": "2.0", "id": request_id}
        if method == "tools/call":
            advice = _ADVICE if retry else ""
            content = {"type": "text", "text": f"Error: {text}.{advice}"}
            answer["result"] = {"content": [content], "isError": True}
        else:
            data = {"kind": kind, "retry": retry}
            answer["error"] = {"code": code, "message": text, "data": data}
        self._write(frame(answer))

    def _write(self, line: bytes) -> None:
        remaining = memoryview(line)
        while remaining:
            remaining = remaining[os.write(_SINK, remaining) :]


def options(arguments: list[str]) -> tuple[str | None, str | None] | None:
    """Return the client and the profile in *arguments*, None if there are other arguments.

    >>> options(["--client", "codex"]), options(["--profile=work"]), options(["--help"])
    (('codex', None), (None, 'work'), None)
    """
    values, others = parse_options(arguments)
    return None if others else (values.get("client"), values.get("profile"))


def run(client: str | None, profile: str | None) -> int:
    """Forward lines between stdio and the daemon (``memd mcp``)."""
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write("memd mcp is for an assistant to start; it speaks MCP on stdin.\n")
    return Pump(client, profile).run()


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _requests(messages: list[dict[str, object]]) -> list[dict[str, object]]:
    return [message for message in messages if "method" in message and "id" in message]


def _params(message: dict[str, object]) -> dict[str, object]:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def _project_params(message: dict[str, object]) -> dict[str, object] | None:
    """Return the params of a request that gets the project, None for any other message."""
    params = message.get("params")
    has_project = message.get("method") in _PROJECT_METHODS
    return params if has_project and isinstance(params, dict) else None


def working_project(environ: dict[str, str]) -> str | None:
    """Return the project that the assistant works in, None if there is none.

    Claude Code names its folder in a variable. Other command line programs start their servers in
    it; desktop programs start them in ``/`` or the home folder, which are no projects.
    """
    try:
        return project_of(environ.get("CLAUDE_PROJECT_DIR") or os.getcwd())  # noqa: PTH109  # no pathlib here
    except OSError:
        return None  # the folder is gone


def _id_key(request_id: object) -> str:
    return quick_json.dumps(request_id)
