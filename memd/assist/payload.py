"""What an assistant tells a hook on stdin, in one shape for all of them. Pure.

Each assistant has its own names for the same things. What is not a person's session is
left out here: sub-agents, scheduled tasks, and events of another program that reads this
one's settings.
"""

from __future__ import annotations

import os

from memd.assist import events, quick_json
from memd.assist.events import Unusable

NAME_CHARS_MAX = 256
TEXT_CHARS_MAX = 200_000
"""Of one turn. What is longer was not typed; the transcript has it."""

_SESSION = ("session_id", "sessionId", "conversation_id", "sessionID")
_TRANSCRIPT = ("transcript_path", "transcriptPath")
_TEXT = {
    events.PROMPT: ("prompt",),
    events.ANSWER: ("last_assistant_message", "prompt_response", "text"),
}
_MARK = ("prompt_id", "turn_id", "generation_id", "message_id", "timestamp")
_USED = ("used_tokens", "context_tokens")
_WINDOW = ("window_tokens", "context_window_size")
_PERCENT = ("used_percent", "context_usage_percent")
_OF_A_PART = ("agent_id", "parent_session_id", "parentSessionId", "parentToolCallId")
# What a session goes on with, that its window holds already.
_RESUMED = ("resume", "fork")
_PERSONS = ("user", "sdk")
# What programs write in their user's name.
_NOT_SAID = ("<task-notification>", "<system-reminder>", "<local-command-", "<command-name>",
             "<command-message>", "<bash-", "<teammate-message")  # fmt: skip
_PERCENT_MAX = 100
_STEPS_MAX = 64
_PROJECT_CHARS_MAX = 4_096


class HookEvent:
    """One event: whose session, where, and what was said in it."""

    __slots__ = (
        "action", "aside", "cwd", "event", "mark", "messages", "model", "project",
        "resumed", "session", "source", "text", "transcript", "usage",
    )  # fmt: skip

    def __init__(self, source: str, event: str, action: str, payload: dict[str, object]) -> None:
        self.source, self.event, self.action = source, event, action
        session = _text(payload, *_SESSION)
        if session is None or len(session) > NAME_CHARS_MAX:
            raise Unusable("it names no session")
        self.session = session
        self.cwd = _path(_text(payload, "cwd") or _first(payload.get("workspace_roots")))
        self.project = project_of(self.cwd)
        self.transcript = _path(_text(payload, *_TRANSCRIPT))
        self.text = _text(payload, *_TEXT.get(action, ()))
        self.mark = str(_given(payload, _MARK) or "")[:NAME_CHARS_MAX]
        model = payload.get("model")
        self.model = model[:NAME_CHARS_MAX] if isinstance(model, str) and model.strip() else None
        self.usage = _usage(payload)
        messages = payload.get("messages")
        self.messages = messages if isinstance(messages, list) else None
        self.resumed = action == events.BEGIN and payload.get("source") in _RESUMED
        self.aside = _is_aside(self, payload)
        """Nobody's own: of a scheduled task, say. Its answer is not theirs either."""

    @property
    def where(self) -> dict[str, object]:
        """What each call says of the session."""
        named: dict[str, object] = {"session_id": self.session}
        return named if self.project is None else {**named, "project_id": self.project}


def read(source: str, event: str, raw: bytes) -> HookEvent | None:
    """Return what *event* of *source* says; None for what is nothing to memd.

    Raises Unusable for what cannot be read.

    >>> read("codex", "Stop", b'{"session_id": "s", "last_assistant_message": "Done."}').text
    'Done.'
    """
    action = events.EVENTS.get(source, {}).get(event)
    if action is None:
        raise Unusable("it is no event that memd knows")
    try:
        payload = quick_json.loads(raw)
    except (ValueError, RecursionError):
        raise Unusable("stdin is not JSON, or not all of it") from None
    if not isinstance(payload, dict):
        raise Unusable("stdin is not a JSON object")
    teller = _teller(source, payload)
    if teller is None or any(payload.get(name) for name in _OF_A_PART):
        return None
    return HookEvent(teller, event, action, payload)


def project_of(cwd: str | None) -> str | None:
    """Return the root of the git working tree that *cwd* stands in (as ``window/project``)."""
    folder = cwd or ""
    for _ in range(_STEPS_MAX + 1):
        if not folder.startswith("/"):
            return None
        if os.path.exists(os.path.join(folder, ".git")):
            return folder if len(folder) <= _PROJECT_CHARS_MAX else None
        above = os.path.dirname(folder)
        folder = "" if above == folder else above
    return None


def _teller(source: str, payload: dict[str, object]) -> str | None:
    """Return who tells: Cursor and VS Code also call what Claude Code's settings name."""
    if source != "cursor" and "cursor_version" in payload:
        return "cursor"
    is_camel = "sessionId" in payload and "session_id" not in payload
    return None if is_camel and source != "copilot" else source


def _is_aside(event: HookEvent, payload: dict[str, object]) -> bool:
    if event.action == events.BEGIN:
        return bool(payload.get("is_background_agent"))
    if event.action != events.PROMPT:
        return False
    by = payload.get("source")
    text = (event.text or "").lstrip()
    return (by is not None and by not in _PERSONS) or text.startswith(_NOT_SAID)


def _usage(payload: dict[str, object]) -> dict[str, object]:
    """Return how full the window is, as far as it is told in numbers that can be true."""
    usage: dict[str, object] = {}
    for name, names in (("used_tokens", _USED), ("window_tokens", _WINDOW)):
        value = _given(payload, names)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**53:
            usage[name] = value
    percent = _given(payload, _PERCENT)
    if not isinstance(percent, bool) and isinstance(percent, int | float):
        usage |= {"used_percent": percent} if 0 <= percent <= _PERCENT_MAX else {}
    return usage


def _given(payload: dict[str, object], names: tuple[str, ...]) -> object:
    return next((payload[name] for name in names if payload.get(name) is not None), None)


def _text(payload: dict[str, object], *names: str) -> str | None:
    value = _given(payload, names)
    return value if isinstance(value, str) and value.strip() else None


def _first(value: object) -> str | None:
    one = value[0] if isinstance(value, list) and value else None
    return one if isinstance(one, str) else None


def _path(text: str | None) -> str | None:
    """Return *text* where it may be a path: absolute, and nothing in it that no name holds."""
    if text is None or not text.startswith("/") or "\0" in text:
        return None
    return text if len(text) <= _PROJECT_CHARS_MAX else None
