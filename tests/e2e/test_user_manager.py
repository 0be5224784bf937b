"""The shipped units under a real service manager of a real user.

Needs root, and the script that starts such a manager in a mount namespace of
its own, which is beside the repository on the machines that release memd. It cannot run in a
checkout below /tmp, which the service's sandbox replaces.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.daemon import ROOT, WAIT_S, wait_until
from support.llm_endpoint import an_endpoint

from memd.base.paths import MODEL_NAME, Paths
from memd.cli.daemon import units

MANAGER = ROOT.parent / "shared" / "tools" / "systemd-user.sh"
TEMPORARY = "/tmp"  # noqa: S108  # what the sandbox replaces; nothing is made there
USER = "memdtest"  # the name that the script knows

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(
        not MANAGER.is_file(), reason=f"{MANAGER.name} is not beside the repository"
    ),
    pytest.mark.skipif(shutil.which("nsenter") is None, reason="nsenter is not installed"),
    pytest.mark.skipif(
        ROOT.is_relative_to(TEMPORARY),
        reason="the sandbox replaces /tmp: run this in a checkout elsewhere",
    ),
]

# The service gets a /dev of its own, which fails while a disk of another test lies below it.
# The test's Python may lie in a folder that another user cannot enter: inside the
# namespace that folder becomes an empty one which holds the installation alone.
OPEN_PYTHON = """
set -e
awk 'index($5, "/dev/shm/") == 1 {{ print $5 }}' /proc/self/mountinfo | xargs -r umount -l
closed={closed}; base={base}
if [ -n "$closed" ]; then
  mkdir -p {aside}; mount --bind "$base" {aside}
  mount -t tmpfs -o mode=755 tmpfs "$closed"
  mkdir -p "$base"; mount --bind {aside} "$base"
