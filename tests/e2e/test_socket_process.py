"""The daemon as a process: signals, the second daemon, activation, what it loads."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import run_python
from support.daemon import WAIT_S, environment, spawned, wait_until

from memd.base.errors import MemdError
from memd.base.paths import Paths
from memd.client import Client


def loaded_after(code: str, home: Path) -> set[str]:
    script = f"{code}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    modules = json.loads(run_python(script, env=environment(home)))
    return {name.partition(".")[0] for name in modules}


def test_a_client_is_light(home: Path) -> None:
    loaded = loaded_after(
        "from memd.client import Client\n"
        "try: Client().call('system.hello')\nexcept Exception as e: assert 'serve' in e.hint",
        home,
    )
    heavy = {
        "pydantic", "structlog", "apsw", "numpy", "fastembed", "watchdog", "platformdirs",
        "asyncio",
    }  # fmt: skip
    assert loaded & heavy == set()


def test_the_daemon_loads_nothing_of_the_command_line(home: Path) -> None:
    loaded = loaded_after("import memd.daemon, memd.__main__", home)
    assert loaded & {"rich", "numpy", "fastembed", "onnxruntime"} == set()


def test_the_log_loads_no_colours(home: Path) -> None:
    loaded = loaded_after("from memd.base import log; log.info('a'); import structlog", home)
    assert "structlog" in loaded
    assert "rich" not in loaded
    kept = loaded_after("import rich; from memd.base import log; log.info('a')", home)
    assert "rich" in kept


def test_no_other_package_gets_its_code_into_the_daemon(home: Path) -> None:
    """A package can name itself a plugin of pydantic, which then loads and asks it."""
    installed = home / "elsewhere"
    described = installed / "nosy-1.0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: nosy\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text("[pydantic]\nnosy = nosy:plugin\n")
    (installed / "nosy.py").write_text(f"open({str(home / 'loaded')!r}, 'w')\nplugin = None\n")
    path = environment(home)["PYTHONPATH"]

    with spawned(home, {"PYTHONPATH": os.pathsep.join([str(installed), path])}):
        assert not (home / "loaded").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly(home: Path, number: int) -> None:
    with spawned(home, fresh=True) as daemon, daemon.client() as idle:
        idle.call("system.hello")
        assert daemon.stop(number) == 0
        assert not daemon.paths.socket.exists()


def test_the_socket_and_its_directory_are_the_owners_alone(home: Path) -> None:
    with spawned(home) as daemon:
        assert daemon.paths.socket.stat().st_mode & 0o777 == 0o600
        assert daemon.paths.socket.parent.stat().st_mode & 0o777 == 0o700
        assert daemon.paths.lock.stat().st_mode & 0o777 == 0o600


def test_h09_a_second_daemon_leaves_and_names_the_first(home: Path) -> None:
    with spawned(home) as daemon:
        second = subprocess.run(
            [sys.executable, "-m", "memd", "serve"],
            env=environment(home),
            capture_output=True,
            text=True,
            check=False,
        )
        assert second.returncode == 1
        assert f"pid {daemon.process.pid}" in second.stderr
        with daemon.client() as client:
            assert client.call("system.hello")["pid"] == daemon.process.pid


def test_h09_a_socket_left_by_a_killed_daemon_is_taken_over(home: Path) -> None:
    with spawned(home, fresh=True) as daemon:
        daemon.stop(signal.SIGKILL)
        assert daemon.paths.socket.exists()
    with spawned(home, fresh=True) as again, again.client() as client:
        assert client.call("system.status")["pid"] == again.process.pid


def test_a_hangup_reads_the_settings_again(home: Path) -> None:
    with spawned(home, fresh=True) as daemon:
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(
            lambda: "settings read again" in daemon.log.read_text("utf-8"), "it says that it did"
        )
        daemon.paths.config_file.parent.mkdir(parents=True, exist_ok=True)
        daemon.paths.config_file.write_text("nonsense = 1\n", "utf-8")
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(
            lambda: "settings not read" in daemon.log.read_text("utf-8"), "it goes on without"
        )
        with daemon.client() as client:
            assert client.call("system.hello")["name"] == "memd"


def test_settings_that_cannot_be_read_end_it_with_78(home: Path) -> None:
    paths = Paths.resolve(home=home, environ={})
    paths.config_file.parent.mkdir(parents=True)
    paths.config_file.write_text("nonsense = 1\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "memd", "serve"],
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 78
    assert "nonsense" in done.stderr
    assert "Traceback" not in done.stderr


def test_systemd_hands_over_a_socket_and_is_told_when_it_is_served(home: Path) -> None:
    """What systemd does, done by hand: listen, pass descriptor 3, wait for READY=1."""
    path, notify = home / "passed.sock", home / "notify"
    starter = (
        "import os, sys\n"
        "os.dup2(int(sys.argv[1]), 3)\n"
        "os.environ['LISTEN_PID'] = str(os.getpid())\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'memd', 'serve'])\n"
    )
    with (
        socket.socket(socket.AF_UNIX) as listening,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified,
    ):
        listening.bind(os.fspath(path))
        listening.listen(8)
        notified.bind(os.fspath(notify))
        notified.settimeout(WAIT_S)
        with Client(path) as client:
            number = listening.fileno()
            process = subprocess.Popen(
                [sys.executable, "-c", starter, str(number)],
                env=environment(
                    home,
                    {
                        "LISTEN_FDS": "1",
                        "NOTIFY_SOCKET": os.fspath(notify),
                        "WATCHDOG_USEC": "200000",
                    },
                ),
                pass_fds=(number,),
            )
            try:
                assert client.call("system.hello")["pid"] == process.pid
                seen = b"".join(notified.recv(200) + b"\n" for _ in range(4))
                assert b"READY=1" in seen
                assert seen.count(b"WATCHDOG=1") >= 2
                process.send_signal(signal.SIGHUP)
                wait_until(lambda: b"RELOADING=1" in notified.recv(200), "a reload is told")
                process.terminate()
                wait_until(lambda: b"STOPPING=1" in notified.recv(200), "the end is told")
                assert process.wait(WAIT_S) == 0
            finally:
                process.kill()
                process.wait()
        assert path.exists(), "systemd's socket is systemd's to remove"


def test_under_journald_lines_carry_their_priority(home: Path) -> None:
    with (home / "journal").open("w") as stream:
        status = os.fstat(stream.fileno())
        process = subprocess.Popen(
            [sys.executable, "-m", "memd", "serve"],
            env=environment(home, {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}),
            stderr=stream,
        )
    try:
        wait_until(lambda: "ready" in (home / "journal").read_text("utf-8"), "a line is written")
        assert (home / "journal").read_text("utf-8").startswith("<6>timestamp=")
    finally:
        process.terminate()
        assert process.wait(WAIT_S) == 0


def test_a_client_with_the_real_rooms_behind_it_stores_and_finds(home: Path) -> None:
    with spawned(home, fresh=True) as daemon, daemon.client() as client:
        memory_id = client.add("the espresso machine lives in the shed")
        assert client.call("memory.get", {"id": memory_id})["id"] == memory_id
        assert client.search("espresso")[0]["id"] == memory_id
        assert client.call("memory.count") == 1
        status = client.call("system.status")
        assert status["status"] in ("ok", "degraded")
        assert daemon.stop() == 0


def test_a_second_daemon_does_not_take_the_socket_of_a_live_one(home: Path) -> None:
    """Two homes, one runtime directory: the locks of their stores lie apart."""
    runtime = home / "run"
    runtime.mkdir(mode=0o700)
    places = {"MEMD_HOME": "", "XDG_RUNTIME_DIR": str(runtime)}

    def serving(name: str) -> subprocess.Popen[str]:
        own = home / name
        own.mkdir()
        more = {**places, "HOME": str(own)}
        return subprocess.Popen(
            [sys.executable, "-m", "memd", "serve"],
            env=environment(own, more),
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    path = runtime / "memd" / "memd.sock"
    started: list[subprocess.Popen[str]] = []
    try:
        with Client(path, timeout=WAIT_S) as client:
            started.append(first := serving("one"))
            wait_until(lambda: _pid(client) == first.pid, "the first one listens")
            started.append(second := serving("two"))
            _, err = second.communicate(timeout=WAIT_S)
            assert second.returncode == 1
            assert f"(pid {first.pid})" in err
            assert str(path) in err
            assert _pid(client) == first.pid
            first.kill()
            first.wait()
            started.append(third := serving("three"))  # what was left over is replaced
            wait_until(lambda: _pid(client) == third.pid, "the third one listens")
    finally:
        for process in started:
            process.kill()
            process.communicate()


def _pid(client: Client) -> int | None:
    try:
        pid: int = client.call("system.status")["pid"]
    except MemdError:
        return None
    return pid
