"""Hostile clients at a real socket (PROMISES 6, H01-H25), around a real store."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import resource
import socket
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from support.daemon import WAIT_S, running, spawned, until, wait_until
from support.gated_rooms import GatedRooms
from support.raw_socket import Wire, operating, req, wire
from support.work_units import effort

import memd.daemon
from memd.base import limits
from memd.base.paths import Paths
from memd.client import AsyncClient
from memd.serve import connection, rooms, server
from memd.serve.socket_file import PeerProcess

HELLO = req("system.hello")
IMPORTED_LATE = (
    *rooms._PROMPT_MODULES,
    "memd.sleep.window.other_sessions",
    "memd.sleep.window.window_watcher",
)
"""What the daemon imports after its start, which takes descriptors."""


async def alive(line: Wire) -> None:
    answer = await line.ask(req("system.hello", "still there?"))
    assert answer["id"] == "still there?"
    assert answer["result"]["name"] == "memd"


async def dropped(line: Wire) -> dict[str, int]:
    """Return how many connections the daemon has closed, by reason."""
    answer: dict[str, dict[str, dict[str, int]]] = await line.ask(req("system.metrics"))
    return answer["result"]["dropped"]


def failed(answer: Any, code: int, kind: str | None = None) -> None:
    assert answer["error"]["code"] == code, answer
    if kind is not None:
        assert answer["error"]["data"]["kind"] == kind


# The transport.


async def test_h01_a_frame_that_never_ends_is_not_waited_for(
    gated: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FRAME_ARRIVAL_MS_MAX", 200)
    async with wire(gated.socket) as slow, wire(gated.socket) as good:
        await slow.raw(b'{"a')
        await alive(good)
        assert await slow.closed()
        assert await dropped(good) == {"slow_frame": 1}


async def drip(line: Wire) -> ConnectionError:
    """Send a byte now and then until the daemon has closed."""
    while True:
        try:
            await line.raw(b"x")
        except ConnectionError as error:
            return error
        await asyncio.sleep(0.02)


async def test_h02_a_byte_now_and_then_does_not_keep_a_connection(
    gated: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FRAME_ARRIVAL_MS_MAX", 200)
    async with wire(gated.socket) as slow, wire(gated.socket) as good:
        dripping = asyncio.create_task(drip(slow))
        assert isinstance((await asyncio.wait_for(dripping, WAIT_S)), ConnectionError)
        assert await dropped(good) == {"slow_frame": 1}


async def test_a_slow_client_behind_full_slots_is_not_taken_for_one_that_sends_slowly(
    gated: Paths, house: GatedRooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FRAME_ARRIVAL_MS_MAX", 100)
    house.gate = asyncio.Event()
    async with wire(gated.socket) as busy:
        await busy.send(*(req("memory.count", i) for i in range(40)))
        await busy.raw(json.dumps(req("memory.count", 40)).encode()[:10])
        await asyncio.sleep(0.3)
        monkeypatch.setattr(limits, "FRAME_ARRIVAL_MS_MAX", WAIT_S * 1_000)  # from now on it counts
        house.gate.set()
        assert {(await busy.frame())["id"] for _ in range(40)} == set(range(40))


async def test_h03_a_frame_without_end_is_answered_and_the_connection_closed(line: Wire) -> None:
    line.writer.write(b"x" * 2 * limits.FRAME_BYTES_MAX)
    failed(await line.frame(), -32600, "too_large")
    assert await line.closed()


async def test_what_came_before_an_oversized_frame_is_answered_first(line: Wire) -> None:
    line.writer.write(json.dumps(HELLO).encode() + b"\n" + b"x" * 2 * limits.FRAME_BYTES_MAX)
    assert (await line.frame())["id"] == 1
    failed(await line.frame(), -32600, "too_large")


def test_h04_a_client_that_never_reads_is_dropped_and_costs_little(home: Path) -> None:
    with spawned(home) as daemon, daemon.client() as good:
        stored = good.call("memory.store", {"content": "x" * 500_000, "category": "semantic"})
        good.call("memory.get", {"id": stored})
        before = good.call("system.metrics")["rss_bytes"]
        with socket.socket(socket.AF_UNIX) as deaf:
            deaf.connect(str(daemon.paths.socket))
            asked = (req("memory.get", i, id=stored) for i in range(2_000))
            deaf.sendall(b"".join(json.dumps(each).encode() + b"\n" for each in asked))
            wait_until(
                lambda: good.call("system.metrics")["dropped"] == {"not_reading": 1},
                "the client that does not read is dropped",
            )
            assert good.call("system.metrics")["rss_bytes"] - before < 30_000_000
        assert good.call("system.hello")["name"] == "memd"


async def test_h05_one_connection_too_many_is_told_busy(
    gated: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "CONNECTIONS_MAX", 3)
    lines = [await asyncio.open_unix_connection(gated.socket) for _ in range(3)]
    held = [Wire(*pair) for pair in lines]
    for one in held:
        await alive(one)
    async with wire(gated.socket) as late:
        failed(await late.frame(), -32004, "busy")
        assert await late.closed()
    for one in held:
        await alive(one)
        one.writer.close()
        await one.writer.wait_closed()
    async with wire(gated.socket) as next_one:
        await alive(next_one)


@pytest.mark.parametrize("number", [2_000, pytest.param(10_000, marks=pytest.mark.long)])
async def test_h06_thousands_of_requests_at_once_begin_in_order_and_are_all_answered(
    gated: Paths, house: GatedRooms, number: int
) -> None:
    async with wire(gated.socket) as flood:
        asked = (req("memory.count", i, agent_id=f"agent {i}") for i in range(number))
        data = b"".join(json.dumps(each).encode() + b"\n" for each in asked)
        sending = asyncio.create_task(flood.raw(data))
        assert sorted([(await flood.frame())["id"] for _ in range(number)]) == list(range(number))
        await sending
    assert [caller.agent_id for caller in house.callers] == [f"agent {i}" for i in range(number)]
    assert house.most <= limits.IN_FLIGHT_REQUESTS_MAX


async def test_h06_what_waits_beyond_the_cap_is_not_begun(gated: Paths, house: GatedRooms) -> None:
    house.gate = asyncio.Event()
    async with wire(gated.socket) as flood:
        await flood.send(*(req("memory.count", i) for i in range(100)))
        await until(lambda: house.began == limits.IN_FLIGHT_REQUESTS_MAX, "the slots are full")
        await asyncio.sleep(0.05)
        assert house.began == limits.IN_FLIGHT_REQUESTS_MAX
        house.gate.set()
        assert sorted([(await flood.frame())["id"] for _ in range(100)]) == list(range(100))


async def test_h06_a_client_beyond_the_cap_is_not_read(gated: Paths, house: GatedRooms) -> None:
    house.gate = asyncio.Event()
    number = 2_000  # of 2 KB each, most of it blanks: what the kernel holds is few requests
    async with wire(gated.socket) as flood:
        asked = (json.dumps(req("memory.count", i)).encode() for i in range(number))
        data = b"".join(frame.ljust(2_047) + b"\n" for frame in asked)
        sending = asyncio.create_task(flood.raw(data))
        async with AsyncClient(gated.socket) as other:
            for _ in range(50):
                held = (await other.call("system.metrics"))["in_flight"]
                assert held <= limits.IN_FLIGHT_REQUESTS_MAX + 1  # the question itself is one
                await asyncio.sleep(0.005)
        assert not sending.done(), "the daemon buffers what it cannot run"
        house.gate.set()
        answered = {(await flood.frame())["id"] for _ in range(500)}
        assert answered < set(range(500 + limits.IN_FLIGHT_REQUESTS_MAX))
        assert len(answered) == 500
        sending.cancel()


@pytest.mark.parametrize("peer", [PeerProcess(65534, 1), None])
async def test_h07_another_user_gets_no_byte(
    home: Path, house: GatedRooms, monkeypatch: pytest.MonkeyPatch, peer: PeerProcess | None
) -> None:
    monkeypatch.setattr(server.Server.__init__, "__kwdefaults__", {"peer": lambda _sock: peer})
    async with running(home, house.build) as paths, wire(paths.socket) as stranger:
        assert await stranger.closed()


def turns_of(loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that grows by one whenever the loop looks what there is to do."""
    turns: list[Any] = []
    selector = loop._selector  # type: ignore[attr-defined]
    select = selector.select

    def counted(wait: float | None = None) -> Any:
        turns.append(wait)
        return select(wait)

    monkeypatch.setattr(selector, "select", counted)
    return turns


