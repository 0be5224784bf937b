"""Read Gemini CLI's chats, a log in which a growing message is written several times.

- A repeated id replaces the earlier message.
- ``$rewindTo`` removes a message and all after it.
- ``$set`` with messages replaces the model's context, for example after a compression. Its new
  messages are added, and the earlier ones are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from memd.signals.lines import Message, Record, add_timestamp, count, items, mapping, text, text_of
from memd.signals.usage import Usage

_SPEAKERS = {"user": "user", "gemini": "assistant"}
# Gemini CLI's defaults: the window of its models, which it compresses when half full.
_WINDOW_TOKENS = 1_048_576
_COMPACT_AT_TOKENS = _WINDOW_TOKENS // 2
_NOTICES = frozenset({"info", "error", "warning"})
_PROGRAM_PREFIXES = ("<state_snapshot>", "<session_context>")
# The output of hooks, memd's included, which the program appends to the user's message.
_HOOK_OUTPUT = re.compile(r"\s*<hook_context>.*?(?:</hook_context>|\Z)", re.DOTALL)


def knows(record: Record) -> bool:
    """Return whether *record* has the format of this module."""
    kind = text(record.get("type"))
    has_words = (kind in _SPEAKERS or kind in _NOTICES) and "content" in record
    return has_words or "$rewindTo" in record or "$set" in record


def session(records: Sequence[Record]) -> str | None:
    """Return the first session id."""
    return next((name for record in records if (name := text(record.get("sessionId")))), None)


def messages(records: Sequence[Record]) -> list[Message]:
    """Return the messages, each followed by the results of its tool calls."""
    transcript: list[Message] = []
    for record in _final_messages(records):
        role = _SPEAKERS.get(str(record.get("type")))
        content = text_of(record.get("content"))
        if role == "user":
            content = _HOOK_OUTPUT.sub("", content)
        if role is None or content.lstrip().startswith(_PROGRAM_PREFIXES):
            continue
        calls = items(record.get("toolCalls"))
        if content.strip() or calls:
            transcript.append(add_timestamp({"role": role, "content": content}, record))
        if calls:
            transcript[-1]["tool_calls"] = [_call(call) for call in calls]
            completed = (call for call in calls if call.get("result") is not None)
            transcript.extend(add_timestamp(_answer(call), record) for call in completed)
    return transcript


def usage(records: Sequence[Record]) -> Usage | None:
    """Return the tokens of the last prompt, with the default window of Gemini's models."""
    for record in reversed(_final_messages(records)):
        used = count(mapping(record.get("tokens")).get("input"))
        if used is not None:
            return Usage(
                source="gemini",
                session_id=session(records),
                used_tokens=used,
                window_tokens=_WINDOW_TOKENS,
                compact_at_tokens=_COMPACT_AT_TOKENS,
                model=text(record.get("model")),
            )
    return None


def _final_messages(records: Sequence[Record]) -> list[Record]:
    """Return the messages as they are at the end of the log, in order."""
    final: dict[str, Record] = {}
    for line_number, record in enumerate(records):
        if "$rewindTo" in record:
            _rewind(final, record["$rewindTo"])
        elif "$set" in record or "messages" in record:
            for message in items(mapping(record.get("$set", record)).get("messages")):
                final[str(message.get("id"))] = message
        elif record.get("type"):
            final[str(record.get("id", f"line {line_number}"))] = record
    return list(final.values())


def _rewind(final: dict[str, Record], target: object) -> None:
    """Remove *target* and all after it; an unknown one removes everything, as in Gemini."""
    while final and final.popitem()[0] != str(target):
        pass


def _call(call: Record) -> dict[str, Any]:
    function = {"name": call.get("name"), "arguments": call.get("args")}
    return {"id": call.get("id"), "type": "function", "function": function}


def _answer(call: Record) -> Message:
    return {
        "role": "tool",
        "content": _result(call["result"]),
        "name": text(call.get("name")) or "tool",
        "tool_call_id": call.get("id"),
    } | ({"is_error": True} if call.get("status") == "error" else {})


def _result(result: object) -> str:
    """Return the text of a result: the string itself, or the output of each function response."""
    if isinstance(result, str):
        return result
    parts = []
    for item in items(result if isinstance(result, list) else [result]):
        response = mapping(mapping(item.get("functionResponse")).get("response"))
        output = response.get("output", response.get("error"))
        if isinstance(output, str):
            parts.append(output)
        elif response:
            parts.append(json.dumps(response, ensure_ascii=False))
        else:
            parts.append(text_of(item))
    return "\n".join(part for part in parts if part)
