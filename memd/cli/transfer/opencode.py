"""Read opencode's sessions from its database, its former folder of files, or its export.

Skipped are sessions of sub-agents, texts that programs such as memd's plugin added to a message
(``synthetic``), and the assistant's own summaries.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from memd.cli.transfer.chats import BYTES_MAX, Chat, ChatLine, Tables, iso_time
from memd.signals.lines import mapping

_ROLES = frozenset({"user", "assistant"})
_Exchange = tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]
"""A message and its parts."""


def is_folder(path: Path) -> bool:
    """Return whether *path* is opencode's storage folder, by its content."""
    return all((path / name).is_dir() for name in ("session", "message", "part"))


def knows(tables: Tables) -> bool:
    """Return whether a database is opencode's."""
    return (
        {"id", "parent_id", "directory"} <= tables.get("session", frozenset())
        and {"id", "session_id", "time_created", "data"} <= tables.get("message", frozenset())
        and {"id", "message_id", "data"} <= tables.get("part", frozenset())
    )


def read_database(conn: sqlite3.Connection) -> tuple[int, Iterator[Chat]]:
    """Return the number of sessions in a database, and an iterator over them."""
    rows = conn.execute(
        """
        SELECT id, directory
          FROM session
         WHERE parent_id IS NULL
         ORDER BY time_created, id
        """
    ).fetchall()
    return len(rows), (_chat(str(name), directory, _rows(conn, name)) for name, directory in rows)


def read_folder(folder: Path) -> tuple[int, Iterator[Chat]]:
    """Return the number of sessions below *folder*, and an iterator over them."""
    infos = [_object(path) for path in sorted(folder.glob("session/*/*.json"))]
    sessions = [info for info in infos if _name(info) and not info.get("parentID")]
    return len(sessions), (
        _chat(_name(info), info.get("directory"), _files(folder, _name(info))) for info in sessions
    )


def read_export(text: str) -> list[Chat] | None:
    """Return the session that ``opencode export`` wrote, or None for another format."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return None
    messages = whole.get("messages") if isinstance(whole, dict) else None
    info = whole.get("info") if isinstance(whole, dict) else None
    if not isinstance(messages, list) or not isinstance(info, dict) or not _name(info):
        return None
    rows = [
        (message.get("info"), message.get("parts"))
        for message in messages
        if isinstance(message, dict) and isinstance(message.get("parts"), list)
    ]
    chat = _chat(_name(info), info.get("directory"), [(mapping(a), _all(b)) for a, b in rows])
    return [chat]


def _rows(conn: sqlite3.Connection, session: object) -> Iterator[_Exchange]:
    """Yield a session's messages, each with its parts, in order."""
    rows = conn.execute(
        """
        SELECT m.id, m.data, p.data
          FROM message AS m
               LEFT JOIN part AS p ON p.message_id = m.id
         WHERE m.session_id = :session
         ORDER BY m.time_created, m.id, p.id
        """,
        {"session": session},
    )
    for _, group in groupby(rows, key=lambda row: row[0]):
        parts = list(group)
        yield _parse(parts[0][1]), [_parse(part) for _, _, part in parts]


def _files(folder: Path, session: str) -> Iterator[_Exchange]:
    for path in sorted((folder / "message" / session).glob("*.json")):
        parts = sorted((folder / "part" / path.stem).glob("*.json"))
        yield _object(path), [_object(part) for part in parts]


def _chat(name: str, directory: object, exchanges: Iterable[_Exchange]) -> Chat:
    messages = [message for info, parts in exchanges for message in _messages(info, parts)]
    return Chat(name, messages, directory if isinstance(directory, str) else None)


def _messages(info: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> Iterator[ChatLine]:
    """Yield a message, then the results of its tools."""
    role = info.get("role")
    if role not in _ROLES or info.get("summary") is True:
        return
    created = mapping(info.get("time")).get("created")
    at = iso_time(created / 1_000 if isinstance(created, int | float) else None)
    blocks: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []
    for part in parts:
        text = part.get("text")
        if part.get("type") == "text" and isinstance(text, str) and text.strip():
            if not part.get("synthetic") and not part.get("ignored"):
                blocks.append({"type": "text", "text": text})
        elif part.get("type") == "tool":
            state, call_id = mapping(part.get("state")), str(part.get("callID"))
            name, tool_input = str(part.get("tool")), mapping(state.get("input"))
            blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": tool_input})
            error, code = state.get("error"), mapping(state.get("metadata")).get("exit")
            answer = {"type": "tool_result", "tool_use_id": call_id, "is_error": error is not None}
            content = str(error or state.get("output") or "")
            answers.append({**answer, "content": content, "exit_code": code})
    if blocks:
        yield ChatLine(str(role), blocks, at)
    if answers:
        yield ChatLine("user", answers, at)


def _object(path: Path) -> Mapping[str, Any]:
    """Return the JSON object in a file, empty for a link or an unreadable file."""
    try:
        if path.is_symlink():
            return {}
        with path.open("rb") as stream:
            return _parse(stream.read(BYTES_MAX).decode("utf-8", "replace"))
    except OSError:
        return {}


def _parse(text: object) -> Mapping[str, Any]:
    try:
        return mapping(json.loads(text)) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}


def _name(info: Mapping[str, Any]) -> str:
    """Return a session's id, "" if it is missing or could lead out of a folder."""
    name = info.get("id")
    return name if isinstance(name, str) and "/" not in name and name.strip(".") else ""


def _all(parts: object) -> list[Mapping[str, Any]]:
    return [mapping(part) for part in parts] if isinstance(parts, list) else []
