"""One client of several threads: they take turns, and each gets its own answer."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.daemon import WAIT_S

from memd.base.errors import InvalidError, MemoryConnectionError
from memd.client import AsyncClient, Client


def test_threads_that_share_a_client_take_turns(client: Client) -> None:
    ids = [client.add(f"The boiler {number} is serviced in May") for number in range(8)]
    answers: dict[int, list[str]] = {}

    def ask(number: int) -> None:
        answers[number] = [
            client.call("memory.get", {"id": ids[number]})["content"] for _ in range(20)
        ]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(ids))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == {
        number: [f"The boiler {number} is serviced in May"] * 20 for number in range(len(ids))
    }


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[socket.socket]:
    """Yield the socket of a daemon that never answers."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        yield listening


def test_a_call_that_another_thread_closes_is_not_sent_again(listening: socket.socket) -> None:
    """The call ends at once, and reaches the daemon once."""
    client = Client(socket=listening.getsockname())

    def close() -> None:
        with listening.accept()[0] as accepted:
            accepted.recv(1)
            client.close()

    closer = threading.Thread(target=close)
    closer.start()
    with pytest.raises(MemoryConnectionError):
        client.call("memory.count")
    closer.join()
    listening.setblocking(False)
    with pytest.raises(BlockingIOError):
        listening.accept()


def test_a_call_that_is_interrupted_while_it_is_sent_leaves_no_connection(
    listening: socket.socket,
) -> None:
    """The next call would follow half a frame."""
    client = Client(socket=listening.getsockname())
    sent: list[bytes] = []

    def interrupt() -> None:
        with listening.accept()[0] as accepted:
            sent.append(accepted.recv(1))
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            accepted.settimeout(WAIT_S)
            while part := accepted.recv(1 << 16):
                sent.append(part)

    # What is started in the background ignores the signal, and so do its tests.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            client.add("x" * 900_000)
    finally:
        signal.signal(signal.SIGINT, handler)
    interrupter.join()
    assert not b"".join(sent).endswith(b"\n")


def test_closing_does_not_wait_for_a_call_that_connects(
    listening: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its call ends once it is connected: nothing is sent."""
    client = Client(socket=listening.getsockname())

    def load_key(_key: object) -> None:
        closer = threading.Thread(target=client.close)
        closer.start()
        closer.join()

    monkeypatch.setattr("memd.rpc.calls.load_key", load_key)
    with pytest.raises(MemoryConnectionError):
        client.call("memory.count")
    with listening.accept()[0] as accepted:
        assert accepted.recv(1) == b""


def test_after_a_progress_function_that_fails_a_call_is_told_of_itself_alone(
    client: Client,
) -> None:
    """It may not use its own client; the call that it belongs to is cancelled."""
    items = [{"text": f"The hive {number} is empty."} for number in range(3)]

    with pytest.raises(InvalidError, match="Client of its own"):
        client.call(
            "memory.ingest_many",
            {"items": items},
            progress=lambda _done, _total: client.call("memory.count"),
        )
    steps: list[int] = []
    client.call(
        "memory.ingest_many",
        {"items": items[:1]},
        progress=lambda _done, total: steps.append(total),
    )
    assert set(steps) == {1}


async def test_a_call_that_is_cancelled_before_its_key_was_read_leaves_no_connection(
    tmp_path: Path,
) -> None:
    """On it, the next call would be a stranger's."""
    asked = asyncio.Event()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        asked.set()
        await reader.read()
        writer.close()

    async with await asyncio.start_unix_server(accept, tmp_path / "s"):
        client = AsyncClient(socket=tmp_path / "s", key="k" * 64, timeout=None)
        call = asyncio.create_task(client.call("memory.count"))
        await asked.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert not client.is_connected
        await client.disconnect()


async def test_a_call_that_its_client_disconnects_is_not_sent_again(tmp_path: Path) -> None:
    accepted: list[asyncio.StreamWriter] = []
    called = asyncio.Event()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(writer)
        hello = json.loads(await reader.readline())
        answer = {"jsonrpc": "2.0", "id": hello["id"], "result": {}}
        writer.write(json.dumps(answer).encode() + b"\n")
        await reader.readline()
        called.set()

    async with await asyncio.start_unix_server(accept, tmp_path / "s"):
        client = AsyncClient(socket=tmp_path / "s")
        call = asyncio.create_task(client.call("memory.count"))
        await called.wait()
        await client.disconnect()
        with pytest.raises(MemoryConnectionError):
            await call
        assert len(accepted) == 1
        accepted[0].close()
    assert not client.is_connected
