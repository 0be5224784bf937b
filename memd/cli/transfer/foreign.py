"""Import exports of other programs: chats become sessions, memories become memories.

Memories of MCP's server-memory and of mem0 are imported one by one, each with its subject in the
text, so that it can be understood alone. As with notes, a later import of the same file replaces
the earlier one.

claude-mem's observations and summaries become memories, its prompts sessions. Its schema differs
between versions: missing columns are ignored, and a renamed column is read under any of its names.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memd.base.errors import InvalidError
from memd.base.limits import HEADING_CHARS_MAX, NAME_CHARS_MAX
from memd.cli.notes.folder import LINES, read_bytes, read_head
from memd.cli.notes.note import merge_tags
from memd.cli.notes.send import FileOutcome, Options, send_items
from memd.cli.transfer import chats, opencode, sessions
from memd.cli.transfer.chats import Chat, ChatLine, Tables, values

if TYPE_CHECKING:
    from memd.client import Client

_HEAD_BYTES = 4_096


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
    if outcome.file.is_dir():
        count, stored_chats = opencode.read_folder(outcome.file)
        sessions.send_chats(client, outcome, stored_chats, count, options, tell)
        return
    if chats.is_database(outcome.file):
        _send_database(client, outcome, options, tell)
        return
    if outcome.file.suffix.lower() == ".zip":
        text = chats.read_zip(outcome.file)
    else:
        raw = read_bytes(outcome.file, chats.BYTES_MAX)
        text = raw.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    conversations = chats.parse_chats(text)
    if conversations is None:
        conversations = opencode.read_export(text)
    if conversations is not None:
        sessions.send_chats(client, outcome, conversations, len(conversations), options, tell)
        return
    items = parse_memories(text)
    if items is None:
        known = f"neither an export of {chats.KNOWN} nor memories of {KNOWN}"
        raise InvalidError(f"{known}; to import it as a note: --format text")
    send_items(client, outcome, items, options)


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


KNOWN = "MCP's server-memory and mem0"

_ENTITY, _RELATION = "entity", "relation"
_WORD_ENDS = re.compile(r"[_\s]+|(?<=[a-z])(?=[A-Z])")
"""Where to split the name of a relation into words: ``works_at``, ``worksAt``."""


def parse_memories(text: str) -> list[dict[str, Any]] | None:
    r"""Return the memories in *text* as ingest items, or None for an unknown format.

    >>> parse_memories('{"type": "entity", "name": "Ada", "observations": ["likes tea"]}')
    [{'text': 'Ada: likes tea', 'origin': 'import', 'tags': ['Ada']}]
    """
    lines = _lines(text)
    if lines is not None:
        return list(_of_graph(lines))
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(whole, Mapping) and {"entities", "relations"} <= whole.keys():
        marked = [{**item, "type": _ENTITY} for item in _objects(whole["entities"])]
        marked += [{**item, "type": _RELATION} for item in _objects(whole["relations"])]
        return list(_of_graph(marked))
    rows = whole.get("results", whole.get("memories")) if isinstance(whole, Mapping) else whole
    objects = _objects(rows)
    if objects and all(isinstance(row.get("memory"), str) for row in objects):
        return [_of_mem0(row) for row in objects]
    return None


def _lines(text: str) -> list[Mapping[str, Any]] | None:
    """Return the lines of a server-memory file, or None if a line is something else."""
    objects: list[Mapping[str, Any]] = []
    for line in filter(str.strip, text.split("\n")):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, Mapping) or value.get("type") not in {_ENTITY, _RELATION}:
            return None
        objects.append(value)
    return objects or None


def _objects(value: object) -> list[Mapping[str, Any]]:
    rows = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
    return [row for row in rows if isinstance(row, Mapping)]


def _of_graph(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        if row["type"] == _RELATION:
            ends = [_text(row.get("from")), _text(row.get("to"))]
            relation = " ".join(_WORD_ENDS.split(_text(row.get("relationType")))).lower()
            if relation and all(ends):
                yield _item(f"{ends[0]} {relation} {ends[1]}", ends)
            continue
        name, kind = _text(row.get("name")), _text(row.get("entityType"))
        subject = f"{name} ({kind})" if kind else name
        for observation in row.get("observations") or ():
            if name and _text(observation):
                yield _item(f"{subject}: {_text(observation)}", [name])


def _of_mem0(row: Mapping[str, Any]) -> dict[str, Any]:
    tags = [tag for tag in row.get("categories") or () if isinstance(tag, str)]
    item = _item(_text(row["memory"]), tags)
    when = row.get("created_at")
    return {**item, "occurred_at": when} if isinstance(when, str) and when else item


def _item(text: str, tags: Sequence[str]) -> dict[str, Any]:
    item: dict[str, Any] = {"text": text, "origin": "import"}
    unique_tags = merge_tags([tag[:NAME_CHARS_MAX] for tag in tags], [])
    return {**item, "tags": unique_tags} if unique_tags else item


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


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
        text = _text(row.get("prompt_text"))
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
    whole = _text(row.get("narrative")) or _text(row.get("text")) or _text(row.get("subtitle"))
    facts = [fact for fact in _list(row.get("facts")) if fact not in whole]
    text = "\n".join([*([whole] if whole else []), *(f"- {fact}" for fact in facts)])
    tags = [_text(row.get("type")), *_list(row.get("concepts"))]
    return row, _claude_item(text or _text(row.get("title")), _text(row.get("title")), tags)


def _summary(row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    lines = [f"{name}: {_text(row[key])}" for key, name in _SUMMARY.items() if _text(row.get(key))]
    return row, _claude_item("\n".join(lines), _text(row.get("request")), ["summary"])


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
        "project_id": _text(row.get("project")),
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
    return [text for item in value_list if (text := _text(item))]