fi
exec bash {manager}
"""


class Login:
    """One user's login inside the namespace of the manager."""

    def __init__(self, manager: subprocess.Popen[bytes], home: Path, uid: int) -> None:
        self.manager = manager
        self.home = home
        self.uid = uid

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environ = {
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": f"/run/user/{self.uid}",
            "PATH": f"{self.home}/.local/bin:/usr/bin:/bin",
        }
        return subprocess.run(
            ["nsenter", "-t", str(self.manager.pid), "-m", "setpriv", f"--reuid={self.uid}",
             f"--regid={self.uid}", "--clear-groups", *command],
            env=environ,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )  # fmt: skip

    def systemctl(self, *words: str) -> str:
        done = self.run("systemctl", "--user", *words)
        return (done.stdout or done.stderr).strip()

    def property(self, name: str, unit: str = "memd.service") -> str:
        return self.systemctl("show", "-P", name, unit)

    def status(self) -> dict[str, object]:
        done = self.run("memd", "status", "--json")
        assert done.stdout, done.stderr + self.systemctl("status", "memd.service")
        answer: dict[str, object] = json.loads(done.stdout)
        return answer


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with Path(tempfile.gettempdir(), f"{USER}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of the runs of this test, one at a time
        remove_user()  # which a killed run left, with its files
        subprocess.run(["useradd", "-m", USER], check=True)
        yield Path(pwd.getpwnam(USER).pw_dir)
        remove_user()


def remove_user() -> None:
    """Remove the user, what runs as it and its home."""
    subprocess.run(["pkill", "-KILL", "-u", USER], check=False, capture_output=True)
    subprocess.run(["userdel", "-rf", USER], check=False, capture_output=True)


@pytest.fixture(scope="module")
def aside() -> Iterator[Path]:
    """Yield a folder that is not below /dev, which the service has to itself."""
    made = Path(tempfile.mkdtemp(prefix="memd-python-", dir="/tmp"))
    yield made
    made.rmdir()  # and not what is in it: Python is mounted there


@pytest.fixture(scope="module")
def login(home: Path, aside: Path) -> Iterator[Login]:
    uid = pwd.getpwnam(USER).pw_uid
    base = Path(sys.base_prefix)
    closed = next((p for p in reversed(base.parents) if not p.stat().st_mode & 0o001), None)
    script = OPEN_PYTHON.format(closed=closed or '""', base=base, aside=aside, manager=MANAGER)
    write_home(home, uid)
    process = subprocess.Popen(
        ["unshare", "-m", "--propagation", "private", "bash", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    login = Login(process, home, uid)
    try:
        try:
            wait_until(lambda: "running" in login.systemctl("is-system-running"), "the manager")
        except AssertionError:
            pytest.skip("a service manager of a user cannot start here")
        yield login
        print(
            login.run("cat", str(home / ".local/share/memd/log")).stdout[-5000:]
        )  # shown when a test fails
        login.systemctl("stop", "memd.socket", "memd.service")
        login.systemctl("exit")
    finally:
        process.terminate()
        try:
            process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def write_home(home: Path, uid: int) -> None:
    """Put the command and the rendered units into the user's home."""
    environ = {"HOME": str(home), "XDG_RUNTIME_DIR": f"/run/user/{uid}"}
    command = home / ".local" / "bin" / "memd"
    share = home / ".local" / "share" / "memd"
    paths = Paths(
        profile="default",
        config_file=home / ".config" / "memd" / "config.toml",
        data_dir=share,
        state_dir=home / ".local" / "state" / "memd",
        runtime_dir=Path(environ["XDG_RUNTIME_DIR"]) / "memd",
        database=share / "memd.db",
        lock=share / "memd.lock",
        socket=Path(environ["XDG_RUNTIME_DIR"]) / "memd" / "memd.sock",
        usage_dir=Path(environ["XDG_RUNTIME_DIR"]) / "memd" / "usage",
        keys_dir=share / "keys",
        model_dir=share / "models" / "none",
    )
    files = units.systemd(command, paths, environ, sandbox=True)
    folder = home / ".config" / "systemd" / "user"
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    # The test's own Python may lie in /tmp, which the sandbox replaces.
    in_tmp = Path(sys.prefix).is_relative_to(TEMPORARY)
    test = f"[Service]\nWatchdogSec=4\nStandardError=append:{share}/log\n"
    test += "PrivateTmp=no\n" if in_tmp else ""
    (folder / "memd.service.d" / "20-test.conf").write_text(test)
    command.parent.mkdir(parents=True, exist_ok=True)
    command.write_text(
        "#!/bin/sh\nexport PYTHONDONTWRITEBYTECODE=1 "
        f'PYTHONPATH={ROOT}\nexec {sys.executable} -m memd "$@"\n'
    )
    command.chmod(0o755)
    for place in (paths.data_dir, paths.state_dir):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    subprocess.run(["chown", "-R", f"{uid}:{uid}", str(home)], check=True)


def test_the_first_call_starts_the_daemon_in_its_sandbox(login: Login) -> None:
    assert login.run("systemctl", "--user", "start", "memd.socket").returncode == 0
    assert login.property("ActiveState") == "inactive"
    assert login.status()["v"] == 1
    assert login.property("ActiveState") == "active"
    assert login.property("PrivateUsers") == "yes"
    assert login.property("MainPID") == str(login.status()["pid"])


def test_a_reload_and_a_restart_keep_the_socket(login: Login) -> None:
    first = login.status()["pid"]
    assert login.run("systemctl", "--user", "reload", "memd.service").returncode == 0
    assert login.status()["pid"] == first
    assert login.run("systemctl", "--user", "restart", "memd.service").returncode == 0
    assert login.status()["pid"] != first


def test_what_is_stored_under_the_service_stays(login: Login) -> None:
    added = login.run("memd", "add", "The service keeps this")
    assert added.returncode == 0, added.stderr
    login.systemctl("restart", "memd.service")
    assert login.run("memd", "get", added.stdout.strip()).stdout == "The service keeps this\n"


def test_backup_wiki_and_export_arrive_where_the_person_may_write(login: Login) -> None:
    """The service's own /tmp and its read-only home are not the person's."""
    folder = login.run("mktemp", "-d", "/tmp/memd-test-XXXXXX").stdout.strip()  # noqa: S108  # as a person would
    try:
        _copies_arrive(login, folder)
    finally:
        login.run("rm", "-r", folder)


def _copies_arrive(login: Login, folder: str) -> None:
    added = login.run("memd", "add", "The harbour freezes in January").stdout.strip()
    for target in (f"{folder}/copy.db", f"{login.home}/copy.db"):
        done = login.run("memd", "backup", target)
        assert (done.returncode, done.stdout) == (0, f"{target}\n"), done.stderr
        assert "600" in login.run("stat", "-c", "%a", target).stdout
        there = login.run("sh", "-c", f"grep -c 'harbour freezes' {target}")
        assert there.returncode == 0
    for target in (f"{folder}/wiki", f"{login.home}/wiki"):
        done = login.run("memd", "wiki", target)
        assert (done.returncode, done.stdout) == (0, f"{target}/default\n"), done.stderr
        page = f"{target}/default/raw/{added}.md"
        assert "harbour freezes" in login.run("cat", page).stdout
        assert login.run("stat", "-c", "%a", f"{target}/default").stdout == "700\n"
    done = login.run("memd", "export", f"{folder}/all.jsonl")
    assert done.returncode == 0, done.stderr
    assert "harbour freezes" in login.run("cat", f"{folder}/all.jsonl").stdout
    forgotten = login.run("memd", "forget", added, "--yes", "--json")
    for copy in (f"{folder}/copy.db", f"{login.home}/copy.db", f"{folder}/wiki/default"):
        assert copy in forgotten.stdout, forgotten.stderr


LESSON = {
    "discovery": "Before the tests, start the cache.",
    "condition": "The tests find no cache.",
    "action": "Start it.",
    "rationale": "They do not start it.",
    "confidence": 0.9,
}
CONNECTS = (
    "import socket, sys; sys.stdin.read();"
    " socket.create_connection(('127.0.0.1', {port})).close(); print({said!r})"
)


@pytest.mark.parametrize("provider", ["openai_compatible", "jobs"])
def test_a_language_model_is_reached_with_the_documented_drop_in_alone(
    login: Login, provider: str
) -> None:
    pages = (ROOT / "docs" / "llm.md").read_text("utf-8").split("```ini\n")[1:]
    documented = pages[provider == "jobs"].partition("```")[0]
    config = login.home / ".config" / "memd" / "config.yaml"
    drop_in = login.home / ".config" / "systemd" / "user" / "memd.service.d" / "llm.conf"
    with an_endpoint(LESSON) as stub:
        if provider == "jobs":
            port = int(stub.url.rpartition(":")[2].partition("/")[0])
            program = CONNECTS.format(port=port, said=json.dumps(LESSON))
            llm: dict[str, object] = {
                "provider": "jobs",
                "command": [sys.executable, "-c", program],
            }
        else:
            llm = {"provider": provider, "url": stub.url, "model": "stub"}
        settings = {"llm": llm | {"night_tokens": 1_000_000, "uses": {"lessons": True}}}
        try:
            config.parent.mkdir(parents=True, exist_ok=True)
            os.chown(config.parent, login.uid, login.uid)
            config.write_text(json.dumps(settings), "utf-8")
            login.systemctl("restart", "memd.service")
            assert asked(login, "without") == (0, 1)
            drop_in.write_text(documented, "utf-8")
            login.systemctl("daemon-reload")
            login.systemctl("restart", "memd.service")
            assert asked(login, "with") == (1, 0)
        finally:
            config.unlink()
            drop_in.unlink(missing_ok=True)
            login.systemctl("daemon-reload")  # the next start, of whatever test, is without it


def asked(login: Login, name: str) -> tuple[int, int]:
    """Report a failure; return how often the model answered since the start, and how often not."""
    done = login.run("memd", "learn", "failure", f"Run {name}", "--error", "no cache")
    assert done.returncode == 0, done.stderr
    status = json.loads(login.run("memd", "llm", "status", "--json").stdout)
    (lesson,) = (each for each in status["purposes"] if each["purpose"] == "lesson")
    return lesson["completions"], lesson["failures"]


def test_a_daemon_that_hangs_is_replaced(login: Login) -> None:
    pid = str(login.status()["pid"])
    assert login.property("NRestarts") == "0"
    login.run("kill", "-STOP", pid)
    wait_until(lambda: login.property("NRestarts") == "1", "the watchdog")
    assert str(login.status()["pid"]) != pid


def test_a_profile_is_an_instance_beside_the_first_and_goes_with_its_service(login: Login) -> None:
    """As it is typed: made, installed, used, removed; the first one runs on."""
    first = login.status()["pid"]
    folder = login.home / ".config" / "systemd" / "user"
    made = login.run("memd", "profile", "create", "work")
    assert made.returncode == 0, made.stderr
    installed = login.run("memd", "service", "install", "--no-sandbox", "--profile", "work")
    assert installed.returncode == 0, installed.stderr
    assert login.property("ActiveState", "memd@work.service") == "active"
    assert "enabled" in login.systemctl("is-enabled", "memd@work.service", "memd@work.socket")
    added = login.run("memd", "add", "The service of work keeps this", "--profile", "work")
    assert added.returncode == 0, added.stderr
    assert "of work" not in login.run("memd", "export").stdout

    done = login.run("memd", "profile", "remove", "work", "--yes")

    assert done.returncode == 0, done.stderr
    assert login.property("ActiveState", "memd@work.service") == "inactive"
    assert login.property("LoadState", "memd@work.service") == "not-found"
    assert [each for each in folder.rglob("*") if "work" in each.name] == []
    assert login.run("grep", "-rl", "of work keeps", str(login.home)).stdout == ""
    assert login.status()["pid"] == first


@pytest.mark.model  # at the end: once the model is there, each start reads it
def test_the_model_runs_inside_the_sandbox(login: Login, model_dir: Path) -> None:
    # The namespace has its own tmpfs and caches may be another user's: the model is copied.
    target = login.home / ".local" / "share" / "memd" / "models" / MODEL_NAME
    shutil.copytree(model_dir, target)
    subprocess.run(["chown", "-R", f"{login.uid}:{login.uid}", str(target.parent)], check=True)
    login.systemctl("restart", "memd.service")
    assert login.run("memd", "add", "The staging server stands in Frankfurt").returncode == 0
    answer = login.run("memd", "recall", "where is the test machine?", "--mode", "dense", "--json")
    assert json.loads(answer.stdout)["degraded"] is None
    model = login.status()["model"]
    assert isinstance(model, dict)
    assert model["loaded"] is True


def test_a_stop_is_clean_and_the_socket_goes_with_its_unit(login: Login) -> None:
    login.status()
    login.systemctl("stop", "memd.service")
    assert login.property("Result") == "success"
    assert login.property("ExecMainStatus") == "0"
    login.systemctl("stop", "memd.socket")
    assert login.run("memd", "status").returncode == 3