@contextlib.contextmanager
def without_descriptors() -> Iterator[list[int]]:
    """Hold every descriptor that this process may open; yields them."""
    held: list[int] = []
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        with contextlib.suppress(OSError):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        yield held
    finally:
        for fd in held:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("taken", [False, True], ids=["free", "taken by another thread"])
async def test_h10_without_descriptors_the_daemon_sheds_load_and_recovers(
    gated: Paths, monkeypatch: pytest.MonkeyPatch, *, taken: bool
) -> None:
    """Also if another thread takes what the daemon frees for the client that waits."""
    for module in IMPORTED_LATE:
        import_module(module)
    async with wire(gated.socket) as good:
        await alive(good)  # the first answer imports, too
        clients = [socket.socket(socket.AF_UNIX) for _ in range(8)]
        with without_descriptors() as held, monkeypatch.context() as patched:
            for client in clients:
                client.setblocking(False)
                client.connect(os.fspath(gated.socket))
            turns = turns_of(asyncio.get_running_loop(), patched)
            if taken:
                patched.setattr(os, "close", partial(close_and_take, os.close, held))
            await asyncio.sleep(0.5)
            assert len(turns) < 100, "the loop spins"
            await alive(good)
        for client in clients:
            client.close()
        async with wire(gated.socket) as after:
            await alive(after)


