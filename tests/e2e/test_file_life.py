"""The file, its folder, its log, its socket and its daemon: what is taken away is noticed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from support import forked
from support.commands import memd
from support.daemon import environment, spawned, wait_until
from support.limited_disks import read_only

from memd.base.errors import BusyError, DiskFullError, MemdError, ReadOnlyError
from memd.base.paths import Paths
from memd.client import Client


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "h"
    made.mkdir()
    return made


@pytest.mark.parametrize("what", ["database", "folder", "log", "replaced"])
def test_a_store_that_is_taken_away_is_noticed_and_nothing_more_is_acknowledged(
    home: Path, tmp_path: Path, what: str
) -> None:
    with spawned(home) as daemon, daemon.client() as client:
        client.add("The lamp is green.")
        assert "store" not in " ".join(client.call("system.status")["why"])
        database = daemon.paths.database
        match what:
            case "database":
                database.unlink()
            case "folder":
                shutil.rmtree(daemon.paths.data_dir)
            case "log":
                Path(f"{database}-wal").unlink()
            case _:
                shutil.copy(database, tmp_path / "other.db")
                (tmp_path / "other.db").rename(database)
        with pytest.raises(ReadOnlyError):
            client.add("The door is red.")
        status = client.call("system.status")
        assert status["status"] == "degraded"
        assert any("while memd ran" in why for why in status["why"])
        # What was acknowledged can be saved as long as the process lives.
        saved = Path(client.call("store.backup"))
        assert daemon.stop() == 0
    paths = Paths.resolve(home=home, environ={})
    paths.data_dir.mkdir(mode=0o700, exist_ok=True)
    assert memd(home, "restore", str(saved), "--yes").code == 0
    with spawned(home) as daemon, daemon.client() as client:
        items = client.call("memory.list", {})["items"]
        assert [item["content"] for item in items] == ["The lamp is green."]


def test_a_socket_that_was_deleted_is_there_again(home: Path) -> None:
    with spawned(home) as daemon:
        daemon.paths.socket.unlink()
        wait_until(daemon.paths.socket.exists, "it listens again")
        with daemon.client() as client:
            client.add("The lamp is green.")
        assert daemon.stop() == 0
        assert not daemon.paths.socket.exists()


@pytest.mark.parametrize("how", ["hard link", "symbolic link", "lock file deleted"])
def test_a_second_daemon_is_kept_from_a_store_by_whatever_name(home: Path, how: str) -> None:
    second = home.parent / "s"
    theirs = Paths.resolve(home=second, environ={})
    theirs.data_dir.mkdir(mode=0o700, parents=True)
    with spawned(home) as daemon:
        ours = daemon.paths
        match how:
            case "hard link":
                theirs.database.hardlink_to(ours.database)
            case "symbolic link":
                theirs.database.symlink_to(ours.database)
            case _:
                shutil.copytree(home / "data", second / "data", dirs_exist_ok=True)
                shutil.rmtree(second)
                second = home
                ours.lock.unlink()
        left = memd(second, "serve")
        assert left.code == 1
        assert "another memd" in left.err
        if how != "lock file deleted":  # that one has its own socket
            assert str(theirs.database) in left.err


def test_a_disk_that_cannot_be_written_serves_recall(home: Path) -> None:
    with spawned(home) as daemon, daemon.client() as client:
        client.add("The lamp is green.")
        assert daemon.stop() == 0
    with read_only(home / "data"):
        with spawned(home) as daemon, daemon.client() as client:
            items = client.call("memory.list", {})["items"]
            assert [item["content"] for item in items] == ["The lamp is green."]
            with pytest.raises(ReadOnlyError):
                client.add("The door is red.")
            checked = memd(home, "check")
            assert (checked.code, checked.err) == (0, "")
            assert "not checked:           the caches: the store is read-only" in checked.out
            beside = memd(home, "backup")
            assert beside.code == 1
            assert "name a TARGET on another disk" in beside.err
            assert memd(home, "backup", str(home / "elsewhere.db")).code == 0
            assert b"The lamp is green." in (home / "elsewhere.db").read_bytes()
            status = client.call("system.status")
            assert [why for why in status["why"] if "damaged" in why] == []
            assert any("cannot be written" in why for why in status["why"])
            assert daemon.stop() == 0
        for words in (("check",), ("backup",), ("rebuild",), ("repair", "--yes")):
            done = memd(home, *words)
            if words != ("check",):
                assert done.code != 0
                assert done.err.startswith("memd: "), done.err


def test_a_full_disk_is_told_by_status(home: Path) -> None:
    from support.limited_disks import fill, small_disk

    (home / "data").mkdir(mode=0o700)
    with small_disk(home / "data"), spawned(home) as daemon, daemon.client() as client:
        client.add("The lamp is green.")
        give_back = fill(home / "data")
        with pytest.raises(DiskFullError):
            add_when_open(client, "The door is red. " * 4_000)
        refused = client.call("system.status")["why"]
        assert any("refused" in why for why in refused), refused
        give_back()
        add_when_open(client, "The roof is grey.")
        refused = client.call("system.status")["why"]
        assert not any("refused" in why for why in refused), refused
        assert daemon.stop() == 0


def add_when_open(client: Client, text: str) -> None:
    """Add *text* once the store is open: the embedding queue may have met the full disk before."""

    def is_added() -> bool:
        with suppress(BusyError):
            client.add(text)
            return True
        return False

    wait_until(is_added, "the store is open")


def test_a_daemon_that_is_told_twice_to_stop_stops_once(home: Path) -> None:
    with spawned(home) as daemon, daemon.client() as client:
        client.add("The lamp is green.")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
            daemon.process.send_signal(number)
        until_gone(daemon.process)
        assert daemon.process.returncode == 0


def until_gone(process: subprocess.Popen[bytes] | forked.Process) -> None:
    """Tell a process to stop, again and again, until it has."""

    def gone() -> bool:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        return process.poll() is not None

    wait_until(gone, "it stops")


def test_a_daemon_that_is_told_to_stop_before_it_is_ready_ends_well(home: Path) -> None:
    paths = Paths.resolve(home=home, environ={})
    process = subprocess.Popen(
        [sys.executable, "-m", "memd", "serve"],
        env=environment(home),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    wait_until(paths.lock.exists, "it has begun")
    until_gone(process)
    assert process.returncode == 0
    assert not paths.socket.exists()


@pytest.mark.model
def test_a_daemon_that_embeds_when_it_is_told_to_stop_ends_well(home: Path) -> None:
    model = os.environ.get("MEMD_MODEL_DIR")
    if not model or not Path(model).exists():
        pytest.skip("no model is installed")
    with spawned(home, {"MEMD_MODEL_DIR": model}) as daemon:
        answers: list[str] = []

        def ask() -> None:
            with daemon.client() as client:
                try:
                    text = "\n\n".join(
                        f"Ann number {n} sells honey in Faro. " * 30 for n in range(400)
                    )
                    client.call("memory.ingest", {"text": text})
                    answers.append("done")
                except MemdError as error:
                    answers.append(error.kind)

        thread = threading.Thread(target=ask)  # a client of its own
        thread.start()
        with daemon.client() as client:
            wait_until(lambda: client.call("model.status")["loaded"], "the model is at work")
        assert daemon.stop() == 0
        thread.join()
        assert answers
