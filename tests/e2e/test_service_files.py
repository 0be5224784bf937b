"""The shipped service files: valid, strict enough, and about the places that memd uses."""

from __future__ import annotations

import os
import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memd.base.paths import Paths
from memd.cli.daemon import units

ANALYZE = shutil.which("systemd-analyze")
EXPOSURE_MAX = {False: 65, True: 20}  # tenths; measured 6.2 and 1.5
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Return a login's environment: a home and a runtime directory, and nothing of memd's."""
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    return {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(runtime), "PATH": os.environ["PATH"]}


def places(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, profile: str) -> Paths:
    for name in ("MEMD_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    return Paths.resolve(profile)


def written(folder: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [str(folder / name) for name in files if not name.endswith(".conf")]


@needs_systemd
@pytest.mark.parametrize("profile", ["default", "work"])
@pytest.mark.parametrize("sandbox", [False, True])
def test_systemd_accepts_the_rendered_units_without_a_word(
    environ: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    profile: str,
    sandbox: bool,
) -> None:
    files = units.systemd(
        Path(sys.executable), places(environ, monkeypatch, profile), environ, sandbox=sandbox
    )
    names = written(tmp_path / "units", files)
    done = subprocess.run(
        [str(ANALYZE), "--user", "--man=no", "verify", *names],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.strip()) == (0, "")


@needs_systemd
@pytest.mark.parametrize("sandbox", [False, True])
def test_each_tier_is_as_closed_as_it_was_measured(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sandbox: bool
) -> None:
    paths = places(environ, monkeypatch, "default")
    files = units.systemd(Path(sys.executable), paths, environ, sandbox=sandbox)
    written(tmp_path / "units", files)
    done = subprocess.run(
        [
            str(ANALYZE), "security", "--offline=true", "--user", "--no-pager",
            f"--threshold={EXPOSURE_MAX[sandbox]}", str(tmp_path / "units" / "memd.service"),
        ],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-300:] + done.stderr


def test_the_socket_unit_listens_where_clients_look(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = places(environ, monkeypatch, "default")
    shipped = units.read_shipped("systemd/memd.socket")
    listen = re.findall(r"^ListenStream=(.*)$", shipped, re.MULTILINE)
    if sys.platform == "linux":
        assert listen == ["%t/memd/memd.sock"]
        assert listen[0].replace("%t", environ["XDG_RUNTIME_DIR"]) == str(paths.socket)
    assert "SocketMode=0600\nDirectoryMode=0700\n" in shipped


def test_the_sandbox_lets_memd_write_in_its_own_places_and_nowhere_else(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = places(environ, monkeypatch, "default")
    rendered = units.systemd(Path("/usr/bin/memd"), paths, environ, sandbox=True)
    line = re.findall(r"^ReadWritePaths=(.*)$", rendered["memd.service.d/10-sandbox.conf"], re.M)
    allowed = [
        word.removeprefix("-")
        .replace("%t", environ["XDG_RUNTIME_DIR"])
        .replace("%h", environ["HOME"])
        for word in line[0].split()
    ]
    assert allowed == [str(paths.runtime_dir), str(paths.data_dir), str(paths.state_dir)]
    assert str(paths.database).startswith(str(paths.data_dir))


# launchd.plist(5): what each key must be.
KINDS: dict[str, type] = {
    "Label": str, "ProgramArguments": list, "RunAtLoad": bool, "KeepAlive": dict,
    "ThrottleInterval": int, "ExitTimeOut": int, "Umask": int, "ProcessType": str,
    "LowPriorityBackgroundIO": bool, "Sockets": dict, "EnvironmentVariables": dict,
    "StandardOutPath": str, "StandardErrorPath": str,
}  # fmt: skip


def test_launchd_gets_known_keys_of_the_right_kind(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    paths = places(environ, monkeypatch, "default")
    log = tmp_path / "Library" / "Logs" / "memd" / "memd.log"
    (name, text), *more = units.launchd(Path("/usr/local/bin/memd"), paths, {}, log=log).items()
    agent = plistlib.loads(text.encode())
    assert not more
    assert name == agent["Label"] + ".plist"
    assert {key: type(value) for key, value in agent.items()} == KINDS
    assert agent["Umask"] == 0o077
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert agent["Sockets"]["memd"] == {
        "SockType": "stream",
        "SockPathName": str(paths.socket),
        "SockPathMode": 0o600,
    }
    for path in (agent["ProgramArguments"][0], agent["StandardOutPath"]):
        assert Path(path).is_absolute()
    assert "@" not in text
