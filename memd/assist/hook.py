"""``memd hook SOURCE EVENT``: what an assistant's hook tells memd, and what it is told.

A session's beginning and a compaction's end get a brief, a person's prompt what is known
about it; prompts and answers are kept as turns of the session, before a compaction and at
the end there is a nap. Promises that the assistant never suffers: exit code 0, nothing
printed but what it reads as context, no longer than a second where it waits. What needs no
answer is sent and not waited for. Why nothing was done stands in a small log.

Standard library only, and little of it: a process for each prompt.
"""

from __future__ import annotations

import os
import select
import time

from memd.assist import events
from memd.assist.events import Unusable
from memd.assist.line import HookConnection, LineError

STDIN_BYTES_MAX = 4 * 1_048_576
STDIN_SECONDS_MAX = 2.0
ANSWER_SECONDS_MAX = 1.0
"""How long the daemon may take where somebody waits for what it says."""
TOLD_SECONDS_MAX = 5.0
"""How long it may take to say that it knows us, where nobody waits."""

_WAITED_FOR = (events.BEGIN, events.PROMPT)
_OPTIONS = {"--client": "client", "--profile": "profile", "-p": "profile"}


class HookCall:
    """What was typed: whose event, and with which key."""

    __slots__ = ("client", "event", "profile", "source")

    def __init__(self, arguments: list[str]) -> None:
        named, rest = options(arguments)
        self.source, self.event = (*rest, "", "")[:2]
        self.client, self.profile = named.get("client"), named.get("profile")

    def __str__(self) -> str:
        return "a hook" if self.action is None else f"{self.source} {self.event}"

    @property
    def action(self) -> str | None:
        """What the event is, None for none that memd knows."""
        return events.EVENTS.get(self.source, {}).get(self.event)


def run(arguments: list[str]) -> int:
    """Do what one event asks for; always 0, whatever happens."""
    if os.environ.get("MEMD_JOB"):
        return 0  # a session of memd's own language model (llm.jobs): no nap of a nap
    call = HookCall(arguments)
    problem = ""
    try:
        problem = _do(call)
    except Exception as error:  # noqa: BLE001  # an assistant must not suffer from a fault of ours
        problem = f"a fault: {type(error).__name__}"
    if problem:
        from memd.assist import hook_log

        hook_log.note(str(call), problem)
    return 0


def _do(call: HookCall) -> str:
    """Do what the event asks for; return why it is not done, "" where it is or nothing is to do.

    Where somebody waits, the daemon is greeted first: it looks for the key while this process
    loads what it needs besides, and reads.
    """
    opened = _opened(call, call.source) if call.action in _WAITED_FOR else None
    try:
        from memd.assist.handle import handle
        from memd.assist.payload import read

        event = read(call.source, call.event, stdin(STDIN_SECONDS_MAX))
        if event is None:
            return ""
        if opened is None or event.source != call.source:
            _close(opened)
            opened = _opened(call, event.source)
        if isinstance(opened, LineError):
            return str(opened)
        opened.acknowledge()
        handle(opened, event)
    except (Unusable, LineError) as error:
        return str(error)
    finally:
        _close(opened)
    return ""


def _opened(call: HookCall, source: str) -> HookConnection | LineError:
    """Return a connection for an event of *source*, or why there is none."""
    # Another program that reads this one's settings is itself: with its own key, or not at all.
    client = call.client if source == call.source else None
    seconds = ANSWER_SECONDS_MAX if call.action in _WAITED_FOR else TOLD_SECONDS_MAX
    try:
        return HookConnection("memd-hook", client or source, call.profile, seconds)
    except LineError as error:
        return error


def _close(opened: HookConnection | LineError | None) -> None:
    if isinstance(opened, HookConnection):
        opened.close()


def stdin(seconds: float) -> bytes:
    """Return what is on stdin, until it ends; raises Unusable for too much or too slow."""
    watch = select.poll()
    watch.register(0, select.POLLIN | select.POLLHUP)
    until = time.monotonic() + seconds
    raw = bytearray()
    while True:
        left_ms = int((until - time.monotonic()) * 1_000)
        if left_ms <= 0 or not watch.poll(left_ms):
            raise Unusable("stdin does not end")
        chunk = os.read(0, 262_144)
        if not chunk:
            return bytes(raw)
        raw += chunk
        if len(raw) > STDIN_BYTES_MAX:
            raise Unusable("too much on stdin")


def options(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return what *arguments* name, and the rest of them.

    >>> options(["codex", "Stop", "--client", "work"])
    ({'client': 'work'}, ['codex', 'Stop'])
    """
    named: dict[str, str] = {}
    rest: list[str] = []
    waiting = list(arguments)
    while waiting:
        name, given, value = waiting.pop(0).partition("=")
        if name in _OPTIONS and (given or waiting):
            named[_OPTIONS[name]] = value if given else waiting.pop(0)
        else:
            rest.append(name + given + value)
    return named, rest
