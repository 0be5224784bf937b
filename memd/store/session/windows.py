"""Store the last reported state of assistants' context windows (SPEC 6), for the nap trigger.

A window belongs to one agent: a report never changes the window of another agent, even if both name
the same session id.
"""

from __future__ import annotations

from typing import NamedTuple

from memd.store.check import integrity
from memd.store.file.connect import Reading, Writing

Key = tuple[str, str, str]
"""Agent, source and session of a window."""


class WindowRow(NamedTuple):
    """A window as last reported; None means unknown.

    *armed* tells whether crossing the threshold triggers a nap.
    """

    agent_id: str
    source: str
    session_id: str
    used_tokens: int | None
    window_tokens: int | None
    compact_at_tokens: int | None
    used_percent: float | None
    model: str | None
    cwd: str | None
    transcript_path: str | None
    event: str | None
    armed: bool
    seen_at_us: int
    napped_at_us: int | None

    @property
    def key(self) -> Key:
        return self.agent_id, self.source, self.session_id


# The statements below are built from this constant.
_COLUMNS = """
SELECT a.agent_id, w.source, w.session_id, w.used_tokens, w.window_tokens, w.compact_at_tokens,
       w.used_percent, w.model, w.cwd, w.transcript_path, w.event, w.armed, w.seen_at_us,
       w.napped_at_us
  FROM usage_window AS w
       JOIN agent AS a ON a.agent_key = w.agent_key
"""


def get(conn: Reading, agent_id: str, source: str, session_id: str) -> WindowRow | None:
    """Return one window, None when the agent never reported it."""
    row = conn.execute(
        f"""
        {_COLUMNS}
         WHERE a.agent_id = :agent_id AND w.source = :source AND w.session_id = :session_id
        """,
        {"agent_id": agent_id, "source": source, "session_id": session_id},
    ).fetchone()
    return None if row is None else _window(row)


def list_windows(
    conn: Reading, agent_id: str | None = None, since_us: int = 0, limit: int = 1_000
) -> list[WindowRow]:
    """Return the windows reported since *since_us*, newest first, of one agent or of all."""
    rows = conn.execute(
        f"""
        {_COLUMNS}
         WHERE w.seen_at_us >= :since_us
           AND (:agent_id IS NULL OR a.agent_id = :agent_id)
         ORDER BY w.seen_at_us DESC, a.agent_id, w.source, w.session_id
         LIMIT :limit
        """,
        {"agent_id": agent_id, "since_us": since_us, "limit": limit},
    )
    return [_window(row) for row in integrity.skip_undecodable(conn, rows, "window")]


def list_quiet(conn: Reading, before_us: int, limit: int) -> list[WindowRow]:
    """Return windows not reported since *before_us* and without a nap since their last report.

    The most recently reported come first.
    """
    rows = conn.execute(
        f"""
        {_COLUMNS}
         WHERE w.seen_at_us <= :before_us
           AND (w.napped_at_us IS NULL OR w.napped_at_us < w.seen_at_us)
         ORDER BY w.seen_at_us DESC, a.agent_id, w.source, w.session_id
         LIMIT :limit
        """,
        {"before_us": before_us, "limit": limit},
    )
    return [_window(row) for row in integrity.skip_undecodable(conn, rows, "window")]


def put(conn: Writing, agent_key: int, new: WindowRow) -> None:
    """Store *new* as the state of the agent's window; ``new.agent_id`` is ignored.

    Model, cwd, transcript_path and napped_at_us keep their values where *new* has None. The other
    columns are stored as they are: the trigger has merged them.
    """
    row = {**new._asdict(), "agent_key": agent_key, "armed": int(new.armed)}
    del row["agent_id"]
    keep = ("model", "cwd", "transcript_path", "napped_at_us")
    conn.put("usage_window", row, "agent_key", "source", "session_id", keep=keep)


def set_napped(conn: Writing, row: WindowRow, now_us: int) -> None:
    """Record that the session had a nap at *now_us*, begun when its window was as *row*.

    A window that was reported since still waits for its next nap.
    """
    conn.execute(
        """
        UPDATE usage_window
           SET napped_at_us = iif(seen_at_us > :seen_at_us, :seen_at_us, :now_us)
         WHERE agent_key = (SELECT agent_key FROM agent WHERE agent_id = :agent_id)
           AND source = :source AND session_id = :session_id
        """,
        {**row._asdict(), "now_us": now_us},
    )


def move_folder(conn: Writing, agent_key: int, folder: str, new_folder: str) -> None:
    """Move the agent's windows in and below *folder* to *new_folder*, for their next naps."""
    conn.execute(
        """
        UPDATE usage_window
           SET cwd = :new_folder || substr(cwd, length(:folder) + 1)
         WHERE agent_key = :agent_key
           AND (cwd = :folder OR substr(cwd, 1, length(:folder) + 1) = :folder || '/')
        """,
        {"agent_key": agent_key, "folder": folder, "new_folder": new_folder},
    )


def delete_idle(conn: Writing, before_us: int) -> int:
    """Delete the windows not reported since *before_us*; returns how many."""
    conn.execute("DELETE FROM usage_window WHERE seen_at_us < :before_us", {"before_us": before_us})
    return conn.changes()


def _window(row: tuple[object, ...]) -> WindowRow:
    window = WindowRow._make(row)
    return window._replace(armed=bool(window.armed))
