"""The state of each assistant's window outlives a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from support.store import a_writer

from memd.store.access import names
from memd.store.file.connect import Writing
from memd.store.session import windows
from memd.store.session.windows import WindowRow

CLAUDE = WindowRow(
    source="claude-code",
    session_id="7",
    agent_id="ada",
    used_tokens=162_000,
    window_tokens=200_000,
    compact_at_tokens=167_000,
    used_percent=81.0,
    model="m",
    cwd="/w",
    transcript_path="/t.jsonl",
    event="statusline",
    armed=False,
    seen_at_us=1_000,
    napped_at_us=900,
)


@pytest.fixture
def conn(tmp_path: Path) -> Iterator[Writing]:
    with a_writer(tmp_path / "memd.db") as conn:
        yield conn


def keep(conn: Writing, row: WindowRow) -> None:
    windows.put(conn, names.ensure_agent(conn, row.agent_id, 1), row)


def test_what_was_kept_is_what_is_found(conn: Writing) -> None:
    assert windows.get(conn, "claude-code", "7") is None
    keep(conn, CLAUDE)
    assert windows.get(conn, "claude-code", "7") == CLAUDE


def test_numbers_are_replaced_and_what_is_not_said_stays(conn: Writing) -> None:
    keep(conn, CLAUDE)
    keep(
        conn,
        CLAUDE._replace(
            used_tokens=None,
            event=None,
            armed=True,
            model=None,
            cwd=None,
            transcript_path=None,
            napped_at_us=None,
            seen_at_us=2_000,
        ),
    )
    assert windows.get(conn, "claude-code", "7") == CLAUDE._replace(
        used_tokens=None, event=None, armed=True, seen_at_us=2_000
    )


def test_two_sessions_and_two_assistants_do_not_disturb_each_other(conn: Writing) -> None:
    rows = [
        CLAUDE,
        CLAUDE._replace(session_id="8", seen_at_us=1_001),
        CLAUDE._replace(source="codex", agent_id="bob", seen_at_us=1_002, armed=True),
    ]
    for row in rows:
        keep(conn, row)
    assert windows.list_windows(conn) == rows[::-1]
    assert windows.list_windows(conn, "bob") == rows[2:]
    assert windows.list_windows(conn, since_us=1_001, limit=1) == rows[2:]


def test_a_nap_is_noted_in_its_own_window_only(conn: Writing) -> None:
    keep(conn, CLAUDE)
    keep(conn, CLAUDE._replace(source="codex"))
    windows.set_napped(conn, "codex", "7", 5_000)
    assert windows.get(conn, "claude-code", "7") == CLAUDE
    assert windows.get(conn, "codex", "7") == CLAUDE._replace(source="codex", napped_at_us=5_000)


def test_windows_of_long_ago_are_dropped(conn: Writing) -> None:
    keep(conn, CLAUDE)
    keep(conn, CLAUDE._replace(session_id="8", seen_at_us=1_001))
    assert windows.delete_idle(conn, 1_001) == 1
    assert [row.session_id for row in windows.list_windows(conn)] == ["8"]


def test_a_window_goes_with_its_agent(conn: Writing) -> None:
    keep(conn, CLAUDE)
    conn.execute("DELETE FROM agent")
    assert windows.list_windows(conn) == []


def test_the_store_itself_refuses_a_window_of_nobody(conn: Writing) -> None:
    with pytest.raises(apsw.ConstraintError):
        windows.put(conn, 99, CLAUDE)