@pytest.mark.parametrize("replaced", [False, True], ids=["first", "replaced"])
async def test_h10_without_descriptors_a_client_that_waits_is_closed(
    home: Path, house: GatedRooms, monkeypatch: pytest.MonkeyPatch, *, replaced: bool
) -> None:
    """Also on the socket that replaced a deleted one. Only clients count as dropped."""
    # Else a check of the file or a watch may close a file just then, and the client is accepted.
    monkeypatch.setattr(rooms.DaemonRooms, "background", ())
    monkeypatch.setattr(memd.daemon, "SOCKET_CHECK_SECONDS", 0.01)
    async with running(home, house.build) as paths:
        if replaced:
            paths.socket.unlink()
            await until(paths.socket.exists, "it listens again")
        async with wire(paths.socket) as good:
            await alive(good)
            with socket.socket(socket.AF_UNIX) as client, without_descriptors():
                client.setblocking(False)
                client.connect(os.fspath(paths.socket))
                await until(lambda: is_closed(client), "it is closed")
                await asyncio.sleep(0.2)
            assert (await dropped(good))["no_descriptors"] == 1


def is_closed(client: socket.socket) -> bool:
    """Return whether the daemon has closed the connection without a byte."""
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False


def close_and_take(close: Callable[[int], None], held: list[int], fd: int) -> None:
    close(fd)
    held.append(os.open(os.devnull, os.O_RDONLY))


