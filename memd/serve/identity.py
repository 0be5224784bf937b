"""Who sits at the other end of a socket: the uid is checked, the pid is for the log.

The kernel says so; nothing the peer sends is asked. Linux has ``SO_PEERCRED``,
macOS ``LOCAL_PEERCRED`` and ``LOCAL_PEERPID``, whose numbers Python does not name.
"""

from __future__ import annotations

import socket
import struct
import sys
from typing import NamedTuple

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
    told = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED.size)
    uid = _XUCRED.unpack(told)[1]
    (pid,) = struct.unpack("=i", sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4))
    return PeerProcess(uid, pid or None)
