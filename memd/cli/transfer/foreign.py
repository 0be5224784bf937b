"""Import exports of other programs: chats become sessions, memories become memories.

As with notes, a later import of the same file replaces the memories of an earlier one. Memories of
a user are imported for the agent of that name, as in memd's own exports.

claude-mem's observations and summaries become memories, its prompts sessions. Its schema differs
between versions: missing columns are ignored, and a renamed column is read under any of its names.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memd.base.errors import InvalidError
from memd.base.limits import HEADING_CHARS_MAX, NAME_CHARS_MAX
from memd.cli import console
from memd.cli.notes.folder import LINES, read_bytes, read_head
from memd.cli.notes.note import merge_tags
from memd.cli.notes.send import FileOutcome, Options, send_items
from memd.cli.transfer import chats, memories, opencode, sessions
from memd.cli.transfer.chats import Chat, ChatLine, Tables, values
from memd.cli.transfer.memories import ForeignMemories, text_of

if TYPE_CHECKING:
    from memd.client import Client

_HEAD_BYTES = 4_096
_NAMES_MAX = 20
_NAME_CELLS_MAX = 64


def is_export(path: Path) -> bool:
    """Return whether *path* may be an export of another program, by its name and beginning.

    Every JSON file may be one, since neither memd nor notes use that suffix, and every folder
    that gets here, since it is opencode's.
    """
    suffix = path.suffix.lower()
    if suffix in {".zip", ".json"} or path.is_dir() or chats.is_database(path):
        return True
    head = read_head(path, _HEAD_BYTES)
    if suffix in LINES:
        first = head.partition(b"\n")[0]
        return b'"entityType"' in first or b'"relationType"' in first
    return head.lstrip().startswith(chats.AIDER.encode())


def send(
    client: Client, outcome: FileOutcome, options: Options, tell: Callable[[str], None]
) -> None:
    """Import the file of *outcome*. Raises InvalidError for an unknown format."""
    tell(f"reading {outcome.file.name}")
    if chats.is_database(outcome.file):
        _send_database(client, outcome, options, tell)
        return
    text = "" if outcome.file.is_dir() else _read_text(outcome.file)
    if (stored := _read_chats(outcome.file, text)) is not None:
        count, conversations = stored
        sessions.send_chats(client, outcome, conversations, count, options, tell)
        return
    foreign = memories.parse_memories(text)
    if foreign is None:
        known = f"neither an export of {chats.KNOWN} nor memories of {memories.KNOWN}"
        raise InvalidError(f"{known}; to import it as a note: --format text")
    _send_memories(client, outcome, foreign, options)


def chat_names(path: Path) -> list[str]:
    """Return the ids of the sessions that the chats of an export become; none of another file."""
    if chats.is_database(path):
        with chats.open_database(path) as (conn, tables):
            if opencode.knows(tables):
                return [chat.name for chat in opencode.read_database(conn)[1]]
            return [chat.name for chat in _claude_prompts(conn, tables)]
    stored = _read_chats(path, "" if path.is_dir() else _read_text(path))
    return [] if stored is None else [chat.name for chat in stored[1]]


def _read_text(path: Path) -> str:
    if path.suffix.lower() == ".zip":
        return chats.read_zip(path)
    raw = read_bytes(path, chats.BYTES_MAX)
    return raw.decode("utf-8-sig", "replace").replace("\r\n", "\n")


def _read_chats(path: Path, text: str) -> tuple[int, Iterable[Chat]] | None:
    """Return the number of chats in a folder of opencode or an export, and each; else None."""
    if path.is_dir():
        return opencode.read_folder(path)
    conversations = chats.parse_chats(text)
    if conversations is None:
        conversations = opencode.read_export(text)
    return None if conversations is None else (len(conversations), conversations)


def _send_memories(
    client: Client, outcome: FileOutcome, foreign: ForeignMemories, options: Options
) -> None:
    """Import the memories, each for the agent of its user, or all for the agent of *options*."""
    users = Counter({user: len(items) for user, items in foreign.by_user.items() if user})
    if users and options.agent is None:
        nobody = len(foreign.by_user.get(None, ()))
        others = f"; of no user {nobody:,}" if nobody else ""
        outcome.problems.append(
            f"each user is an agent: {_most_common(users)}{others}; to give all to the agent that "
            "assistants share: --agent default"
        )
    elif len(users) > 1:
        outcome.problems.append(
            f"{len(users):,} users, all for agent {options.agent}: {_most_common(users)}"
        )
    if foreign.left_out:
        left_out = _most_common(foreign.left_out)
        outcome.problems.append(f"left out, of how many memories: {left_out}")
    if options.agent is not None:
        items = [item for items in foreign.by_user.values() for item in items]
        send_items(client, outcome, items, options)
        return
    for user, items in foreign.by_user.items():
        send_items(client, outcome, items, replace(options, agent=user))


def _most_common(counts: Counter[str]) -> str:
    """Return the most common names with their counts, in one line."""
    parts = [
        f"{console.line(name, _NAME_CELLS_MAX)} {number:,}"
        for name, number in counts.most_common(_NAMES_MAX)
    ]
    if len(counts) > _NAMES_MAX:
        parts.append(f"and {len(counts) - _NAMES_MAX:,} more")
    return ", ".join(parts)


def _send_database(
    client: Client, outcome: FileOutcome, options: Options, tell: Callable[[str], None]
) -> None:
    with chats.open_database(outcome.file) as (conn, tables):
        if opencode.knows(tables):
            count, stored_chats = opencode.read_database(conn)
            sessions.send_chats(client, outcome, stored_chats, count, options, tell)
        elif _is_claude_mem(tables):
            send_items(client, outcome, _claude_memories(conn, tables), options)
            prompts = _claude_prompts(conn, tables)
            sessions.send_chats(client, outcome, prompts, len(prompts), options, tell)
        else:
            raise InvalidError("not a database of opencode or claude-mem")


_MEMORY_SESSION = ("memory_session_id", "sdk_session_id")
"""The columns with claude-mem's own session id, in newer and older versions."""
_CLAUDE_SESSION = ("content_session_id", "claude_session_id")
"""The columns with Claude Code's session id."""
_SUMMARY = {
    "investigated": "Investigated",
    "learned": "Learned",
    "completed": "Completed",
    "next_steps": "Next steps",
    "notes": "Notes",
}
_MILLISECONDS_FROM = 100_000_000_000  # less is seconds, until the year 5138


