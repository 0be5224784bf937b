"""``memd import`` of opencode's sessions and claude-mem's database (decision 0146)."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support import foreign_files as files
from support.daemon import environment, spawned, wait_until
from support.notes_folder import Desk

pytestmark = pytest.mark.model


@pytest.fixture
def desk(tmp_path: Path, model_dir: Path) -> Iterator[Desk]:
    with spawned(tmp_path, {"MEMD_MODEL_DIR": str(model_dir)}) as daemon:
        yield Desk(tmp_path, daemon)


def messages(desk: Desk, session: str) -> list[str]:
    with desk.daemon.client() as client:
        page = client.call("session.messages", {"session_id": session})
    return [each["text"] for each in page["items"]]


def beside(path: Path) -> set[str]:
    return {each.name for each in path.parent.iterdir()}


def test_opencode_s_database_is_read_while_it_is_open(desk: Desk) -> None:
    project = desk.notes.parent / "heron"
    (project / ".git").mkdir(parents=True)
    path = desk.notes / "opencode.db"
    with closing(files.opencode_database(path, ["ses_1"], str(project))):
        before = path.read_bytes(), beside(path)
        foretold = desk("import", "opencode.db", "--dry-run", "--json").json
        assert desk.memories() == []
        report = desk("import", "opencode.db", "--json").json
        assert (path.read_bytes(), beside(path)) == before
    assert (report["failed"], report["new"]) == (0, foretold["new"])
    items = desk.memories()
    assert any(files.RULE in one["content"] for one in items)
    assert {one["session_id"] for one in items} == {"ses_1"}
    assert {one["project_id"] for one in items} == {str(project)}
    assert {one["occurred_at"][:10] for one in items} == {"2025-10-09"}
    words = messages(desk, "ses_1")
    assert any("HERON_PORT is not set" in text for text in words)
    assert not any("told by a plugin" in text for text in words)
    with desk.daemon.client() as client:
        (one,) = client.call("session.list")["items"]  # and none of a sub-agent
    assert one["ended_at"] is not None


def test_opencode_s_folder_and_its_export_are_the_same_sessions(desk: Desk) -> None:
    files.opencode_folder(desk.notes / "storage", "ses_1", "/home/ada/heron")
    report = desk("import", "storage", "--json").json
    assert (report["failed"], report["files"]) == (0, 1)
    assert report["new"] == len(desk.memories()) >= 1
    assert any("HERON_PORT is not set" in text for text in messages(desk, "ses_1"))
    desk.write("ses_1.json", files.opencode_export("ses_1", "/home/ada/heron"))
    again = desk("import", "ses_1.json", "--json").json
    assert (again["failed"], again["new"]) == (0, 0)


def test_claude_mem_brings_memories_and_what_the_person_asked(desk: Desk) -> None:
    path = desk.notes / "claude-mem.db"
    with closing(files.claude_mem_database(path)):
        foretold = desk("import", "claude-mem.db", "--dry-run", "--json").json
        assert desk.memories() == []
        report = desk("import", "claude-mem.db", "--json").json
    assert (report["failed"], report["new"]) == (0, foretold["new"])
    items = desk.memories()
    (observed,) = [one for one in items if "8443" in one["content"]]
    assert "Staging had no HERON_PORT" in observed["content"]
    assert "The deploy job reads staging.env." in observed["content"]
    assert {"bugfix", "gotcha"} <= set(observed["metadata"]["tags"])
    assert (observed["session_id"], observed["project_id"]) == ("claude-1", "heron")
    assert (observed["occurred_at"][:10], observed["origin"]) == ("2025-10-09", "import")
    assert any("Learned: The lexer caches tokens by offset." in one["content"] for one in items)
    assert any(files.RULE in one["content"] for one in items)
    again = desk("import", "claude-mem.db", "--json").json
    assert (again["failed"], again["new"], len(desk.memories())) == (0, 0, len(items))


def test_an_older_version_of_claude_mem_is_read(desk: Desk) -> None:
    with closing(sqlite3.connect(desk.notes / "old.db")) as conn:
        conn.executescript(files.CLAUDE_MEM_BEFORE)
        conn.execute("INSERT INTO sdk_sessions VALUES (1, 'claude-1', 'own-1')")
        conn.execute(
            "INSERT INTO observations VALUES (1, 'own-1', 'heron', ?, 'fact', '', 1760000000)",
            (files.CAUSE,),
        )
        conn.commit()
    assert desk("import", "old.db", "--json").json["failed"] == 0
    (one,) = desk.memories()
    assert (one["content"], one["session_id"]) == (files.CAUSE, "claude-1")
    assert one["occurred_at"][:10] == "2025-10-09"
    assert beside(desk.notes / "old.db") == {"old.db"}


def test_a_database_of_nobody_and_a_damaged_one_are_refused(desk: Desk) -> None:
    with closing(sqlite3.connect(desk.notes / "other.db")) as conn:
        conn.execute("CREATE TABLE a (b)")
    (desk.notes / "damaged.db").write_bytes(b"SQLite format 3\0" + b"x" * 4_096)
    result = desk("import", "other.db", "damaged.db", "--json")
    assert (result.code, result.json["failed"]) == (1, 2)
    assert "not a database of opencode or claude-mem" in result.json["results"][0]["error"]
    assert "cannot be read" in result.json["results"][1]["error"]


def test_an_import_that_was_killed_goes_on_where_it_stopped(desk: Desk, model_dir: Path) -> None:
    count = 40
    names = [f"ses_{number:02}" for number in range(count)]
    path = desk.notes / "opencode.db"
    with closing(files.opencode_database(path, names, "/home/ada/heron")):
        pass

    def naps() -> int:
        with closing(sqlite3.connect(desk.daemon.paths.database)) as conn:
            return int(conn.execute("SELECT COUNT(*) FROM run").fetchone()[0])

    importing = subprocess.Popen(
        [sys.executable, "-m", "memd", "import", str(path)],
        env=environment(desk.notes.parent, {"MEMD_MODEL_DIR": str(model_dir)}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: naps() >= 3, "some sessions are imported")
    importing.send_signal(signal.SIGKILL)
    importing.wait()
    done = naps()
    assert done < count, "the import was not killed in time"
    report = desk("import", "opencode.db", "--json").json
    assert report["failed"] == 0
    assert naps() == count, "no session is distilled twice"
    with desk.daemon.client() as client:
        sessions = client.call("session.list", {"limit": 100})["items"]
        # Or the last memory's state changes between the listings.
        wait_until(lambda: client.call("system.status")["pending"] == 0, "all is embedded")
    assert sorted(each["session_id"] for each in sessions) == names
    before = [json.dumps(each, sort_keys=True) for each in desk.memories()]
    again = desk("import", "opencode.db", "--json").json
    assert (again["new"], naps()) == (0, count)
    assert [json.dumps(each, sort_keys=True) for each in desk.memories()] == before
