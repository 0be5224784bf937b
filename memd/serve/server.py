"""The listening socket: who gets a connection, how many, and how it all stops.

Connections of another user are closed without a byte. Beyond ``CONNECTIONS_MAX``
a client is told ``busy``. When the process runs out of descriptors a spare one
is given up for a moment, so that the waiting client can be accepted and closed:
otherwise the loop would spin on a connection that it cannot take (PROMISES 1.6).
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
from memd.serve.socket_file import PeerProcess, peer_of

_NO_DESCRIPTORS = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_BREATH_S = 0.05


class Server:
    """Owns the listening socket and all connections. ``serve`` until ``stop``."""

    def __init__(
        self,
        sock: socket.socket,
        dispatch: Dispatch,
        metrics: Metrics,
        clock: Clock,
        *,
        peer: Callable[[socket.socket], PeerProcess | None] = peer_of,
    ) -> None:
        self.dispatch = dispatch
        self._sock = sock
        self._more: list[socket.socket] = []
        self._metrics = metrics
        self._clock = clock
        self._peer = peer
        self._connections: set[Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._spare = _spare()

    @property
    def connections(self) -> int:
        return len(self._connections)

    @property
    def in_flight(self) -> int:
        return sum(connection.in_flight for connection in self._connections)

    async def serve(self, also: socket.socket | None = None) -> None:
        """Accept connections until cancelled; on *also*, another socket, if one is given."""
        if also is not None:
            self._more.append(also)
        sock = also or self._sock
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, _ = await loop.sock_accept(sock)
            except OSError as error:
                await self._shed(error)
                continue
            await self._welcome(client)

    def disown(self, client: str) -> None:
        """Take all rights from every connection of *client*, whose key was taken away."""
        for connection in self._connections:
            if connection.credentials.identity.client == client:
                connection.disown()

    async def stop(self) -> None:
        """Answer what is in flight, for at most ``DRAIN_MS_MAX``, then close everything."""
        for sock in (self._sock, *self._more):
            sock.close()
        until_us = self._clock.monotonic_us() + DRAIN_MS_MAX * 1_000
        for connection in list(self._connections):
            connection.stop()
        await self._quiet(until_us)
        for connection in list(self._connections):
            connection.cancel_all()
        await self._quiet(self._clock.monotonic_us() + 100_000)
        for connection in list(self._connections):
            connection.abort()
        os.close(self._spare)

    async def _quiet(self, until_us: int) -> None:
        while self._busy() and self._clock.monotonic_us() < until_us:  # noqa: ASYNC110
            await asyncio.sleep(0.005)  # many small things at the very end: an event each is more

    def _busy(self) -> bool:
        return bool(self._tasks) or bool(self._connections)

    async def _welcome(self, client: socket.socket) -> None:
        peer = self._peer(client)
        if peer is None or peer.uid != os.getuid():
            log.warning("refused another user", uid=peer.uid if peer else None)
            self.dropped("another user")
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

    async def _shed(self, error: OSError) -> None:
        """Take and close the waiting connection with the spare descriptor, then breathe."""
        if error.errno not in _NO_DESCRIPTORS:
            log.warning("accept failed", errno=error.errno)
            await asyncio.sleep(_BREATH_S)
            return
        self.dropped("no descriptors")
        os.close(self._spare)
        try:
            client, _ = self._sock.accept()
            client.close()
        except OSError:
            pass  # it went away by itself
        finally:
            self._spare = _spare()
        await asyncio.sleep(_BREATH_S)

    # What connections tell (connection.Hub).

    def opened(self, connection: Connection) -> None:
        self._connections.add(connection)

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)

    def dropped(self, reason: str) -> None:
        self._metrics.dropped[reason.replace(" ", "_")] += 1

    def keep(self, task: asyncio.Task[None]) -> None:
        """Hold on to a request's task, which may outlive its connection."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _spare() -> int:
    return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