async def test_an_idle_connection_is_closed(gated: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    async with wire(gated.socket) as idle:
        await alive(idle)
        monkeypatch.setattr(limits, "CONNECTION_IDLE_MS_MAX", 100)
        await alive(idle)
        assert await idle.closed()


async def test_a_connection_that_waits_for_its_answer_is_not_idle(
    gated: Paths, house: GatedRooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.gate = asyncio.Event()
    async with wire(gated.socket) as patient:
        await alive(patient)
        monkeypatch.setattr(limits, "CONNECTION_IDLE_MS_MAX", 50)
        await patient.send(req("memory.count"))
        await asyncio.sleep(0.2)
        house.gate.set()
        assert (await patient.frame())["result"] == 0


# JSON-RPC.


HOSTILE: dict[str, tuple[bytes, int]] = {
    "h11 deep": (b"[" * 100_000, -32700),
    "h12 wide": (b"[" + b"[]," * 340_000 + b"[]]", -32600),
    "h13 nan": (b'{"jsonrpc":"2.0","id":NaN,"method":"m"}', -32700),
    "h13 infinity": (b"[Infinity]", -32700),
    "h13 1e400": (b'{"jsonrpc":"2.0","id":1e400,"method":"m"}', -32602),
    "h14 digits": (b'{"id":' + b"1" * 5_000 + b"}", -32700),
    "h15": (b'{"jsonrpc":"2.0","id":9223372036854775808,"method":"m"}', -32602),
    "h15-": (b'{"jsonrpc":"2.0","id":-9223372036854775809,"method":"m"}', -32602),
    "h16 twice": (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}', -32700),
    "h17 bom": (b"\xef\xbb\xbf" + json.dumps(HELLO).encode(), -32700),
    "h17 surrogate bytes": (b'{"method":"\xed\xa0\x80"}', -32700),
    "h20 empty batch": (b"[]", -32600),
    "h20 large batch": (json.dumps([HELLO] * 10_000).encode(), -32600),
    "h21 true": (b'{"jsonrpc":"2.0","id":true,"method":"system.hello"}', -32600),
    "h21 object": (b'{"jsonrpc":"2.0","id":{},"method":"system.hello"}', -32600),
    "h21 float": (b'{"jsonrpc":"2.0","id":1.5,"method":"system.hello"}', -32600),
    "h23 dunder": (json.dumps(req("__class__")).encode(), -32601),
    "h23 empty": (json.dumps(req("")).encode(), -32601),
    "h23 long": (json.dumps(req("x" * 10_000)).encode(), -32601),
    "h24 unknown": (json.dumps(req("system.hello", x=1)).encode(), -32602),
    "h24 array": (b'{"jsonrpc":"2.0","id":1,"method":"memory.get","params":["a"]}', -32602),
    "null": (b"null", -32600),
    "a string": (b'"hello"', -32600),
}
"""What is no request of a method that there is, with the code of its answer."""


async def test_a_hostile_frame_is_answered_and_the_connection_lives(line: Wire) -> None:
    """Every one on the same connection; all together take no more than one may."""
    answers = {}
    with effort() as spent:
        for name, (frame, _) in HOSTILE.items():
            answers[name] = await line.ask(frame)
            await alive(line)
    assert spent.units < 200
    codes = {name: answer.get("error", {}).get("code") for name, answer in answers.items()}
    assert codes == {name: code for name, (_, code) in HOSTILE.items()}
    assert [name for name, each in answers.items() if not each["error"]["data"]["kind"]] == []


async def test_h17_utf_16_is_refused(line: Wire) -> None:
    await line.send(json.dumps(HELLO).encode("utf-16"))
    failed(await line.frame(), -32700, "parse")
    await asyncio.sleep(0)  # the second half of the line end is a frame of its own


async def test_h18_h19_a_text_that_cannot_be_stored_is_invalid(line: Wire) -> None:
    for text in ("\\ud800", "a\\u0000b", "\\udc00\\ud800"):
        frame = (
            '{"jsonrpc":"2.0","id":5,"method":"memory.store",'
            f'"params":{{"content":"{text}","category":"semantic"}}}}'
        )
        answer = await line.ask(frame.encode())
        failed(answer, -32602, "invalid")
        assert answer["id"] == 5
        await alive(line)


async def test_h22_a_notification_is_done_and_never_answered(line: Wire, house: GatedRooms) -> None:
    notification = req("memory.store", content="a", category="semantic")
    del notification["id"]
    wrong = req("no.such.method")
    del wrong["id"]
    await line.send(notification, wrong)
    await alive(line)
    await until(lambda: house.done == 1, "the write is done")
    assert await house.memories() == 1


async def test_h25_a_number_out_of_range_is_named(line: Wire) -> None:
    for k in (0, -1, 10**9, "5", True, 1.5):
        answer = await line.ask(req("memory.recall", query="x", top_k=k))
        failed(answer, -32602, "invalid")
        assert answer["error"]["data"]["field"] == "top_k", k


async def test_a_request_with_a_null_id_is_answered(line: Wire) -> None:
    answer = await line.ask(req("system.hello", None))
    assert answer["id"] is None
    assert "result" in answer


async def test_blank_lines_and_carriage_returns_do_no_harm(line: Wire) -> None:
    await line.raw(b"\n\r\n" + json.dumps(HELLO).encode() + b"\r\n")
    assert "result" in await line.frame()


async def test_a_batch_is_answered_as_one_each_member_for_itself(line: Wire) -> None:
    notification = {"jsonrpc": "2.0", "method": "system.hello"}
    answers = await line.ask([HELLO, 1, notification, req("memory.get", 2, id="x"), req("nope", 3)])
    assert [answer["id"] for answer in answers] == [1, None, 2, 3]
    assert [answer.get("error", {}).get("code") for answer in answers] == [
        None,
        -32600,
        None,
        -32601,
    ]


async def test_a_batch_of_notifications_has_no_answer(line: Wire) -> None:
    await line.send([{"jsonrpc": "2.0", "method": "system.hello"}] * 3)
    await alive(line)


async def test_a_batch_keeps_to_the_cap_too(line: Wire, house: GatedRooms) -> None:
    house.gate = asyncio.Event()
    await line.send([req("memory.count", i) for i in range(limits.BATCH_REQUESTS_MAX)])
    await until(lambda: house.began == limits.IN_FLIGHT_REQUESTS_MAX, "the slots are full")
    house.gate.set()
    assert len(await line.frame()) == limits.BATCH_REQUESTS_MAX
    assert house.most == limits.IN_FLIGHT_REQUESTS_MAX


# A generator of hostile calls, from the document that the daemon gives of itself.

ODD: tuple[Any, ...] = (
    None, True, 0, -1, 10**9, 2**63 - 1, 1.5, 1e308, "", " ", "x" * 300, "x" * 20_000,
    "'; drop table memory;--", '"', "NEAR(", "\u202e\u2028\u0085", "2026-01-01",
    "9999-12-31T23:59:59Z", [], [None], ["x"] * 100, {}, {"a": {"b": []}},
)  # fmt: skip


@pytest.mark.parametrize("calls", [300, pytest.param(600, marks=pytest.mark.long)])
async def test_no_call_that_the_document_allows_to_write_down_is_a_bug(
    gated: Paths, calls: int
) -> None:
    chance = random.Random(4711)
    async with AsyncClient(gated.socket) as good:
        document = await good.call("rpc.discover")
    codes = set(document["x-error-kinds"].values()) - {-32603}
    methods = [m for m in document["methods"] if m["name"] != "system.shutdown"]
    async with wire(gated.socket) as line:
        await operating(line, gated)
        for number in range(calls):
            method = chance.choice(methods)
            params: dict[str, Any] = {
                param["name"]: chance.choice(ODD)
                for param in method["params"]
                if param["required"] or chance.random() < 0.3
            }
            if chance.random() < 0.1:
                params["surprise"] = 1
            answer = await line.ask(req(method["name"], number, **params))
            while answer.get("method") == "$/progress":
                answer = await line.frame()
            assert answer["id"] == number
            if "error" in answer:
                assert answer["error"]["code"] in codes, (method["name"], params, answer)
            if method["name"] == "system.hello":  # an odd key has taken all rights away
                await operating(line, gated)


async def test_good_clients_are_served_while_bad_ones_are_about(gated: Paths) -> None:
    bad = [await asyncio.open_unix_connection(gated.socket) for _ in range(40)]
    for number, (_, writer) in enumerate(bad):
        writer.write((b"{", b"junk\n", b"x" * 300_000, b"[]\n" * 50)[number % 4])
    async with AsyncClient(gated.socket) as good:
        await asyncio.gather(*(good.call("memory.count") for _ in range(300)))
    for _, writer in bad:
        writer.close()
    assert connection.LINGER_S <= 1.0
