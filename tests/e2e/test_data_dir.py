"""``memory.storage.data_dir`` moves what memd remembers; what a daemon cannot do it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support import forked
from support.daemon import environment, spawned
from support.setting_effects import shows

from memd.daemon import EXIT_CONFIG

TEXT = "The boat lies at pier seven."


def _memd(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return forked.run(arguments, env=environment(home, more))


def _configured(home: Path, text: str, name: str = "config.yaml") -> None:
    folder = home / "config"
    folder.mkdir()
    (folder / name).write_text(text, encoding="utf-8")


def _holds(folder: Path, text: str) -> bool:
    return any(text.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


@shows("memory.storage.data_dir")
def test_everything_remembered_lies_in_the_data_dir_and_nothing_elsewhere(tmp_path: Path) -> None:
    home, disk = tmp_path / "home", tmp_path / "disk" / "memories"
    home.mkdir()
    _configured(home, f"memory:\n  storage:\n    data_dir: {disk}\n")

    with spawned(home) as daemon, daemon.client() as client:
        client.add(TEXT)
        copy = client.call("store.backup", {"idempotency_key": "monday"})
        assert client.call("store.backup", {"idempotency_key": "monday"}) == copy
        assert client.call("system.status")["database"] == str(disk / "memd.db")
        daemon.stop()

    assert _holds(disk, TEXT)
    assert Path(copy["path"] if isinstance(copy, dict) else copy).parent == disk
    assert not _holds(home, TEXT)
    assert not list(home.rglob("*.db*"))
    assert not list((home / "data").glob("*.lock"))
    assert disk.stat().st_mode & 0o777 == 0o700


def test_a_tilde_is_the_home_and_the_care_of_the_file_follows(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    _configured(home, '[memory.storage]\ndata_dir = "~/remembered"\n', "config.toml")
    person = {"HOME": str(tmp_path)}
    with spawned(home, person) as daemon, daemon.client() as client:
        client.add(TEXT)
        daemon.stop()
    file = tmp_path / "remembered" / "memd.db"
    assert file.is_file()

    checked = _memd(home, "check", "--json", **person)
    backed_up = _memd(home, "backup", **person)
    places = json.loads(_memd(home, "config", "path", "--json", **person).stdout)

    assert checked.returncode == 0, checked.stderr
    assert backed_up.returncode == 0, backed_up.stderr
    assert list(file.parent.glob("*.backup.db"))
    assert (places["data_dir"], places["database"]) == (str(file.parent), str(file))
    assert str(file) in _memd(home, "config", "show", **person).stdout


def test_the_service_may_write_where_the_memories_lie(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    _configured(tmp_path, f"memory: {{storage: {{data_dir: {disk}}}}}\n")

    printed = _memd(tmp_path, "service", "install", "--print")

    if sys.platform != "darwin":
        places = next(x for x in printed.stdout.splitlines() if x.startswith("ReadWritePaths="))
        assert f"-{disk}" in places.split("=", 1)[1].split()


def test_the_environment_moves_it_too_and_two_daemons_of_one_folder_are_one(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    moved = {"MEMD_MEMORY__STORAGE__DATA_DIR": str(disk)}
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    with spawned(one, moved) as daemon, daemon.client() as client:
        client.add(TEXT)
        second = _memd(other, "serve", **moved)
        assert second.returncode == 1
        assert "already" in second.stderr
    assert (disk / "memd.db").is_file()


def test_memories_left_at_the_old_place_are_named_at_the_start(tmp_path: Path) -> None:
    with spawned(tmp_path) as daemon, daemon.client() as client:
        client.add(TEXT)
        daemon.stop()
    moved = {"MEMD_MEMORY__STORAGE__DATA_DIR": str(tmp_path / "disk")}

    with spawned(tmp_path, moved) as daemon:
        log = daemon.log.read_text("utf-8")

    assert str(tmp_path / "data" / "memd.db") in log


REFUSED = [
    ("memory: {backend: inmemory}", ("memory.backend", "inmemory", "create_memory_backend")),
    (
        "memory: {backend: composite, composite: {routes: {a: inmemory}}}",
        ("memory.backend", "composite", "create_memory_backend"),
    ),
    ("memory: {composite: {routes: {a: inmemory}}}", ("composite", "need each other")),
    ("memory: {storage: {data_dir: here}}", ("memory.storage.data_dir", "'here'", "absolute", "~")),
    (
        "memory: {storage: {data_dir: ~nobody-of-that-name/x}}",
        ("memory.storage.data_dir", "nobody-of-that-name"),
    ),
    (
        "memory: {storage: {data_dir: /proc/memories}}",
        ("memory.storage.data_dir", "/proc/memories"),
    ),
]


@pytest.mark.parametrize(("text", "parts"), REFUSED)
def test_what_a_daemon_cannot_do_is_refused_and_says_what_to_do(
    tmp_path: Path, text: str, parts: tuple[str, ...]
) -> None:
    _configured(tmp_path, text + "\n")

    done = _memd(tmp_path, "serve")

    assert done.returncode == EXIT_CONFIG == 78, done.stderr
    assert all(part in done.stderr for part in parts), done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "data").exists() or not any((tmp_path / "data").iterdir())


@pytest.mark.parametrize("text", [text for text, _ in REFUSED[:4]])
def test_what_the_daemon_refuses_is_not_shown_as_taking_effect(tmp_path: Path, text: str) -> None:
    _configured(tmp_path, text + "\n")

    shown = _memd(tmp_path, "config", "show")

    assert shown.returncode == 78
    assert not shown.stdout
