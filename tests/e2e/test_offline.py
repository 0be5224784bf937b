"""memd works without a network and never tries to reach one.

The daemon runs with a hook that refuses, and writes down, every attempt to
resolve a name and to connect or send to anything that is not a Unix socket.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.daemon import ROOT
from support.desk import a_desk, served

pytestmark = pytest.mark.model

HOOK = """
import os
import socket
import sys

_NAMES = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}
_TALK = {"socket.connect", "socket.sendto", "socket.sendmsg"}


def _leaves(event, args):
    # A Unix socket's address is a path; where there is none, connect has been seen.
    talks = event in _TALK and args[0].family != socket.AF_UNIX
    return event in _NAMES or (talks and args[1] is not None)


def _watch(event, args):
    if _leaves(event, args):
        with open(os.environ["ATTEMPTS"], "a") as file:
            file.write(f"{event} {args[1:]}\\n")
        raise OSError("there is no network")


sys.addaudithook(_watch)
with open(os.environ["ATTEMPTS"], "a") as file:
    file.write(f"watching {os.getpid()}\\n")
"""


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the hook in front of every Python that is started; return where it writes."""
    folder = tmp_path / "hook"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
    attempts = tmp_path / "attempts"
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv("ATTEMPTS", str(attempts))
    return attempts


def test_everything_works_offline_and_nothing_is_tried(
    watched: Path, tmp_path: Path, model_dir: Any
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with served(home, model_dir) as daemon, a_desk(daemon, "hermit") as desk:
        desk.ingest("The cat is called Miso and is afraid of thunder.")
        desk.ingest("I prefer tea over coffee.")
        desk.call("memory.ingest_many", items=[{"text": "The rent is due on the first."}])
        desk.settle()
        assert any(
            "Miso" in text for text in desk.contents("Who fears storms?", search_mode="dense")
        )
        assert desk.client.call("model.status")["loaded"] is True
        assert desk.client.call("store.check")["ok"] is True
        pid = daemon.process.pid
        daemon.stop()

    assert watched.read_text(encoding="utf-8").splitlines() == [f"watching {pid}"]


def test_without_a_model_nothing_is_fetched(watched: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with served(home, None) as daemon, a_desk(daemon, "hermit") as desk:
        receipt = desk.ingest("The cat is called Miso and is afraid of thunder.")
        assert receipt["pending"]
        answer = desk.recall("Miso", search_mode="words")
        assert [memory["content"] for memory in answer["memories"]] == [
            "The cat is called Miso and is afraid of thunder."
        ]
        assert "memd model install" in desk.recall("Miso")["degraded"]
        daemon.stop()

    assert len(watched.read_text(encoding="utf-8").splitlines()) == 1


@pytest.mark.parametrize(
    "attempt",
    [
        "socket.create_connection(('127.0.0.1', 9))",
        "socket.socket(socket.AF_INET6).connect(('::1', 9))",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))",
        "socket.getaddrinfo('example.org', 80)",
    ],
)
def test_the_hook_sees_an_attempt(watched: Path, attempt: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import socket; {attempt}"],
        env=dict(os.environ),
        cwd=ROOT,
        capture_output=True,
        check=False,
    )

    assert done.returncode != 0
    assert b"there is no network" in done.stderr
    assert len(watched.read_text(encoding="utf-8").splitlines()) == 2
