"""Read Copilot CLI's transcripts, which are JSON lines of events.

The field ``content`` of a prompt has the user's text alone, without the program's additions. A
tool's result is in the event that its execution is complete, where the same content may occur
twice, as text and as data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memd.signals.lines import Message, Record, add_timestamp, count, items, mapping, text, text_of
from memd.signals.usage import Usage

_SPEAKERS = {"user.message": "user", "assistant.message": "assistant"}
_STARTS = frozenset({"session.start", "session.resume"})
_RESULT = "tool.execution_complete"
_USAGE = "session.usage_record"
_PREFIXES = ("session.", "hook.", "assistant.", "tool.", "user.", "system.")


def knows(record: Record) -> bool:
    """Return whether *record* has the format of this module."""
    kind = text(record.get("type")) or ""
    return kind.startswith(_PREFIXES) and isinstance(record.get("data"), dict)


def session(records: Sequence[Record]) -> str | None:
    """Return the session id in the first start event that has one."""
    return next((name for data in _starts(records) if (name := text(data.get("sessionId")))), None)


def cwd(records: Sequence[Record]) -> str | None:
    """Return the working directory at the start of the session."""
    contexts = (mapping(data.get("context")) for data in _starts(records))
    return next((path for context in contexts if (path := text(context.get("cwd")))), None)


def messages(records: Sequence[Record]) -> list[Message]:
    """Return the messages, tool calls and results, without those of sub-agents."""
    transcript: list[Message] = []
    names: dict[str, str] = {}
    for record in records:
        data = mapping(record.get("data"))
        role = _SPEAKERS.get(str(record.get("type")))
        if data.get("parentToolCallId"):
            continue
        if role is not None:
            content = text_of(data.get("content"))
            calls = [_call(call, names) for call in items(data.get("toolRequests"))]
            if content.strip() or calls:
                message: Message = {"role": role, "content": content}
                transcript.append(
                    add_timestamp(message | ({"tool_calls": calls} if calls else {}), record)
                )
        elif record.get("type") == _RESULT:
            transcript.append(add_timestamp(_result(data, names), record))
    return transcript


def usage(records: Sequence[Record]) -> Usage | None:
    """Return the tokens of the last prompt, with the maximum of a prompt as the window."""
    for record in reversed(records):
        data = mapping(record.get("data"))
        fields = mapping(data.get("usage"))
        used = count(fields.get("inputTokens"))
        if record.get("type") == _USAGE and used is not None and not data.get("parentToolCallId"):
            return Usage(
                source="copilot",
                session_id=session(records),
                used_tokens=used,
                window_tokens=count(fields.get("maxPromptTokens")) or None,
                model=text(fields.get("model")),
                cwd=cwd(records),
            )
    return None


def _starts(records: Sequence[Record]) -> list[Record]:
    return [mapping(record.get("data")) for record in records if record.get("type") in _STARTS]


def _call(call: Record, names: dict[str, str]) -> dict[str, Any]:
    call_id, name = str(call.get("toolCallId")), text(call.get("name")) or "tool"
    names[call_id] = name
    function = {"name": name, "arguments": call.get("arguments")}
    return {"id": call_id, "type": "function", "function": function}


def _result(data: Record, names: dict[str, str]) -> Message:
    call_id = str(data.get("toolCallId"))
    result = data.get("result", data.get("error"))
    content = mapping(result).get("content", mapping(result).get("message", result))
    return {
        "role": "tool",
        "content": text_of(content),
        "name": names.get(call_id, "tool"),
        "tool_call_id": call_id,
    } | ({"is_error": True} if data.get("success") is False else {})
