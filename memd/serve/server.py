"""The listening socket: which clients are accepted, how many, and how the server stops.

Connections of other users are closed without an answer. Beyond ``CONNECTIONS_MAX`` a client
gets ``busy``. When the process has no file descriptors left, a spare one is closed for a
moment, so that the waiting client can be accepted and closed. Otherwise the loop would spin on
a connection that it cannot accept (PROMISES 1.6).
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Callable

from memd.base import log
from memd.base.clock import Clock
from memd.base.errors import BusyError
from memd.base.limits import CONNECTIONS_MAX, DRAIN_MS_MAX
from memd.serve.connection import Connection
from memd.serve.dispatch import Dispatch
from memd.serve.metrics import Metrics
from memd.serve.socket_file import PeerProcess, peer_process

_NO_DESCRIPTORS = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_RETRY_S = 0.05  # pause after a failed accept, so that the loop does not spin


class Server:
    """Owner of the listening socket and all connections; ``serve`` runs until ``stop``."""

    def __init__(
        self,
        sock: socket.socket,
        dispatch: Dispatch,
        metrics: Metrics,
        clock: Clock,
        *,
        peer: Callable[[socket.socket], PeerProcess | None] = peer_process,
    ) -> None:
        self.dispatch = dispatch
        self._sock = sock
        self._extra_socks: list[socket.socket] = []
        self._metrics = metrics
        self._clock = clock
        self._peer = peer
        self._connections: set[Connection] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        self._spare = _open_spare()

    @property
    def connections(self) -> int:
        return len(self._connections)

    @property
    def in_flight(self) -> int:
        return sum(connection.in_flight for connection in self._connections)

    async def serve(self, extra_sock: socket.socket | None = None) -> None:
        """Accept connections until cancelled, on *extra_sock* if given, else on the first socket.

        ``stop`` closes both.
        """
        if extra_sock is not None:
            self._extra_socks.append(extra_sock)
        sock = extra_sock or self._sock
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, _ = await loop.sock_accept(sock)
            except OSError as error:
                await self._reject_next(sock, error)
                continue
            await self._accept(client)

    def revoke(self, client: str) -> None:
        """Revoke the rights of every connection of *client*, whose key was revoked."""
        for connection in self._connections:
            if connection.credentials.identity.client == client:
                connection.revoke()

    async def stop(self) -> None:
        """Answer the requests in flight, for at most ``DRAIN_MS_MAX``, then close everything."""
        for sock in (self._sock, *self._extra_socks):
            sock.close()
        until_us = self._clock.monotonic_us() + DRAIN_MS_MAX * 1_000
        for connection in list(self._connections):
            connection.stop()
        await self._wait_idle(until_us)
        for connection in list(self._connections):
            connection.cancel_all()
        await self._wait_idle(self._clock.monotonic_us() + 100_000)
        for connection in list(self._connections):
            connection.abort()
        self._close_spare()

    async def _wait_idle(self, until_us: int) -> None:
        while self._is_busy() and self._clock.monotonic_us() < until_us:  # noqa: ASYNC110
            await asyncio.sleep(0.005)  # cheaper than an event for each task and connection

    def _is_busy(self) -> bool:
        return bool(self.tasks) or bool(self._connections)

    async def _accept(self, client: socket.socket) -> None:
        peer = self._peer(client)
        if peer is None or peer.uid != os.getuid():
            log.warning("refused another user", uid=peer.uid if peer else None)
            self.count_drop("another user")
            client.close()
            return
        client.setblocking(False)
        full = len(self._connections) >= CONNECTIONS_MAX
        self._metrics.accepted += 1
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.connect_accepted_socket(lambda: Connection(self), client)
        except OSError:
            client.close()
            return
        if full:
            connection.refuse(BusyError(f"memd has {CONNECTIONS_MAX} connections already"))

    async def _reject_next(self, sock: socket.socket, error: OSError) -> None:
        """Handle the *error* of an accept on *sock*, then pause.

        If there are no descriptors left, the waiting client, if any, is accepted with the spare
        one and closed. In this state ``accept`` fails whether or not a client waits.
        """
        if error.errno not in _NO_DESCRIPTORS:
            log.warning("accept failed", errno=error.errno)
            await asyncio.sleep(_RETRY_S)
            return
        self._close_spare()
        try:
            client, _ = sock.accept()
        except OSError:
            pass  # no client waits, or another thread took the descriptor
        else:
            client.close()
            self.count_drop("no descriptors")
        finally:
            self._spare = _open_spare()
        await asyncio.sleep(_RETRY_S)

    def _close_spare(self) -> None:
        if self._spare is not None:
            os.close(self._spare)

    # Callbacks of the connections (connection.Hub).

    def on_open(self, connection: Connection) -> None:
        self._connections.add(connection)

    def on_close(self, connection: Connection) -> None:
        self._connections.discard(connection)

    def count_drop(self, reason: str) -> None:
        self._metrics.dropped[reason.replace(" ", "_")] += 1


def _open_spare() -> int | None:
    """Open the spare descriptor; return None if none is left."""
    try:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
