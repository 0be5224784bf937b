"""Parse the JSON that an assistant sends to a hook on stdin. Pure.

Each assistant has its own names for the same fields; the result has the same shape for all. Events
of sub-agents are dropped, and so are those of another program that reads this one's settings.
Prompts of scheduled tasks and other programs are flagged as automated.
"""

from __future__ import annotations

import os

from memd.assist import events, quick_json
from memd.assist.events import Unusable
from memd.base.project import project_of

NAME_CHARS_MAX = 256
TEXT_CHARS_MAX = 200_000
"""Maximum length of a turn that is ingested; a longer one was not typed."""

# The names of each field in the JSON of the assistants.

_SESSION = ("session_id", "sessionId", "conversation_id", "sessionID")
_TRANSCRIPT = ("transcript_path", "transcriptPath")
_TEXT = {
    events.PROMPT: ("prompt",),
    events.ANSWER: ("last_assistant_message", "prompt_response", "text"),
}
_MARK = ("prompt_id", "turn_id", "generation_id", "message_id", "timestamp")
_USED = ("used_tokens", "context_tokens", "input_tokens")
_WINDOW = ("window_tokens", "context_window_size", "context_limit")
_PERCENT = ("used_percent", "context_usage_percent")
_SUBAGENT_KEYS = ("agent_id", "parent_session_id", "parentSessionId", "parentToolCallId")
# Values of "source" when a session continues: its window still has the brief.
_RESUME_SOURCES = ("resume", "fork")
# Values of "source" for a prompt of a person.
_PERSON_SOURCES = ("user", "sdk")
# Beginnings of prompts that programs write in their user's name.
_PROGRAM_PREFIXES = (
    "<task-notification>", "<system-reminder>", "<local-command-", "<command-name>",
    "<command-message>", "<bash-", "<teammate-message",
)  # fmt: skip
_PERCENT_MAX = 100
_PATH_CHARS_MAX = 4_096


class HookEvent:
    """One event of a session, parsed. Raises Unusable without a session id."""

    __slots__ = (
        "action", "begins", "cwd", "event", "is_automated", "mark", "messages", "model", "project",
        "resumed", "session", "source", "text", "transcript", "usage",
    )  # fmt: skip

    def __init__(self, source: str, event: str, action: str, payload: dict[str, object]) -> None:
        self.source, self.event, self.action = source, event, action
        session = _text(payload, *_SESSION)
        if session is None or len(session) > NAME_CHARS_MAX:
            raise Unusable("the event has no session id")
        self.session = session
        self.cwd = _path(_text(payload, "cwd") or _first_text(payload.get("workspace_roots")))
        self.project = project_of(self.cwd, os.environ.get("CLAUDE_PROJECT_DIR"))
        self.transcript = _path(_text(payload, *_TRANSCRIPT))
        self.text = _text(payload, *_TEXT.get(action, ()))
        self.mark = str(_first_value(payload, _MARK) or "")[:NAME_CHARS_MAX]
        model = payload.get("model")
        self.model = model[:NAME_CHARS_MAX] if isinstance(model, str) and model.strip() else None
        self.usage = _usage(payload)
        messages = payload.get("messages")
        self.messages = messages if isinstance(messages, list) else None
        begins = payload.get("source" if action == events.BEGIN else "begins")
        self.begins = begins if isinstance(begins, str) else None
        """How the session begins or continues, such as ``startup`` or ``resume``, else None."""
        self.resumed = begins in _RESUME_SOURCES
        self.is_automated = _is_automated(self, payload)
        """Whether a program sent it, such as a scheduled task; its answer is skipped, too."""

    @property
    def session_params(self) -> dict[str, object]:
        """The params that identify the session in every call."""
        params: dict[str, object] = {"session_id": self.session}
        return params if self.project is None else {**params, "project_id": self.project}


def read(source: str, event: str, raw: bytes) -> HookEvent | None:
    """Return the parsed *event* of *source*, None for one that memd skips.

    Raises Unusable for input that cannot be parsed.

    >>> read("codex", "Stop", b'{"session_id": "s", "last_assistant_message": "Done."}').text
    'Done.'
    """
    action = events.EVENTS.get(source, {}).get(event)
    if action is None:
        raise Unusable("memd does not know this event")
    try:
        payload = quick_json.loads(raw)
    except (ValueError, RecursionError):
        raise Unusable("stdin is not JSON, or not all of it") from None
    if not isinstance(payload, dict):
        raise Unusable("stdin is not a JSON object")
    actual = _actual_source(source, payload)
    if actual is None or any(payload.get(name) for name in _SUBAGENT_KEYS):
        return None
    return HookEvent(actual, event, action, payload)


def _actual_source(source: str, payload: dict[str, object]) -> str | None:
    """Return the program that sent *payload*, None for one that memd skips.

    Cursor and VS Code also run the hooks of Claude Code. The JSON of VS Code has ``sessionId``, as
    otherwise only that of Copilot.
    """
    if source != "cursor" and "cursor_version" in payload:
        return "cursor"
    is_camel = "sessionId" in payload and "session_id" not in payload
    return None if is_camel and source != "copilot" else source


def _is_automated(event: HookEvent, payload: dict[str, object]) -> bool:
    if event.action == events.BEGIN:
        return bool(payload.get("is_background_agent"))
    if event.action != events.PROMPT:
        return False
    sender = payload.get("source")
    text = (event.text or "").lstrip()
    is_program = sender is not None and sender not in _PERSON_SOURCES
    return is_program or text.startswith(_PROGRAM_PREFIXES)


def _usage(payload: dict[str, object]) -> dict[str, object]:
    """Return the usage of the window, without implausible numbers."""
    usage: dict[str, object] = {}
    for name, names in (("used_tokens", _USED), ("window_tokens", _WINDOW)):
        value = _first_value(payload, names)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**53:
            usage[name] = value
    percent = _first_value(payload, _PERCENT)
    if not isinstance(percent, bool) and isinstance(percent, int | float):
        usage |= {"used_percent": percent} if 0 <= percent <= _PERCENT_MAX else {}
    return usage


def _first_value(payload: dict[str, object], names: tuple[str, ...]) -> object:
    """Return the first value under one of *names* that is not null, else None."""
    return next((payload[name] for name in names if payload.get(name) is not None), None)


def _text(payload: dict[str, object], *names: str) -> str | None:
    """Return the text under the first of *names* that has a value, None if it is blank."""
    value = _first_value(payload, names)
    return value if isinstance(value, str) and value.strip() else None


def _first_text(value: object) -> str | None:
    first = value[0] if isinstance(value, list) and value else None
    return first if isinstance(first, str) else None


def _path(text: str | None) -> str | None:
    """Return *text* if it can be an absolute path, else None."""
    if text is None or not text.startswith("/") or "\0" in text:
        return None
    return text if len(text) <= _PATH_CHARS_MAX else None
