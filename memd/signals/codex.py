"""Codex' rollouts: lines of events, of which ``response_item`` are messages.

The total of tokens covers the whole thread; only the last request's count is the window's. A
rolled back thread keeps its lines, which are removed here.
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

# The heading that an editor puts above its user's words, in the same message.
_REQUEST = re.compile(r"^## My request for Codex:\s*", re.MULTILINE)
# Texts that the program sends as messages of its user.
_PROGRAM_PREFIXES = (
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "# AGENTS.md ",
)


def knows(record: Record) -> bool:
    return text(record.get("type")) in _KINDS and isinstance(record.get("payload"), dict)


def session(records: Sequence[Record]) -> str | None:
    """Return the first session id: a fork repeats its parent's after its own."""
    ids = (
        text(mapping(record.get("payload")).get("id"))
        for record in records
        if record.get("type") == "session_meta"
    )
    return next((name for name in ids if name), None)


def cwd(records: Sequence[Record]) -> str | None:
    """Return the folder in which the session began."""
    kinds = ("session_meta", "turn_context")
    payloads = (mapping(record.get("payload")) for record in records if record.get("type") in kinds)
    return next((place for payload in payloads if (place := text(payload.get("cwd")))), None)


def messages(records: Sequence[Record]) -> list[Message]:
    """Return messages, tool calls and results, without those that were rolled back."""
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
    """Return the last request's tokens and the window."""
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
    kind = text(payload.get("type"))
    if kind == "message":
        words = text(text_of(payload.get("content")))
        if payload.get("role") == "user" and words:
            words = text(_REQUEST.split(words, 1)[-1])
        if text(payload.get("role")) in {"user", "assistant"} and words and not _is_preamble(words):
            transcript.append({"role": payload["role"], "content": words})
    elif kind in _CALLS:
        _call(transcript, names, payload)
    elif kind in _OUTPUTS:
        call_id = text(payload.get("call_id"))
        output = payload.get("output")
        answer = {"role": "tool", "content": _output_text(output), **_failure(output)}
        transcript.append(
            {**answer, "name": names.get(call_id or "", "tool"), "tool_call_id": call_id}
        )


def _call(transcript: list[Message], names: dict[str, str], payload: Record) -> None:
    """Add a call to the assistant's message before it, or as a message of its own."""
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
    """Return what a tool's output tells of its failure besides its text."""
    is_error = mapping(output).get("success") is False
    return failure_fields(mapping(_output_object(output).get("metadata"))) | (
        {"is_error": True} if is_error else {}
    )


def _output_object(output: object) -> Record:
    """Return the object of which a tool's output is the JSON, an empty one for any other."""
    if not isinstance(output, str) or not output.startswith('{"output":'):
        return {}
    try:
        return mapping(json.loads(output))
    except (ValueError, RecursionError):
        return {}


def _is_preamble(words: str) -> bool:
    return words.lstrip().startswith(_PROGRAM_PREFIXES)


def _roll_back(transcript: list[Message], turns: int) -> None:
    """Remove the last *turns* prompts and everything after them."""
    for _ in range(min(turns, len(transcript))):
        prompts = [place for place, message in enumerate(transcript) if message["role"] == "user"]
        del transcript[prompts[-1] if prompts else 0 :]
