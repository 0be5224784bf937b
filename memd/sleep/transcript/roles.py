"""Translate the roles of messages, as other programs name them, to those of memd.

Naps ignore messages of unknown roles. So that a session is not lost silently, ``usage.report``
refuses them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from memd.base.errors import InvalidError
from memd.sleep.transcript.blocks import TOOL_ROLE

_USER, _ASSISTANT, _SYSTEM = "user", "assistant", "system"
_ROLES: Final = {
    _USER: _USER,
    "human": _USER,
    _ASSISTANT: _ASSISTANT,
    "ai": _ASSISTANT,
    "bot": _ASSISTANT,
    "model": _ASSISTANT,
    "agent": _ASSISTANT,
    TOOL_ROLE: TOOL_ROLE,
    "function": TOOL_ROLE,
    _SYSTEM: _SYSTEM,
    "developer": _SYSTEM,
}
_NAMES = f"{_USER}, {_ASSISTANT}, {TOOL_ROLE} or {_SYSTEM}"


def with_known_role(message: dict[str, Any]) -> dict[str, Any]:
    """Return *message* with memd's name of its role; an unknown role is not changed.

    >>> with_known_role({"role": "Bot", "content": "hello"})
    {'role': 'assistant', 'content': 'hello'}
    """
    role = _find_role(message)
    return message if role in {None, message.get("role")} else {**message, "role": role}


def check_messages(messages: Sequence[Mapping[str, Any]]) -> None:
    """Raise InvalidError for the first message without a known role, or without content.

    Content may be null or empty, and missing in a message with tool calls.
    """
    for index, message in enumerate(messages):
        if _find_role(message) is None:
            problem = "is required" if message.get("role") is None else "is unknown"
            field = f"messages.{index}.role"
            raise InvalidError(f"{field}: {problem}; the roles are {_NAMES}", field=field)
        if "content" not in message and "tool_calls" not in message:
            field = f"messages.{index}.content"
            raise InvalidError(
                f"{field}: is required: a text, a list of blocks or null", field=field
            )


def _find_role(message: Mapping[str, Any]) -> str | None:
    role = message.get("role")
    return _ROLES.get(role.strip().lower()) if isinstance(role, str) else None
