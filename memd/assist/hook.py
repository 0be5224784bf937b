"""``memd hook SOURCE EVENT``: the hook that an assistant runs for its events.

At the start of a session and after a compaction it prints a brief, and for a prompt the memories
that match. Prompts and answers are ingested as turns of the session. Before a compaction and at
the end of a session the daemon naps.

A failure must not disturb the assistant: the exit code is always 0, only context is printed, and
the assistant waits for a second at most. Messages that need no answer are sent without waiting.
Failures are explained in a small log, ``hooks.log``.

Only small modules of the standard library are imported, because each prompt starts a process.
"""

from __future__ import annotations

import os
import select
import sys
import time

from memd.assist import events
from memd.assist.connection import HookConnection, HookError, parse_options
from memd.assist.events import Unusable

STDIN_BYTES_MAX = 4 * 1_048_576
STDIN_SECONDS_MAX = 2.0
ANSWER_SECONDS_MAX = 1.0
"""Timeout of events whose output the assistant waits for."""
NOTIFY_SECONDS_MAX = 5.0
"""Timeout of other events, for the daemon to accept the key."""

LOG_BYTES_MAX = 65_536
"""Maximum size of the log; a full one is renamed to ``hooks.log.1`` and a new one is started."""
LOG_LINE_CHARS_MAX = 300

_AWAITED = (events.BEGIN, events.PROMPT)
"""Actions whose output the assistant waits for."""


class HookCall:
    """The parsed command line: source and event, client and profile."""

    __slots__ = ("client", "event", "profile", "source")

    def __init__(self, arguments: list[str]) -> None:
        values, positional = parse_options(arguments)
        self.source, self.event = (*positional, "", "")[:2]
        self.client, self.profile = values.get("client"), values.get("profile")

    def __str__(self) -> str:
        return "a hook" if self.action is None else f"{self.source} {self.event}"

    @property
    def action(self) -> str | None:
        """The action of the event, None for an unknown event."""
        return events.EVENTS.get(self.source, {}).get(self.event)


def run(arguments: list[str]) -> int:
    """Handle one event. Returns 0 and raises nothing, also if memd has a bug."""
    if os.environ.get("MEMD_JOB"):
        return 0  # a session that memd itself started as its language model (llm/jobs.py)
    call = HookCall(arguments)
    problem = ""
    try:
        problem = _do(call)
    except Exception as error:  # noqa: BLE001  # a bug of memd must not harm the assistant
        problem = f"a fault: {type(error).__name__}"
    if problem:
        note(str(call), problem)
    return 0


def _do(call: HookCall) -> str:
    """Handle the event; return the problem, "" if there is none.

    If the assistant waits, connect first: then the daemon checks the key while this process
    imports its modules and reads stdin.
    """
    connection = _connect(call, call.source) if call.action in _AWAITED else None
    try:
        from memd.assist.handle import handle
        from memd.assist.payload import read

        event = read(call.source, call.event, stdin(STDIN_SECONDS_MAX))
        if event is None:
            return ""
        if connection is None or event.source != call.source:
            _close(connection)
            connection = _connect(call, event.source)
        if isinstance(connection, HookError):
            return str(connection)
        connection.acknowledge()
        handle(connection, event)
    except (Unusable, HookError) as error:
        return str(error)
    finally:
        _close(connection)
    return ""


def _connect(call: HookCall, source: str) -> HookConnection | HookError:
    """Return a connection for an event of *source*, or the error."""
    # Cursor, for example, also runs the hooks of Claude Code; it must not use that client's key.
    client = call.client if source == call.source else None
    seconds = ANSWER_SECONDS_MAX if call.action in _AWAITED else NOTIFY_SECONDS_MAX
    try:
        return HookConnection("memd-hook", client or source, call.profile, seconds)
    except HookError as error:
        return error


def _close(connection: HookConnection | HookError | None) -> None:
    if isinstance(connection, HookConnection):
        connection.close()


def stdin(seconds: float) -> bytes:
    """Read stdin to its end. Raises Unusable if it is too long, or has no end within *seconds*."""
    watch = select.poll()
    watch.register(0, select.POLLIN | select.POLLHUP)
    deadline = time.monotonic() + seconds
    raw = bytearray()
    while True:
        left_ms = int((deadline - time.monotonic()) * 1_000)
        if left_ms <= 0 or not watch.poll(left_ms):
            raise Unusable("stdin does not end")
        chunk = os.read(0, 262_144)
        if not chunk:
            return bytes(raw)
        raw += chunk
        if len(raw) > STDIN_BYTES_MAX:
            raise Unusable("too much on stdin")


def note(what: str, why: str) -> None:
    """Append a line to the log of failed hooks. *why* must not contain the text of a memory.

    Does nothing if the log cannot be written.
    """
    path = log_file(dict(os.environ))
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    message = "".join(letter if letter.isprintable() else "?" for letter in f"{what}: {why}")
    try:
        _append(path, f"{at} {message[:LOG_LINE_CHARS_MAX]}\n".encode("utf-8", "replace"))
    except OSError:
        return


def _append(path: str, line: bytes) -> None:
    """Append *line* to the log, after replacing a full one."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    handle = os.open(path, flags, 0o600)
    try:
        is_full = os.fstat(handle).st_size + len(line) > LOG_BYTES_MAX
        if not is_full:
            os.write(handle, line)
    finally:
        os.close(handle)
    if is_full:
        os.replace(path, f"{path}.1")
        _append(path, line)


def log_file(environ: dict[str, str]) -> str:
    """Return the path of the log of failed hooks."""
    if environ.get("MEMD_HOME"):
        folder = os.path.join(os.path.abspath(environ["MEMD_HOME"]), "state")
    elif sys.platform == "darwin":
        folder = os.path.join(os.path.expanduser("~"), "Library/Application Support/memd")
    else:
        home = environ.get("XDG_STATE_HOME", "")
        above = home if os.path.isabs(home) else os.path.expanduser("~/.local/state")
        folder = os.path.join(above, "memd")
    return os.path.join(folder, "hooks.log")
