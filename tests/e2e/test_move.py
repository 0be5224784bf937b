"""A memory leaves the computer and arrives: export, import, backup, restore, as a person types."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.daemon import environment, spawned


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("home")
    with spawned(home) as daemon:
        with daemon.client() as client:
            for number in range(3):
                client.add(f"The shed has door number {number}.")
        yield home


def at_a_terminal(home: Path, line: str) -> tuple[int, bytes, str]:
    """Run a shell *line* whose stderr is a terminal; returns its code, stdout and what it drew."""
    ours, theirs = pty.openpty()
    drawn: list[bytes] = []

    def watch() -> None:
        while True:
            try:
                drawn.append(os.read(ours, 65_536))
            except OSError:  # the last one at the terminal has left
                return

    watching = threading.Thread(target=watch)
    watching.start()
    process = subprocess.Popen(
        ["bash", "-o", "pipefail", "-c", line.replace("memd", f"{sys.executable} -m memd", 1)],
        env={**environment(home), "TERM": "xterm"},
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    out, _ = process.communicate(timeout=60)
    watching.join()
    os.close(ours)
    return process.returncode, out, b"".join(drawn).decode()


def test_an_export_at_a_terminal_goes_where_the_shell_sends_it(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    code, out, drawn = at_a_terminal(home, f"memd export > {file}")
    assert (code, out) == (0, b"")
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert lines[0]["memd"] == "export"
    assert len(lines) >= 4
    assert "door number" not in drawn
    assert "exported" in drawn

    code, out, drawn = at_a_terminal(home, "memd export | gzip -c | gunzip -c")
    assert code == 0
    assert out == file.read_bytes()
    assert "door number" not in drawn
