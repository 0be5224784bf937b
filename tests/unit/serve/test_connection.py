"""What is said to a client that does not read: nothing that may get lost (PROMISES 4)."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
from support.daemon import WAIT_S, until

from memd.rpc import envelope
from memd.serve.connection import Connection
from memd.serve.dispatch import ActiveRequest

ANSWER = b"." * 1_048_576 + b"\n"  # more than a socket and the buffer before it take
EVENT, PROGRESS = b"an event\n", b"progress\n"


class Hub:
    """What a connection shares with the others; keeps the calls that it was asked to answer."""

    def __init__(self) -> None:
        self.calls: list[ActiveRequest] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self.reasons: list[str] = []
        self.dispatch: Any = self

    async def answer(self, request: envelope.Request, call: ActiveRequest) -> bytes | None:
        del request
        self.calls.append(call)
        return None

    def is_open(self, *_: Any) -> bool:
        return True

    def on_open(self, connection: Connection) -> None: ...

    def on_close(self, connection: Connection) -> None: ...

    def count_drop(self, reason: str) -> None:
        self.reasons.append(reason)


@pytest.fixture
def hub() -> Hub:
    return Hub()


@pytest.fixture
async def ends(hub: Hub) -> AsyncIterator[tuple[Connection, socket.socket]]:
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    loop = asyncio.get_running_loop()
    transport, connection = await loop.connect_accepted_socket(lambda: Connection(hub), ours)
    yield connection, theirs
    transport.abort()
    theirs.close()


async def read(end: socket.socket, size: int) -> bytes:
    """Return the next *size* bytes that come."""
    loop = asyncio.get_running_loop()
    read = b""
    while len(read) < size:
        read += await asyncio.wait_for(loop.sock_recv(end, size - len(read)), WAIT_S)
    return read


async def test_an_event_waits_while_the_client_is_behind(
    hub: Hub, ends: tuple[Connection, socket.socket]
) -> None:
    connection, theirs = ends
    connection.send(ANSWER)

    assert not connection.offer(EVENT)
    assert await read(theirs, len(ANSWER)) == ANSWER
    await until(lambda: connection.offer(EVENT), "it reads again")

    assert await read(theirs, len(EVENT)) == EVENT
    assert hub.reasons == []


async def test_progress_is_lost_while_the_client_is_behind(
    hub: Hub, ends: tuple[Connection, socket.socket]
) -> None:
    connection, theirs = ends
    request = {"jsonrpc": "2.0", "id": 1, "method": "memory.count"}
    await asyncio.get_running_loop().sock_sendall(theirs, json.dumps(request).encode() + b"\n")
    await until(lambda: bool(hub.calls), "it is asked")
    tell = hub.calls[0].notify
    assert tell is not None

    connection.send(ANSWER)
    tell(PROGRESS)
    assert await read(theirs, len(ANSWER)) == ANSWER
    await until(lambda: connection.offer(EVENT), "it reads again")
    assert await read(theirs, len(EVENT)) == EVENT
    tell(PROGRESS)

    assert await read(theirs, len(PROGRESS)) == PROGRESS
