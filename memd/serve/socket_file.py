"""The socket in the file system: whose directory, which lock, how it is bound.

One daemon a store and one a socket: each has a lock file beside it, on which the
daemon holds an exclusive ``flock`` for its whole life. Two stores may share one
runtime directory, so the lock of the store says nothing about the socket. Whoever
holds both locks may replace a socket that is left over, after nobody answered
there. The socket is bound under another name and renamed, so that a client sees
either nothing or a socket that listens. A directory that somebody else could
write to is refused (PROMISES H08).

Who is at the other end is what the kernel says, nothing that the peer sends: the uid is
checked, the pid is for the log. Linux has ``SO_PEERCRED``,
macOS ``LOCAL_PEERCRED`` and ``LOCAL_PEERPID``, whose numbers Python does not name.
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
_PROBE_S = 1.0
_OTHER = (
    "stop it, or give this one another --profile or MEMD_HOME; "
    "an installed service is stopped with: systemctl --user stop memd.socket memd.service"
)


def own_directory(directory: Path) -> None:
    """Make *directory* (0700) if it is missing; raise UnsafePathError unless it is ours alone.

    One that others may only look into is closed to them; where they may write, they
    may have planted something already, so that is refused.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise UnsafePathError(
            f"{directory} is not a directory of its own (a symbolic link, or unreadable)"
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
            hint=f"look what is in it, then chmod 700 {directory}",
        )


def claim(path: Path) -> int:
    """Take the lock beside the socket at *path* and return its descriptor.

    Raises AlreadyRunningError when another daemon has it, whatever its store.
    """
    try:
        return lock(path.with_name(f"{path.name}.lock"))
    except AlreadyRunningError as error:
        raise AlreadyRunningError(f"{error.message}: it listens on {path}", hint=_OTHER) from None


def bind(path: Path) -> socket.socket:
    """Return a listening socket at *path*, mode 0600; call only while holding the locks.

    A socket that is left over there is replaced; anything else there is refused. Raises
    AlreadyRunningError when somebody answers there: it is not taken from a live daemon.
    """
    if len(os.fsencode(path)) > SOCKET_PATH_BYTES_MAX:
        raise UnsafePathError(
            f"the socket's path has more than {SOCKET_PATH_BYTES_MAX} bytes: {path}",
            hint="set MEMD_HOME to a shorter one",
        )
    _refuse_strangers(path)
    _refuse_listeners(path)
    # A short name: the temporary one must fit into the same few bytes.
    fresh = path.with_name(f".{os.getpid() % 10_000_000}")
    fresh.unlink(missing_ok=True)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        sock.bind(os.fspath(fresh))
        sock.listen(_BACKLOG)
        fresh.rename(path)
    except BaseException:
        sock.close()
        fresh.unlink(missing_ok=True)
        raise
    finally:
        os.umask(mask)
    sock.setblocking(False)
    return sock


def _refuse_strangers(path: Path) -> None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(status.st_mode) or not stat.S_ISSOCK(status.st_mode):
        raise UnsafePathError(f"{path} is there and is no socket", hint="move it away")
    if status.st_uid != os.getuid():
        raise UnsafePathError(f"{path} belongs to another user (uid {status.st_uid})")


def _refuse_listeners(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_S)
        try:
            probe.connect(os.fspath(path))
        except TimeoutError:
            who = "another program"  # its queue is full: it lives
        except OSError:
            return  # nothing there, or nobody listens any more
        else:
            peer = peer_of(probe)
            who = f"another program (pid {peer.pid})" if peer and peer.pid else "another program"
    raise AlreadyRunningError(f"{who} listens on {path} already", hint=_OTHER)


def identity(path: Path) -> tuple[int, int] | None:
    """Return which file *path* is now, to recognise it later."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def remove(path: Path, ours: tuple[int, int] | None) -> None:
    """Remove the socket at *path* if it is still *ours*."""
    if ours is not None and identity(path) == ours:
        path.unlink(missing_ok=True)


def inherited(environ: Mapping[str, str] = os.environ) -> socket.socket | None:
    """Return the listening socket that systemd or launchd opened for us, or None.

    ``LISTEN_PID`` must be ours: the variables may have been inherited from
    somebody else's start. Raises UnsafePathError when what was passed does not
    listen on a Unix socket.
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
        raise UnsafePathError("the socket that was passed is no listening Unix socket")
    sock.setblocking(False)
    return sock


def _from_systemd(environ: Mapping[str, str]) -> list[int]:
    if environ.get("LISTEN_PID") != str(os.getpid()):
        return []
    count = environ.get("LISTEN_FDS", "0")
    return [_FIRST_PASSED_FD + i for i in range(int(count) if count.isdigit() else 0)]


def _from_launchd(name: str = "memd") -> list[int]:
    """Ask launchd for the sockets of our property list; none when launchd did not start us."""
    import ctypes

    system = ctypes.CDLL("/usr/lib/libSystem.B.dylib", use_errno=True)
    fds = ctypes.POINTER(ctypes.c_int)()
    count = ctypes.c_size_t()
    failed = system.launch_activate_socket(
        name.encode(), ctypes.byref(fds), ctypes.byref(count)
    )  # ESRCH when launchd did not start us
    if failed:
        return []
    passed = [fds[i] for i in range(count.value)]
    system.free(fds)  # launchd's array is ours to free
    return passed


_SOL_LOCAL = 0
_LOCAL_PEERCRED = 1
_LOCAL_PEERPID = 2
_XUCRED = struct.Struct("=IIh2x16I")


class PeerProcess(NamedTuple):
    """The peer's user and, where the kernel tells it, its process."""

    uid: int
    pid: int | None


def peer_of(sock: socket.socket) -> PeerProcess | None:
    """Return who is connected to *sock*, or None when the kernel does not say (then: refuse)."""
    try:
        return _darwin(sock) if sys.platform == "darwin" else _linux(sock)
    except (OSError, struct.error):
        return None


def _linux(sock: socket.socket) -> PeerProcess:
    pid, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return PeerProcess(uid, pid or None)


def _darwin(sock: socket.socket) -> PeerProcess:
    credentials = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED.size)
    uid = _XUCRED.unpack(credentials)[1]
    (pid,) = struct.unpack("=i", sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4))
    return PeerProcess(uid, pid or None)
