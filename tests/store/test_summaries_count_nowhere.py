"""A summary is counted in no session and for no speaker: it repeats what others said."""

from __future__ import annotations

from pathlib import Path

from support.builders import a_row, an_id_source
from support.store import a_writer

from memd.store.access import names
from memd.store.memory import memories, removal


def test_a_summary_is_counted_neither_when_it_comes_nor_when_it_goes(tmp_path: Path) -> None:
    ids = an_id_source()
    with a_writer(tmp_path / "memd.db") as conn:
        agent_key = names.ensure_agent(conn, "ada", 1)
        session_key = names.ensure_session(
            conn, "s", agent_key=agent_key, client_key=None, project_key=None, now_us=1
        )
        turn = a_row(ids, session_key=session_key, ordinal=0, speaker="Eve")
        summary = turn._replace(memory_id=ids.new(), ordinal=1, is_summary=True)
        counted = "SELECT turns, memory_count FROM speaker, session"

        _, made = memories.insert(conn, [turn, summary], 1)
        assert conn.execute(counted).fetchall() == [(1, 1)]
        removal.erase(conn, [made], 2)
        assert conn.execute(counted).fetchall() == [(1, 1)]
