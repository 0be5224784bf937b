"""The socket's file: its directory, its lock, how it is bound, and the credentials of peers.

There is one daemon per store and one per socket. Each has a lock file next to it, on which the
daemon holds an exclusive ``flock`` as long as it runs. Two stores may share one runtime
directory, so the lock of the store does not protect the socket. The holder of both locks may
replace a stale socket on which nobody answers. The socket is bound under a temporary name and
renamed, so that a client sees either nothing or a listening socket. A directory that another
user can write to is refused (PROMISES H08).

The kernel identifies the peers, not anything that they send. The uid is checked, the pid is for
messages. Linux has ``SO_PEERCRED``, macOS ``LOCAL_PEERCRED`` and ``LOCAL_PEERPID``, for which
Python has no constants.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from memd.base.errors import AlreadyRunningError, UnsafePathError
from memd.base.limits import SOCKET_PATH_BYTES_MAX
from memd.base.lock import lock

_FIRST_PASSED_FD = 3
_BACKLOG = 512
_PROBE_S = 1.0  # a live daemon accepts at once, unless its queue is full


def ensure_private_directory(directory: Path) -> None:
    """Create *directory* (0700) if missing; raise UnsafePathError unless it is private to us.

    If others can only read it, its mode is corrected. If they can write to it, it is refused,
    because they may have put files there already.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise UnsafePathError(
            f"{directory} cannot be used: it is a symbolic link, no directory, or unreadable"
        ) from error
    try:
        status = os.fstat(fd)
        _check_owner(directory, status)
        if stat.S_IMODE(status.st_mode) & 0o077:
            os.fchmod(fd, 0o700)
    finally:
        os.close(fd)


def _check_owner(directory: Path, status: os.stat_result) -> None:
    if status.st_uid != os.getuid():
        raise UnsafePathError(f"{directory} belongs to another user (uid {status.st_uid})")
    if status.st_mode & 0o022:
        raise UnsafePathError(
            f"other users may write to {directory} (mode {stat.S_IMODE(status.st_mode):04o})",
            hint=f"check its content, then: chmod 700 {directory}",
        )


def lock_socket(path: Path) -> int:
    """Take the lock next to the socket at *path* and return its descriptor.

    Raises AlreadyRunningError if another daemon holds it, even one with another store.
    """
    try:
        return lock(path.with_name(f"{path.name}.lock"))
    except AlreadyRunningError as error:
        raise AlreadyRunningError(f"{error.message}: it listens on {path}") from None


def bind(path: Path) -> socket.socket:
    """Return a listening socket at *path*, mode 0600. Call it only while holding the locks.

    A stale socket at *path* is replaced. Raises AlreadyRunningError if a process answers there,
    UnsafePathError for any other file.
    """
    if len(os.fsencode(path)) > SOCKET_PATH_BYTES_MAX:
        raise UnsafePathError(
            f"the socket's path has more than {SOCKET_PATH_BYTES_MAX} bytes: {path}",
            hint="set MEMD_HOME to a shorter one",
        )
    _check_path(path)
    _check_unused(path)
    # Short, because it must fit into SOCKET_PATH_BYTES_MAX too.
    temporary = path.with_name(f".{os.getpid() % 10_000_000}")
    temporary.unlink(missing_ok=True)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        sock.bind(os.fspath(temporary))
        sock.listen(_BACKLOG)
        temporary.rename(path)
    except BaseException:
        sock.close()
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.umask(mask)
    sock.setblocking(False)
    return sock


def _check_path(path: Path) -> None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(status.st_mode) or not stat.S_ISSOCK(status.st_mode):
        raise UnsafePathError(f"{path} exists and is not a socket", hint="move it away")
    if status.st_uid != os.getuid():
        raise UnsafePathError(f"{path} belongs to another user (uid {status.st_uid})")


def _check_unused(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_S)
        try:
            probe.connect(os.fspath(path))
        except TimeoutError:
            program = "another program"  # its queue is full, so it is alive
        except OSError:
            return  # no socket there, or a stale one
        else:
            peer = peer_process(probe)
            pid = f" (pid {peer.pid})" if peer and peer.pid else ""
            program = f"another program{pid}"
    raise AlreadyRunningError(f"{program} listens on {path} already")


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of *path*, None when there is no file."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def remove(path: Path, ours: tuple[int, int] | None) -> None:
    """Remove the socket at *path* if it still has the identity *ours*."""
    if ours is not None and file_identity(path) == ours:
        path.unlink(missing_ok=True)


def inherit_socket(environ: Mapping[str, str] = os.environ) -> socket.socket | None:
    """Return the listening socket passed by systemd or launchd, or None.

    ``LISTEN_PID`` must be our pid: otherwise the variables were inherited from another service.
    Raises UnsafePathError if the descriptor is not a listening Unix socket.
    """
    fds = _from_launchd() if sys.platform == "darwin" else _from_systemd(environ)
    if not fds:
        return None
    if len(fds) > 1:
        raise UnsafePathError(f"{len(fds)} sockets were passed, memd listens on one")
    os.set_inheritable(fds[0], False)
    sock = socket.socket(fileno=fds[0])
    listens = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    if sock.family != socket.AF_UNIX or sock.type != socket.SOCK_STREAM or not listens:
        raise UnsafePathError("the socket that was passed is not a listening Unix socket")
    sock.setblocking(False)
    return sock


def _from_systemd(environ: Mapping[str, str]) -> list[int]:
    if environ.get("LISTEN_PID") != str(os.getpid()):
        return []
    count = environ.get("LISTEN_FDS", "0")
    return [_FIRST_PASSED_FD + i for i in range(int(count) if count.isdigit() else 0)]


def _from_launchd() -> list[int]:
    """Return the sockets of our property list, [] if launchd did not start us."""
    import ctypes

    system = ctypes.CDLL("/usr/lib/libSystem.B.dylib", use_errno=True)
    fds = ctypes.POINTER(ctypes.c_int)()
    count = ctypes.c_size_t()
    failed = system.launch_activate_socket(
        b"memd", ctypes.byref(fds), ctypes.byref(count)
    )  # it returns ESRCH if launchd did not start us
    if failed:
        return []
    passed = [fds[i] for i in range(count.value)]
    system.free(fds)  # the caller has to free the array
    return passed


# From sys/un.h and sys/ucred.h of macOS. The fields of struct xucred: version, uid, number of
# groups, 16 groups.
_SOL_LOCAL = 0
_LOCAL_PEERCRED = 1
_LOCAL_PEERPID = 2
_XUCRED = struct.Struct("=IIh2x16I")


class PeerProcess(NamedTuple):
    """The peer's user and, where the kernel reports it, its process."""

    uid: int
    pid: int | None


def peer_process(sock: socket.socket) -> PeerProcess | None:
    """Return the peer of *sock*, None if the kernel does not report it: refuse such a peer."""
    try:
        return _peer_on_darwin(sock) if sys.platform == "darwin" else _peer_on_linux(sock)
    except (OSError, struct.error):
        return None


def _peer_on_linux(sock: socket.socket) -> PeerProcess:
    pid, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return PeerProcess(uid, pid or None)


def _peer_on_darwin(sock: socket.socket) -> PeerProcess:
    credentials = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED.size)
    uid = _XUCRED.unpack(credentials)[1]
    (pid,) = struct.unpack("=i", sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4))
    return PeerProcess(uid, pid or None)
