"""Copilot CLI's events, one per line, of which some are messages, calls and results.

The program's additions to a prompt are in a separate field. A result is final when the tool's
execution is complete, and may have the same content twice, as text and as data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memd.signals.lines import Message, Record, add_timestamp, count, items, mapping, text, text_of
from memd.signals.usage import Usage

_SPEAKERS = {"user.message": "user", "assistant.message": "assistant"}
_STARTS = frozenset({"session.start", "session.resume"})
_ANSWER = "tool.execution_complete"
_USED = "session.usage_record"
_PART_OF = ("session.", "hook.", "assistant.", "tool.", "user.", "system.")


def knows(record: Record) -> bool:
    kind = text(record.get("type")) or ""
    return kind.startswith(_PART_OF) and isinstance(record.get("data"), dict)


def session(records: Sequence[Record]) -> str | None:
    return next((name for data in _starts(records) if (name := text(data.get("sessionId")))), None)


def cwd(records: Sequence[Record]) -> str | None:
    """Return the folder in which the session began."""
    places = (mapping(data.get("context")) for data in _starts(records))
    return next((place for context in places if (place := text(context.get("cwd")))), None)


def messages(records: Sequence[Record]) -> list[Message]:
    """Return messages, calls and results, without those of sub-agents."""
    transcript: list[Message] = []
    names: dict[str, str] = {}
    for record in records:
        data = mapping(record.get("data"))
        role = _SPEAKERS.get(str(record.get("type")))
        if data.get("parentToolCallId"):
            continue
        if role is not None:
            words = text_of(data.get("content"))
            calls = [_call(call, names) for call in items(data.get("toolRequests"))]
            if words.strip() or calls:
                message: Message = {"role": role, "content": words}
                transcript.append(
                    add_timestamp(message | ({"tool_calls": calls} if calls else {}), record)
                )
        elif record.get("type") == _ANSWER:
            transcript.append(add_timestamp(_answer(data, names), record))
    return transcript


def usage(records: Sequence[Record]) -> Usage | None:
    """Return the tokens of the last answer's prompt, and the maximum of a prompt."""
    for record in reversed(records):
        data = mapping(record.get("data"))
        fields = mapping(data.get("usage"))
        used = count(fields.get("inputTokens"))
        if record.get("type") == _USED and used is not None and not data.get("parentToolCallId"):
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


def _answer(data: Record, names: dict[str, str]) -> Message:
    call_id = str(data.get("toolCallId"))
    result = data.get("result", data.get("error"))
    content = mapping(result).get("content", mapping(result).get("message", result))
    return {
        "role": "tool",
        "content": text_of(content),
        "name": names.get(call_id, "tool"),
        "tool_call_id": call_id,
    } | ({"is_error": True} if data.get("success") is False else {})
