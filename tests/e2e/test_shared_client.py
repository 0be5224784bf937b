"""One client of several threads: they take turns, and each gets its own answer."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from memd.base.errors import InvalidError, MemoryConnectionError
from memd.client import Client


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


def test_a_call_that_another_thread_closes_is_not_sent_again(tmp_path: Path) -> None:
    """A daemon that never answers: the call ends at once, and reaches it once."""
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        client = Client(socket=path)

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


def test_a_progress_function_may_not_use_its_own_client(client: Client) -> None:
    """Its answer would stand among those of the call that reports the progress."""
    items = [{"text": f"The hive {number} is empty."} for number in range(3)]

    with pytest.raises(InvalidError, match="Client of its own"):
        client.call(
            "memory.ingest_many",
            {"items": items},
            progress=lambda _done, _total: client.call("memory.count"),
        )

    client.close()
    assert client.call("memory.count") >= 0
