"""A session as the assistant itself wrote it down: its messages, in order.

Naps read transcripts. Each format has a module that knows it; all give the
documents' messages: ``role``, ``content``, ``name``, ``tool_calls``,
``tool_call_id``, Claude's blocks, and the ``timestamp`` where one is told. Left
out is what was never part of the conversation: reasoning, side chains, summaries
that an assistant made of itself, what its user took back. Compacted messages
stay: they are what a nap is for.

The simplest format is read here: messages as the documents write them, one a line,
``{"role": ..., "content": ...}``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from memd.base.limits import TRANSCRIPT_BYTES_MAX
from memd.signals import claude, codex, copilot, gemini, specstory
from memd.signals.files import read_own
from memd.signals.lines import Message, Record, document, items, mapping, records, timed
from memd.signals.usage import UnreadableSignal, Usage

_KEPT = ("role", "content", "name", "tool_calls", "tool_call_id")


def knows(record: Record) -> bool:
    return isinstance(record.get("role"), str) and "content" in record


def messages(records: Sequence[Record]) -> list[Message]:
    return [
        timed({key: record[key] for key in _KEPT if key in record}, record)
        for record in records
        if knows(record)
    ]


def session(records: Sequence[Record]) -> str | None:
    del records
    return None


def usage(records: Sequence[Record]) -> Usage | None:
    del records
    return None


_LOOKED_AT = 200  # records, to tell whose they are


@dataclass(frozen=True, slots=True)
class Transcript:
    """What a transcript holds. *skipped* counts the lines that could not be read."""

    messages: list[Message]
    session_id: str | None
    format: str
    skipped: int = 0
    cwd: str | None = None
    """The folder in which it was held, where it tells."""


class _Format(NamedTuple):
    """What tells a record of this format, and what is made of all of them."""

    knows: Callable[[Record], bool]
    messages: Callable[[Sequence[Record]], list[Message]]
    session: Callable[[Sequence[Record]], str | None]
    usage: Callable[[Sequence[Record]], Usage | None]
    cwd: Callable[[Sequence[Record]], str | None]


def _nowhere(records: Sequence[Record]) -> None:
    del records


_FORMATS = {
    "claude-code": _Format(claude.knows, claude.messages, claude.session, claude.usage, claude.cwd),
    "codex": _Format(codex.knows, codex.messages, codex.session, codex.usage, codex.cwd),
    "copilot": _Format(
        copilot.knows, copilot.messages, copilot.session, copilot.usage, copilot.cwd
    ),
    "gemini": _Format(gemini.knows, gemini.messages, gemini.session, gemini.usage, _nowhere),
    "messages": _Format(knows, messages, session, usage, _nowhere),
}

KNOWN = (
    "Claude Code, Codex, Copilot CLI, Gemini CLI or SpecStory, or messages with role and content"
)
"""Whose transcripts are read, for a person."""


def read(raw: bytes | Path, roots: Sequence[Path] = ()) -> Transcript:
    """Return the messages of a transcript: its bytes, or its path below one of *roots*.

    Of a file over TRANSCRIPT_BYTES_MAX the end is read. Raises UnreadableSignal for a
    file that is not to be read (see ``files.read_own``) or that no format knows; an
    empty one has no messages.
    """
    whole = _bytes(raw, roots)
    if specstory.knows(whole):
        page = whole.decode("utf-8", "replace").replace("\x00", "")
        return Transcript(specstory.messages(page), specstory.session(page), "specstory")
    name, rows, skipped = _recognised(whole)
    if not rows:
        return Transcript([], None, name, skipped)
    made = _FORMATS[name]
    return Transcript(made.messages(rows), made.session(rows), name, skipped, cwd=made.cwd(rows))


def is_one(head: bytes) -> bool:
    """Return whether a file that begins with *head* is a transcript, by what it says.

    Its last line may be cut off. One JSON value over many lines is told only by the whole.
    """
    if specstory.knows(head):
        return True
    try:
        return bool(_recognised(head)[1])
    except UnreadableSignal:
        return False


def usage_of(raw: bytes | Path, roots: Sequence[Path] = ()) -> Usage | None:
    """Return the last usage that a transcript tells by itself, None when it tells none.

    Raises as :func:`read` does.
    """
    name, rows, _ = _recognised(_bytes(raw, roots))
    return _FORMATS[name].usage(rows) if rows else None


def _bytes(raw: bytes | Path, roots: Sequence[Path]) -> bytes:
    if isinstance(raw, Path):
        return read_own(raw, TRANSCRIPT_BYTES_MAX, roots, tail=True)
    return raw


def _recognised(raw: bytes) -> tuple[str, list[dict[str, Any]], int]:
    """Return the format, the records and the number of unreadable lines of *raw*."""
    rows, skipped = records(raw)
    name = _whose(rows)
    if name is None and raw.strip():
        rows, skipped = _one_document(raw), 0
        name = _whose(rows)
        if name is None:
            raise UnreadableSignal("it is no transcript that memd knows")
    return name or "empty", rows, skipped


def _one_document(raw: bytes) -> list[dict[str, Any]]:
    """Return the records of a transcript that is one JSON value over many lines."""
    value = document(raw)
    inner = mapping(value).get("messages", mapping(value).get("history", value))
    head = [{"sessionId": mapping(value)["sessionId"]}] if "sessionId" in mapping(value) else []
    return [*head, *(dict(item) for item in items(inner))]


def _whose(rows: Sequence[Record]) -> str | None:
    """Return the format that knows the most of the first records, None when none knows any."""
    votes = {name: sum(map(made.knows, rows[:_LOOKED_AT])) for name, made in _FORMATS.items()}
    best = max(votes, key=votes.__getitem__)
    return best if votes[best] else None
