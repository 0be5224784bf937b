"""One client of several threads: they take turns, and each gets its own answer."""

from __future__ import annotations

import threading

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
