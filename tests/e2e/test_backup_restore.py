"""``memd backup`` and ``memd restore``: a copy where the person wants it, and the way back."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from support.commands import memd
from support.daemon import spawned

from memd.base import client_key
from memd.base.paths import Paths


def texts(home: Path) -> set[str]:
    """Return what the memory of *home* holds, asked of a daemon, after a check of the file."""
    with spawned(home) as daemon, daemon.client() as client:
        report = client.call("store.check")
        assert report["ok"], report
        assert client.call("audit.verify", {})["ok"]
        items = client.call("memory.list", {})["items"]
    return {item["content"] for item in items}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


def test_a_copy_is_written_where_the_person_says_and_as_the_person(
    home: Path, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    (disk / "below").mkdir(parents=True)
    with spawned(home) as daemon, daemon.client() as client:
        kept = client.add("The lamp is green.")
        named = memd(home, "backup", "../copy.db", cwd=disk / "below")
        assert named.out == f"{disk / 'copy.db'}\n", named.err
        assert (disk / "copy.db").stat().st_mode & 0o777 == 0o600
        inside = memd(home, "backup", str(disk / "below"), "--json").json["path"]
        assert Path(inside).parent == disk / "below"
        refused = memd(home, "backup", str(disk / "copy.db"))
        assert (refused.code, refused.out) == (1, "")
        assert "exists" in refused.err
        assert memd(home, "backup", str(disk / "copy.db" / "x.db")).code == 1
        unmounted = memd(home, "backup", str(disk / "stick" / "memd.db"))
        assert unmounted.code == 1
        assert f"there is no folder {disk / 'stick'}\n" in unmounted.err
        assert "mount the disk" in unmounted.err
        assert sorted(p.name for p in disk.iterdir()) == [
            "below", "copy.db", "copy.db.manifest",
        ]  # fmt: skip
        forgotten = client.call("memory.forget", {"ids": [kept]})
        assert set(forgotten["backups"]) == {str(disk / "copy.db"), inside}
        assert client.call("audit.verify", {})["ok"]


def test_a_client_cannot_name_a_file_for_the_daemon_to_write(home: Path) -> None:
    with spawned(home) as daemon, daemon.client() as client:
        for path in ("/proc/self/x", "~/x.db", "x.db"):
            with pytest.raises(ValueError, match="target: is unknown"):
                client.call("store.backup", {"target": path})
        with pytest.raises(ValueError, match="target must be absolute"):
            client.call("store.note_copy", {"target": "~/x.db"})


def test_a_restored_store_is_the_backup_whatever_a_kill_left_beside_the_old_one(
    home: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    with spawned(home) as daemon, daemon.client() as client:
        client.add("The lamp is green.")
        assert memd(home, "backup", str(copy)).code == 0
        client.add("The chair is red.")
        running = memd(home, "restore", str(copy), "--yes")
        assert running.code == 1
        assert f"(pid {daemon.process.pid}); stop it first" in running.err
        assert "systemctl --user stop memd.socket memd.service" in running.err
        daemon.stop(signal.SIGKILL)
    log = daemon.paths.database.with_name("memd.db-wal")
    assert log.stat().st_size
    unasked = memd(home, "restore", str(copy))
    assert unasked.code == 2
    done = memd(home, "restore", str(copy), "--yes", "--json")
    assert done.code == 0, done.err
    answer = json.loads(done.out)
    assert answer["memories"] == 1
    assert texts(home) == {"The lamp is green."}
    back = memd(home, "restore", answer["replaced"], "--yes")  # what it replaced is whole
    assert back.code == 0, back.err
    assert texts(home) == {"The lamp is green.", "The chair is red."}
    again = memd(home, "restore", str(copy), "--yes")
    assert again.err.startswith("restored 1 memory\n"), again.err
    folder = daemon.paths.data_dir
    assert {path.stat().st_mode & 0o077 for path in folder.iterdir()} == {0}
    assert not list(folder.glob("*partial*"))


@pytest.mark.parametrize("what", ["text", "empty", "cut", "flipped"])
def test_what_is_no_sound_backup_is_not_restored(home: Path, tmp_path: Path, what: str) -> None:
    copy = tmp_path / "copy.db"
    with spawned(home) as daemon, daemon.client() as client:
        client.add("The lamp is green, and its light falls on the long table by the wall.")
        assert memd(home, "backup", str(copy)).code == 0
        daemon.stop()
    whole = copy.read_bytes()
    copy.write_bytes(
        {
            "text": b"no database at all, but long enough to be one" * 100,
            "empty": b"",
            "cut": whole[: len(whole) // 2],
            "flipped": whole.replace(b"The lamp is green", b"The lamp is grey "),
        }[what]
    )
    before = daemon.paths.database.read_bytes()
    done = memd(home, "restore", str(copy), "--yes")
    assert done.code == 1
    assert "nothing was restored" in done.err or "is not a database" in done.err
    assert daemon.paths.database.read_bytes() == before
    assert not list(daemon.paths.data_dir.glob("*replaced*"))
    assert not list(daemon.paths.data_dir.glob(".*"))


def test_what_was_forgotten_since_the_backup_is_named(home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with spawned(home) as daemon, daemon.client() as client:
        secret = client.add("The safe opens with nineteen.")
        client.add("The lamp is green.")
        assert memd(home, "backup", str(copy)).code == 0
        client.call("memory.forget", {"ids": [secret]})
        daemon.stop()
    done = memd(home, "restore", str(copy), "--yes")
    assert f"memd forget {secret}\n" in done.err


def test_keys_come_along_where_they_are_wanted(home: Path, tmp_path: Path) -> None:
    there, copy = tmp_path / "there", tmp_path / "copy.db"
    there.mkdir()
    with spawned(home) as daemon, daemon.client() as client:
        key = Path(client.call("client.add", {"name": "claude", "scopes": ["read"]})["key_file"])
        assert memd(home, "backup", str(copy), "--with-keys").err == "keys: claude.key\n"
    folder = tmp_path / "copy.db.keys"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert os.listdir(folder) == ["claude.key"]  # noqa: PTH208
    assert memd(there, "restore", str(copy)).code == 0  # nothing is there to be replaced
    with spawned(there) as daemon:
        own = daemon.paths.keys_dir / "claude.key"
        assert own.read_text() == key.read_text()
        assert own.stat().st_mode & 0o777 == 0o600
        with daemon.client() as client:
            assert [one["name"] for one in client.call("client.list")["items"]] == ["claude"]


def test_the_settings_come_along_where_there_are_none(home: Path, tmp_path: Path) -> None:
    there, copy = tmp_path / "there", tmp_path / "copy.db"
    there.mkdir()
    old, new = (Paths.resolve(home=one, environ={}).config_file for one in (home, there))
    old.parent.mkdir(parents=True, exist_ok=True)
    old.write_text('[org_memory.read_access]\nadr = "mid"\n', "utf-8")
    with spawned(home) as daemon, daemon.client() as client:
        rights = {"agent_id": "anna", "seniority": "junior", "scopes": ["read"]}
        key = Path(client.call("client.add", {"name": "anna", **rights})["key_file"])
        done = memd(home, "backup", str(copy))
        assert done.err == f"settings: {copy}.settings.toml\n"
        daemon.stop()
    beside = tmp_path / "copy.db.settings.toml"
    assert beside.read_text("utf-8") == old.read_text("utf-8")
    assert beside.stat().st_mode & 0o777 == 0o600
    done = memd(there, "restore", str(copy))
    assert f"settings: {new}\n" in done.err
    assert "keys that are not here: anna (agent anna)" in done.err
    assert new.read_text("utf-8") == old.read_text("utf-8")
    assert new.stat().st_mode & 0o777 == 0o600
    again = memd(there, "restore", str(copy), "--yes", "--json").json
    assert (again["settings"], again["settings_differ"]) == (None, [])
    assert again["missing_keys"] == ["anna"]
    keys = Paths.resolve(home=there, environ={}).keys_dir
    client_key.write(keys / "anna.key", key.read_text("utf-8").strip())
    assert "keys that are not here" not in memd(there, "restore", str(copy), "--yes").err


def test_settings_that_differ_from_the_backups_stay(home: Path, tmp_path: Path) -> None:
    copy, beside = tmp_path / "copy.db", tmp_path / "copy.db.settings.toml"
    file = Paths.resolve(home=home, environ={}).config_file
    file.parent.mkdir(parents=True)
    file.write_text('[org_memory.read_access]\nadr = "mid"\n', "utf-8")
    with spawned(home) as daemon:
        assert memd(home, "backup", str(copy)).code == 0
        daemon.stop()
    file.write_text('[org_memory.read_access]\nadr = "lead"\n[daemon]\nundo_days = 3\n', "utf-8")
    differ = memd(home, "restore", str(copy), "--yes").err
    assert f"the settings here stay as they are; they differ from {beside}:" in differ
    assert 'org_memory.read_access.adr: here "lead", in the backup "mid"' in differ
    assert "daemon.undo_days: here 3, in the backup not set" in differ
    assert '"lead"' in file.read_text("utf-8")


def test_a_data_folder_of_the_backups_settings_is_where_it_is_restored(
    home: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    with spawned(home) as daemon:
        assert memd(home, "backup", str(copy)).code == 0
        daemon.stop()
    settings = f'[memory.storage]\ndata_dir = "{tmp_path}/memories"\n'
    (tmp_path / "copy.db.settings.toml").write_text(settings, "utf-8")
    done = memd(tmp_path / "there", "restore", str(copy), "--json").json
    assert done["path"] == str(tmp_path / "memories" / "memd.db")
    assert Path(done["path"]).exists()
