"""What tests fork is what a new Python would be, and each command starts in a new one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import forked
from support.daemon import WAIT_S, environment, spawned

from memd.cli.commands import COMMANDS, GROUPS
from memd.embedding.model_thread import keep_libraries_quiet

ENTRIES = [*COMMANDS.values(), *(each for group in GROUPS.values() for each in group.entries)]
ALONE = """
import importlib, os, sys
for name in sys.argv[1:]:
    pid = os.fork()
    if not pid:
        importlib.import_module(name)
        os._exit(0)  # an error leaves with a traceback and 1
    if os.waitpid(pid, 0)[1]:
        print(name)
"""


@pytest.mark.parametrize(
    "words",
    [
        ["version"],
        ["--help"],
        ["nonsense"],
        ["status"],
        ["config", "path", "--json"],
        ["config", "show", "--json"],
        ["serve", "x"],
    ],
    ids=" ".join,
)
def test_a_forked_command_is_as_one_of_a_new_interpreter(tmp_path: Path, words: list[str]) -> None:
    env = environment(tmp_path, {"TZ": "Asia/Tokyo"})
    done = subprocess.run(
        [sys.executable, "-m", "memd", *words],
        env=env,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    fork = forked.run(words, env=env, cwd=tmp_path)
    assert (fork.returncode, fork.stdout, fork.stderr) == (
        done.returncode,
        done.stdout,
        done.stderr,
    )


@pytest.mark.parametrize("words", ["memd version", "memd nonsense", "memd add < note", "memd path"])
def test_a_command_of_a_shell_script_is_as_one_of_a_new_interpreter(
    tmp_path: Path, words: str
) -> None:
    (tmp_path / "note").write_text("a note")
    python = f'#!/bin/sh\nexec "{sys.executable}" -m memd "$@"\n'
    outputs = []
    for script in (python, forked.shell_script()):
        (tmp_path / "memd").write_text(script)
        (tmp_path / "memd").chmod(0o700)
        done = subprocess.run(
            ["sh", "-c", words],
            env=environment(tmp_path, {"PATH": f"{tmp_path}:{os.environ['PATH']}"}),
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        outputs.append((done.returncode, done.stdout, done.stderr))
    assert outputs[0] == outputs[1]


def test_a_forked_daemon_has_a_pid_and_an_end_of_its_own(tmp_path: Path) -> None:
    with spawned(tmp_path) as daemon, daemon.client() as client:
        assert client.call("system.status")["pid"] == daemon.process.pid != os.getpid()
        assert daemon.process.poll() is None
        assert daemon.stop(signal.SIGKILL) == -signal.SIGKILL
    with spawned(tmp_path) as daemon:
        assert daemon.stop() == 0


@pytest.mark.parametrize("sent", [b"", b"half", b"\0" * 7 + b"\x09{"], ids=["nothing", "a", "b"])
def test_who_leaves_in_the_middle_of_a_request_stops_no_other(tmp_path: Path, sent: bytes) -> None:
    assert forked.run(["version"], env=environment(tmp_path)).returncode == 0
    leaver = forked.Forker("command")
    leaver._ours.sendall(sent)
    leaver.close()
    assert forked.run(["version"], env=environment(tmp_path)).returncode == 0


def test_who_needs_another_interpreter_gets_a_new_one(tmp_path: Path) -> None:
    env = {**environment(tmp_path), "PYTHONUTF8": "1"}
    with Path(os.devnull).open("r+b") as nothing:
        streams = (nothing.fileno(),) * 3
        process = forked.start(["version"], env=env, streams=streams)
        assert isinstance(process, subprocess.Popen)
        assert process.wait(WAIT_S) == 0


def test_every_command_can_be_imported_first(tmp_path: Path) -> None:
    """As in the process of who types it: what a fork has imported for others hides nothing."""
    modules = sorted({"memd.daemon", *(f"memd.cli.{entry.module}" for entry in ENTRIES)})
    done = subprocess.run(
        [sys.executable, "-c", ALONE, *modules],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_commands_are_forked_also_after_a_test_has_loaded_a_model(tmp_path: Path) -> None:
    forked.run(["version"], env=environment(tmp_path))
    keep_libraries_quiet()
    with (tmp_path / "out").open("w+b") as out:
        streams = (out.fileno(),) * 3
        process = forked.start(["version"], env=environment(tmp_path), streams=streams)
    assert isinstance(process, forked.Process)
    assert process.wait() == 0
