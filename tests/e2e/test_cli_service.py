"""``memd service`` with a service manager that only writes down what it is told."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import forked
from support.daemon import environment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="systemd is on Linux only")

RECORDER = """#!/bin/sh
echo "$(basename "$0") $*" >> "$HOME/told"
case "$*" in
  *PrivateUsers*) exit {trial} ;;
  *is-active*) test -e "$HOME/.config/systemd/user/memd.service" ;;
esac
"""


class Login:
    """A person's login: a home, a memd command, a service manager."""

    def __init__(self, home: Path, *, trial: int = 0) -> None:
        self.home = home
        self.units = home / ".config" / "systemd" / "user"
        self.bin = home / "bin"
        self.bin.mkdir()
        self.command = self.bin / "memd"
        self.command.symlink_to(self._program("environment/memd", "exit 0"))
        for name in ("systemctl", "systemd-run"):
            self._program(f"bin/{name}", RECORDER.format(trial=trial))

    def _program(self, name: str, text: str) -> Path:
        path = self.home / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def types(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.memd("service", *words)

    def memd(self, *words: str) -> subprocess.CompletedProcess[str]:
        env = environment(self.home) | {
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.home / "run"),
            "PATH": f"{self.bin}:/usr/bin:/bin",
        }
        del env["MEMD_HOME"]
        return forked.run(words, env=env)

    def calls(self) -> list[str]:
        """Return what the service manager was told since the last time."""
        path = self.home / "told"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines

    def files(self) -> list[str]:
        return sorted(str(p.relative_to(self.units)) for p in self.units.rglob("*") if p.is_file())


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A home that is not below /tmp, where no service with a sandbox can live."""
    with tempfile.TemporaryDirectory(prefix=".memd-test-", dir=Path.home()) as name:
        yield Path(name)


@pytest.fixture
def login(tmp_path: Path) -> Login:
    return Login(tmp_path)


@pytest.mark.parametrize("folder", ["/tmp", "/var/tmp"])  # noqa: S108  # where no home may be
def test_a_home_below_a_temporary_folder_is_refused_with_what_to_do(folder: str) -> None:
    with tempfile.TemporaryDirectory(prefix="memd-test-", dir=folder) as name:
        login = Login(Path(name))
        done = login.types("install")
        assert done.returncode == 1
        assert "in a temporary folder" in done.stderr
        assert "--no-sandbox" in done.stderr
        assert not login.units.exists()
        assert not [line for line in login.calls() if line.startswith("systemctl")]
        assert login.types("install", "--no-sandbox").returncode == 0
        assert login.files() == ["memd.service", "memd.socket"]


def test_installing_writes_the_units_and_starts_them(login: Login, tmp_path: Path) -> None:
    done = login.types("install")
    assert done.returncode == 0, done.stderr
    assert login.files() == ["memd.service", "memd.service.d/10-sandbox.conf", "memd.socket"]
    service = (login.units / "memd.service").read_text()
    assert f"\nExecStart={login.command} serve\n" in service  # the link, not what it leads to
    commands = login.calls()
    assert "systemctl --user daemon-reload" in commands
    assert "systemctl --user enable memd.socket memd.service" in commands
    assert commands[-1] == "systemctl --user start memd.socket memd.service"
    assert (tmp_path / ".local" / "share" / "memd").stat().st_mode & 0o777 == 0o700


def test_installing_twice_changes_nothing_and_stops_nothing(login: Login) -> None:
    login.types("install")
    before = {name: (login.units / name).stat().st_mtime_ns for name in login.files()}
    login.calls()
    assert login.types("install").returncode == 0
    assert {name: (login.units / name).stat().st_mtime_ns for name in login.files()} == before
    assert not [line for line in login.calls() if " stop " in line]


def test_where_the_trial_fails_there_is_no_sandbox(tmp_path: Path) -> None:
    login = Login(tmp_path, trial=1)
    done = login.types("install")
    assert login.files() == ["memd.service", "memd.socket"]
    assert "the stricter sandbox is off" in done.stderr


def test_a_sandbox_that_is_no_longer_wanted_is_taken_away(login: Login) -> None:
    login.types("install")
    login.types("install", "--no-sandbox")
    assert login.files() == ["memd.service", "memd.socket"]


def test_printing_writes_and_starts_nothing(login: Login) -> None:
    done = login.types("install", "--print")
    assert "ListenStream=%t/memd/memd.sock" in done.stdout
    assert not login.units.exists()
    assert login.calls() == []


def test_uninstalling_takes_away_what_installing_wrote(login: Login) -> None:
    login.types("install")
    foreign = login.units / "memd.service.d" / "mine.conf"
    foreign.write_text("[Service]\n")
    login.calls()
    assert login.types("uninstall").returncode == 0
    assert login.files() == ["memd.service.d/mine.conf"]
    commands = login.calls()
    assert commands[0] == "systemctl --user disable --now memd.service memd.socket"
    assert commands[-1] == "systemctl --user daemon-reload"
    assert "no service is installed" in login.types("uninstall").stderr


def test_a_profile_has_an_instance_of_its_own_beside_the_first(login: Login) -> None:
    login.types("install")
    first = login.files()
    login.calls()
    assert login.types("install", "--profile", "work").returncode == 0
    assert sorted(set(login.files()) - set(first)) == [
        "memd@work.service",
        "memd@work.service.d/10-sandbox.conf",
        "memd@work.socket",
    ]
    commands = login.calls()
    assert "systemctl --user enable memd@work.socket memd@work.service" in commands
    assert not [line for line in commands if "memd.s" in line]
    assert login.types("uninstall", "--profile", "work").returncode == 0
    assert login.files() == first


def test_units_of_the_name_before_give_way_to_the_instance(login: Login) -> None:
    login.units.mkdir(parents=True)
    for name in ("memd-work.service", "memd-work.socket", "memd-work-2.service"):
        (login.units / name).write_text("[Unit]\n")
    assert login.types("install", "--no-sandbox", "--profile", "work").returncode == 0
    assert login.files() == ["memd-work-2.service", "memd@work.service", "memd@work.socket"]
    commands = login.calls()
    stopped = commands.index("systemctl --user disable --now memd-work.service memd-work.socket")
    assert stopped < commands.index("systemctl --user start memd@work.socket memd@work.service")


def test_removing_a_profile_stops_its_service_and_takes_its_units_away(
    login: Login, tmp_path: Path
) -> None:
    login.types("install")
    assert login.memd("profile", "create", "work").returncode == 0
    login.types("install", "--profile", "work")
    login.calls()
    done = login.memd("profile", "remove", "work", "--yes")
    assert done.returncode == 0, done.stderr
    assert login.files() == ["memd.service", "memd.service.d/10-sandbox.conf", "memd.socket"]
    assert login.calls() == [
        "systemctl --user disable --now memd@work.service memd@work.socket",
        "systemctl --user daemon-reload",
    ]
    assert [each for each in tmp_path.rglob("*") if "work" in each.name] == []


def test_status_says_what_is_and_whether_it_is_current(login: Login) -> None:
    assert login.types("status").returncode == 3
    login.types("install")
    answer = json.loads(login.types("status", "--json").stdout)
    assert answer == {
        "v": 1,
        "name": "memd.service",
        "installed": True,
        "current": True,
        "active": True,
        "sandbox": True,
    }
    (login.units / "memd.socket").write_text("[Socket]\n")
    assert "memd service install" in login.types("status").stderr


def test_a_service_manager_that_refuses_is_quoted(login: Login) -> None:
    (login.bin / "systemctl").write_text("#!/bin/sh\necho no bus >&2; exit 1\n")
    done = login.types("install")
    assert done.returncode == 1
    assert "no bus" in done.stderr
    assert '"memd serve"' in done.stderr
