"""The socket in the file system, the lock, identity and what systemd is told."""

from __future__ import annotations

import gc
import os
import socket
import stat
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.commands import run_python
from support.daemon import environment

from memd.base.errors import AlreadyRunningError, UnsafePathError
from memd.base.limits import SOCKET_PATH_BYTES_MAX
from memd.base.lock import lock
from memd.serve import notify, socket_file
from memd.serve.socket_file import peer_process


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A short path: pytest's own may be too long to bind."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="m", dir="/tmp") as name:
        yield Path(name)


def test_a_missing_directory_is_made_for_us_alone(tmp_path: Path) -> None:
    made = tmp_path / "a" / "b"
    socket_file.ensure_private_directory(made)
    assert stat.S_IMODE(made.stat().st_mode) == 0o700


def test_a_directory_that_others_may_look_into_is_closed_to_them(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    socket_file.ensure_private_directory(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_a_path_too_long_for_a_socket_is_told_in_one_line_with_what_to_do(tmp_path: Path) -> None:
    """The places of a profile are never so long; this is for one that was given."""
    with pytest.raises(UnsafePathError) as result:
        socket_file.bind(tmp_path / ("m" * SOCKET_PATH_BYTES_MAX))
    assert f"more than {SOCKET_PATH_BYTES_MAX} bytes" in result.value.message
    assert "\n" not in result.value.message
    assert "MEMD_HOME" in (result.value.hint or "")


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_directory_that_others_may_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(UnsafePathError, match="other users may write"):
        socket_file.ensure_private_directory(tmp_path)


def test_a_link_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(UnsafePathError):
        socket_file.ensure_private_directory(tmp_path / "link")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(UnsafePathError, match="another user"):
        socket_file.ensure_private_directory(tmp_path)


def test_the_socket_is_ours_alone_and_listens_under_its_name(folder: Path) -> None:
    path = folder / "memd.sock"
    with socket_file.bind(path) as listening, socket.socket(socket.AF_UNIX) as client:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        client.connect(os.fspath(path))
        accepted, _ = listening.accept()
        with accepted:
            peer = peer_process(accepted)
        assert peer is not None
        assert (peer.uid, peer.pid) == (os.getuid(), os.getpid())
    assert sorted(p.name for p in folder.iterdir()) == ["memd.sock"]


def test_a_socket_left_over_is_replaced(folder: Path) -> None:
    path = folder / "memd.sock"
    socket_file.bind(path).close()
    with socket_file.bind(path), socket.socket(socket.AF_UNIX) as client:
        client.connect(os.fspath(path))


def test_a_socket_on_which_somebody_listens_is_not_replaced(folder: Path) -> None:
    path = folder / "memd.sock"
    with socket_file.bind(path):
        before = socket_file.file_identity(path)
        with pytest.raises(AlreadyRunningError, match=rf"\(pid {os.getpid()}\) listens on"):
            socket_file.bind(path)
        assert socket_file.file_identity(path) == before


def test_what_is_no_socket_is_not_replaced(folder: Path) -> None:
    path = folder / "memd.sock"
    path.write_text("mine", "utf-8")
    with pytest.raises(UnsafePathError):
        socket_file.bind(path)
    assert path.read_text("utf-8") == "mine"
    path.unlink()
    path.symlink_to(folder / "elsewhere")
    with pytest.raises(UnsafePathError):
        socket_file.bind(path)


def test_a_path_too_long_to_bind_is_refused_before_the_kernel_does(tmp_path: Path) -> None:
    with pytest.raises(UnsafePathError, match="bytes"):
        socket_file.bind(tmp_path / ("x" * 104))


def test_only_our_own_socket_is_removed(folder: Path) -> None:
    path = folder / "memd.sock"
    ours = None
    with socket_file.bind(path):
        ours = socket_file.file_identity(path)
        path.rename(folder / "moved")  # or its inode may be the next one's
    with socket_file.bind(path):
        socket_file.remove(path, ours)
        assert path.exists()
        socket_file.remove(path, socket_file.file_identity(path))
        assert not path.exists()


def test_the_lock_is_held_once_and_names_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "memd.lock"
    fd = lock(path)
    code = (
        "import sys; from pathlib import Path; from memd.base.lock import lock\n"
        "try: lock(Path(sys.argv[1]))\nexcept Exception as e: print(type(e).__name__, e)"
    )
    printed = run_python(code, str(path), env=environment(path))
    assert printed.startswith(f"{AlreadyRunningError.__name__} another memd runs already")
    assert f"(pid {os.getpid()})" in printed
    os.close(fd)
    os.close(lock(path))


def test_a_lock_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "memd.lock").symlink_to(tmp_path / "other")
    with pytest.raises(UnsafePathError):
        lock(tmp_path / "memd.lock")


def test_sockets_passed_to_another_process_are_not_ours() -> None:
    assert socket_file.inherit_socket({}) is None
    assert socket_file.inherit_socket({"LISTEN_PID": "1", "LISTEN_FDS": "1"}) is None
    assert socket_file.inherit_socket({"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "0"}) is None


def test_systemd_is_told_what_it_asks_for(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(os.fspath(folder / "notify"))
        environ = {"NOTIFY_SOCKET": os.fspath(folder / "notify")}
        notify.ready(environ)
        assert listening.recv(200).startswith(b"READY=1\n")
        notify.stopping(environ)
        assert listening.recv(200) == b"STOPPING=1"


def test_nobody_is_told_where_nobody_asks() -> None:
    assert not notify.send("READY=1", {})
    assert not notify.send("READY=1", {"NOTIFY_SOCKET": "/nowhere/at/all"})


def test_the_watchdog_is_fed_twice_in_its_patience() -> None:
    assert notify.watchdog_seconds({"WATCHDOG_USEC": "2000000"}) == 1.0
    assert notify.watchdog_seconds({"WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "1"}) is None
    assert notify.watchdog_seconds({}) is None


def test_a_socket_that_cannot_be_bound_is_closed(folder: Path) -> None:
    with warnings.catch_warnings(record=True) as error:
        warnings.simplefilter("always", ResourceWarning)
        with pytest.raises(FileNotFoundError):
            socket_file.bind(folder / "missing" / "memd.sock")
        gc.collect()
    assert not error
