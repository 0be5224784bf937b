"""Files in the formats of opencode and claude-mem, for the importers (decision 0146)."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

OPENCODE = """
CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT,
                      title TEXT, time_created INTEGER, time_updated INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,
                      time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,
                   time_updated INTEGER, data TEXT);
"""
CLAUDE_MEM = """
CREATE TABLE schema_versions (id INTEGER PRIMARY KEY, version INTEGER UNIQUE, applied_at TEXT);
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, content_session_id TEXT UNIQUE,
                           memory_session_id TEXT UNIQUE, project TEXT, started_at_epoch INTEGER);
CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT,
                           type TEXT, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT,
                           concepts TEXT, files_read TEXT, files_modified TEXT,
                           created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT,
                                request TEXT, investigated TEXT, learned TEXT, completed TEXT,
                                next_steps TEXT, notes TEXT, created_at_epoch INTEGER);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, content_session_id TEXT, prompt_number INTEGER,
                           prompt_text TEXT, created_at TEXT, created_at_epoch INTEGER);
"""
CLAUDE_MEM_BEFORE = """
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, claude_session_id TEXT, sdk_session_id TEXT);
CREATE TABLE observations (id INTEGER PRIMARY KEY, sdk_session_id TEXT, project TEXT,
                           text TEXT NOT NULL, type TEXT, created_at TEXT,
                           created_at_epoch INTEGER);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, sdk_session_id TEXT, project TEXT,
                                learned TEXT, created_at_epoch INTEGER);
"""
AT_MS = 1_760_000_000_000  # 2025-10-09

RULE = "We never deploy the heron service on Fridays."
CAUSE = "The release failed because HERON_PORT was missing from the staging file."


def spoken(text: str, **more: object) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def tool(name: str, given: dict[str, str], output: str) -> dict[str, Any]:
    state = {"status": "completed", "input": given, "output": output}
    return {"type": "tool", "tool": name, "callID": "call-1", "state": state}


SESSION: list[tuple[str, list[dict[str, Any]]]] = [
    ("user", [spoken("The release failed again."), spoken("told by a plugin", synthetic=True)]),
    ("assistant", [{"type": "reasoning", "text": "hm"},
                   tool("bash", {"command": "make release"}, "Error: HERON_PORT is not set"),
                   spoken(CAUSE)]),
    ("user", [spoken(RULE)]),
    ("assistant", [spoken("Understood: Monday to Thursday.")]),
]  # fmt: skip


def message(number: int, role: str) -> dict[str, Any]:
    return {"role": role, "time": {"created": AT_MS + 1_000 * number}}


def opencode_database(path: Path, names: list[str], directory: str) -> sqlite3.Connection:
    """Write a database with the same session under each of *names*; returns it open, unflushed."""
    conn = sqlite3.connect(path)
    conn.execute("PRAGMA journal_mode = WAL")
    conn.executescript(OPENCODE)
    sessions = [*((name, None) for name in names), ("sub-agent", names[0])]
    for at, (name, above) in enumerate(sessions):
        conn.execute(
            "INSERT INTO session VALUES (?, 'p', ?, ?, 'Release', ?, ?)",
            (name, above, directory, AT_MS + at, AT_MS + at),
        )
        for number, (role, parts) in enumerate(SESSION):
            of, ms = f"{name}-m{number}", AT_MS + 1_000 * number
            data = json.dumps(message(number, role))
            conn.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (of, name, ms, ms, data))
            for nth, part in enumerate(parts):
                row = (f"{of}-p{nth}", of, name, ms, ms, json.dumps(part))
                conn.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)
    conn.commit()
    return conn


def opencode_folder(folder: Path, name: str, directory: str) -> Path:
    """Write the session as the files that opencode had before its database."""

    def put(place: str, value: dict[str, Any]) -> None:
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), "utf-8")

    put(f"session/global/{name}.json", {"id": name, "directory": directory})
    put("session/global/sub.json", {"id": "sub", "parentID": name, "directory": directory})
    for number, (role, parts) in enumerate(SESSION):
        put(f"message/{name}/msg_{number}.json", {"id": f"msg_{number}", **message(number, role)})
        for nth, part in enumerate(parts):
            put(f"part/msg_{number}/prt_{nth}.json", part)
    return folder


def opencode_export(name: str, directory: str) -> str:
    """Return what ``opencode export`` writes."""
    rows = [
        {"info": message(number, role), "parts": parts}
        for number, (role, parts) in enumerate(SESSION)
    ]
    return json.dumps({"info": {"id": name, "directory": directory}, "messages": rows})


def claude_mem_database(path: Path) -> sqlite3.Connection:
    """Write a database of today's version; returns it open, unflushed."""
    conn = sqlite3.connect(path)
    conn.execute("PRAGMA journal_mode = WAL")
    conn.executescript(CLAUDE_MEM)
    conn.execute("INSERT INTO sdk_sessions VALUES (1, 'claude-1', 'own-1', 'heron', ?)", (AT_MS,))
    conn.execute(
        """INSERT INTO observations VALUES (1, 'own-1', 'heron', NULL, 'bugfix',
           'Staging had no HERON_PORT', 'A subtitle', ?, 'The deploy job reads staging.env.',
           '["gotcha"]', '[]', '[]', '', ?)""",
        (json.dumps(["The server listens on port 8443."]), AT_MS),
    )
    conn.execute(
        """INSERT INTO session_summaries VALUES (1, 'own-1', 'heron', 'Mend the release', '',
           'The lexer caches tokens by offset.', 'Added a test.', '', NULL, ?)""",
        (AT_MS + 1_000,),
    )
    conn.execute("INSERT INTO user_prompts VALUES (1, 'claude-1', 1, ?, '', ?)", (RULE, AT_MS))
    conn.commit()
    return conn


def jsonl(*records: object) -> bytes:
    """Return *records* as JSON lines."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)
