"""What an export writes into, and what is left when it or an import cannot end."""

from __future__ import annotations

import gzip
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import memd
from support.daemon import Spawned, environment, spawned, wait_until


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Spawned]:
    (tmp_path / "home").mkdir()
    with spawned(tmp_path / "home") as daemon:
        with daemon.client() as client:
            client.add("The lamp is green.")
        yield daemon


def piped(daemon: Spawned, words: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of a shell that calls memd."""
    line = f"set -o pipefail; memd() {{ '{sys.executable}' -m memd \"$@\"; }}; {words}"
    return subprocess.run(
        ["bash", "-c", line], env=environment(daemon.home), capture_output=True, check=False
    )


def test_a_file_that_exists_is_not_overwritten(daemon: Spawned, tmp_path: Path) -> None:
    target = tmp_path / "all.jsonl"
    target.write_text("old")
    refused = memd(daemon.home, "export", str(target))
    assert (refused.code, target.read_text()) == (1, "old")
    assert f"{target} exists" in refused.err
    assert {path.name for path in tmp_path.iterdir()} == {"home", "all.jsonl"}


def test_a_link_stays_one_and_what_it_names_has_the_export(daemon: Spawned, tmp_path: Path) -> None:
    there, link = tmp_path / "stick.jsonl", tmp_path / "link.jsonl"
    link.symlink_to(there)
    assert memd(daemon.home, "export", str(link)).code == 0
    assert link.is_symlink()
    assert "The lamp is green." in there.read_text("utf-8")
    assert stat.S_IMODE(there.stat().st_mode) == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"home", "stick.jsonl", "link.jsonl"}


def test_a_pipe_is_written_into(daemon: Spawned, tmp_path: Path) -> None:
    pipe, heard = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text("utf-8")))
    reader.start()
    assert memd(daemon.home, "export", str(pipe)).code == 0
    reader.join()
    assert "The lamp is green." in heard[0]
    assert pipe.is_fifo()


def test_a_dash_is_stdout(daemon: Spawned, tmp_path: Path) -> None:
    target = tmp_path / "all.jsonl.gz"
    assert piped(daemon, f"cd '{tmp_path}'; memd export - | gzip > '{target}'").returncode == 0
    assert "The lamp is green." in gzip.decompress(target.read_bytes()).decode()
    assert not (tmp_path / "-").exists()


def test_an_export_that_is_refused_leaves_nothing(daemon: Spawned, tmp_path: Path) -> None:
    added = memd(daemon.home, "client", "add", "ro", "--scopes", "read")
    target = tmp_path / "all.jsonl"
    refused = memd(daemon.home, "export", str(target), MEMD_CLIENT_KEY_FILE=added.out.strip())
    assert refused.code != 0
    assert list(tmp_path.iterdir()) == [daemon.home]


def test_an_export_names_the_folder_that_does_not_exist(daemon: Spawned, tmp_path: Path) -> None:
    refused = memd(daemon.home, "export", str(tmp_path / "stick" / "all.jsonl"))
    assert refused.err == (
        f"memd: there is no folder {tmp_path / 'stick'}\n"
        "      create it, or mount the disk it is on\n"
    )
    assert {path.name for path in tmp_path.iterdir()} == {"home"}


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", ["export > /dev/full", "list --json > /dev/full"])
def test_a_full_disk_behind_stdout_is_told_in_a_line(daemon: Spawned, words: str) -> None:
    done = piped(daemon, f"memd {words}")
    assert done.returncode == 1
    assert b"memd: stdout: no space left on device\n      free some space\n" in done.stderr
    assert b"Traceback" not in done.stderr


def test_an_import_that_is_cut_off_tells_how_far_it_came(daemon: Spawned, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(300):
        (notes / f"n{number:03}.md").write_text(f"# Hive {number}\n\nHive {number} is green.\n")

    def stop_midway() -> None:
        with daemon.client() as client:
            wait_until(lambda: client.call("memory.count") > 20, "some notes are imported")
        daemon.stop()

    stopping = threading.Thread(target=stop_midway)
    stopping.start()
    done = memd(daemon.home, "import", str(notes))
    stopping.join()
    assert done.code != 0
    assert "n000.md: new 1\n" in done.out
    assert "failed 1" in done.out
    assert "to go on, repeat the import" in done.err


def test_a_file_of_brackets_stops_no_import(daemon: Spawned, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "b.jsonl").write_text("[" * 3_000)
    (notes / "c.md").write_text("# Saw\n\nThe sawmill is at Holm.\n")
    done = memd(daemon.home, "import", str(notes))
    assert done.code == 1
    assert "b.jsonl: b.jsonl, line 1: not a JSON object" in done.err
    assert "c.md: new 1" in done.out
