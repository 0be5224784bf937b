"""Read Codex's rollouts, which are JSON lines of events; ``response_item`` are messages.

Turns that were rolled back stay in the file and are removed here. The window usage is the token
count of the last request, since the recorded total covers the whole thread.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from memd.signals.lines import (
    Message,
    Record,
    add_timestamp,
    count,
    failure_fields,
    mapping,
    text,
    text_of,
)
from memd.signals.usage import Usage

_KINDS = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})

# The heading that an editor extension puts above the user's text; its context comes before it.
_REQUEST = re.compile(r"^## My request for Codex:\s*", re.MULTILINE)
# Beginnings of texts that the program sends as messages of its user.
_PROGRAM_PREFIXES = (
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "# AGENTS.md ",
)


def knows(record: Record) -> bool:
    """Return whether *record* has the format of this module."""
    return text(record.get("type")) in _KINDS and isinstance(record.get("payload"), dict)


def session(records: Sequence[Record]) -> str | None:
    """Return the first session id; a forked session has its parent's id after its own."""
    ids = (
        text(mapping(record.get("payload")).get("id"))
        for record in records
        if record.get("type") == "session_meta"
    )
    return next((name for name in ids if name), None)


def cwd(records: Sequence[Record]) -> str | None:
    """Return the working directory at the start of the session."""
    kinds = ("session_meta", "turn_context")
    payloads = (mapping(record.get("payload")) for record in records if record.get("type") in kinds)
    return next((path for payload in payloads if (path := text(payload.get("cwd")))), None)


def messages(records: Sequence[Record]) -> list[Message]:
    """Return the messages, tool calls and results, without rolled back turns."""
    transcript: list[Message] = []
    names: dict[str, str] = {}
    for record in records:
        payload = mapping(record.get("payload"))
        if record.get("type") == "response_item":
            before = len(transcript)
            _add(transcript, names, payload)
            for message in transcript[before:]:
                add_timestamp(message, record)
        elif record.get("type") == "event_msg" and payload.get("type") == "thread_rolled_back":
            _roll_back(transcript, count(payload.get("num_turns")) or 0)
    return transcript


def usage(records: Sequence[Record]) -> Usage | None:
    """Return the tokens of the last request and the size of the window."""
    for record in reversed(records):
        payload = mapping(record.get("payload"))
        if payload.get("type") == "token_count" and isinstance(payload.get("info"), dict):
            info = payload["info"]
            window = count(info.get("model_context_window"))
            used = count(mapping(info.get("last_token_usage")).get("total_tokens"))
            if used is not None:
                return Usage(
                    source="codex",
                    session_id=session(records),
                    used_tokens=used,
                    window_tokens=window or None,
                    model=_last_context(records, "model"),
                    cwd=_last_context(records, "cwd"),
                )
    return None


def _last_context(records: Sequence[Record], key: str) -> str | None:
    payloads = (
        text(mapping(record.get("payload")).get(key))
        for record in reversed(records)
        if record.get("type") == "turn_context"
    )
    return next((value for value in payloads if value), None)


def _add(transcript: list[Message], names: dict[str, str], payload: Record) -> None:
    """Add the message of a ``response_item``, if any; *names* are the tools by call id."""
    kind = text(payload.get("type"))
    if kind == "message":
        content = text(text_of(payload.get("content")))
        if payload.get("role") == "user" and content:
            content = text(_REQUEST.split(content, 1)[-1])
        is_turn = text(payload.get("role")) in {"user", "assistant"}
        if is_turn and content and not content.lstrip().startswith(_PROGRAM_PREFIXES):
            transcript.append({"role": payload["role"], "content": content})
    elif kind in _CALLS:
        _call(transcript, names, payload)
    elif kind in _OUTPUTS:
        call_id = text(payload.get("call_id"))
        output = payload.get("output")
        result = {"role": "tool", "content": _output_text(output), **_failure(output)}
        transcript.append(
            {**result, "name": names.get(call_id or "", "tool"), "tool_call_id": call_id}
        )


def _call(transcript: list[Message], names: dict[str, str], payload: Record) -> None:
    """Add a call to the preceding message of the assistant, or in a new one."""
    call_id = text(payload.get("call_id"))
    name = text(payload.get("name")) or ("shell" if "action" in payload else "tool")
    names[call_id or ""] = name
    arguments = payload.get("arguments", payload.get("input", payload.get("action")))
    call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    if not transcript or transcript[-1]["role"] != "assistant":
        transcript.append({"role": "assistant", "content": ""})
    transcript[-1].setdefault("tool_calls", []).append(call)


def _output_text(output: object) -> str:
    """Return the text of a tool's output, which may be wrapped in JSON."""
    inner = _output_object(output).get("output")
    if isinstance(inner, str):
        return inner
    return text_of(mapping(output).get("content", output))


def _failure(output: object) -> Message:
    """Return the fields of a tool's output that tell whether it failed."""
    is_error = mapping(output).get("success") is False
    return failure_fields(mapping(_output_object(output).get("metadata"))) | (
        {"is_error": True} if is_error else {}
    )


def _output_object(output: object) -> Record:
    """Return the object that a tool's output encodes as JSON; an empty one if it encodes none."""
    if not isinstance(output, str) or not output.startswith('{"output":'):
        return {}
    try:
        return mapping(json.loads(output))
    except (ValueError, RecursionError):
        return {}


def _roll_back(transcript: list[Message], turns: int) -> None:
    """Remove the last *turns* prompts and what follows them; everything if there are fewer."""
    while turns and transcript:
        turns -= transcript.pop()["role"] == "user"
