"""claude-mem's database: observations and summaries become memories, prompts sessions.

Its schema differs between versions: missing columns are ignored, and a renamed column is read
under any of its names.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from memd.base.limits import HEADING_CHARS_MAX, NAME_CHARS_MAX
from memd.cli.notes.note import merge_tags
from memd.cli.transfer.chats import Chat, ChatLine, Tables, values

_OWN = ("memory_session_id", "sdk_session_id")
_ASSISTANT_S = ("content_session_id", "claude_session_id")
_SUMMARY = {
    "investigated": "Investigated",
    "learned": "Learned",
    "completed": "Completed",
    "next_steps": "Next steps",
    "notes": "Notes",
}
_MILLISECONDS_FROM = 100_000_000_000  # less is seconds, until the year 5138


def knows(tables: Tables) -> bool:
    """Return whether a database is claude-mem's."""
    needed = {"project", "created_at_epoch"}
    return all(
        needed <= tables.get(name, frozenset()) for name in ("observations", "session_summaries")
    )


def memories(conn: sqlite3.Connection, tables: Tables) -> list[dict[str, Any]]:
    """Return observations and summaries as ingest items, oldest first."""
    sessions = _sessions(conn, tables)
    observations = [
        *(_observation(row) for row in map(values, conn.execute("SELECT * FROM observations"))),
        *(_summary(row) for row in map(values, conn.execute("SELECT * FROM session_summaries"))),
    ]
    texts = [(row, item) for row, item in observations if item.get("text")]
    texts.sort(key=lambda each: each[1].get("occurred_at", ""))
    return [{**item, **_placement(row, sessions)} for row, item in texts]


def prompts(conn: sqlite3.Connection, tables: Tables) -> list[Chat]:
    """Return the user's prompts of each session, in order."""
    if "prompt_text" not in tables.get("user_prompts", frozenset()):
        return []
    rows = [values(row) for row in conn.execute("SELECT * FROM user_prompts")]
    numbered = [(str(_first_of(row, _ASSISTANT_S) or ""), row) for row in rows]
    numbered.sort(key=lambda each: (each[0], each[1].get("prompt_number") or 0, each[1].get("id")))
    return [
        Chat(name, list(_prompt_lines(row for _, row in group)))
        for name, group in groupby(numbered, key=lambda each: each[0])
        if name
    ]


def _prompt_lines(rows: Iterator[dict[str, Any]]) -> Iterator[ChatLine]:
    for row in rows:
        text = _text(row.get("prompt_text"))
        if text:
            yield ChatLine("user", text, _when(row) or "")


def _sessions(conn: sqlite3.Connection, tables: Tables) -> dict[str, str]:
    """Return claude-mem's session ids with the assistant's ids for the same sessions."""
    if "sdk_sessions" not in tables:
        return {}
    rows = [values(row) for row in conn.execute("SELECT * FROM sdk_sessions")]
    names = [(_first_of(row, _OWN), _first_of(row, _ASSISTANT_S)) for row in rows]
    return {
        own: assistant_id
        for own, assistant_id in names
        if isinstance(own, str) and isinstance(assistant_id, str)
    }


def _observation(row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    whole = _text(row.get("narrative")) or _text(row.get("text")) or _text(row.get("subtitle"))
    facts = [fact for fact in _list(row.get("facts")) if fact not in whole]
    text = "\n".join([*([whole] if whole else []), *(f"- {fact}" for fact in facts)])
    tags = [_text(row.get("type")), *_list(row.get("concepts"))]
    return row, _item(text or _text(row.get("title")), _text(row.get("title")), tags)


def _summary(row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    lines = [f"{name}: {_text(row[key])}" for key, name in _SUMMARY.items() if _text(row.get(key))]
    return row, _item("\n".join(lines), _text(row.get("request")), ["summary"])


def _item(text: str, heading: str, tags: list[str]) -> dict[str, Any]:
    title = " ".join(heading.split())
    unique_tags = merge_tags([" ".join(tag.split())[:NAME_CHARS_MAX] for tag in tags if tag], [])
    item: dict[str, Any] = {"text": text, "origin": "import", "tags": unique_tags}
    return {**item, "heading": title} if title and len(title) <= HEADING_CHARS_MAX else item


def _placement(row: Mapping[str, Any], sessions: Mapping[str, str]) -> dict[str, str]:
    """Return the time, session and project of a row."""
    own = _first_of(row, _OWN)
    fields = {
        "occurred_at": _when(row),
        "session_id": sessions.get(own, own) if isinstance(own, str) else None,
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
    return (
        [text for each in value_list if (text := _text(each))]
        if isinstance(value_list, list)
        else []
    )


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
