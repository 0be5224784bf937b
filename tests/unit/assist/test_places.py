"""The pump looks for memd where memd is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memd.assist import connection, pump
from memd.base.limits import FRAME_BYTES_MAX, KEY_FILE_BYTES_MAX, SOCKET_PATH_BYTES_MAX
from memd.base.paths import Paths
from memd.rpc.faults import CODES


@pytest.mark.parametrize("profile", [None, "work"])
@pytest.mark.parametrize("runtime", ["here", "elsewhere", "nowhere"])
def test_the_socket_and_the_keys_are_where_the_daemon_has_them(
    profile: str | None, runtime: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    for name in ("MEMD_HOME", "MEMD_PROFILE", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "TMPDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    if runtime == "here":
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    if runtime == "elsewhere":
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    paths = Paths.resolve(profile)
    assert str(paths.socket) in connection.sockets(profile, dict(os.environ))
    paths.keys_dir.mkdir(parents=True, mode=0o700)
    held = paths.keys_dir / "codex.key"
    held.write_text("memd-key-" + "7" * 64 + "\n")
    held.chmod(0o600)
    assert connection.read_key("codex", profile, dict(os.environ)) == "memd-key-" + "7" * 64


@pytest.mark.parametrize("profile", [None, "work"])
def test_a_home_of_its_own_is_looked_in_alone(profile: str | None, tmp_path: Path) -> None:
    for home in (tmp_path, tmp_path / ("long" * 30)):
        paths = Paths.resolve(profile, home=home, environ={})
        assert connection.sockets(profile, {"MEMD_HOME": str(home)}) == [str(paths.socket)]


def test_a_key_that_others_could_read_is_not_presented(tmp_path: Path) -> None:
    held = tmp_path / "a.key"
    held.write_text("memd-key-" + "7" * 64)
    held.chmod(0o644)
    environ = {"MEMD_CLIENT_KEY_FILE": str(held)}
    with pytest.raises(connection.HookError, match="other users may read"):
        connection.read_key(None, None, environ)
    held.chmod(0o600)
    assert connection.read_key(None, None, environ) is not None
    link = tmp_path / "link.key"
    link.symlink_to(held)
    with pytest.raises(connection.HookError, match="cannot be read"):
        connection.read_key(None, None, {"MEMD_CLIENT_KEY_FILE": str(link)})
    held.write_text("open sesame")
    with pytest.raises(connection.HookError, match="no client key"):
        connection.read_key(None, None, environ)
    assert connection.read_key(None, None, {}) is None


@pytest.mark.parametrize("name", ["../up", "", "a b", "a/b", ".."])
def test_a_name_that_is_no_file_name_is_refused(name: str) -> None:
    with pytest.raises(connection.HookError, match="no name of a client"):
        connection.read_key(name, None, {})


def test_a_folder_in_which_others_could_put_a_socket_is_not_trusted(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    assert connection.is_own_socket(str(folder / "memd.sock"))
    folder.chmod(0o777)
    assert not connection.is_own_socket(str(folder / "memd.sock"))
    assert not connection.is_own_socket(str(tmp_path / "none" / "memd.sock"))


def test_what_is_said_twice_is_the_same() -> None:
    assert (pump.LINE_BYTES_MAX, connection.KEY_BYTES_MAX) == (FRAME_BYTES_MAX, KEY_FILE_BYTES_MAX)
    assert connection.SOCKET_PATH_BYTES_MAX == SOCKET_PATH_BYTES_MAX
    assert {kind: CODES[kind] for kind in pump.CODES} == pump.CODES
    own = {"not_running": pump.NOT_RUNNING, "parse": pump.PARSE}
    own |= dict.fromkeys(("too_large", "invalid_request"), pump.INVALID_REQUEST)
    assert {kind: CODES[kind] for kind in own} == own