def _is_claude_mem(tables: Tables) -> bool:
    """Return whether a database is claude-mem's."""
    needed = {"project", "created_at_epoch"}
    return all(
        needed <= tables.get(name, frozenset()) for name in ("observations", "session_summaries")
    )


def _claude_memories(conn: sqlite3.Connection, tables: Tables) -> list[dict[str, Any]]:
    """Return observations and summaries as ingest items, oldest first."""
    sessions = _sessions(conn, tables)
    observations = [
        *(_observation(row) for row in map(values, conn.execute("SELECT * FROM observations"))),
        *(_summary(row) for row in map(values, conn.execute("SELECT * FROM session_summaries"))),
    ]
    texts = [(row, item) for row, item in observations if item.get("text")]
    texts.sort(key=lambda pair: pair[1].get("occurred_at", ""))
    return [{**item, **_placement(row, sessions)} for row, item in texts]


def _claude_prompts(conn: sqlite3.Connection, tables: Tables) -> list[Chat]:
    """Return the user's prompts of each session, in order."""
    if "prompt_text" not in tables.get("user_prompts", frozenset()):
        return []
    rows = [values(row) for row in conn.execute("SELECT * FROM user_prompts")]
    numbered = [(str(_first_of(row, _CLAUDE_SESSION) or ""), row) for row in rows]
    numbered.sort(key=lambda pair: (pair[0], pair[1].get("prompt_number") or 0, pair[1].get("id")))
    return [
        Chat(name, list(_prompt_lines(row for _, row in group)))
        for name, group in groupby(numbered, key=itemgetter(0))
        if name
    ]


def _prompt_lines(rows: Iterator[dict[str, Any]]) -> Iterator[ChatLine]:
    for row in rows:
        text = text_of(row.get("prompt_text"))
        if text:
            yield ChatLine("user", text, _when(row) or "")


def _sessions(conn: sqlite3.Connection, tables: Tables) -> dict[str, str]:
    """Return Claude Code's session ids by claude-mem's ids of the same sessions."""
    if "sdk_sessions" not in tables:
        return {}
    rows = [values(row) for row in conn.execute("SELECT * FROM sdk_sessions")]
    ids = [(_first_of(row, _MEMORY_SESSION), _first_of(row, _CLAUDE_SESSION)) for row in rows]
    return {
        memory_id: claude_id
        for memory_id, claude_id in ids
        if isinstance(memory_id, str) and isinstance(claude_id, str)
    }


def _observation(row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    whole = (
        text_of(row.get("narrative")) or text_of(row.get("text")) or text_of(row.get("subtitle"))
    )
    facts = [fact for fact in _list(row.get("facts")) if fact not in whole]
    text = "\n".join([*([whole] if whole else []), *(f"- {fact}" for fact in facts)])
    tags = [text_of(row.get("type")), *_list(row.get("concepts"))]
    return row, _claude_item(text or text_of(row.get("title")), text_of(row.get("title")), tags)


def _summary(row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    lines = [
        f"{name}: {text_of(row[key])}" for key, name in _SUMMARY.items() if text_of(row.get(key))
    ]
    return row, _claude_item("\n".join(lines), text_of(row.get("request")), ["summary"])


def _claude_item(text: str, heading: str, tags: list[str]) -> dict[str, Any]:
    title = " ".join(heading.split())
    unique_tags = merge_tags([" ".join(tag.split())[:NAME_CHARS_MAX] for tag in tags if tag], [])
    item: dict[str, Any] = {"text": text, "origin": "import", "tags": unique_tags}
    return {**item, "heading": title} if title and len(title) <= HEADING_CHARS_MAX else item


def _placement(row: Mapping[str, Any], sessions: Mapping[str, str]) -> dict[str, str]:
    """Return the time, session and project of a row."""
    name = _first_of(row, _MEMORY_SESSION)
    fields = {
        "occurred_at": _when(row),
        "session_id": sessions.get(name, name) if isinstance(name, str) else None,
        "project_id": text_of(row.get("project")),
    }
    return {key: value for key, value in fields.items() if value and len(value) <= NAME_CHARS_MAX}


def _when(row: Mapping[str, Any]) -> str | None:
    at = row.get("created_at_epoch")
    if not isinstance(at, int | float):
        return None
    try:
        seconds = at / 1_000 if at >= _MILLISECONDS_FROM else at
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def _first_of(row: Mapping[str, Any], names: tuple[str, ...]) -> object:
    return next((row[name] for name in names if row.get(name)), None)


def _list(value: object) -> list[str]:
    """Return the texts of a JSON list in a column."""
    try:
        value_list = json.loads(value) if isinstance(value, str) else ()
    except (ValueError, RecursionError):
        return []
    if not isinstance(value_list, list):
        return []
    return [text for item in value_list if (text := text_of(item))]
