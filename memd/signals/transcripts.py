"""Read a transcript of any known format as the messages of a session, in order.

Messages have the fields of the specification: ``role``, ``content`` (text, or Claude's blocks),
``name``, ``tool_calls``, ``tool_call_id``, and ``timestamp`` if recorded. Reasoning, sub-agents,
an assistant's own summaries and replaced prompts are left out. Messages before a compaction are
included, because naps need them.

Each assistant's format has its own module. Two more are read here: plain messages, one JSON object
``{"role": ..., "content": ...}`` per line, and the trajectories of SWE-agent, one JSON document
whose ``history`` has such messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from memd.base.limits import TRANSCRIPT_BYTES_MAX
from memd.signals import claude, codex, copilot, gemini, specstory
from memd.signals.files import read_own
from memd.signals.lines import (
    Message,
    Record,
    add_timestamp,
    document,
    failure_fields,
    items,
    mapping,
    records,
    text,
)
from memd.signals.usage import UnreadableSignal, Usage

_FIELDS = ("role", "content", "name", "tool_calls", "tool_call_id")


def knows(record: Record) -> bool:
    """Return whether *record* is a plain message."""
    return isinstance(record.get("role"), str) and "content" in record


def messages(records: Sequence[Record]) -> list[Message]:
    """Return the messages of a file of plain messages."""
    return [add_timestamp(_message(record), record) for record in records if knows(record)]


def _message(record: Record) -> Message:
    return {key: record[key] for key in _FIELDS if key in record} | failure_fields(record)


def _read_trajectory(history: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the messages of SWE-agent's *history*, with actions as tool calls and results.

    There, a tool's output has the role of the user; it is recognised by the action before it. Taken
    as the user's words, it would become decisions and preferences.
    """
    parsed: list[dict[str, Any]] = []
    call_id = ""
    for number, record in enumerate(history):
        action = text(record.get("action"))
        message = {"content": "", **record}
        if record.get("is_demo"):
            continue
        if record.get("role") == "assistant":
            call_id = ""
            if action and not record.get("tool_calls"):
                call_id = f"call-{number}"
                function = {"name": action.split(maxsplit=1)[0], "arguments": action.strip()}
                message["tool_calls"] = [{"id": call_id, "function": function}]
        elif record.get("role") == "user" and call_id:
            message |= {"role": "tool", "tool_call_id": call_id}
        elif call_ids := record.get("tool_call_ids"):
            message["tool_call_id"] = call_ids[0] if isinstance(call_ids, list) else call_ids
        parsed.append(message)
    return parsed


_SAMPLE_RECORDS = 200  # records, to detect the format


@dataclass(frozen=True, slots=True)
class Transcript:
    """A parsed transcript. *skipped* counts unreadable lines."""

    messages: list[Message]
    session_id: str | None
    format: str
    skipped: int = 0
    cwd: str | None = None
    """The working directory, if recorded."""


class _Format(NamedTuple):
    """The functions of a format: detection, messages, session id, usage, working directory."""

    knows: Callable[[Record], bool]
    messages: Callable[[Sequence[Record]], list[Message]]
    session: Callable[[Sequence[Record]], str | None]
    usage: Callable[[Sequence[Record]], Usage | None]
    cwd: Callable[[Sequence[Record]], str | None]


def _not_recorded(records: Sequence[Record]) -> None:
    del records


_FORMATS = {
    "claude-code": _Format(claude.knows, claude.messages, claude.session, claude.usage, claude.cwd),
    "codex": _Format(codex.knows, codex.messages, codex.session, codex.usage, codex.cwd),
    "copilot": _Format(
        copilot.knows, copilot.messages, copilot.session, copilot.usage, copilot.cwd
    ),
    "gemini": _Format(gemini.knows, gemini.messages, gemini.session, gemini.usage, _not_recorded),
    "messages": _Format(knows, messages, _not_recorded, _not_recorded, _not_recorded),
}

KNOWN = (
    "Claude Code, Codex, Copilot CLI, Gemini CLI, SWE-agent or SpecStory, or messages with role and"
    " content"
)
"""The known formats, for messages to a person."""


def read(raw: bytes | Path, roots: Sequence[Path] = ()) -> Transcript:
    """Return the transcript in *raw*, which is its bytes or its path below one of *roots*.

    Of a file over TRANSCRIPT_BYTES_MAX only the end is read. An empty one has no messages. Raises
    UnreadableSignal for a file that may not be read (see ``files.read_own``) and for an unknown
    format.
    """
    content = _bytes(raw, roots)
    if specstory.knows(content):
        page = content.decode("utf-8", "replace").replace("\x00", "")
        return Transcript(specstory.messages(page), specstory.session(page), "specstory")
    name, rows, skipped = _recognize(content)
    if not rows:
        return Transcript([], None, name, skipped)
    form = _FORMATS[name]
    return Transcript(form.messages(rows), form.session(rows), name, skipped, cwd=form.cwd(rows))


def is_transcript(head: bytes) -> bool:
    """Return whether a file that begins with *head* is a transcript.

    The last line of *head* may be cut off. For a single JSON value over many lines, *head* must
    be the whole file.
    """
    if specstory.knows(head):
        return True
    try:
        return bool(_recognize(head)[1])
    except UnreadableSignal:
        return False


def usage_of(raw: bytes | Path, roots: Sequence[Path] = ()) -> Usage | None:
    """Return the last recorded window usage, None if there is none. Raises like :func:`read`."""
    name, rows, _ = _recognize(_bytes(raw, roots))
    return _FORMATS[name].usage(rows) if rows else None


def _bytes(raw: bytes | Path, roots: Sequence[Path]) -> bytes:
    if isinstance(raw, Path):
        return read_own(raw, TRANSCRIPT_BYTES_MAX, roots, tail=True)
    return raw


def _recognize(raw: bytes) -> tuple[str, list[dict[str, Any]], int]:
    """Return the format, the records and the number of unreadable lines of *raw*."""
    rows, skipped = records(raw)
    name = _detect_format(rows)
    if name is None and raw.strip():
        rows, skipped = _one_document(raw), 0
        name = _detect_format(rows)
        if name is None:
            raise UnreadableSignal("it is no transcript that memd knows")
    return name or "empty", rows, skipped


def _one_document(raw: bytes) -> list[dict[str, Any]]:
    """Return the records of a transcript that is one JSON value over many lines."""
    value = document(raw)
    history = items(mapping(value).get("history"))
    if any("action" in record or "tool_call_ids" in record for record in history):
        return _read_trajectory(history)
    inner = mapping(value).get("messages", mapping(value).get("history", value))
    head = [{"sessionId": mapping(value)["sessionId"]}] if "sessionId" in mapping(value) else []
    return [*head, *(dict(item) for item in items(inner))]


def _detect_format(rows: Sequence[Record]) -> str | None:
    """Return the format that matches most of the first records, None if none does."""
    votes = {name: sum(map(form.knows, rows[:_SAMPLE_RECORDS])) for name, form in _FORMATS.items()}
    best = max(votes, key=votes.__getitem__)
    return best if votes[best] else None
